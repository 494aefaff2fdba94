//! What the API server makes of manifests: those that were tried by a dry run, and those that pods were made from.
//!
//! A refusal counts only if its message names the field: a manifest may be refused for other reasons.

use probity_model::history::Tried;
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen, Timeline};
use serde_json::Value;

/// The handlers that have a port or a header.
const HANDLERS: [&str; 2] = ["httpGet", "tcpSocket"];

/// A handler of a probe in a manifest.
pub(crate) struct Written<'h> {
    /// Where it stands: `containers target livenessProbe httpGet`.
    pub(crate) place: String,
    /// `httpGet` or `tcpSocket`.
    pub(crate) handler: &'static str,
    /// The handler.
    pub(crate) value: &'h Value,
}

/// A rule for a field of a handler.
pub(crate) struct Rule {
    /// The field, as refusals name it after the handler.
    pub(crate) field: &'static str,
    /// Whether what is written fits; none if the rule does not speak of it.
    pub(crate) fits: fn(&Written<'_>) -> Option<bool>,
}

/// What became of a manifest.
enum Answer {
    Accepted,
    RefusedForThis,
    RefusedOtherwise,
}

/// All handlers of a pod's manifest.
pub(crate) fn handlers(pod: &Value) -> Vec<Written<'_>> {
    let mut found = Vec::new();
    for list in ["initContainers", "containers"] {
        let containers = pod.get("spec").and_then(|spec| spec.get(list)?.as_array());
        for container in containers.into_iter().flatten() {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            for kind in ["startupProbe", "livenessProbe", "readinessProbe"] {
                let Some(probe) = container.get(kind) else { continue };
                for handler in HANDLERS {
                    let place = format!("{list} {name} {kind} {handler}");
                    found.extend(probe.get(handler).map(|value| Written { place, handler, value }));
                }
            }
        }
    }
    found
}

/// Judges all trials by a rule: what does not fit is refused for it, and what fits is not. Only refusals that the rule
/// asks for are evidence, if `concludes` says so; wrong answers are findings in any case.
pub(crate) fn judge(run: &Timeline<'_>, seen: &mut Seen, rule: &Rule, concludes: bool) {
    for (id, tried) in trials(run) {
        let written = handlers(&tried.manifest);
        let spoken_of: Vec<_> =
            written.iter().filter_map(|written| Some((written, (rule.fits)(written)?))).collect();
        if spoken_of.is_empty() {
            continue;
        }
        seen.applies();
        let misfit = spoken_of.iter().find(|(_, fits)| !fits);
        match (misfit, answer(tried, &spoken_of, rule.field)) {
            (Some(_), Answer::RefusedForThis) if concludes => seen.fine([id]),
            (Some((written, _)), Answer::Accepted) => seen
                .violated(format!("`{}` was accepted: {}", tried.name, excerpt(written, rule.field)), [id]),
            (Some(_), Answer::RefusedOtherwise) if tried.code == 422 => seen.doubt(
                Doubt::Ambiguous,
                format!("`{}` was refused without a word of {}: {}", tried.name, rule.field, tried.message),
                [id],
            ),
            (None, Answer::RefusedForThis) => seen.violated(
                format!("`{}` fits, and was refused for its {}: {}", tried.name, rule.field, tried.message),
                [id],
            ),
            (None, Answer::Accepted) if concludes => seen.fine([id]),
            _ => {}
        }
    }
}

/// Judges what the API server fills in where a field of `httpGet` is not written: in trials, and in pods as they are
/// shown. Of a pod, the right value is no evidence yet: its probes will show what is made of it.
pub(crate) fn judge_default(run: &Timeline<'_>, seen: &mut Seen, field: &str, default: &str) {
    for (events, sent, shown) in sent_and_shown(run) {
        let shown = handlers(shown);
        for written in handlers(sent) {
            if written.handler != "httpGet" || is_written(written.value, field) {
                continue;
            }
            let Some(filled) = shown.iter().find(|shown| shown.place == written.place) else { continue };
            match filled.value.get(field).and_then(Value::as_str) {
                Some(value) if value == default && events.len() == 1 => seen.fine(events.iter().copied()),
                Some(value) if value == default => seen.applies(),
                other => {
                    let other = other.unwrap_or("nothing");
                    let finding = format!("without {field}, {other} is read back instead of {default}");
                    seen.violated(finding, events.iter().copied());
                }
            }
        }
    }
}

/// Whether a field of a handler was written: an empty text is the same as none.
pub(crate) fn is_written(handler: &Value, field: &str) -> bool {
    handler.get(field).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
}

/// Manifests as they were sent, each with the object that the API server made of it.
fn sent_and_shown<'h>(run: &Timeline<'h>) -> Vec<(Vec<EventId>, &'h Value, &'h Value)> {
    let created = run.pods.iter().filter_map(|pod| {
        let (id, manifest) = pod.created?;
        let first = pod.revisions.first()?;
        Some((vec![id, first.id], manifest, first.object))
    });
    let tried = trials(run)
        .filter(|(_, tried)| tried.code < 300 && !tried.stored.is_null())
        .map(|(id, tried)| (vec![id], &tried.manifest, &tried.stored));
    created.chain(tried).collect()
}

fn trials<'h>(run: &Timeline<'h>) -> impl Iterator<Item = (EventId, &'h Tried)> {
    let is_pod = |tried: &Tried| tried.manifest.get("kind").and_then(Value::as_str) == Some("Pod");
    run.tried.iter().copied().filter(move |(_, tried)| is_pod(tried))
}

fn answer(tried: &Tried, spoken_of: &[(&Written<'_>, bool)], field: &str) -> Answer {
    let named =
        |(written, _): &(&Written<'_>, bool)| tried.message.contains(&format!("{}.{field}", written.handler));
    match tried.code {
        ..300 => Answer::Accepted,
        422 if spoken_of.iter().any(named) => Answer::RefusedForThis,
        _ => Answer::RefusedOtherwise,
    }
}

fn excerpt(written: &Written<'_>, field: &str) -> String {
    let value = written.value.get(field).unwrap_or(&Value::Null);
    format!("{} with {field} {value}", written.place)
}
