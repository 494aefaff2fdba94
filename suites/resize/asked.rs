//! What the harness asked for when it resized pods, and when the new resources must be in force.

use probity_model::clocks::Stamp;
use probity_model::timeline::{ContainerLife, Life, PodLife, Revision};
use probity_model::{Clause, Timeline};
use serde_json::{Value, json};

use crate::reading::patches::{PENDING, Patch, RESIZE, container_in, of_part};
use crate::reading::quantities::{WHOLE, is_same, thousandths};

/// No node has more CPUs than this, the largest number that Linux supports on x86.
const CORES: i128 = 8192;

/// A resize, whether it was accepted or not.
pub(super) struct Resize<'t, 'h> {
    /// The patch.
    pub(super) patch: Patch<'t, 'h>,
    /// The last revision before it.
    pub(super) before: &'t Revision<'h>,
    /// The spec of the pod with the requested resources.
    pub(super) after: Value,
    /// When its pod was resized again or deleted, or the history ended.
    pub(super) until: Stamp,
}

/// The amount of one resource that a container requests or is limited to.
pub(super) struct Amount<'a> {
    /// `requests` or `limits`.
    pub(super) list: &'static str,
    pub(super) resource: &'a str,
    /// Before and after the resize.
    pub(super) old: Option<&'a Value>,
    pub(super) new: &'a Value,
}

/// All resizes, in order. Nothing is judged if the case did something to a node, because such an action has other
/// effects.
pub(super) fn resizes<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Resize<'t, 'h>> {
    if run.node_was_touched() {
        return Vec::new();
    }
    let patches = of_part(run, RESIZE);
    let next = |patch: &Patch<'_, '_>| {
        let later = patches.iter().find(|next| next.id > patch.id && next.pod.uid == patch.pod.uid);
        let deleted = run.deletion(patch.pod);
        let until = [later.map(|next| next.began.clone()), deleted].into_iter().flatten();
        until.min_by_key(|stamp| stamp.at.lo).unwrap_or_else(|| run.end())
    };
    let untils: Vec<Stamp> = patches.iter().map(next).collect();
    let with_spec = |(patch, until): (Patch<'t, 'h>, Stamp)| {
        let before = patch.before(run)?;
        let after = with_resources(before.object, &patch.asked);
        Some(Resize { before, after, patch, until })
    };
    patches.into_iter().zip(untils).filter_map(with_spec).collect()
}

/// The resizes that must be enacted: accepted, and possible on some node.
pub(super) fn feasible<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Resize<'t, 'h>> {
    resizes(run).into_iter().filter(|resize| resize.patch.refused.is_none() && !resize.is_too_large())
}

/// The spec of a pod with the resources that a patch requests.
fn with_resources(pod: &Value, asked: &Value) -> Value {
    let mut new = json!({ "spec": pod["spec"] });
    for list in ["containers", "initContainers"] {
        for container in new["spec"][list].as_array_mut().into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            let Some(of) = container_in(asked, &name) else { continue };
            for (kind, amounts) in of["resources"].as_object().into_iter().flatten() {
                for (resource, amount) in amounts.as_object().into_iter().flatten() {
                    container["resources"][kind][resource] = amount.clone();
                }
            }
        }
    }
    new
}

fn resources_of<'v>(pod: &'v Value, container: &str) -> &'v Value {
    container_in(pod, container).map_or(&Value::Null, |own| &own["resources"])
}

impl<'t, 'h> Resize<'t, 'h> {
    pub(super) fn pod(&self) -> &'t PodLife<'h> {
        self.patch.pod
    }

