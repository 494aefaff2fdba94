//! Containers whose images are not on the node: what the kubelet tries, what it reports about that, and what they wait for.

use crate::Defect;
use crate::pod::State;
use crate::world::{Act, At, MS, World};

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
