//! Things that are allowed in a case but probably not intended. Each hint has a place in the file and states what will
//! happen.
//!
//! The author of a case may intend exactly what a hint describes. For example, a probe of a port where nothing listens
//! is a valid case. So hints cause no failure without `--strict`, and a case can acknowledge kinds of hints, each with
//! the reason.

use std::sync::LazyLock;

use probity_case::manifest::{serves, variants};
use probity_case::{Case, HintKind, Step};
use probity_model::expectation::Occurrence;
use probity_script::problem::{Problem, nearest};

use super::book::CaseFile;
use super::pods::{self, DescribedContainer, DescribedPod, Unanswered};

/// The reasons of the events that kubelets and controllers record for pods.
const REASONS: [&str; 33] = [
    "BackOff",
    "Created",
    "DNSConfigForming",
    "DeadlineExceeded",
    "ErrImageNeverPull",
    "ErrImagePull",
    "Evicted",
    "ExceededGracePeriod",
    "FailedCreatePodSandBox",
    "FailedKillPod",
    "FailedMount",
    "FailedPostStartHook",
    "FailedPreStopHook",
    "FailedScheduling",
    "FailedSync",
    "Failed",
    "FailedToDrain",
    "HostPortConflict",
    "InspectFailed",
    "Killing",
    "NetworkNotReady",
    "NodeNotReady",
    "OOMKilling",
    "Preempting",
    "ProbeWarning",
    "Pulled",
    "Pulling",
    "SandboxChanged",
    "Scheduled",
    "Started",
    "TaintManagerEviction",
    "Unhealthy",
    "UnexpectedAdmissionError",
];

/// A hint: its kind, a sentence, and the path of the field that it is about.
type Hint = (HintKind, String, Vec<String>);

/// The hints for all cases of a file, each once and in the order of their places, except the hints that a case
/// acknowledges.
pub(crate) fn of(file: &CaseFile) -> Vec<Problem> {
    let mut hints: Vec<Problem> = Vec::new();
    for case in &file.cases {
        let found = of_case(case, &file.text);
        for (kind, why, path) in &found {
            if !case.acknowledged.contains_key(kind) {
                hints.push(file.problem(&format!("{why} ({})", kind.word()), path));
            }
        }
        for kind in case.acknowledged.keys() {
            if !found.iter().any(|(of, ..)| of == kind) {
                let why = format!("there is no hint `{}` to acknowledge", kind.word());
                hints.push(file.problem(&why, &["acknowledged".to_owned(), kind.word().to_owned()]));
            }
        }
    }
    let mut once: Vec<Problem> = Vec::new();
    hints.into_iter().for_each(|hint| {
        if !once.contains(&hint) {
            once.push(hint);
        }
    });
    once.sort_by_key(|hint| hint.place.map(|place| (place.line, place.column)));
    once
}

fn of_case(case: &Case, text: &str) -> Vec<Hint> {
    let described = pods::described(case);
    let containers = described.iter().flat_map(DescribedPod::containers);
    let mut hints: Vec<Hint> = containers.flat_map(|container| of_container(&container, text)).collect();
    hints.extend(of_purpose(case, &described, text));
    for (at, id) in case.judges.iter().enumerate() {
        if let Some(why) = probity_suites::cannot_apply(id.as_str(), case) {
            let why = format!("the clause `{id}` cannot apply to this case because {why}");
            hints.push((HintKind::CannotApply, why, vec!["judges".to_owned(), at.to_string()]));
        }
    }
    hints.extend(of_reasons(case));
    hints.extend(of_name(case, text));
    hints
}

