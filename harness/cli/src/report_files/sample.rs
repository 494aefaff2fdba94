//! A small composed run for the tests of the files: every verdict once, and a target that says hostile things.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use probity_case::{CaseName, Profile};
use probity_composer::{Composer, ZERO_WALL_US};
use probity_model::history::NodeFacts;
use probity_model::measure::Bound;
use probity_model::timeline::ProbeKind;
use probity_model::verdict::{Doubt, Skip};
use probity_model::{Catalogue, Clause, History, Judge, Registry, Seen, Timeline};
use probity_report::run_log::{ClusterFacts, Planned, RunFacts, Suite, Tool, Usage};
use probity_report::{LogLine, ReadHistory, Report, StoredHistory};
use serde_json::json;

use crate::run_folder::{LOG, digest};

/// The clause that is violated.
pub(crate) const HOSTILE: &str = "demo.hostile";

/// What the target says of itself.
const HOSTILE_TEXT: &str = "<script>alert('x')</script> | `code` *bold* </pre></details> @everyone";

const CLAUSES: &str = r"
- { id: demo.on-time, level: must, says: Probes come one period apart., source: { document: Demo, edition: '1' }, tested: by measuring }
- { id: demo.hostile, level: must, says: Nobody says hostile things., source: { document: Demo, edition: '1' }, tested: by listening }
- { id: demo.undecided, level: should, says: Nobody knows., source: { document: Demo, edition: '1' }, tested: not at all }
- { id: demo.nobody-asks, level: must, says: Nobody asks., source: { document: Demo, edition: '1' }, tested: not at all }
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
    for event in run.pods.iter().flat_map(|pod| &pod.events) {
        seen.violated(event.message, [event.id]);
    }
}

fn undecided(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.history.header.judges.contains(&clause.id) {
        seen.doubt(Doubt::Ambiguous, "it can be read either way", []);
    }
}

fn nothing(_: &Timeline<'_>, _: &Clause, _: &mut Seen) {}

pub(crate) fn registry() -> Registry {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("demo", CLAUSES).unwrap();
    let judge = |clause, judge| Judge { clause, judge };
    let judges = [
        judge("demo.on-time", on_time),
        judge(HOSTILE, hostile),
        judge("demo.undecided", undecided),
        judge("demo.nobody-asks", nothing),
    ];
    Registry::new(catalogue, judges).unwrap()
}

fn history(case: &str, judges: &[&str]) -> History {
    let mut run = Composer::new(judges);
    let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
    run.create(0.0, &json!({ "containers": [{ "name": "target", "readinessProbe": probe }] })).start(1.0, 0);
    for at in [2.0, 3.0, 4.2] {
        run.probe(at, "/ready", 200);
    }
    if case.ends_with("hostile") {
        run.event(5.0, "Warning", "Unhealthy", HOSTILE_TEXT);
    }
    let mut history = run.done();
    case.clone_into(&mut history.header.case);
    history
}

/// A run: its log and its histories by file.
pub(crate) struct Run {
    pub(crate) log: Vec<LogLine>,
    pub(crate) histories: Vec<(String, History)>,
}

/// The run with every verdict.
pub(crate) fn run() -> Run {
    let name = |case: &str| CaseName(format!("demo/{case}"));
    let mut run = ended(&[("calm", "demo.on-time"), ("hostile", HOSTILE), ("quiet", "demo.undecided")]);
    run.plan("broken", &[]);
    run.plan("left-out", &["demo.nobody-asks"]);
    let why = |why: &str| why.to_owned();
    let reason = Skip::Filtered;
    run.log.push(LogLine::CaseBroken { case: name("broken"), why: why("the image could not be pulled") });
    run.log.push(LogLine::CaseSkipped { case: name("left-out"), reason, why: why("a filter leaves it out") });
    run.finish()
}

/// A run with nothing worse than a doubt.
pub(crate) fn undecided_run() -> Run {
    ended(&[("calm", "demo.on-time"), ("quiet", "demo.undecided")]).finish()
}

fn ended(cases: &[(&str, &str)]) -> Run {
    let facts = RunFacts {
        run_id: "0198a1b2".to_owned(),
        began_wall_us: ZERO_WALL_US,
        command: ["probity", "run", "--profile", "core"].map(str::to_owned).to_vec(),
        tool: Tool { name: "probity".to_owned(), version: "0.1.0".to_owned(), ..Tool::default() },
        suite: Suite { name: "demo".to_owned(), version: "0.1.0".to_owned(), ..Suite::default() },
        profiles: vec![Profile::Core],
        repeat: 1,
        ..RunFacts::default()
    };
    let node = NodeFacts { kubelet: "v1.36.3".to_owned(), ..NodeFacts::default() };
    let ground = ClusterFacts {
        context: "kind-x".to_owned(),
        server: "v1.36.3".to_owned(),
        namespace: "probity-x".to_owned(),
        nodes: [("node1".to_owned(), node)].into(),
        image: "sha256:5a".to_owned(),
        us: 1_000_000,
    };
    let log = vec![LogLine::Began(Box::new(facts.versioned())), LogLine::Ready(ground)];
    let mut run = Run { log, histories: Vec::new() };
    for (case, clause) in cases {
        run.plan(case, &[clause]);
        let (case, file) = (CaseName(format!("demo/{case}")), format!("history/demo/{case}.jsonl.zst"));
        let history = history(&case.0, &[clause]);
        run.log.push(LogLine::CaseEnded {
            case,
            history: file.clone(),
            sha256: digest(&history.write().unwrap()),
            began_us: 2_000_000,
            us: 8_500_000,
        });
        run.histories.push((file, history));
    }
    run
}

impl Run {
    fn plan(&mut self, case: &str, judges: &[&str]) {
        let Some(LogLine::Began(facts)) = self.log.first_mut() else { return };
        facts.cases.push(Planned {
            case: CaseName(format!("demo/{case}")),
            source: format!("suites/demo/{case}.yaml"),
            profile: Profile::Core,
            judges: judges.iter().map(|id| id.parse().unwrap()).collect(),
            story: "It shows a file.".to_owned(),
        });
    }

    fn finish(mut self) -> Self {
        let usage =
            Usage { wall_us: 12_000_000, longest_us: 6_500_000, cases: 3, requests: 80, ..Usage::default() };
        self.log.push(LogLine::Finished(usage));
        self
    }

    /// The report of it.
    pub(crate) fn report(&self) -> Report {
        Report::build(&registry(), &self.log, &self.stored()).unwrap()
    }

    /// Its histories as they are read back.
    pub(crate) fn stored(&self) -> Vec<StoredHistory> {
        let stored = |(file, history): &(String, History)| StoredHistory {
            file: file.clone(),
            contents: Ok(ReadHistory { sha256: digest(&history.write().unwrap()), history: history.clone() }),
        };
        self.histories.iter().map(stored).collect()
    }

    /// Writes its log and histories as a run does.
    pub(crate) fn store(&self, folder: &Path) {
        let log: String = self.log.iter().map(|line| line.write().unwrap()).collect();
        std::fs::write(folder.join(LOG), log).unwrap();
        for (file, history) in &self.histories {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = history.write().unwrap();
            std::fs::write(path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
        }
    }
}

pub(crate) fn report() -> Report {
    run().report()
}

pub(crate) fn undecided_report() -> Report {
    undecided_run().report()
}
