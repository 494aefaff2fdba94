//! Faults between a kubelet and the container runtime: the vocabulary of defects.

use probity_script::Span;
use serde::{Deserialize, Serialize};

/// A fault of the connection to the container runtime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum CriFault {
    /// Any call, as a whole.
    Call {
        /// Which call.
        method: Method,
        /// For `exec`: only commands that contain this text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// What happens to it.
        effect: CallEffect,
    },
    /// A command that runs in a container: exec probes and exec hooks.
    Exec {
        /// Only commands that contain this text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// What happens to it.
        effect: ExecEffect,
    },
    /// How long a container gets to stop.
    Grace(GraceEffect),
    /// How a container is created.
    Create(CreateEffect),
    /// The user range of a pod with its own user namespace begins with this user of the node.
    Users(u32),
    /// How a container is shown to the kubelet, in every kind of request.
    Shown(ShownEffect),
    /// This address is reported as the address of a pod.
    Address(std::net::IpAddr),
    /// Events of the runtime, if the kubelet listens to them.
    Event(EventEffect),
    /// This long after its start, a container is stopped and replaced by a new one under the same id.
    ReplacedUnseen(Span),
}

/// The calls that can be struck as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// `ExecSync`
    Exec,
    /// `StopContainer`
    Stop,
    /// `StartContainer`
    Start,
    /// `CreateContainer`
    Create,
    /// `RemoveContainer`
    Remove,
    /// `ContainerStatus`
    Status,
    /// `UpdateContainerResources`
    Update,
    /// `RunPodSandbox`
    RunSandbox,
    /// `StopPodSandbox`
    StopSandbox,
    /// `RemovePodSandbox`
    RemoveSandbox,
    /// `PodSandboxStatus`
    SandboxStatus,
}

/// What can happen to any call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum CallEffect {
    /// The runtime receives the call this much later.
    Late(Span),
    /// The kubelet receives the answer this much later.
    AnsweredLate(Span),
    /// The runtime never receives the call, and the kubelet receives an error with this gRPC code.
    Refused(u32),
    /// The runtime never receives the call, but the kubelet receives a success.
    Pretended,
    /// The runtime receives the call a second time, after it has answered the first.
    Twice,
}

/// What can happen to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ExecEffect {
    /// Its timeout becomes this number of seconds; 0 removes the timeout.
    Timeout(i64),
    /// Its timeout is multiplied, and rounded up.
    TimeoutTimes(f64),
    /// Its exit code is replaced.
    ExitCode {
        /// Only exit codes in this set are replaced.
        from: ExitCodes,
        /// The new one.
        to: i32,
    },
    /// A timeout is reported as this exit code instead.
    TimedOutAs(i32),
    /// A timeout is reported as an error with this gRPC code.
    TimedOutRefused(u32),
    /// Its output is replaced by this text.
    Output(String),
    /// The command is never run, but is reported as ended with this exit code.
    Unrun(i32),
}

/// A set of exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitCodes {
    /// Any.
    Any,
    /// 0.
    Zero,
    /// Any except 0.
    NonZero,
    /// Just this one.
    Only(i32),
}

/// What can happen to the time that a container gets to stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum GraceEffect {
    /// The new value in seconds.
    Seconds(i64),
    /// It is multiplied.
    Times(f64),
    /// This number of seconds is added; a negative number shortens the time.
    Added(i64),
}

/// What can happen to the creation of a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum CreateEffect {
    /// A variable is left out.
    EnvironmentWithout(String),
    /// A variable gets this value.
    EnvironmentWith {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
    },
    /// The volume or file at this path is not mounted.
    MountWithout(String),
    /// Its entrypoint is this.
    Command(Vec<String>),
    /// Its arguments are these.
    Arguments(Vec<String>),
    /// It is stopped with the signal that has this number in the runtime's own list.
    StopSignal(i64),
    /// An annotation that the kubelet stores on the container for its own use is changed.
    Annotation {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
    },
}

/// The ways in which a container can be shown wrongly. If a fault strikes a container instance once, it strikes the
/// instance every time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ShownEffect {
    /// Its end is shown this long after it was observed.
    ExitedLate(Span),
    /// Its start is shown this long after it was observed.
    RunningLate(Span),
    /// Its exit code is shown as another one.
    ExitCode {
        /// Only exit codes in this set are replaced.
        from: ExitCodes,
        /// The new one.
        to: i32,
    },
    /// The reason of its end is this text.
    Reason(String),
    /// Its start time is moved by this many seconds, back if negative.
    StartedMoved(f64),
    /// Its end time is moved by this many seconds, back if negative.
    FinishedMoved(f64),
    /// The number of restarts that the kubelet stored on the container is changed by this number.
    RestartsMoved(i64),
    /// Its image is this.
    Image(String),
    /// The container is not shown at all.
    Missing,
}

/// What can happen to an event of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum EventEffect {
    /// It arrives this much later, and delays the events after it.
    Late(Span),
    /// It never arrives.
    Lost,
    /// It arrives twice.
    Doubled,
}

impl ExitCodes {
    /// Whether the set contains this code.
    #[must_use]
    pub fn include(self, code: i32) -> bool {
        match self {
            Self::Any => true,
            Self::Zero => code == 0,
            Self::NonZero => code != 0,
            Self::Only(only) => code == only,
        }
    }
}
