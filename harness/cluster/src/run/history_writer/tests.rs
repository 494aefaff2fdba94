use probity_model::Clock;
use probity_model::history::{
    Change, Happening, Header, Heard, Listener, Noise, Reading, Sighting, Source, Way,
};
use probity_script::witness::Entry;
use serde_json::{Value, json};

use super::{CaseHistory, HistoryWriter};
use crate::listen::incoming::{Incoming, harness_noise};
use crate::run_clock::RunClock;

fn open() -> (HistoryWriter, CaseHistory) {
    let writer = HistoryWriter::new(RunClock::now());
    let case = writer.open("a-b", Header::default(), None);
    case.expect_pods("a-b-web-");
    (writer, case)
}

fn sighting(kind: &str, name: &str, object: Value) -> Incoming {
    let (kind, name) = (kind.to_owned(), name.to_owned());
    let sighting = Sighting { kind, name, change: Change::Added, revision: "1".to_owned(), object };
    Incoming::Happening { us: 1, what: Happening::Sighting(sighting) }
}

fn pod(name: &str, case: &str) -> Incoming {
    sighting("Pod", name, json!({ "metadata": { "name": name, "labels": { "probity.dev/case": case } } }))
}

fn event(pod: &str) -> Incoming {
    sighting("Event", "e", json!({ "involvedObject": { "name": pod }, "reason": "Scheduled" }))
}

fn witnessed(pod: &str, uid: &str) -> Incoming {
    let (boot, how) = ("b".to_owned(), "closed".to_owned());
    let entry = Entry::Left { boot, how, last_mono_us: 1, told: 1 };
    let (container, node) = ("target".to_owned(), "node1".to_owned());
    let (pod, uid, by) = (pod.to_owned(), uid.to_owned(), Way::Recorder);
    let heard = Heard { pod, uid, container, node, by, received_us: None, entry };
    Incoming::Happening { us: 2, what: Happening::Witness(heard) }
}

fn written(case: &CaseHistory) -> Vec<String> {
    case.look(|history| {
        let of = history.events().map(|(_, event)| match &event.what {
            Happening::Sighting(seen) => seen.kind.clone(),
            Happening::Witness(heard) => format!("{} {}", heard.pod, heard.uid),
            other => format!("{other:?}"),
        });
        of.collect()
    })
}

fn take(writer: &HistoryWriter, all: Vec<Incoming>) {
    all.into_iter().for_each(|one| writer.lock().take(one));
}

#[test]
fn a_pod_with_the_label_of_a_case_belongs_to_it_whoever_created_it() {
    let (writer, case) = open();
    take(&writer, vec![pod("a-b-web-1-x", "a-b"), event("a-b-web-1-x"), witnessed("a-b-web-1-x", "u")]);
    assert_eq!(
        (written(&case), writer.lock().strays),
        (vec!["Pod".into(), "Event".into(), "a-b-web-1-x u".into()], 0)
    );
}

#[test]
fn what_is_heard_about_a_pod_before_the_watch_shows_it_waits_for_it() {
    let (writer, case) = open();
    take(&writer, vec![event("a-b-web-1-x"), witnessed("a-b-web-1-x", "u"), witnessed("a-b-web-1-y", "v")]);
    assert_eq!((written(&case), writer.lock().strays), (vec![], 0));
    take(&writer, vec![pod("a-b-web-1-x", "a-b")]);
    assert_eq!(written(&case), ["Pod", "Event", "a-b-web-1-x u"]);
    drop(case.close());
    assert_eq!(writer.lock().strays, 1, "entries about a pod that never appeared are counted");
}

#[test]
fn what_keeps_a_workload_from_having_pods_belongs_to_its_case() {
    let about = |kind: &str, name: &str, reason: &str| {
        sighting("Event", "e", json!({ "involvedObject": { "kind": kind, "name": name }, "reason": reason }))
    };
    for (kind, name) in [("ReplicaSet", "a-b-web-5d8f"), ("StatefulSet", "a-b-web")] {
        let (writer, case) = open();
        take(&writer, vec![about(kind, name, "FailedCreate"), about(kind, name, "SuccessfulCreate")]);
        assert_eq!((written(&case), writer.lock().strays), (vec!["Event".to_owned()], 1), "{kind}");
    }
    let (writer, case) = open();
    take(&writer, vec![about("ReplicaSet", "a-b-other-5d8f", "FailedCreate")]);
    assert_eq!((written(&case), writer.lock().strays), (vec![], 1));
}

