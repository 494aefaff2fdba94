//! Silence is not a violation if the harness itself was not connected.
#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::Composer;
use probity_model::history::{Did, Gap, Happening, Listener, Source};
use probity_model::{Catalogue, Clause, Judge, Registry, Seen, Timeline};
use serde_json::json;

const CLAUSES: &str =
    "- { id: a.silence, level: must, says: s, source: { document: d, edition: e }, tested: t }";

/// Accuses every pod, with its first revision as the only evidence.
fn accuse(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    seen.violated(
        "it never came",
        run.pods.iter().flat_map(|pod| pod.revisions.first()).map(|first| first.id),
    );
}

fn judged(mut run: Composer, gap: Option<Source>) -> &'static str {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("test", CLAUSES).unwrap();
    let registry = Registry::new(catalogue, [Judge { clause: "a.silence", judge: accuse }]).unwrap();
    if let Some(of) = gap {
        let gap = Gap { of, from_us: 2_000_000, to_us: 9_000_000, why: "away".to_owned() };
        run.push(9.0, Happening::Gap(gap));
    }
    run.deed(9.0, Did::Over { why: "done".to_owned() });
    registry.judge(&run.done())[0].verdict.word()
}

fn pod() -> Composer {
    let mut run = Composer::new(&["a.silence"]);
    run.create(1.0, &json!({ "containers": [{ "name": "target" }] }));
    run
}

#[test]
fn silence_accuses_nobody_where_the_cluster_was_not_heard_at_the_end() {
    assert_eq!(judged(pod(), None), "violated");
    assert_eq!(judged(pod(), Some(Source::Recorder)), "inconclusive");
}

#[test]
fn a_kind_that_may_not_be_seen_matters_only_to_those_who_cite_it() {
    assert_eq!(judged(pod(), Some(Source::Watch("EndpointSlice".to_owned()))), "violated");
}

/// Accuses every target that received a signal, with that line as the only evidence.
fn accuse_by_lines(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let signals =
        run.containers().flat_map(|(_, container)| &container.attempts).flat_map(|life| life.signals());
    seen.violated("it was stopped", signals.map(|(id, ..)| id));
}

/// The verdict on a pod that was created at 10 s and whose target received a signal at 11 s, if this listener noticed noise.
fn judged_with_noise(
    judge: fn(&Timeline<'_>, &Clause, &mut Seen),
    (by, from, to): (Listener, f64, f64),
) -> &'static str {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("test", CLAUSES).unwrap();
    let registry = Registry::new(catalogue, [Judge { clause: "a.silence", judge }]).unwrap();
    let mut run = Composer::new(&["a.silence"]);
    run.create(10.0, &json!({ "containers": [{ "name": "target" }] })).start(10.5, 0);
    run.signal(11.0, "SIGTERM");
    run.noise_by(by, from, to);
    run.deed(60.0, Did::Over { why: "done".to_owned() });
    registry.judge(&run.done())[0].verdict.word()
}

#[test]
fn what_was_learned_from_an_api_server_that_was_away_accuses_nobody() {
    let with = |by, from, to| judged_with_noise(accuse, (by, from, to));
    assert_eq!(with(Listener::Echo, 9.0, 14.0), "inconclusive");
    assert_eq!(with(Listener::Harness, 9.0, 14.0), "inconclusive", "an interrupted watch");
    assert_eq!(with(Listener::Echo, 5.0, 8.0), "inconclusive", "clients try again later and later");
    assert_eq!(with(Listener::Echo, 2.0, 5.0), "violated", "long before");
    assert_eq!(with(Listener::Echo, 20.0, 30.0), "violated", "long after");
    assert_eq!(with(Listener::Echo, 9.5, 10.5), "violated", "no longer than on a busy node");
}

#[test]
fn an_outage_excuses_nothing_that_only_targets_recorded_and_no_node_can_claim_one() {
    assert_eq!(judged_with_noise(accuse_by_lines, (Listener::Echo, 9.0, 14.0)), "violated");
    for by in [Listener::Target, Listener::Node, Listener::Overload, Listener::Metronome] {
        assert_eq!(judged_with_noise(accuse, (by, 9.0, 14.0)), "violated");
    }
}

/// Reports that a promise was kept, with the first revision of each pod as evidence.
fn approve(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    seen.fine(run.pods.iter().flat_map(|pod| pod.revisions.first()).map(|first| first.id));
}

#[test]
fn a_line_lost_by_a_container_without_probes_may_hide_anything_but_what_is_about_probes() {
    let judged = |id: &'static str| {
        let mut catalogue = Catalogue::default();
        catalogue.add_chapter("test", &CLAUSES.replace("a.silence", id)).unwrap();
        let registry = Registry::new(catalogue, [Judge { clause: id, judge: approve }]).unwrap();
        let mut run = Composer::new(&[id]);
        run.create(1.0, &json!({ "containers": [{ "name": "target" }] })).start(2.0, 0);
        run.lose_line().signal(3.0, "SIGUSR1");
        run.deed(9.0, Did::Over { why: "done".to_owned() });
        registry.judge(&run.done())[0].verdict.word()
    };
    assert_eq!(judged("container.state"), "inconclusive");
    assert_eq!(judged("probe.http.status"), "holds");
}
