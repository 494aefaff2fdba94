//! The calls that the proxy understands: the container or pod that each call is about, and what the call reveals about
//! it. All other calls pass as streams.

use bytes::Bytes;

use super::{fault::Method, wire::Message};
use crate::{board::Board, defect::Target};

/// A call that the proxy reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// A call that can be struck as a whole.
    Of(Method),
    /// `ListContainers`
    ListContainers,
    /// `ListPodSandbox`
    ListSandboxes,
}

impl Call {
    /// The call of an HTTP path.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        Some(match path.strip_prefix("/runtime.v1.RuntimeService/")? {
            "ExecSync" => Self::Of(Method::Exec),
            "StopContainer" => Self::Of(Method::Stop),
            "StartContainer" => Self::Of(Method::Start),
            "CreateContainer" => Self::Of(Method::Create),
            "RemoveContainer" => Self::Of(Method::Remove),
            "ContainerStatus" => Self::Of(Method::Status),
            "UpdateContainerResources" => Self::Of(Method::Update),
            "RunPodSandbox" => Self::Of(Method::RunSandbox),
            "StopPodSandbox" => Self::Of(Method::StopSandbox),
            "RemovePodSandbox" => Self::Of(Method::RemoveSandbox),
            "PodSandboxStatus" => Self::Of(Method::SandboxStatus),
            "ListContainers" => Self::ListContainers,
            "ListPodSandbox" => Self::ListSandboxes,
            _ => return None,
        })
    }

    /// The target of the call, as far as it is known.
    pub(super) fn target(self, request: &Message, board: &Board) -> Option<Target> {
        let Self::Of(method) = self else { return None };
        match method {
            Method::Exec
            | Method::Stop
            | Method::Start
            | Method::Remove
            | Method::Status
            | Method::Update => board.target_of_container(&request.text(1)),
            Method::Create => {
                let pod = board.pod_of_sandbox(&request.text(1))?;
                let metadata = request.message(2).message(1);
                let container = metadata.text(1);
                Some(Target {
                    kind: board.kind(&pod.namespace, &pod.name, &container),
                    container: Some(container),
                    attempt: Some(attempt(&metadata)),
                    ..Target::pod(&pod.namespace, &pod.name)
                })
            }
            Method::RunSandbox => {
                let metadata = request.message(1).message(1);
                Some(Target::pod(&metadata.text(3), &metadata.text(1)))
            }
            Method::StopSandbox | Method::RemoveSandbox | Method::SandboxStatus => {
                let pod = board.pod_of_sandbox(&request.text(1))?;
                Some(Target::pod(&pod.namespace, &pod.name))
            }
        }
    }

    /// Remembers what a successful call reveals about pods and containers.
    pub(super) fn learn(self, request: &Message, response: &Message, board: &Board) {
        match self {
            Self::Of(Method::RunSandbox) => {
                learn_sandbox(&request.message(1).message(1), &response.text(1), board);
            }
            Self::Of(Method::SandboxStatus) => {
                let status = response.message(1);
                let sandbox = status.text(1);
                learn_sandbox(&status.message(2), &sandbox, board);
                if let Ok(ip) = status.message(5).text(1).parse() {
                    board.learn_address(&sandbox, ip);
                }
            }
            Self::Of(Method::RemoveSandbox) => board.forget_sandbox(&request.text(1)),
            Self::Of(Method::Create) => {
                let metadata = request.message(2).message(1);
                board.learn_container(
                    &response.text(1),
                    &request.text(1),
                    &metadata.text(1),
                    attempt(&metadata),
                );
            }
            Self::Of(Method::Remove) => board.forget_container(&request.text(1)),
            Self::ListSandboxes => {
                for sandbox in response.messages(1) {
                    learn_sandbox(&sandbox.message(2), &sandbox.text(1), board);
                }
            }
            Self::ListContainers => {
                for container in response.messages(1) {
                    let metadata = container.message(3);
                    let (id, sandbox) = (container.text(1), container.text(2));
                    board.learn_container(&id, &sandbox, &metadata.text(1), attempt(&metadata));
                }
            }
            Self::Of(
                Method::Exec
                | Method::Stop
                | Method::Start
                | Method::Status
                | Method::Update
                | Method::StopSandbox,
            ) => {}
        }
    }
}

fn learn_sandbox(metadata: &Message, sandbox: &str, board: &Board) {
    board.learn_pod(&metadata.text(3), &metadata.text(1), &metadata.text(2), None, sandbox);
}

fn attempt(metadata: &Message) -> u32 {
    u32::try_from(metadata.integer(2)).unwrap_or_default()
}

/// The command line of an `ExecSync`, joined by spaces.
pub(super) fn command_line(request: &Message) -> String {
    let words: Vec<_> =
        request.all_bytes(2).map(|word: &Bytes| String::from_utf8_lossy(word).into_owned()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Call, Message, Method};
    use crate::board::Board;

    fn metadata(fields: &[(u32, &str)]) -> Message {
        let mut message = Message::default();
        for (number, text) in fields {
            message.set_bytes(*number, (*text).to_owned());
        }
        message
    }

    /// A board that observed the creation of a pod with one container.
    fn looked_on() -> Board {
        let board = Board::default();
        let mut run = Message::default();
        run.change(1, |config| {
            config.set_bytes(1, metadata(&[(1, "probe"), (2, "uid-1"), (3, "run-1")]).encode());
        });
        Call::Of(Method::RunSandbox).learn(&run, &metadata(&[(1, "sandbox-1")]), &board);
        let mut create = metadata(&[(1, "sandbox-1")]);
        create.change(2, |config| {
            let mut name = metadata(&[(1, "target")]);
            name.set_integer(2, 3);
            config.set_bytes(1, name.encode());
        });
        Call::Of(Method::Create).learn(&create, &metadata(&[(1, "container-1")]), &board);
        board
    }

    #[test]
    fn an_exec_is_about_the_container_that_was_created() {
        let target = Call::Of(Method::Exec).target(&metadata(&[(1, "container-1")]), &looked_on());
        let target = target.unwrap_or_default();
        assert_eq!((target.namespace.as_str(), target.pod.as_str()), ("run-1", "probe"));
        assert_eq!((target.container.as_deref(), target.attempt), (Some("target"), Some(3)));
    }

    #[test]
    fn the_address_of_a_pod_is_learnt_from_the_status_of_its_sandbox() {
        let board = looked_on();
        let mut status = metadata(&[(1, "sandbox-1")]);
        status.set_bytes(2, metadata(&[(1, "probe"), (2, "uid-1"), (3, "run-1")]).encode());
        status.set_bytes(5, metadata(&[(1, "10.244.1.9")]).encode());
        let mut response = Message::default();
        response.set_bytes(1, status.encode());
        Call::Of(Method::SandboxStatus).learn(&Message::default(), &response, &board);
        let ip = std::net::IpAddr::from([10, 244, 1, 9]);
        assert_eq!(board.pod_of_ip(ip).map(|pod| pod.uid).as_deref(), Some("uid-1"));
    }

    #[test]
    fn calls_of_other_services_stream_by() {
        assert_eq!(Call::of_path("/runtime.v1.ImageService/PullImage"), None);
        assert_eq!(Call::of_path("/runtime.v1.RuntimeService/Attach"), None);
    }
}
