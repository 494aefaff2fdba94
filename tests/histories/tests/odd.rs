//! Recorded histories of a stock kubelet that are changed in unusual but correct ways, and must not be judged as
//! violations. They look as if another cluster, another runtime, a slow API server or a busy watch had recorded the
//! same containers.
//!
//! A damage, in contrast, is something that only a defective kubelet leaves. In these histories nothing is wrong, so a
//! verdict may become inconclusive, but never a violation.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use probity_model::history::{Deed, Did, Event, Happening, Listener, Noise};
use probity_model::{History, Judgement, Registry};
use probity_script::witness::Entry;
use serde_json::{Value, json};

const MS: i64 = 1_000;
const SECOND: i64 = 1_000_000;

/// An unusual change: its name, and the function that applies it to a history.
type Odd = (&'static str, fn(&History) -> Vec<Event>);

const ALL: &[Odd] = &[
    ("the API server shows everything half a second late", |of| {
        delayed(of, |event, _| if is_sighting(event, "") { 500 * MS } else { 0 })
    }),
    ("the watch of pods stutters", |of| {
        delayed(of, |event, at| if is_sighting(event, "Pod") { at * 137 % 600 * MS } else { 0 })
    }),
    ("endpoints are shown eight tenths of a second late", |of| {
        delayed(of, |event, _| if is_sighting(event, "EndpointSlice") { 800 * MS } else { 0 })
    }),
    ("events are shown three seconds late", |of| {
        delayed(of, |event, _| if is_sighting(event, "Event") { 3 * SECOND } else { 0 })
    }),
    ("the recorder's lines arrive half a second late", |of| {
        delayed(of, |event, _| if matches!(event.what, Happening::Witness(_)) { 500 * MS } else { 0 })
    }),
    ("two statuses of a pod that are a quarter of a second apart become one", merged),
    ("an event that occurs again within a second is written once", aggregated),
    ("each pod is listed anew in the middle of the case", listed_anew),
    ("one status of each pod is written twice", written_twice),
    ("the clock of the node is three hours ahead", |of| with_clock(of, 3 * 3600)),
    ("the clock of the node is seven seconds behind", |of| with_clock(of, -7)),
    ("the case ends when three quarters of it are over", cut_off),
    ("another runtime made the containers", |of| objects(of, other_runtime)),
    ("somebody adds conditions and fields that nobody knows", |of| objects(of, unknown_fields)),
    ("main containers are listed in another order", |of| objects(of, other_order)),
    ("the runtime failed to start the only container of each pod once", |of| objects(of, failed_first_start)),
    ("all processors of the node were busy all the time", saturated),
    ("the harness itself was stalled now and then", stalled),
];

fn is_sighting(event: &Event, kind: &str) -> bool {
    matches!(&event.what, Happening::Sighting(of) if kind.is_empty() || of.kind == kind)
}

fn events(of: &History) -> Vec<Event> {
    of.events().map(|(_, event)| event.clone()).collect()
}

/// The time at which the case ended. Later events are not received.
fn over(of: &History) -> i64 {
    let is_over = |event: &&Event| matches!(&event.what, Happening::Deed(Deed { did: Did::Over { .. }, .. }));
    events(of).iter().find(is_over).map_or(i64::MAX, |event| event.us)
}

/// Delays events, and keeps the order within each kind.
fn delayed(of: &History, by: impl Fn(&Event, i64) -> i64) -> Vec<Event> {
    let end = over(of);
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let mut all = events(of);
    for (at, event) in (0..).zip(&mut all) {
        let word = match &event.what {
            Happening::Sighting(of) => of.kind.clone(),
            Happening::Witness(_) => String::new(),
            _ => continue,
        };
        let late = event.us + by(event, at);
        let before = last.entry(word).or_insert(late);
        *before = late.max(*before);
        // The harness reads all lines to the end, but receives no revision after the end of the case.
        let is_line = matches!(event.what, Happening::Witness(_));
        event.us = if is_line { (*before).min(end) } else { *before };
    }
    all.retain(|event| event.us <= end || !matches!(event.what, Happening::Sighting(_)));
    all
}

/// Leaves out each revision of a kind if another revision of the same object follows within this time.
fn without_followed(of: &History, kind: &str, within: i64) -> Vec<Event> {
    let all = events(of);
    let name = |event: &Event| match &event.what {
        Happening::Sighting(of) if of.kind == kind => Some(of.name.clone()),
        _ => None,
    };
    let mut kept = Vec::new();
    for (at, event) in all.iter().enumerate() {
        let followed = name(event).is_some_and(|own| {
            let soon = all[at + 1..].iter().take_while(|next| next.us - event.us < within);
            soon.filter(|next| name(next).as_ref() == Some(&own)).any(|next| {
                matches!(&next.what, Happening::Sighting(next) if next.object["metadata"].get("deletionTimestamp")
                    == sighting(event)["metadata"].get("deletionTimestamp"))
            })
        });
        if !followed || is_added(event) {
            kept.push(event.clone());
        }
    }
    kept
}

fn sighting(event: &Event) -> &Value {
    match &event.what {
        Happening::Sighting(of) => &of.object,
        _ => &Value::Null,
    }
}

fn is_added(event: &Event) -> bool {
    use probity_model::history::Change;
    matches!(&event.what, Happening::Sighting(of) if of.change != Change::Modified)
}

fn merged(of: &History) -> Vec<Event> {
    without_followed(of, "Pod", 250 * MS)
}

fn aggregated(of: &History) -> Vec<Event> {
    without_followed(of, "Event", SECOND)
}

/// A restarted watch repeats what it has shown before.
fn listed_anew(of: &History) -> Vec<Event> {
    let mut all = events(of);
    let middle = all[all.len() / 2].us;
    let mut last: BTreeMap<String, Event> = BTreeMap::new();
    for event in all.iter().filter(|event| event.us <= middle && is_sighting(event, "Pod")) {
        if let Happening::Sighting(of) = &event.what {
            last.insert(of.name.clone(), Event { us: middle, ..event.clone() });
        }
    }
    let gone = |event: &Event| {
        use probity_model::history::Change;
        matches!(&event.what, Happening::Sighting(of) if of.change == Change::Deleted)
    };
    all.extend(last.into_values().filter(|event| !gone(event)));
    all
}

/// A status is written again without any change.
fn written_twice(of: &History) -> Vec<Event> {
    let mut all = events(of);
    let mut last: BTreeMap<String, Event> = BTreeMap::new();
    for event in all.iter().filter(|event| is_sighting(event, "Pod") && !is_added(event)) {
        if let Happening::Sighting(of) = &event.what {
            last.entry(of.name.clone()).or_insert_with(|| event.clone());
        }
    }
    for mut event in last.into_values() {
        event.us += MS;
        if let Happening::Sighting(of) = &mut event.what {
            of.revision = format!("{}1", of.revision);
            of.object["metadata"]["resourceVersion"] = json!(of.revision);
        }
        all.push(event);
    }
    all
}

/// The node's wall clock is moved by this many seconds, which changes the times that the kubelet and the targets write.
fn with_clock(of: &History, by: i64) -> Vec<Event> {
    let mut all = events(of);
    for event in &mut all {
        match &mut event.what {
            Happening::Reading(reading) => reading.wall_us += by * SECOND,
            Happening::Witness(heard) => {
                if let Entry::Line(line) = &mut heard.entry {
                    line.wall_us = line.wall_us.saturating_add_signed(by * SECOND);
                }
            }
            Happening::Sighting(of) if of.kind == "Pod" => move_times(&mut of.object["status"], by),
            Happening::Sighting(of) if of.kind == "Event" => {
                let by_kubelet = of.object["source"]["component"] == "kubelet";
                for field in ["firstTimestamp", "lastTimestamp"].into_iter().filter(|_| by_kubelet) {
                    move_time(&mut of.object[field], by);
                }
            }
            _ => {}
        }
    }
    all
}

fn move_times(value: &mut Value, by: i64) {
    // The scheduler and the clients of the API have their own clocks.
    let kind = value["type"].as_str().unwrap_or_default().to_owned();
    let foreign = kind == "PodScheduled" || kind == "DisruptionTarget" || kind.contains('/');
    match value {
        Value::Object(fields) if !foreign => {
            for (name, value) in fields.iter_mut() {
                match name.as_str() {
                    "startedAt" | "finishedAt" | "startTime" | "lastTransitionTime" => move_time(value, by),
                    _ => move_times(value, by),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| move_times(value, by)),
        _ => {}
    }
}

fn move_time(value: &mut Value, by: i64) {
    let Some(at) = value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok()) else { return };
    *value = json!(jiff::Timestamp::from_second(at.as_second() + by).unwrap().to_string());
}

fn cut_off(of: &History) -> Vec<Event> {
    let all = events(of);
    let (first, end) =
        (all.first().map_or(0, |event| event.us), over(of).min(all.last().map_or(0, |of| of.us)));
    let until = first + (end - first) * 3 / 4;
    let mut kept: Vec<Event> = all.into_iter().filter(|event| event.us <= until).collect();
    let did = Did::Over { why: "interrupted".to_owned() };
    kept.push(Event { us: until, what: Happening::Deed(Deed { began_us: until, did }) });
    kept
}

fn objects(of: &History, change: fn(&mut Value)) -> Vec<Event> {
    let mut all = events(of);
    for event in &mut all {
        if let Happening::Sighting(of) = &mut event.what
            && of.kind == "Pod"
        {
            change(&mut of.object);
        }
    }
    all
}

fn other_runtime(object: &mut Value) {
    match object {
        Value::String(text) => *text = text.replace("containerd://", "cri-o://"),
        Value::Object(fields) => fields.values_mut().for_each(other_runtime),
        Value::Array(all) => all.iter_mut().for_each(other_runtime),
        _ => {}
    }
}

fn unknown_fields(object: &mut Value) {
    object["metadata"]["annotations"]["example.com/seen"] = json!("yes");
    object["status"]["hardware"] = json!({ "socket": 0 });
    if let Some(all) = object["status"]["conditions"].as_array_mut() {
        all.push(json!({ "type": "example.com/Fancy", "status": "Unknown", "lastTransitionTime": null, "reason": "NobodyKnows" }));
    }
    for list in ["containerStatuses", "initContainerStatuses"] {
        for status in object["status"][list].as_array_mut().into_iter().flatten() {
            status["stopSignal"] = json!("SIGTERM");
            status["mood"] = json!("good");
        }
    }
}

fn other_order(object: &mut Value) {
    if let Some(all) = object["status"]["containerStatuses"].as_array_mut() {
        all.reverse();
    }
}

/// The kubelet counts a start that failed in the runtime, and then starts the container again. Pods with several containers are
/// left out, because the second start comes after those of the others. So are pods that a failed start could end.
fn failed_first_start(object: &mut Value) {
    let spec = &object["spec"];
    let containers = spec["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let [container] = containers else { return };
    let own = ["restartPolicy", "restartPolicyRules"].iter().any(|field| container.get(field).is_some());
    if own || spec["restartPolicy"] == "Never" || spec.get("initContainers").is_some() {
        return;
    }
    for status in object["status"]["containerStatuses"].as_array_mut().into_iter().flatten() {
        let Some(id) = status["containerID"].as_str().filter(|id| !id.is_empty()) else { continue };
        let failed = format!("{id}-failed");
        let count = status["restartCount"].as_u64().unwrap_or(0);
        let first = ["running", "terminated"]
            .into_iter()
            .find_map(|state| status["state"].get(state)?.get("startedAt").cloned())
            .filter(|_| count == 0 && status["lastState"].get("terminated").is_none());
        if let Some(at) = first {
            status["lastState"] = json!({ "terminated": {
                "exitCode": 128, "reason": "StartError", "message": "unable to freeze", "containerID": failed,
                "startedAt": "1970-01-01T00:00:00Z", "finishedAt": at,
            } });
        }
        status["restartCount"] = json!(count + 1);
    }
}

fn noise(of: &History, by: Listener, each: i64, long: i64) -> Vec<Event> {
    let mut all = events(of);
    let clock = if by == Listener::Harness {
        probity_model::Clock::Harness
    } else {
        let node = of.header.nodes.keys().next().cloned().unwrap_or_default();
        probity_model::Clock::Node(node)
    };
    let offset = all.iter().find_map(|event| match &event.what {
        Happening::Reading(reading) => Some(reading.mono_us - event.us),
        _ => None,
    });
    let offset = if by == Listener::Harness { 0 } else { offset.unwrap_or(0) };
    let end = all.last().map_or(0, |event| event.us);
    let mut from = 0;
    while from < end {
        let (from_us, to_us) = (from + offset, from + long + offset);
        let what = Happening::Noise(Noise { by, clock: clock.clone(), from_us, to_us });
        all.push(Event { us: (from + long).min(end), what });
        from += each;
    }
    all
}

fn saturated(of: &History) -> Vec<Event> {
    noise(of, Listener::Node, SECOND, SECOND)
}

fn stalled(of: &History) -> Vec<Event> {
    noise(of, Listener::Harness, 5 * SECOND, SECOND)
}

fn rebuilt(of: &History, mut all: Vec<Event>) -> History {
    let mut history = History::new(of.header.clone());
    all.sort_by_key(|event| event.us);
    for event in all {
        history.push(event.us, event.what);
    }
    history
}

/// The violations in one recorded history, for each unusual change.
fn accusations(registry: &Registry, case: &str, history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    for (what, make) in ALL {
        let odd = rebuilt(history, make(history));
        for judgement in registry.judge(&odd).iter().filter(|of| of.verdict.word() == "violated") {
            wrong.push(format!("{what}: {case}: {}: {}", judgement.clause, judgement.verdict.sentence()));
        }
    }
    wrong
}

#[test]
fn an_odd_but_faithful_cluster_violates_nothing() {
    let registry = probity_suites::registry().unwrap();
    let clusters = probity_histories::clusters().unwrap().into_iter();
    let recorded: Vec<_> = clusters.flat_map(|of| probity_histories::recorded(&of).unwrap()).collect();
    let half = recorded.len() / 2;
    let judge = |part: &[probity_histories::Recorded]| {
        part.iter().flat_map(|of| accusations(&registry, &of.case, &of.history)).collect::<Vec<_>>()
    };
    let wrong = std::thread::scope(|scope| {
        let first = scope.spawn(|| judge(&recorded[..half]));
        let mut wrong = judge(&recorded[half..]);
        wrong.extend(first.join().unwrap());
        wrong
    });
    assert!(wrong.is_empty(), "{} accusations:\n{}", wrong.len(), wrong.join("\n"));
}

/// A kubelet that is three minor versions older than the API server of the recordings.
const OLDER: &str = "v1.33.0";
/// How many recordings show that an older kubelet is not accused.
const FEW: usize = 20;

/// The same history with a kubelet of this version that does not write the fields that were added after [`OLDER`]. Another
/// node of the cluster has the kubelet of the recording.
fn without_newer_fields(of: &History, version: &str) -> History {
    let mut header = of.header.clone();
    let recorded = header.nodes.values().next().cloned().unwrap_or_default();
    for node in header.nodes.values_mut() {
        version.clone_into(&mut node.kubelet);
    }
    header.nodes.insert("another".to_owned(), recorded);
    let mut history = History::new(header);
    for event in objects(of, remove_newer_fields) {
        history.push(event.us, event.what);
    }
    history
}

fn remove_newer_fields(object: &mut Value) {
    let remove = |of: &mut Value| {
        for field in ["observedGeneration", "allocatedResources", "resources"] {
            if let Some(fields) = of.as_object_mut() {
                fields.remove(field);
            }
        }
    };
    let status = &mut object["status"];
    remove(status);
    for list in ["conditions", "containerStatuses", "initContainerStatuses"] {
        status[list].as_array_mut().into_iter().flatten().for_each(remove);
    }
}

/// The violated clauses that apply only to versions newer than the older kubelet.
fn violated_later(registry: &Registry, history: &History) -> Vec<String> {
    let is_younger = |of: &Judgement| {
        registry.catalogue.get(&of.clause).is_some_and(|clause| !clause.binds_kubelet(OLDER))
    };
    let judged = registry.judge(history).into_iter();
    let violated = judged.filter(|of| of.verdict.word() == "violated" && is_younger(of));
    violated.map(|of| format!("{}: {}", of.clause, of.verdict.sentence())).collect()
}

#[test]
fn a_kubelet_is_not_accused_of_what_was_promised_later() {
    let registry = probity_suites::registry().unwrap();
    let clusters = probity_histories::clusters().unwrap().into_iter();
    let recorded = clusters.flat_map(|of| probity_histories::recorded(&of).unwrap());
    let mut bound = 0;
    for of in recorded.take(FEW) {
        let older = without_newer_fields(&of.history, OLDER);
        assert_eq!(violated_later(&registry, &older), Vec::<String>::new(), "{}", of.case);
        let same = without_newer_fields(&of.history, &of.history.header.server);
        bound += violated_later(&registry, &same).len();
    }
    assert!(bound > 0, "the same history violates these clauses if the kubelet is as new as the API server");
}