#[test]
fn pods_that_nobody_expects_and_pods_of_closed_cases_are_strays() {
    let (writer, case) = open();
    take(
        &writer,
        vec![witnessed("a-c-web-1-x", "u"), pod("a-c-web-1-x", "a-c"), witnessed("a-c-web-1-x", "u")],
    );
    assert_eq!((written(&case), writer.lock().strays), (vec![], 3));
    drop(case.close());
    take(&writer, vec![pod("a-b-web-1-x", "a-b"), witnessed("a-b-web-1-x", "u")]);
    assert_eq!(writer.lock().strays, 5);
}

#[test]
fn a_change_of_ours_that_comes_back_late_is_noise_in_every_history() {
    let (writer, case) = open();
    let echo = json!({ "metadata": { "annotations": { "probity.dev/echo": "1" } } });
    take(&writer, vec![Incoming::EchoSent { us: -2_000_000, number: 1 }]);
    take(&writer, vec![sighting("Pod", "probity-echo", echo)]);
    take(&writer, vec![Incoming::EchoSent { us: -3_000_000, number: 2 }]);
    let spans = |history: &probity_model::History| {
        let noise = history.events().filter_map(|(_, event)| match &event.what {
            Happening::Noise(noise) => Some((noise.by, noise.from_us)),
            _ => None,
        });
        noise.collect::<Vec<_>>()
    };
    assert_eq!(case.look(spans), [(Listener::Echo, -2_000_000)]);
    let closed = case.close();
    assert_eq!(spans(&closed)[1..], [(Listener::Echo, -3_000_000)], "one that never came back");
}

#[test]
fn a_history_that_begins_soon_after_an_outage_contains_it() {
    let (writer, case) = open();
    let noises = |case: CaseHistory| {
        case.close().events().filter(|(_, event)| matches!(event.what, Happening::Noise(_))).count()
    };
    let noise = |from_us, to_us| Incoming::Happening { us: to_us, what: harness_noise(from_us, to_us) };
    take(&writer, vec![noise(-12_000_000, -2_000_000), noise(-1_100_000, -1_000_000)]);
    assert_eq!(noises(case), 2);
    assert_eq!(
        noises(writer.open("soon", Header::default(), None)),
        1,
        "the outage, but not the short noise"
    );
    take(&writer, vec![noise(-3_500_000, -1_500_000)]);
    assert_eq!(
        noises(writer.open("again", Header::default(), None)),
        1,
        "a shorter outage does not hide a longer one"
    );
    let (writer, _case) = open();
    take(&writer, vec![noise(-32_000_000, -22_000_000)]);
    assert_eq!(noises(writer.open("late", Header::default(), None)), 0);
}

#[test]
fn a_watch_that_returns_does_not_hide_that_another_one_of_its_kind_is_still_away() {
    let (writer, _case) = open();
    let of = || Source::Watch("Pod".to_owned());
    let away = |since_us| Incoming::Away { of: of(), since_us };
    take(&writer, vec![away(1), away(2), Incoming::Back { of: of(), since_us: 1 }]);
    assert_eq!(writer.lock().away, [(of(), 2)]);
}

#[test]
fn a_case_on_one_node_has_the_clocks_and_the_noise_of_this_node_only() {
    let writer = HistoryWriter::new(RunClock::now());
    let reading = |node: &str| {
        let (node, us) = (node.to_owned(), 1);
        let reading = Reading { node, sent_us: us, received_us: us, mono_us: us, wall_us: us };
        Incoming::Happening { us, what: Happening::Reading(reading) }
    };
    let noise = |clock| {
        let noise = Noise { by: Listener::Metronome, clock, from_us: 1, to_us: 2 };
        Incoming::Happening { us: 2, what: Happening::Noise(noise) }
    };
    take(&writer, vec![reading("n1"), reading("n2")]);
    let here = writer.open("here", Header::default(), Some(["n1".to_owned()].into()));
    let anywhere = writer.open("anywhere", Header::default(), None);
    let later = vec![
        reading("n1"),
        reading("n2"),
        noise(Clock::Node("n1".to_owned())),
        noise(Clock::Node("n2".to_owned())),
        noise(Clock::Harness),
    ];
    take(&writer, later);
    let count = |case: &CaseHistory| case.look(|history| history.events().count());
    assert_eq!((count(&here), count(&anywhere)), (4, 7));
    assert_eq!(writer.last_noise_us(Some("n3")), 2, "the harness itself was stalled");
}

#[test]
fn the_pods_of_a_closed_case_are_forgotten_and_no_others() {
    let writer = HistoryWriter::new(RunClock::now());
    let [one, other] = ["one", "other"].map(|slug| writer.open(slug, Header::default(), None));
    one.own_pod("one");
    other.own_pod("other");
    drop(one.close());
    assert_eq!(writer.lock().pods.keys().collect::<Vec<_>>(), ["other"]);
    take(&writer, vec![witnessed("other", "u")]);
    assert_eq!(written(&other), ["other u"]);
}
