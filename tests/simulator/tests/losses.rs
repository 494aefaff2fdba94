//! The effect of a lossy recorder or a lost watch on verdicts: a verdict may become a doubt, but never its opposite.

#![expect(clippy::unwrap_used, reason = "tests")]

mod book;

use std::collections::{BTreeMap, BTreeSet};

use probity_case::Case;
use probity_model::history::{Did, Event, Gap, Happening, Sighting, Source};
use probity_model::{EventId, History, Judgement};
use probity_script::witness::Entry;
use probity_simulator::{Defect, simulate};
use proptest::prelude::*;

const SEED: u64 = 1;

fn events(history: &History) -> Vec<Event> {
    history.events().map(|(_, event)| event.clone()).collect()
}

fn rebuilt(like: &History, mut events: Vec<Event>) -> History {
    let mut history = History::new(like.header.clone());
    events.sort_by_key(|event| event.us);
    for event in events {
        history.push(event.us, event.what);
    }
    history
}

/// The verdict's word for each clause.
fn words(history: &History) -> BTreeMap<String, &'static str> {
    book::judge(history).into_iter().map(|of| (of.clause.to_string(), of.verdict.word())).collect()
}

/// A history without some of its witness lines: the numbers of the lines around them reveal the gaps.
fn without_lines(history: &History, lost: impl Fn(usize) -> bool) -> History {
    let boot = |event: &Event| match &event.what {
        Happening::Witness(heard) => match &heard.entry {
            Entry::Line(line) => Some((line.boot.clone(), line.seq)),
            _ => None,
        },
        _ => None,
    };
    let last: BTreeMap<String, u64> = events(history).iter().filter_map(boot).collect();
    let mut number = 0;
    let kept = events(history).into_iter().filter(|event| {
        let Some((boot, seq)) = boot(event) else { return true };
        number += 1;
        !lost(number) || last.get(&boot) == Some(&seq)
    });
    rebuilt(history, kept.collect())
}

/// A history in which nothing was received from the recorder after a certain line.
fn without_recorder(history: &History, from: usize) -> History {
    let (mut number, mut stopped) = (0, None);
    let mut kept = Vec::new();
    for event in events(history) {
        if matches!(event.what, Happening::Witness(_)) {
            number += 1;
            if number > from {
                stopped = stopped.or(Some(event.us));
                continue;
            }
        }
        kept.push(event);
    }
    let over =
        |event: &Event| matches!(&event.what, Happening::Deed(deed) if matches!(deed.did, Did::Over { .. }));
    let at = kept.iter().position(over).unwrap_or(kept.len());
    if let Some(from_us) = stopped {
        let to_us = kept.get(at).map_or(from_us, |event| event.us);
        let gap = Gap { of: Source::Recorder, from_us, to_us, why: "the recorder's pod is gone".to_owned() };
        kept.insert(at, Event { us: to_us, what: Happening::Gap(gap) });
    }
    let mut lossy = History::new(history.header.clone());
    for event in kept {
        lossy.push(event.us, event.what);
    }
    lossy
}

/// A history whose watch of one kind was lost for a while: at the end of that time, the objects are listed again.
fn without_watch(history: &History, kind: &str, from_us: i64, to_us: i64) -> History {
    let mut last: BTreeMap<String, Sighting> = BTreeMap::new();
    let mut kept = Vec::new();
    for event in events(history) {
        match event.what {
            Happening::Sighting(sighting)
                if sighting.kind == kind && (from_us..to_us).contains(&event.us) =>
            {
                last.insert(sighting.name.clone(), sighting);
            }
            what => kept.push(Event { us: event.us, what }),
        }
    }
    let end = kept.last().map_or(to_us, |event: &Event| event.us);
    if to_us >= end {
        return history.clone();
    }
    let gap = Gap { of: Source::Watch(kind.to_owned()), from_us, to_us, why: "the watch ended".to_owned() };
    kept.push(Event { us: to_us, what: Happening::Gap(gap) });
    kept.extend(last.into_values().map(|sighting| Event { us: to_us, what: Happening::Sighting(sighting) }));
    rebuilt(history, kept)
}

/// The verdicts that a loss turned from one of these words to another.
fn turned(whole: &History, lossy: &History, from: &[&str], to: &[&str]) -> Vec<(String, String)> {
    let before = words(whole);
    let was = |of: &Judgement| before.get(of.clause.as_str()).copied().unwrap_or("silent");
    let after = book::judge(lossy).into_iter();
    after
        .filter(|of| from.contains(&was(of)) && to.contains(&of.verdict.word()))
        .map(|of| {
            let told = format!("{} became {}: {}", was(&of), of.verdict.word(), of.verdict.sentence());
            (of.clause.to_string(), told)
        })
        .collect()
}

/// The violations that only a loss causes.
fn accusations(whole: &History, lossy: &History) -> Vec<(String, String)> {
    turned(whole, lossy, &["silent", "holds", "diverges", "inconclusive"], &["violated"])
}

fn some_case() -> impl Strategy<Value = &'static Case> {
    (0..book::CASES.len()).prop_map(|at| &book::CASES[at])
}

