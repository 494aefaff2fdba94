//! The maximum back-off in the configuration of a kubelet.

use probity_model::clocks::Stamp;
use probity_model::history::{CONFIGURE_KUBELET, Deed, Did};
use probity_model::measure::{SECOND, seconds};
use probity_model::mechanisms::{FIRST_BACK_OFF, LONGEST_BACK_OFF};
use probity_model::timeline::PodLife;
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::Span;
use serde_json::Value;

use super::back_off::judge_delay_within;
use super::expected::{Crash, Limits, Wait, follow};

/// The shortest maximum that can be configured: Kubernetes documentation, Pod Lifecycle.
const SHORTEST: i64 = SECOND;

/// A kubelet that accepted or rejected a maximum.
struct Configured<'r> {
    id: EventId,
    deed: &'r Deed,
    node: &'r str,
    /// The maximum as it was written.
    text: &'r str,
    maximum: i64,
}

/// The maxima that steps configured. A step that failed is recorded as a doubt.
fn configurations<'r>(run: &'r Timeline<'_>, seen: &mut Seen) -> Vec<Configured<'r>> {
    let mut all = Vec::new();
    for (id, deed) in &run.deeds {
        let Did::NodeVerb { node, verb, input: Some(input), .. } = &deed.did else { continue };
        let text = input.pointer("/crashLoopBackOff/maxContainerRestartPeriod").and_then(Value::as_str);
        let Some(text) = text.filter(|_| verb == CONFIGURE_KUBELET) else { continue };
        if let Some(why) = deed.did.unproven() {
            seen.doubt(Doubt::StepFailed, format!("{verb}: {why}"), [*id]);
            continue;
        }
        if let Ok(maximum) = text.parse::<Span>() {
            let maximum = i64::try_from(maximum.micros()).unwrap_or(i64::MAX);
            all.push(Configured { id: *id, deed, node, text, maximum });
        }
    }
    all
}

impl Configured<'_> {
    /// The time until which this maximum applied, if a pod was created on the node while its kubelet had it.
    fn covers(&self, run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<Stamp> {
        let next = run.deeds.iter().find(|(id, deed)| *id > self.id && deed.did.acts_on_node());
        let until = next.map_or_else(|| run.end(), |(_, deed)| Stamp::harness(deed.began_us));
        let created = pod.created.map(|(id, _)| id).filter(|id| *id > self.id)?;
        let before = next.is_none_or(|(id, _)| created < *id);
        (pod.node == self.node && !self.deed.did.kubelet_refused() && before).then_some(until)
    }

    /// The delays of this kubelet.
    fn limits(&self) -> Limits {
        Limits { first: FIRST_BACK_OFF.min(self.maximum), longest: self.maximum }
    }
}

/// The delays under configured maxima for which `wanted` holds, each with its facet.
fn judge_delays(run: &Timeline<'_>, clause: &Clause, wanted: impl Fn(i64) -> bool, seen: &mut Seen) {
    let near = clause.tolerance_us("near-ten-minutes");
    let configured = configurations(run, seen);
    for of in configured.iter().filter(|of| wanted(of.maximum)) {
        let crashes = follow(run, near, |pod| of.covers(run, pod).map(|until| (of.limits(), until)));
        for (at, crash) in crashes.iter().enumerate() {
            let Wait::Delay { by, capped } = crash.wait else { continue };
            let begins = at > 0 && crashes.get(at - 1).is_some_and(|before| before.wait == Wait::First);
            let facet = match (begins, capped) {
                (true, _) => "first",
                (false, false) => "doubled",
                (false, true) => "maximum",
            };
            // Kubelets that know the setting wake up at the end of the delay.
            if judge_delay_within(crash, by, Crash::soon(clause, by), seen) {
                seen.facet("delay", facet);
            }
        }
    }
}

/// With a maximum above the first delay, the delays begin and double as usual, up to that maximum.
pub(super) fn is_the_maximum(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_delays(run, clause, |maximum| maximum > FIRST_BACK_OFF, seen);
}

/// If the maximum is below the default first delay, every delay equals the maximum, including the first.
pub(super) fn is_every_delay(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_delays(run, clause, |maximum| maximum < FIRST_BACK_OFF, seen);
}

/// A kubelet runs with a maximum from one second to five minutes, and with no other.
pub(super) fn is_in_range(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for of in configurations(run, seen) {
        let valid = (SHORTEST..=LONGEST_BACK_OFF).contains(&of.maximum);
        let refused = of.deed.did.kubelet_refused();
        let (written, maximum) = (of.text, seconds(of.maximum));
        match (valid, refused) {
            (true, true) => seen.violated(
                format!("the kubelet does not start with a maximum back-off of {maximum}"),
                [of.id],
            ),
            (false, false) => {
                seen.violated(format!("the kubelet runs with a maximum back-off of {maximum}"), [of.id])
            }
            _ => {
                seen.fine([of.id]);
                seen.facet("maximum", written);
            }
        }
    }
}
