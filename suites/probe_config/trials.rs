//! What the API server makes of the fields of a probe: defaults, least values, and what only some probes may have.
//!
//! A refusal counts only if its message names the field of the probe: a manifest may be refused for other reasons.

use probity_model::history::Tried;
use probity_model::timeline::ProbeKind;
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

/// The fields that count something, with what stands for one that is not written.
const COUNTS: [(&str, i64); 4] =
    [("periodSeconds", 10), ("timeoutSeconds", 1), ("successThreshold", 1), ("failureThreshold", 3)];
const DELAY: &str = "initialDelaySeconds";
const GRACE: &str = "terminationGracePeriodSeconds";
/// The grace period of a pod that says nothing.
const POD_GRACE: i64 = 30;

/// A probe in a manifest.
struct Written<'h> {
    /// Where it stands: `containers target livenessProbe`.
    place: String,
    kind: ProbeKind,
    value: &'h Value,
}

impl Written<'_> {
    fn number(&self, field: &str) -> Option<i64> {
        self.value.get(field)?.as_i64()
    }
}

fn probes(pod: &Value) -> Vec<Written<'_>> {
    let mut found = Vec::new();
    for list in ["initContainers", "containers"] {
        let containers = pod.get("spec").and_then(|spec| spec.get(list)?.as_array());
        for container in containers.into_iter().flatten() {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            for kind in ProbeKind::ALL {
                let place = format!("{list} {name} {}", kind.field());
                found.extend(container.get(kind.field()).map(|value| Written { place, kind, value }));
            }
        }
    }
    found
}

/// What is not written is read back as the documented default, in trials and in pods as they are shown.
pub(super) fn defaults(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (events, sent, shown) in sent_and_shown(run) {
        let read_back = probes(shown);
        for written in probes(sent) {
            let Some(filled) = read_back.iter().find(|filled| filled.place == written.place) else {
                continue;
            };
            judge_filled(&events, &written, filled, seen);
        }
        let grace = |pod: &Value| pod.get("spec").and_then(|spec| spec.get(GRACE)?.as_i64());
        let other = grace(shown).filter(|grace| *grace != POD_GRACE);
        if let (None, Some(other)) = (grace(sent), other.filter(|_| !probes(sent).is_empty())) {
            let finding = format!("without {GRACE} of the pod, {other} is read back instead of {POD_GRACE}");
            seen.violated(finding, events);
        }
    }
}

fn judge_filled(events: &[EventId], written: &Written<'_>, filled: &Written<'_>, seen: &mut Seen) {
    let place = &written.place;
    let unset = |field: &&str| written.value.get(*field).is_none_or(Value::is_null);
    for (field, default) in COUNTS.iter().filter(|(field, _)| unset(field)) {
        match filled.number(field) {
            Some(number) if number == *default => seen.fine(events.iter().copied()),
            other => {
                let other = other.map_or("nothing".to_owned(), |number| number.to_string());
                let finding = format!("{place} without {field}: {other} is read back instead of {default}");
                seen.violated(finding, events.iter().copied());
            }
        }
    }
    for field in [DELAY, GRACE].iter().filter(|field| unset(field)) {
        if let Some(number) = filled.number(field).filter(|number| *field == GRACE || *number != 0) {
            let finding = format!("{place} without {field}: {number} is read back");
            seen.violated(finding, events.iter().copied());
        }
    }
}

/// What is below the least value is refused for it, and the least value is not. Zero means unset, where the least value
/// is one: it is accepted and replaced, which the documentation does not tell.
pub(super) fn minimums(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in trials(run) {
        for written in probes(&tried.manifest) {
            for field in COUNTS.iter().map(|(field, _)| *field).chain([DELAY, GRACE]) {
                let Some(number) = written.number(field) else { continue };
                if !other_rule(&written, field, number) {
                    judge_least(id, tried, &written, (field, number), seen);
                }
            }
        }
    }
}

/// Whether another clause speaks of this field of this probe.
fn other_rule(written: &Written<'_>, field: &str, number: i64) -> bool {
    match field {
        GRACE => written.kind == ProbeKind::Readiness,
        "successThreshold" => written.kind != ProbeKind::Readiness && number > 1,
        _ => false,
    }
}