/// A case that probes nothing, although it has plans, or although nothing else shows what it is about.
fn of_purpose(case: &Case, described: &[DescribedPod<'_>], text: &str) -> Option<Hint> {
    let mut containers = described.iter().flat_map(DescribedPod::containers);
    let is_asked = containers
        .any(|container| !container.probes().is_empty() || container.value.get("lifecycle").is_some());
    if is_asked || !case.judges.is_empty() {
        return None;
    }
    let why = "no container of the case has a probe or a hook";
    // A plan to which no kubelet sends a request usually means a mistake in a name.
    if let Some(planned) = described.iter().find(|pod| !pod.plans.is_empty()) {
        return Some((HintKind::NothingProbed, why.to_owned(), planned.path(text)));
    }
    (case.steps.is_empty() && case.expect.is_empty()).then(|| {
        let why = format!(
            "{why}, and there are no `judges`, `steps` or `expect`, so nothing shows what the case tests: add at least one \
             of them, such as a probe and, under `target`, a plan that answers it"
        );
        let place = described.first().map_or_else(|| vec!["objects".to_owned()], |pod| pod.path(text));
        (HintKind::NothingProbed, why, place)
    })
}

fn of_container(container: &DescribedContainer<'_>, text: &str) -> Vec<Hint> {
    let mut hints = Vec::new();
    let image = container.value.get("image").is_some();
    if let Some(plan) = container.plan {
        for field in ["image", "command", "args"] {
            let text_of = container.value[field].as_str();
            if container.value.get(field).is_some()
                && !(field == "args" && serves(container.value))
                && text_of.is_none_or(|text| variants::asked_in(text).is_none())
            {
                let why = format!("`{field}` is replaced because the container is a target with a plan");
                hints.push((HintKind::ReplacedField, why, container.path(text, &[field])));
            }
        }
        for probe in container.probes() {
            match pods::unanswered(container.value, plan, &probe.handler) {
                None => {}
                Some(Unanswered::Port(why)) => {
                    let path = container.path(text, &[probe.kind.field(), probe.handler.field(), "port"]);
                    hints.push((HintKind::UndeclaredPort, why, path));
                }
                Some(Unanswered::Plan(why)) => {
                    hints.push((HintKind::UnansweredProbe, why, container.path(text, &[probe.kind.field()])));
                }
            }
        }
    } else if !image && !container.probes().is_empty() {
        let why = format!(
            "`{}` has probes but neither an image nor a plan under `target`: it only sleeps and does not answer",
            container.name
        );
        hints.push((HintKind::SilentContainer, why, container.path(text, &["name"])));
    } else if !image && container.kind() == "init container" {
        let why = format!(
            "`{}` has neither an image nor a plan under `target`: it sleeps, and the containers after it never start",
            container.name
        );
        hints.push((HintKind::EndlessInit, why, container.path(text, &["name"])));
    }
    hints
}

/// Reasons of events that no known component uses.
fn of_reasons(case: &Case) -> Vec<Hint> {
    let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for (at, step) in case.steps.iter().enumerate() {
        if let Step::Wait(wait) = step
            && let Some(event) = &wait.event
        {
            found.push((&event.reason, path(&["steps", &at.to_string(), "wait", "event", "reason"])));
        }
    }
    for (at, expectation) in case.expect.iter().enumerate() {
        for of in expectation.occurrences() {
            if let Occurrence::Event(reason) | Occurrence::EventSaying { reason, .. } = of.what() {
                found.push((reason, path(&["expect", &at.to_string()])));
            }
        }
    }
    let unknown = found.into_iter().filter(|(reason, _)| !REASONS.contains(reason));
    let hint = |(reason, path): (&str, Vec<String>)| {
        let near =
            nearest(reason, REASONS).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        (
            HintKind::UnknownReason,
            format!("`{reason}` is not a known reason of a Kubernetes event{near}"),
            path,
        )
    };
    unknown.map(hint).collect()
}

/// A user's case with the same name as a case in the book. They cannot run together.
fn of_name(case: &Case, text: &str) -> Option<Hint> {
    let same = |one: &Case| one.name == case.name;
    let of_book = BOOK.iter().find(|file| file.cases.iter().any(same))?;
    // This may be the file of the book itself, or a new version of it.
    let own = of_book.text == text || of_book.cases.iter().any(|one| one.story == case.story);
    let why =
        format!("the book already has a case `{}`; rename this one, or run it with --only-suite", case.name);
    (!own).then(|| (HintKind::NameOfTheBook, why, vec!["case".to_owned()]))
}

/// The cases of the book, read once.
static BOOK: LazyLock<Vec<probity_suites::CaseFile>> = LazyLock::new(|| {
    let mut all = probity_suites::cases().unwrap_or_default();
    all.extend(probity_suites::regressions().unwrap_or_default());
    all
});
