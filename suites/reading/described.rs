//! A node's view of a pod, which the user's node command reads from the runtime and from the control groups.

use probity_model::clocks::Stamp;
use probity_model::history::{DESCRIBE_POD, Did};
use probity_model::timeline::PodLife;
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen, Timeline};
use serde_json::Value;

/// One description of a pod.
pub(crate) struct Described<'h> {
    /// The deed.
    pub(crate) id: EventId,
    /// When the command was started. The facts are not older than this.
    pub(crate) began: Stamp,
    /// What it printed.
    pub(crate) facts: &'h Value,
}

/// All descriptions of a pod, in order. A description that failed is recorded as a doubt.
pub(crate) fn descriptions<'h>(run: &Timeline<'h>, pod: &PodLife<'_>, seen: &mut Seen) -> Vec<Described<'h>> {
    let mut all = Vec::new();
    for (id, deed) in &run.deeds {
        let Did::NodeVerb { verb, uid: Some(uid), output, .. } = &deed.did else { continue };
        if verb != DESCRIBE_POD || *uid != pod.uid {
            continue;
        }
        match (output, deed.did.unproven()) {
            (Some(facts), None) => {
                all.push(Described { id: *id, began: Stamp::harness(deed.began_us), facts })
            }
            (_, why) => seen.doubt(Doubt::StepFailed, format!("{verb}: {}", why.unwrap_or_default()), [*id]),
        }
    }
    all
}

impl<'h> Described<'h> {
    /// The sandboxes of the pod: the id of each, and whether it runs.
    pub(crate) fn sandboxes(&self) -> impl Iterator<Item = (&'h str, bool)> + use<'h> {
        let list = self.facts.get("sandboxes").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|of| Some((of.get("id")?.as_str()?, of.get("state")? == "running")))
    }
}