    /// All resources of a container when the resize is complete.
    pub(super) fn amounts(&self, container: &str) -> Vec<Amount<'_>> {
        let (old, new) = (resources_of(self.before.object, container), resources_of(&self.after, container));
        let of_list = |list: &'static str| {
            let amounts = new[list].as_object().into_iter().flatten();
            amounts.map(move |(resource, new)| Amount { list, resource, old: old[list].get(resource), new })
        };
        ["requests", "limits"].into_iter().flat_map(of_list).collect()
    }

    /// The resources of a container that it changes.
    pub(super) fn changes(&self, container: &str) -> Vec<Amount<'_>> {
        self.amounts(container).into_iter().filter(Amount::is_changed).collect()
    }

    /// Whether the resize asks for more than any node has.
    pub(super) fn is_too_large(&self) -> bool {
        let beyond = |change: &Amount<'_>| {
            let cpu = change.new.as_str().filter(|_| change.list == "requests" && change.resource == "cpu");
            cpu.and_then(thousandths).is_some_and(|cpu| cpu > CORES * WHOLE)
        };
        self.containers().any(|container| self.amounts(&container.name).iter().any(beyond))
    }

    /// The policy of a container for a resource, if its spec has one.
    pub(super) fn policy(&self, container: &str, resource: &str) -> Option<&str> {
        let own = container_in(self.before.object, container)?;
        let all = own.get("resizePolicy").and_then(Value::as_array).into_iter().flatten();
        let mut of = all.filter(|policy| policy["resourceName"] == resource);
        of.find_map(|policy| policy["restartPolicy"].as_str())
    }

    /// Whether it restarts a container.
    pub(super) fn restarts(&self, container: &str) -> bool {
        let says = |change: &Amount<'_>| self.policy(container, change.resource) == Some("RestartContainer");
        self.changes(container).iter().any(says)
    }

    /// The generation of the pod before the resize.
    pub(super) fn old_generation(&self) -> Option<i64> {
        self.before.object["metadata"]["generation"].as_i64()
    }

    /// The condition of a resize that must wait, if a revision shows it and it can be about this resize.
    pub(super) fn wait<'r>(&self, shown: &Revision<'r>) -> Option<&'r Value> {
        shown.condition(PENDING).filter(|said| !self.is_older(said))
    }

    /// Whether a condition is about an earlier resize: it has a generation that the pod had before this one. Kubelets that
    /// do not track generations do not show this.
    fn is_older(&self, said: &Value) -> bool {
        let about = said.get("observedGeneration").and_then(Value::as_i64);
        about.zip(self.old_generation()).is_some_and(|(about, old)| about <= old)
    }

    /// The instance of a container that ran when the resize was requested.
    pub(super) fn life(
        &self,
        run: &'t Timeline<'h>,
        container: &'t ContainerLife<'h>,
    ) -> Option<Life<'t, 'h>> {
        let began = |life: &Life<'_, '_>| run.before(&life.began, &self.patch.began);
        let mut all = container.attempts.iter().rev();
        let of = |attempt| Life { run, pod: self.pod(), container, attempt };
        let life = all.find_map(|attempt| Some(of(attempt)).filter(began))?;
        let runs = life.ended.as_ref().is_none_or(|ended| !run.before(&ended.stamp, &self.patch.began));
        runs.then_some(life)
    }

    /// The containers that the resize can affect: those that keep running.
    pub(super) fn containers(&self) -> impl Iterator<Item = &'t ContainerLife<'h>> + use<'t, 'h> {
        self.pod().containers.iter().filter(|container| container.stays())
    }

    /// How long the resize may take: the slack, and the grace period if a container is restarted.
    fn time(&self, clause: &Clause) -> i64 {
        let restarts = self.containers().any(|container| self.restarts(&container.name));
        clause.slack_us() + if restarts { self.pod().grace() } else { 0 }
    }

    /// When the resize must be complete, if no other resize came before that time and the pod was watched until then.
    pub(super) fn due(&self, run: &Timeline<'_>, clause: &Clause) -> Option<Stamp> {
        let due = self.patch.done.later(self.time(clause));
        let due = due.later(run.noise_between(&self.pod().node, &self.patch.done, &due));
        // If there is more noise in the added time, it is not known when the resize is due.
        if !run.longer_than(self.pod(), (&self.patch.done, &due.later(1)), self.time(clause)) {
            return None;
        }
        let quiet = run.watched_for(self.pod(), &self.patch.done, self.time(clause));
        (quiet && run.before(&due, &self.until)).then_some(due)
    }

    /// Whether the resize must have been complete at an instant, even on a node that was stalled, and nothing had
    /// changed since.
    pub(super) fn is_complete(&self, run: &Timeline<'_>, clause: &Clause, at: &Stamp) -> bool {
        let late = run.longer_than(self.pod(), (&self.patch.done, at), self.time(clause));
        late && run.before(at, &self.until)
    }
}

impl Amount<'_> {
    /// Whether the resize changes this amount.
    pub(super) fn is_changed(&self) -> bool {
        self.old.is_none_or(|old| !is_same(old, self.new))
    }
}