fn judge_least(
    id: EventId,
    tried: &Tried,
    written: &Written<'_>,
    (field, number): (&str, i64),
    seen: &mut Seen,
) {
    let (name, place) = (&tried.name, &written.place);
    let least = i64::from(field != DELAY);
    match answer(tried, written, field) {
        Answer::Refused if number < least => seen.fine([id]),
        Answer::Refused => {
            let finding = format!("`{name}` fits, and was refused for {place} {field}: {}", tried.message);
            seen.violated(finding, [id]);
        }
        Answer::Accepted if number >= least => seen.fine([id]),
        Answer::Accepted if number == 0 && field != GRACE => {
            let default = COUNTS.iter().find(|(of, _)| *of == field).map(|(_, default)| *default);
            let stored = probes(&tried.stored);
            let stored = stored.iter().find(|stored| stored.place == *place).and_then(|of| of.number(field));
            if stored == default {
                seen.diverges(format!("{field} 0 was accepted and replaced by its default"), [id]);
            } else {
                seen.violated(format!("`{name}`: {place} {field} 0 was accepted, and kept"), [id]);
            }
        }
        Answer::Accepted => {
            seen.violated(format!("`{name}` was accepted: {place} with {field} {number}"), [id]);
        }
        Answer::Else if number < least && tried.code == 422 => {
            let why = format!("`{name}` was refused without a word of {field}: {}", tried.message);
            seen.doubt(Doubt::Ambiguous, why, [id]);
        }
        Answer::Else => {}
    }
}

/// Liveness and startup probes succeed by one success: any other number is refused. Readiness may ask for more.
pub(super) fn one_success(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let field = "successThreshold";
    for (id, tried) in trials(run) {
        for written in probes(&tried.manifest) {
            // What is below one is another rule's.
            let Some(number @ 1..) = written.number(field) else { continue };
            let fits = number == 1 || written.kind == ProbeKind::Readiness;
            judge_rule(id, tried, &written, (field, fits), seen);
        }
    }
}

/// A grace period of its own is refused for a readiness probe, which kills nothing.
pub(super) fn no_grace_for_readiness(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in trials(run) {
        for written in probes(&tried.manifest) {
            let Some(number) = written.number(GRACE) else { continue };
            let readiness = written.kind == ProbeKind::Readiness;
            if readiness || number > 0 {
                judge_rule(id, tried, &written, (GRACE, !readiness), seen);
            }
        }
    }
}

fn judge_rule(
    id: EventId,
    tried: &Tried,
    written: &Written<'_>,
    (field, fits): (&str, bool),
    seen: &mut Seen,
) {
    let (name, place) = (&tried.name, &written.place);
    let value = written.value.get(field).unwrap_or(&Value::Null);
    match (fits, answer(tried, written, field)) {
        (true, Answer::Accepted) | (false, Answer::Refused) => seen.fine([id]),
        (false, Answer::Accepted) => {
            seen.violated(format!("`{name}` was accepted: {place} with {field} {value}"), [id]);
        }
        (true, Answer::Refused) => {
            let finding = format!("`{name}` fits, and was refused for {place} {field}: {}", tried.message);
            seen.violated(finding, [id]);
        }
        (false, Answer::Else) if tried.code == 422 => {
            let why = format!("`{name}` was refused without a word of {field}: {}", tried.message);
            seen.doubt(Doubt::Ambiguous, why, [id]);
        }
        (_, Answer::Else) => {}
    }
}

/// What became of a manifest, as far as one field goes.
enum Answer {
    Accepted,
    Refused,
    Else,
}

fn answer(tried: &Tried, written: &Written<'_>, field: &str) -> Answer {
    match tried.code {
        ..300 => Answer::Accepted,
        422 if tried.message.contains(&format!("{}.{field}", written.kind.field())) => Answer::Refused,
        _ => Answer::Else,
    }
}

/// Manifests as they were sent, each with the object that the API server made of it.
fn sent_and_shown<'h>(run: &Timeline<'h>) -> Vec<(Vec<EventId>, &'h Value, &'h Value)> {
    let created = run.pods.iter().filter_map(|pod| {
        let ((id, manifest), first) = (pod.created?, pod.revisions.first()?);
        Some((vec![id, first.id], manifest, first.object))
    });
    let tried = trials(run).filter(|(_, tried)| tried.code < 300 && !tried.stored.is_null());
    created.chain(tried.map(|(id, tried)| (vec![id], &tried.manifest, &tried.stored))).collect()
}

fn trials<'h>(run: &Timeline<'h>) -> impl Iterator<Item = (EventId, &'h Tried)> {
    let is_pod = |tried: &Tried| tried.manifest.get("kind").and_then(Value::as_str) == Some("Pod");
    run.tried.iter().copied().filter(move |(_, tried)| is_pod(tried))
}
