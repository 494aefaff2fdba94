//! The promises of the settings as a file in the folder of a run of `probity try`. The page of the run shows them.
//!
//! The promises follow from the user's manifest. The manifest itself is not stored, because it may contain secrets. The
//! observations are not stored either: they are read from the histories each time, like everything else in a report.

use std::collections::BTreeSet;

use probity_case::{Case, WrittenCase};
use probity_model::Interval;
use probity_model::stamp::FAR;
use probity_trial::{Fault, NEVER, Promise, Promised, Quantity, Trial};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The name of the file.
pub(crate) const PROMISES: &str = "try.json";

const SCHEMA: &str = "probity.dev/promises";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPromises {
    schema: String,
    version: u32,
    workload: String,
    trials: Vec<StoredTrial>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTrial {
    case: String,
    fault: String,
    subject: String,
    promised: Vec<StoredPromise>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct StoredPromise {
    quantity: String,
    promise: StoredSpan,
    formula: String,
    early_us: i64,
    late_us: i64,
}

/// A promised value: a number, or a time in microseconds.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredSpan {
    Within { from: i64, to: i64 },
    Never,
    Nothing,
}

/// The file. `workload` names the tried workload in a few words.
pub(crate) fn text(workload: &str, trials: &[Trial]) -> Result<String, serde_json::Error> {
    let stored = StoredPromises {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        workload: workload.to_owned(),
        trials: trials.iter().map(stored_trial).collect(),
    };
    Ok(serde_json::to_string_pretty(&stored)? + "\n")
}

fn stored_trial(trial: &Trial) -> StoredTrial {
    StoredTrial {
        case: trial.case.name.0.clone(),
        fault: trial.fault.word().to_owned(),
        subject: trial.subject.clone(),
        promised: trial.promised.iter().map(stored_promise).collect(),
    }
}

fn stored_promise(promised: &Promised) -> StoredPromise {
    let span = promised.promise.span;
    StoredPromise {
        quantity: promised.quantity.words().to_owned(),
        promise: match span {
            NEVER => StoredSpan::Never,
            _ if promised.promise.is_open() => StoredSpan::Nothing,
            _ => StoredSpan::Within { from: span.lo, to: span.hi },
        },
        formula: promised.promise.formula.clone(),
        early_us: promised.early,
        late_us: promised.late,
    }
}

/// Reads the file: the workload in a few words, and the trials. Their cases have only their names.
/// Fails if the text is not such a file. The error does not contain its name.
pub(crate) fn read(text: &str) -> Result<(String, Vec<Trial>), String> {
    let stored: StoredPromises =
        serde_json::from_str(text).map_err(|error| format!("it is not a file of promises: {error}"))?;
    if (stored.schema.as_str(), stored.version) != (SCHEMA, VERSION) {
        let (schema, version) = (stored.schema, stored.version);
        return Err(format!(
            "this is {schema} of version {version}; this program reads {SCHEMA} of version {VERSION}"
        ));
    }
    let mut faults = BTreeSet::new();
    if let Some(twice) = stored.trials.iter().find(|trial| !faults.insert(trial.fault.clone())) {
        return Err(format!("it has the fault `{}` twice", twice.fault));
    }
    let trials: Result<Vec<Trial>, String> = stored.trials.into_iter().map(trial).collect();
    Ok((stored.workload, trials?))
}

fn trial(stored: StoredTrial) -> Result<Trial, String> {
    let StoredTrial { case, fault: word, subject, promised } = stored;
    let fault = Fault::ALL.into_iter().find(|fault| fault.word() == word);
    let fault = fault.ok_or_else(|| format!("there is no fault `{word}`"))?;
    let promised: Vec<Promised> = promised.into_iter().map(promise).collect::<Result<_, _>>()?;
    let quantities: BTreeSet<Quantity> = promised.iter().map(|one| one.quantity).collect();
    if quantities.len() < promised.len() {
        return Err(format!("a quantity of the fault `{word}` is promised twice"));
    }
    let case = named_case(&case, fault, &subject)?;
    Ok(Trial { fault, case, promised, subject, takes: Promise::new(0, 0, "") })
}

/// The numbers may come from somebody else. They are limited, so that calculations with them do not overflow.
fn promise(stored: StoredPromise) -> Result<Promised, String> {
    let StoredPromise { quantity: words, promise, formula, early_us, late_us } = stored;
    let quantity = Quantity::ALL.into_iter().find(|quantity| quantity.words() == words);
    let quantity = quantity.ok_or_else(|| format!("there is no quantity `{words}`"))?;
    let promise = match promise {
        StoredSpan::Within { from, to } => Promise::new(from, to, formula),
        StoredSpan::Never => Promise { span: NEVER, formula },
        StoredSpan::Nothing => Promise { span: Interval { lo: i64::MIN, hi: i64::MAX }, formula },
    };
    let [early, late] = [early_us, late_us].map(|us| us.clamp(0, FAR));
    Ok(Promised { quantity, promise, early, late })
}

/// The case of a fault that has already run. How it was set up no longer matters: only its name is used.
fn named_case(name: &str, fault: Fault, subject: &str) -> Result<Case, String> {
    let pod = json!({ "spec": { "containers": [{ "name": subject }] } });
    let written = json!({ "case": name, "story": fault.story(), "pod": pod });
    let written = serde_json::from_value::<WrittenCase>(written).map_err(|error| error.to_string());
    written.and_then(Case::from_written).map_err(|why| format!("the case `{name}` is not valid: {why}"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_trial::{StandIn, Workload, trial};

    use super::*;

    fn trials() -> Vec<Trial> {
        let container = json!({
            "name": "web", "ports": [{ "name": "http", "containerPort": 8080 }],
            "livenessProbe": { "httpGet": { "path": "/live", "port": "http" } },
            "readinessProbe": { "httpGet": { "path": "/ready", "port": "http" } },
        });
        let pod =
            json!({ "kind": "Pod", "metadata": { "name": "shop" }, "spec": { "containers": [container] } });
        let pod = StandIn::of(&Workload::of(&pod).unwrap().unwrap()).unwrap();
        Fault::ALL.into_iter().map(|fault| trial(&pod, fault, 20_000_000).unwrap()).collect()
    }

    #[test]
    fn every_promise_of_every_fault_comes_back_as_it_was() {
        let trials = trials();
        let (workload, again) = read(&text("the Pod shop", &trials).unwrap()).unwrap();
        assert_eq!((workload.as_str(), again.len()), ("the Pod shop", trials.len()));
        for (trial, again) in trials.iter().zip(&again) {
            assert_eq!((again.fault, &again.subject), (trial.fault, &trial.subject));
            assert_eq!(again.case.name, trial.case.name);
            assert_eq!(again.promised, trial.promised);
        }
        assert_eq!(text(&workload, &again).unwrap(), text("the Pod shop", &trials).unwrap());
    }

    #[test]
    fn numbers_of_somebody_else_are_limited() {
        let stored = text("the Pod shop", &trials()).unwrap();
        let far = stored.replace("\"lateUs\": 4000000", &format!("\"lateUs\": {}", i64::MAX));
        assert_ne!(far, stored);
        let (_, trials) = read(&far).unwrap();
        assert!(trials.iter().flat_map(|trial| &trial.promised).all(|one| one.late <= FAR));
        let wild = StoredSpan::Within { from: i64::MAX, to: i64::MIN };
        let (quantity, formula) = ("stop signal after".to_owned(), String::new());
        let wild = StoredPromise { quantity, promise: wild, formula, early_us: i64::MIN, late_us: i64::MAX };
        let wild = promise(wild).unwrap();
        assert_eq!((wild.promise.span, wild.early), (Interval { lo: -FAR, hi: FAR }, 0));
    }

    #[test]
    fn a_text_that_is_not_a_file_of_promises_is_refused_with_the_reason() {
        let good = text("the Pod shop", &trials()).unwrap();
        for (from, to, why) in [
            ("{", "[", "it is not a file of promises"),
            ("\"version\": 1", "\"version\": 2", "version 2; this program reads"),
            ("\"fault\": \"hang\"", "\"fault\": \"hung\"", "there is no fault `hung`"),
            ("\"fault\": \"hang\"", "\"fault\": \"calm\"", "the fault `calm` twice"),
            ("stop signal after", "out of service after", "is promised twice"),
            ("stop signal after", "luck", "there is no quantity `luck`"),
            ("\"case\": \"try/hang\"", "\"case\": \"../hang\"", "the case `../hang` is not valid"),
        ] {
            let said = read(&good.replacen(from, to, 1)).unwrap_err();
            assert!(said.contains(why), "{why}: {said}");
        }
    }
}
