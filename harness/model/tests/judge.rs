//! Silence is not a violation if the harness itself was not connected.
#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::Composer;
use probity_model::history::{Did, Gap, Happening, Source};
use probity_model::{Catalogue, Clause, Judge, Registry, Seen, Timeline};
use serde_json::json;

const CLAUSES: &str =
    "- { id: a.silence, level: must, says: s, source: { document: d, edition: e }, tested: t }";

/// Accuses every pod, by its first revision alone.
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
