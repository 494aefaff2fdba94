//! Recorded histories with hostile values in them: whatever a kubelet, an API server or a file from another source contains,
//! reading and judging it never panics.
//!
//! A judge that panics makes its clause undecided, so a panic does not cause a false verdict. But a faulty kubelet
//! could cause a panic to avoid a violation.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use probity_model::History;
use serde_json::{Value, json};

/// How many values are replaced at once: a few, so that most of the history still makes sense.
const REPLACED: usize = 3;
/// How many times each history is changed. `PROBITY_HOSTILE` sets a higher number.
const TIMES: u64 = 20;

/// The maximum time to judge a history. Usually it takes milliseconds, but a loop up to a hostile number would take
/// years.
const LONGEST: Duration = Duration::from_secs(30);

/// Values that are difficult to handle.
fn hostile(random: &mut fastrand::Rng) -> Value {
    match random.u8(0..16) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(i64::MAX),
        5 => json!(i64::MIN),
        6 => json!(u64::MAX),
        7 => json!(1e308),
        8 => json!(""),
        9 => json!("9999-12-31T23:59:59.999999Z"),
        10 => json!("0000-01-01T00:00:00Z"),
        11 => json!("-9223372036854775808"),
        12 => json!("é\u{0}\u{1b}[2J\u{202e}".repeat(50)),
        13 => json!([]),
        14 => json!({}),
        _ => {
            json!([{ "type": "Ready", "status": "Perhaps", "name": "x", "ip": "::1", "state": { "running": null } }])
        }
    }
}

/// Every value of a document, by its path.
fn paths(of: &Value, at: &str, all: &mut Vec<String>) {
    let mut enter = |name: &str, value: &Value| {
        let path = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        paths(value, &path, all);
        all.push(path);
    };
    match of {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| enter(name, value)),
        Value::Array(values) => (0..).zip(values).for_each(|(at, value)| enter(&i32::to_string(&at), value)),
        _ => {}
    }
}

/// The text of a history, in which some values are replaced. Most changes leave it readable.
fn changed(text: &str, random: &mut fastrand::Rng) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..REPLACED {
        let at = random.usize(0..lines.len());
        let mut line: Value = serde_json::from_str(&lines[at]).unwrap();
        let mut all = Vec::new();
        paths(&line, "", &mut all);
        let path = &all[random.usize(0..all.len())];
        let before = line.pointer_mut(path).unwrap();
        // A value of the same kind is read without an error, so it reaches the most code.
        let mut value = hostile(random);
        for _ in 0..8 {
            if std::mem::discriminant(&value) == std::mem::discriminant(before) {
                break;
            }
            value = hostile(random);
        }
        *before = value;
        if serde_json::from_value::<probity_model::history::Event>(line.clone()).is_ok() || at == 0 {
            lines[at] = line.to_string();
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn no_history_makes_a_judge_fail() {
    let registry = probity_suites::registry().unwrap();
    let times = std::env::var("PROBITY_HOSTILE").ok().and_then(|times| times.parse().ok()).unwrap_or(TIMES);
    let clusters = probity_histories::clusters().unwrap().into_iter();
    let recorded: Vec<_> = clusters.flat_map(|of| probity_histories::recorded(&of).unwrap()).collect();
    let failures: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    let now: Arc<Mutex<String>> = Arc::default();
    let (told, during) = (Arc::clone(&failures), Arc::clone(&now));
    panic::set_hook(Box::new(move |failure| {
        let place = failure.location().map(ToString::to_string).unwrap_or_default();
        let example = format!("{}: {}", during.lock().unwrap(), failure.payload_as_str().unwrap_or_default());
        told.lock().unwrap().entry(place).or_insert(example);
    }));
    for of in &recorded {
        let text = of.history.write().unwrap();
        for seed in 0..times {
            *now.lock().unwrap() = format!("{}, seed {seed}", of.case);
            let hostile = changed(&text, &mut fastrand::Rng::with_seed(seed));
            let began = Instant::now();
            let _ = panic::catch_unwind(AssertUnwindSafe(|| {
                if let Ok(history) = History::read(&hostile) {
                    assert!(
                        !registry.judge(&history).is_empty(),
                        "a history with targeted clauses gets verdicts"
                    );
                }
            }));
            if began.elapsed() > LONGEST {
                let example = format!("{}, seed {seed}", of.case);
                failures.lock().unwrap().insert(format!("longer than {LONGEST:?}"), example);
            }
        }
    }
    let _ = panic::take_hook();
    let failures = failures.lock().unwrap();
    assert!(failures.is_empty(), "{} places fail: {failures:#?}", failures.len());
}