proptest! {
    #![proptest_config(book::searching(300))]

    #[test]
    fn lost_lines_accuse_nobody(case in some_case(), lost in proptest::collection::btree_set(1_usize..120, 1..6)) {
        let whole = simulate(case, &[], SEED);
        let lossy = without_lines(&whole, |number| lost.contains(&number));
        prop_assert_eq!(accusations(&whole, &lossy), Vec::new(), "{}", case.name);
    }

    #[test]
    fn a_recorder_that_stops_accuses_nobody(case in some_case(), from in 0_usize..150) {
        let whole = simulate(case, &[], SEED);
        let lossy = without_recorder(&whole, from);
        prop_assert_eq!(accusations(&whole, &lossy), Vec::new(), "{}", case.name);
    }

    #[test]
    fn a_lost_watch_accuses_nobody(
        case in some_case(),
        kind in prop_oneof![Just("Pod"), Just("Event"), Just("EndpointSlice"), Just("Endpoints")],
        from in 0_i64..20_000,
        lasts in 100_i64..8_000,
    ) {
        let whole = simulate(case, &[], SEED);
        let lossy = without_watch(&whole, kind, from * 1000, (from + lasts) * 1000);
        prop_assert_eq!(accusations(&whole, &lossy), Vec::new(), "{}", case.name);
    }

    #[test]
    fn the_order_of_events_of_one_instant_changes_nothing(case in some_case(), salt in any::<u64>()) {
        let whole = simulate(case, &[], SEED);
        let mixed = shuffled(&whole, salt);
        prop_assert_eq!(words(&whole), words(&mixed), "{}", case.name);
    }
}

/// Clauses that a loss can turn from `violated` to `holds`, each with the reason.
const LENIENT: &[(&str, &str)] = &[
    (
        "probe.failure-threshold.exact-count",
        "a life with missing lines is left out, so another life or container decides",
    ),
    (
        "probe.http.host-default-pod-ip",
        "a probe that reached another pod is seen by one line of that pod: without it, the other probes decide",
    ),
    (
        "probe.http.host-field-overrides-address",
        "an answer whose line is lost leaves the readiness that follows from it unjudged",
    ),
    (
        "probe.liveness.failure-restarts-container",
        "a life with missing lines is left out, so another life or container decides",
    ),
    (
        "probe.http.status-range",
        "a life with missing lines is left out, so another life or container decides",
    ),
    (
        "probe.grpc.wrong-port-fails",
        "a life with missing lines is left out, so another life or container decides",
    ),
    ("probe.result.success", "a life with missing lines is left out, so another life or container decides"),
    ("probe.timing.period", "a life with missing lines is left out, so another life or container decides"),
    (
        "probe.readiness.starts-unready",
        "a life with missing lines is left out, so another life of the container decides",
    ),
    (
        "probe.readiness.absent-means-ready",
        "a life with missing lines is left out, so another life or container decides",
    ),
    (
        "probe.startup.absent-means-started",
        "a life with missing lines is left out, so another life or container decides",
    ),
    (
        "probe.startup.started-field",
        "a startup success whose line is lost leaves what was published of it unjudged",
    ),
];

#[test]
fn lost_lines_acquit_nobody() {
    let turns = book::each(Defect::ALL.len() * 12, |at| {
        if !book::is_due(at / 12) {
            return Vec::new();
        }
        let defect = Defect::ALL[at / 12];
        let mut salt = at as u64 + 1;
        let mut draw = |below: usize| {
            salt = salt.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(salt >> 33).unwrap() % below
        };
        let case = &book::CASES[draw(book::CASES.len())];
        let lost = [draw(120), draw(120), draw(120)];
        let whole = simulate(case, &[defect], SEED);
        let lossy = without_lines(&whole, |number| lost.contains(&number));
        let acquitted = turned(&whole, &lossy, &["violated"], &["holds", "diverges"]).into_iter();
        let accused = accusations(&whole, &lossy);
        acquitted
            .filter(|(clause, _)| LENIENT.iter().all(|(lenient, _)| lenient != clause))
            .chain(accused)
            .map(|(clause, told)| format!("{} with {defect:?}: {clause} {told}", case.name))
            .collect::<Vec<_>>()
    });
    let turns: Vec<String> = turns.into_iter().flatten().collect();
    assert!(turns.is_empty(), "{}", turns.join("\n"));
}

/// A history in which events of the same instant have another order. Events from one source keep their order.
fn shuffled(history: &History, salt: u64) -> History {
    let source = |event: &Event| match &event.what {
        Happening::Witness(heard) => format!("{}/{}", heard.pod, heard.container),
        Happening::Sighting(sighting) => format!("{}/{}", sighting.kind, sighting.name),
        _ => "harness".to_owned(),
    };
    let mut groups: BTreeMap<i64, Vec<Event>> = BTreeMap::new();
    for event in events(history) {
        groups.entry(event.us).or_default().push(event);
    }
    let mut mixed = History::new(history.header.clone());
    for (us, mut group) in groups {
        let sources: BTreeSet<String> = group.iter().map(source).collect();
        let rank = |event: &Event| {
            let at = sources.iter().position(|known| *known == source(event)).unwrap();
            (at as u64 + 1).wrapping_mul(salt | 1)
        };
        let deeds = group.iter().any(|event| matches!(event.what, Happening::Deed(_)));
        if !deeds {
            group.sort_by_key(rank);
        }
        for event in group {
            mixed.push(us, event.what);
        }
    }
    mixed
}

#[test]
fn a_lost_watch_is_told_by_a_gap() {
    let case = book::CASES.iter().find(|case| !case.pods.is_empty()).unwrap();
    let whole = simulate(case, &[], SEED);
    let lossy = without_watch(&whole, "Pod", 500_000, 2_000_000);
    let gap = lossy.events().find(|(_, event)| matches!(event.what, Happening::Gap(_)));
    assert!(gap.is_some_and(|(id, _)| id > EventId(0)));
    assert!(lossy.events().len() <= whole.events().len() + 1);
}
