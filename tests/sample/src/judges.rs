//! The book of the samples: a clause for each verdict, and its judge.

use probity_model::timeline::ProbeKind;
use probity_model::{Bound, Catalogue, Clause, Doubt, Judge, Registry, Seen, Timeline};

use crate::{HOSTILE, NOBODY_ASKS, ON_TIME, UNDECIDED};

const CLAUSES: &str = r"
- id: demo.on-time
  level: must
  says: Probes come one period apart.
  source: { document: Demo, edition: '1', anchor: periods }
  tested: by measuring
- id: demo.hostile
  level: must
  says: Nobody says hostile things.
  source: { document: Demo, edition: '1' }
  tested: by listening
- id: demo.undecided
  level: should
  says: Nobody knows.
  source: { document: Demo, edition: '1' }
  tested: not at all
- id: demo.nobody-asks
  level: must
  says: Nobody asks.
  source: { document: Demo, edition: '1' }
  tested: not at all
";

fn on_time(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (_, container, spec) in run.probed(ProbeKind::Readiness) {
        for attempt in &container.attempts {
            let probes: Vec<_> = attempt.probes_of(ProbeKind::Readiness).collect();
            for pair in probes.windows(2) {
                let (from, to) = ((pair[0].id, &pair[0].at), (pair[1].id, &pair[1].at));
                let bound = Bound::at_most(spec.period + 500_000, "periodSeconds + 0.5 s");
                if let Some(found) = run.measure("from probe to probe", &attempt.node, from, to, bound) {
                    seen.measure(found);
                }
            }
        }
    }
}

fn hostile(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for event in run.pods.iter().flat_map(|pod| &pod.events).filter(|event| event.kind == "Warning") {
        seen.violated(event.message, [event.id]);
    }
}

fn undecided(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.history.header.judges.contains(&clause.id) {
        seen.doubt(Doubt::Ambiguous, "it can be read either way", []);
    }
}

fn nothing(_: &Timeline<'_>, _: &Clause, _: &mut Seen) {}

/// The book: clauses with their judges.
#[must_use]
pub fn registry() -> Registry {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("demo", CLAUSES).expect("the clauses are written above");
    let judge = |clause, judge| Judge { clause, judge };
    let judges = [
        judge(ON_TIME, on_time),
        judge(HOSTILE, hostile),
        judge(UNDECIDED, undecided),
        judge(NOBODY_ASKS, nothing),
    ];
    Registry::new(catalogue, judges).expect("each judge has its clause")
}
