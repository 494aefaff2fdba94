//! Containers whose images are not on the node: the attempts and reports of the kubelet, and the waits of the
//! containers.

use serde_json::Value;

use super::lifecycle::{FIRST_WAIT, LONGEST_WAIT};
use crate::Defect;
use crate::pod::{BackOff, Container, Kind, State};
use crate::updates::container_in;
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// The registry of images that cannot be pulled: nothing listens there.
pub(crate) const NOWHERE: &str = "localhost:9/";
/// How soon a container whose image cannot be pulled is shown in that state.
const SHOWN: i64 = 50 * MS;
/// How soon the kubelet retries a container of a new pod.
const LOOKS_AGAIN: i64 = 1_500 * MS;

/// Whether the name of an image has a capital letter where none is allowed.
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
            if self.has(Defect::AnyChangeResetsBackOff) {
                self.begin_back_off_anew(At { pod, container });
            }
            let of = &self.pods[pod].containers[container];
            let heeded = match of.kind {
                Kind::Main => !self.has(Defect::NewImageKeepsMain) && !self.keeps_image_of_starting(of),
                Kind::Sidecar if self.initializes(pod) => {
                    !self.has(Defect::NewImageKeepsSidecar)
                        && !self.has(Defect::NewImageOfSidecarWaitsForInits)
                }
                Kind::Sidecar => !self.has(Defect::NewImageKeepsSidecar),
                // Only an init container that has not succeeded yet starts again, and then with the new image.
                Kind::Init => !of.is_running(),
            };
            let wanted = image(&new, &of.name);
            let changed = heeded && image(old, &of.name) != wanted;
            let unknown = wanted.as_ref().is_some_and(|wanted| !self.is_of_target(wanted));
            let at = At { pod, container };
            if changed && of.plan.is_some() && !self.has(Defect::NewImageStartsOld) {
                self.pods[pod].containers[container].absent = unknown;
            }
            let of = &mut self.pods[pod].containers[container];
            of.replaced |= changed && of.is_running();
            if changed && of.is_running() {
                of.back_off = BackOff::default();
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
                    let grace = self.grace_beside_probe(at, grace, Defect::NewImageUsesProbeGrace);
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

    /// Whether an image is the target's image, whatever its tag is.
    fn is_of_target(&self, image: &Value) -> bool {
        let repository = |image: &str| image.rsplit_once(':').map_or(image, |(name, _)| name).to_owned();
        image.as_str().is_some_and(|image| repository(image) == repository(&self.setting.image))
    }

    /// The image in the spec of a container's pod.
    fn wanted_image(&self, at: At) -> Value {
        let of = &self.pods[at.pod];
        let name = &of.containers[at.container].name;
        container_in(&of.object["spec"], name).map(|of| of["image"].clone()).unwrap_or_default()
    }

    /// The instance that starts has the image of its pod's spec.
    pub(super) fn take_image(&mut self, at: At) {
        let keeps =
            self.has(Defect::NewImageOldContent) && self.pods[at.pod].containers[at.container].starts > 0;
        if !keeps {
            self.pods[at.pod].containers[at.container].image = self.wanted_image(at);
        }
    }

    /// Whether the newest instance of a container has an older image than the spec.
    fn runs_old_image(&self, at: At) -> bool {
        self.pods[at.pod].containers[at.container].image != self.wanted_image(at)
    }

    /// Whether a main container has ended because of a new image, with which it starts again whatever its policy.
    pub(super) fn ended_for_image(&self, at: At) -> bool {
        let of = &self.pods[at.pod].containers[at.container];
        let runs_old = of.kind == Kind::Main && self.runs_old_image(at);
        runs_old && (of.replaced || self.has(Defect::NewImageRestartsDone))
    }

    /// Whether a defective kubelet does not restart a container that it has stopped because of a new image.
    pub(super) fn stays_down(&self, at: At) -> bool {
        self.runs_old_image(at) && self.has(Defect::NewImageNotStarted)
    }

    /// The ID of the image of a container. Variants of the target's image differ in their tags.
    pub(crate) fn image_id(&self, of: &Container) -> String {
        let variant = of.image.as_str().and_then(|image| image.strip_prefix(self.setting.image.as_str()));
        format!("sha256:simulated{}", variant.unwrap_or_default())
    }

    /// Lets a container wait instead of restarting it if its new image is not on the node. Returns whether it waits.
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

    /// The name of the image of a container, as its status shows it.
    pub(crate) fn image_name(&self, of: &Container) -> String {
        let first = self.has(Defect::NewImageShownAsOld);
        let image = if first { &of.spec["image"] } else { &of.image };
        image.as_str().unwrap_or(&self.setting.image).to_owned()
    }

    fn waits_for_its_image(&self, at: At) -> bool {
        let of = &self.pods[at.pod].containers[at.container];
        matches!(of.state, State::Waiting("ErrImagePull" | "ImagePullBackOff"))
    }

    /// A container that waits for its image gets another one, and its start is retried.
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

    /// Lets a container wait instead of starting it if its image is not on the node. Returns whether it waits.
    pub(super) fn waits_for_image(&mut self, pod: usize, container: usize) -> bool {
        let of = &self.pods[pod].containers[container];
        let image = of.spec["image"].as_str().unwrap_or_default();
        // No registry serves the target's image either, which is on the node.
        let asks = of.spec["imagePullPolicy"] == "Always" && !self.has(Defect::PullAlwaysUsesLocal);
        let (misnamed, unserved) = (is_misnamed(image), asks || image.starts_with(NOWHERE));
        if of.plan.is_some() || !(misnamed || unserved) {
            return false;
        }
        let (at, tries, kind) = (At { pod, container }, of.tries, of.kind);
        let never = of.spec["imagePullPolicy"] == "Never";
        let reason = match () {
            () if misnamed => "InvalidImageName",
            () if never => "ErrImageNeverPull",
            () if self.pulls_now(at) => "ErrImagePull",
            () => "ImagePullBackOff",
        };
        let tried = match reason {
            "InvalidImageName" => ("Warning", "InspectFailed"),
            "ErrImageNeverPull" => ("Warning", "ErrImageNeverPull"),
            "ErrImagePull" => ("Normal", "Pulling"),
            _ => ("Normal", "BackOff"),
        };
        self.report_lack(at, tried, reason);
        let gives_up = match kind {
            Kind::Init if self.has(Defect::InitPullTriedTwice) => tries >= 2,
            _ => self.has(Defect::PullTriedOnce) && tries >= 1,
        };
        if matches!(reason, "ErrImagePull" | "ImagePullBackOff") && !gives_up {
            match tries {
                0 => self.later(LOOKS_AGAIN, Act::Retry(at)),
                _ => self.retry_after_error(at),
            }
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

    /// Whether the kubelet tries to pull an image when it handles a container again. It does not try before the
    /// back-off is over.
    fn pulls_now(&mut self, at: At) -> bool {
        if self.waits_for_other_pull(at) {
            return false;
        }
        let (now, flat, always) =
            (self.now, self.has(Defect::PullBackOffFlat), self.has(Defect::PullsWithEachSync));
        let pulled = &mut self.pods[at.pod].containers[at.container].pulled;
        let delay = match *pulled {
            None => FIRST_WAIT,
            Some((last, delay)) if now - last < delay && !always => return false,
            Some((_, delay)) if flat => delay,
            Some((_, delay)) => delay.saturating_mul(2).min(LONGEST_WAIT),
        };
        *pulled = Some((now, delay));
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
