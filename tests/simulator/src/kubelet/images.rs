//! Containers whose images are not on the node: what the kubelet tries, what it reports about that, and what they wait for.

use serde_json::Value;

use crate::Defect;
use crate::pod::{Kind, State};
use crate::updates::container_in;
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// The registry of images that cannot be pulled: nothing listens there.
const NOWHERE: &str = "localhost:9/";
/// How soon a container whose image cannot be pulled is shown so.
const SHOWN: i64 = 50 * MS;
/// How soon the kubelet looks again at a container of a new pod.
const LOOKS_AGAIN: i64 = 1_500 * MS;

/// Whether the name of an image has a capital letter where none may be.
fn is_misnamed(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split(':').next().unwrap_or_default().chars().any(|char| char.is_ascii_uppercase())
}

impl World<'_> {
    /// Main containers and sidecars whose image has changed are stopped, so that they start again with the new one.
    pub(crate) fn replace_changed(&mut self, pod: usize, old: &Value) {
        let image = |spec: &Value, name: &str| container_in(spec, name).map(|of| of["image"].clone());
        let new = self.pods[pod].object["spec"].clone();
        let hard = self.has(Defect::NewImageKillsHard);
        let grace = if hard { self.least_grace() } else { self.pods[pod].grace() };
        for container in 0..self.pods[pod].containers.len() {
            let of = &self.pods[pod].containers[container];
            let heeded = match of.kind {
                Kind::Main => !self.has(Defect::NewImageKeepsMain),
                Kind::Sidecar => !self.has(Defect::NewImageKeepsSidecar),
                _ => false,
            };
            let wanted = image(&new, &of.name);
            let changed = heeded && image(old, &of.name) != wanted;
            let unknown = wanted.as_ref().is_some_and(|wanted| !self.is_of_target(wanted));
            let at = At { pod, container };
            if changed && of.plan.is_some() && !self.has(Defect::NewImageStartsOld) {
                self.pods[pod].containers[container].absent = unknown;
            }
            let of = &self.pods[pod].containers[container];
            if changed && self.waits_for_its_image(at) {
                self.correct_image(at, wanted);
            } else if changed && !of.is_running() {
                self.begin_back_off_anew(at);
            } else if changed && self.has(Defect::NewImageSkipsHook) {
                let life = LifeAt { at, attempt: of.attempt() };
                self.later(MS, Act::Terminate(life, self.now + grace));
            } else if changed && self.has(Defect::NewImageSignalsDuringHook) {
                let life = LifeAt { at, attempt: of.attempt() };
                self.later(300 * MS, Act::Terminate(life, self.now + grace));
                let hook = self.pods[pod].containers[container].spec["lifecycle"]["preStop"].clone();
                self.run_hook(at, &hook, self.now + grace);
            } else if changed {
                if self.has(Defect::NewImageNoticedLate) {
                    let (life, stop) = (LifeAt { at, attempt: of.attempt() }, 9 * SECOND);
                    self.later(stop, Act::Terminate(life, self.now + stop + grace));
                } else {
                    self.stop_container(at, grace);
                }
                if self.has(Defect::NewImageStopsAll) {
                    self.stop_others(at, grace);
                }
                if self.has(Defect::NewImageKillsOthers) {
                    self.kill_others(at);
                }
            }
        }
    }

    /// Whether an image is that of the target, whatever its tag.
    fn is_of_target(&self, image: &Value) -> bool {
        let repository = |image: &str| image.rsplit_once(':').map_or(image, |(name, _)| name).to_owned();
        image.as_str().is_some_and(|image| repository(image) == repository(&self.setting.image))
    }

    /// A container that has got an image that its node does not have waits instead of starting again; whether it does.
    pub(super) fn lacks_new_image(&mut self, at: At) -> bool {
        let of = &mut self.pods[at.pod].containers[at.container];
        if !of.absent {
            return false;
        }
        if let State::Ended(ended) = of.state.clone() {
            of.last = Some(ended.clone());
            of.view.last = Some(ended);
        }
        of.state = State::Waiting("ErrImagePull");
        of.view.state = State::Waiting("ErrImagePull");
        self.report_lack(at, ("Normal", "Pulling"), "ErrImagePull");
        self.touch(at.pod);
        true
    }

    fn waits_for_its_image(&self, at: At) -> bool {
        let of = &self.pods[at.pod].containers[at.container];
        matches!(of.state, State::Waiting("ErrImagePull" | "ImagePullBackOff"))
    }

    /// A container that waits for its image gets another one, and is tried again.
    fn correct_image(&mut self, at: At, wanted: Option<Value>) {
        if let Some(image) = wanted.filter(|_| !self.has(Defect::CorrectedImageIgnored)) {
            self.pods[at.pod].containers[at.container].spec["image"] = image;
            self.later(SHOWN, Act::Retry(at));
        }
    }

    fn kill_others(&mut self, at: At) {
        for life in self.others(at) {
            self.later(20 * MS, Act::Force(life));
        }
    }

    pub(crate) fn stop_others(&mut self, at: At, grace: i64) {
        for life in self.others(at) {
            self.stop_container(life.at, grace);
        }
    }

    /// The other main containers and sidecars of a pod that run.
    fn others(&self, at: At) -> Vec<LifeAt> {
        let all = self.pods[at.pod].containers.iter().enumerate();
        let runs = all
            .filter(|(container, of)| *container != at.container && of.kind != Kind::Init && of.is_running());
        runs.map(|(container, of)| LifeAt { at: At { container, ..at }, attempt: of.attempt() }).collect()
    }

    /// A container whose image is not on the node waits instead of starting; whether it does.
    pub(super) fn waits_for_image(&mut self, pod: usize, container: usize) -> bool {
        let of = &self.pods[pod].containers[container];
        let image = of.spec["image"].as_str().unwrap_or_default();
        let (misnamed, unserved) = (is_misnamed(image), image.starts_with(NOWHERE));
        if of.plan.is_some() || !(misnamed || unserved) {
            return false;
        }
        let (at, tries) = (At { pod, container }, of.tries);
        let reason = match of.spec["imagePullPolicy"].as_str() {
            _ if misnamed => "InvalidImageName",
            Some("Never") => "ErrImageNeverPull",
            _ if tries < 2 => "ErrImagePull",
            _ => "ImagePullBackOff",
        };
        let tried = match reason {
            "InvalidImageName" => ("Warning", "InspectFailed"),
            "ErrImageNeverPull" => ("Warning", "ErrImageNeverPull"),
            _ if tries == 0 => ("Normal", "Pulling"),
            _ => ("Normal", "BackOff"),
        };
        self.report_lack(at, tried, reason);
        if reason == "ErrImagePull" && tries == 0 {
            self.later(LOOKS_AGAIN, Act::Retry(at));
        } else if reason == "ErrImagePull" {
            self.retry_after_error(at);
        }
        let shown = match reason {
            _ if self.has(Defect::ImageLackShownAsCreating) => "ContainerCreating",
            "InvalidImageName" | "ErrImageNeverPull" if self.has(Defect::ImageLackShownAsPull) => {
                "ErrImagePull"
            }
            _ => reason,
        };
        let of = &mut self.pods[pod].containers[container];
        of.state = State::Waiting(shown);
        of.restarting = true;
        self.later(SHOWN, Act::Sync(pod));
        true
    }

    fn report_lack(&mut self, at: At, (kind, tried): (&str, &str), reason: &str) {
        if !(tried == "BackOff" && self.has(Defect::PullBackOffUnreported)) {
            self.record(at.pod, at.container, kind, tried, "Container image is not on the node");
        }
        if !self.has(Defect::ImageLackUnreported) {
            self.record(at.pod, at.container, "Warning", "Failed", &format!("Error: {reason}"));
        }
    }
}
