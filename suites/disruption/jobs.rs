//! Jobs whose pod failure policy has a rule about disruptions: an evicted pod is replaced, or ends the Job.

use probity_model::history::{Did, Happening};
use probity_model::measure::Fit;
use probity_model::timeline::{At, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use serde_json::Value;

use super::account::evictions;
use crate::reading::targets::{self, TARGET};

/// The reason of a Job that failed by its policy: Kubernetes API reference, batch/v1.
const BY_POLICY: &str = "PodFailurePolicy";

/// A Job whose policy has a rule about disruptions.
struct Job<'h> {
    name: &'h str,
    /// The action of the first rule about disruptions: `Ignore`, `FailJob` or `Count`.
    action: &'h str,
}

fn jobs<'h>(run: &Timeline<'h>) -> Vec<Job<'h>> {
    let is_about = |rule: &&Value| {
        let patterns = rule["onPodConditions"].as_array();
        patterns.is_some_and(|patterns| patterns.iter().any(|pattern| pattern["type"] == TARGET))
    };
    let made = run.deeds.iter().filter_map(|(_, deed)| match &deed.did {
        Did::Created { kind, name, manifest } if kind == "Job" => {
            let rules = manifest.get("spec")?.get("podFailurePolicy")?.get("rules")?.as_array()?;
            // If another rule comes first, it could decide instead.
            let first = rules.first().filter(is_about)?;
            Some(Job { name, action: first["action"].as_str()? })
        }
        _ => None,
    });
    made.collect()
}

impl Job<'_> {
    fn owns(&self, pod: &PodLife<'_>) -> bool {
        let metadata = pod.revisions.first().and_then(|first| first.object.get("metadata"));
        let owners = metadata.and_then(|of| of.get("ownerReferences")?.as_array());
        owners.into_iter().flatten().any(|owner| owner["kind"] == "Job" && owner["name"] == self.name)
    }

    /// The first revision of the Job from which a condition is True and stays True, with the reason of the condition.
    fn first_with<'h>(&self, run: &Timeline<'h>, condition: &str) -> Option<(At, &'h str)> {
        run.history.events().filter(|(_, event)| event.us <= run.ended_us).find_map(|(id, event)| {
            let Happening::Sighting(shown) = &event.what else { return None };
            if shown.kind != "Job" || shown.name != self.name {
                return None;
            }
            let conditions = shown.object.get("status")?.get("conditions")?.as_array()?;
            let has = |of: &&Value| of["type"] == condition && of["status"] == "True";
            let found = conditions.iter().find(has)?;
            Some((At::new(id, Stamp::harness(event.us)), found["reason"].as_str().unwrap_or_default()))
        })
    }
}

/// The revision that shows that a pod has ended.
fn over<'t, 'h>(pod: &'t PodLife<'h>) -> Option<&'t Revision<'h>> {
    pod.revisions.iter().find(|shown| shown.gone || matches!(shown.phase(), "Failed" | "Succeeded"))
}

/// A Job whose pod is evicted follows its rule about disruptions.
pub(super) fn policies_know_disruptions(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let evictions = evictions(run);
    for job in &jobs(run) {
        for eviction in evictions.iter().filter(|of| of.is_granted() && job.owns(of.pod)) {
            // A pod that succeeded did not fail, and without the condition the rule does not match it.
            let Some(over) = over(eviction.pod).filter(|over| over.phase() == "Failed") else { continue };
            if targets::reason(over).is_none() {
                continue;
            }
            match job.action {
                "Ignore" => judge_ignored(run, clause, (job, eviction.pod, eviction.at.id), over, seen),
                "FailJob" => judge_failed(run, clause, job, over, seen),
                _ => {}
            }
        }
    }
}

/// The evicted pod is replaced, and the Job does not fail.
fn judge_ignored<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    (job, evicted, asked): (&Job<'h>, &PodLife<'h>, EventId),
    over: &Revision<'h>,
    seen: &mut Seen,
) {
    if let Some((at, reason)) = job.first_with(run, "Failed").filter(|(at, _)| at.id > asked) {
        let finding =
            format!("{} failed with the reason {reason}, although it ignores disruptions", job.name);
        seen.violated(finding, [asked, at.id]);
        return;
    }
    let later = |pod: &&PodLife<'_>| {
        job.owns(pod) && pod.uid != evicted.uid && pod.revisions.first().is_some_and(|first| first.id > asked)
    };
    let next = run.pods.iter().find(later).and_then(|pod| pod.revisions.first());
    let Some(next) = next else {
        let Some(end) = run.end_event() else { return };
        if run.misses("", (over, &end), clause.in_time()) {
            let finding = format!("{} was evicted, but {} did not replace it", evicted.name, job.name);
            seen.violated(finding, [asked, end.id]);
        }
        return;
    };
    let quantity = format!("from the termination of {} to its replacement", evicted.name);
    if next.id < over.id {
        // A Job may create the replacement before the old pod has ended; then the replacement is in time.
        seen.fine([asked, next.id]);
        seen.facet("action", "Ignore");
    } else if seen.within(run, "", quantity, (over, next), clause.in_time()) == Some(Fit::Met) {
        seen.facet("action", "Ignore");
    }
}

/// The Job fails, and gives its policy as the reason.
fn judge_failed<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    job: &Job<'h>,
    over: &Revision<'h>,
    seen: &mut Seen,
) {
    let Some((at, reason)) = job.first_with(run, "Failed") else {
        let Some(end) = run.end_event() else { return };
        if run.misses("", (over, &end), clause.in_time()) {
            let finding = format!(
                "the pod of {} was evicted, but the Job did not fail as required by its policy",
                job.name
            );
            seen.violated(finding, [over.id, end.id]);
        }
        return;
    };
    let quantity = format!("from the termination of the pod of {} to the failure of the Job", job.name);
    let fit = seen.within(run, "", quantity, (over, &at), clause.in_time());
    let finding = || format!("{} failed with the reason {reason}, not {BY_POLICY}", job.name);
    seen.check(reason == BY_POLICY, finding, [over.id, at.id]);
    if reason == BY_POLICY && fit == Some(Fit::Met) {
        seen.facet("action", "FailJob");
    }
}
