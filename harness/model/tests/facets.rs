//! The facets of a clause, derived from its evidence.
#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::Composer;
use probity_model::facets::{Facet, Sight};
use probity_model::history::{Gap, Happening, Source};
use probity_model::timeline::ProbeKind;
use probity_model::{Catalogue, Clause, EventId, Judge, Judgement, Registry, Seen, Timeline};
use serde_json::json;

const CLAUSES: &str = "
- id: a.answers
  level: must
  says: s
  source: { document: d, edition: e }
  tested: t
  facets: { status: ['200', '204', '500'], exit-code: ['137'], life: [first, after-crash], container: [main, sidecar] }
";

/// Reports a status below 500 as correct, and any other status as a violation.
fn answers(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for life in run.lives().of(ProbeKind::Liveness) {
        for probe in &life.probes {
            let status = life.request(probe).and_then(|asked| asked.status());
            seen.check(status < Some(500), || "it was wrong".to_owned(), probe.events());
        }
    }
}

fn judged(run: Composer) -> Judgement {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("test", CLAUSES).unwrap();
    let registry = Registry::new(catalogue, [Judge { clause: "a.answers", judge: answers }]).unwrap();
    registry.judge(&run.done()).remove(0)
}

fn probed() -> Composer {
    let probe = json!({ "httpGet": { "path": "/live", "port": 8080 }, "periodSeconds": 1 });
    let mut run = Composer::new(&["a.answers"]);
    run.create(0.1, &json!({ "containers": [{ "name": "target", "livenessProbe": probe }] })).start(0.5, 0);
    run
}

fn table(judgement: &Judgement) -> Vec<(String, Sight)> {
    judgement.facets.iter().map(|one| (format!("{} {}", one.of, one.value), one.seen)).collect()
}

#[test]
fn each_facet_is_kept_or_broken_alone() {
    let mut run = probed();
    run.probe(1.0, "/live", 200);
    run.probe(2.0, "/live", 500);
    let judgement = judged(run);
    assert_eq!(judgement.verdict.word(), "violated");
    let expected = [
        ("container main", Sight::Broken),
        ("life first", Sight::Broken),
        ("status 200", Sight::Kept),
        ("status 500", Sight::Broken),
    ];
    let expected: Vec<(String, Sight)> = expected.map(|(name, sight)| (name.to_owned(), sight)).into();
    assert_eq!(table(&judgement), expected);
}

#[test]
fn what_lost_lines_could_have_hidden_shows_no_facet_and_the_rest_stands() {
    let statuses = |container: &str| {
        let mut run = probed();
        run.probe(1.0, "/live", 200);
        run.probe(4.0, "/live", 204);
        let of = Source::Witness { pod: "pod".to_owned(), container: container.to_owned() };
        let (from_us, to_us) = (3_900_000, 9_000_000);
        run.push(9.0, Happening::Gap(Gap { of, from_us, to_us, why: "lost".to_owned() }));
        let judgement = judged(run);
        let of_status = table(&judgement).into_iter().filter(|(name, _)| name.starts_with("status"));
        (judgement.verdict.word(), of_status.count())
    };
    assert_eq!(statuses("target"), ("inconclusive", 1), "what is missing may have been wrong");
    assert_eq!(statuses("other"), ("holds", 2), "lines of another container hide nothing of this one");
}

#[test]
fn the_status_that_a_command_exits_with_is_a_facet() {
    let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "live"] }, "periodSeconds": 1 });
    let mut run = Composer::new(&["a.answers"]);
    run.create(0.1, &json!({ "containers": [{ "name": "target", "livenessProbe": probe }] })).start(0.5, 0);
    run.exec(1.0, "live", Some(137));
    assert!(table(&judged(run)).contains(&("exit-code 137".to_owned(), Sight::Kept)));
}

#[test]
fn a_part_of_a_judge_shows_its_facet_only_if_something_was_kept_in_it() {
    let mut seen = Seen::new();
    seen.in_facet("port", "closed", |_| {});
    seen.in_facet("port", "open", |seen| seen.fine([EventId(1)]));
    assert_eq!(seen.facets(|_| Vec::new()), [(Facet::new("port", "open"), Sight::Kept)]);
}
