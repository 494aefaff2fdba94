//! A run with every kind of verdict, and with a cluster that says what would be markup.

use probity_case::{CaseName, Profile};
use probity_composer::{Composer, ZERO_WALL_US};
use probity_model::history::{Did, NodeFacts};
use probity_model::timeline::ProbeKind;
use probity_model::{Bound, Catalogue, Clause, Doubt, History, Judge, Registry, Seen, Timeline};
use probity_report::run_log::{ClusterFacts, Planned, RunFacts, Suite, Tool, Usage};
use probity_report::{LogLine, ReadHistory, Report, StoredHistory};
use serde_json::json;

/// What a hostile cluster writes into everything that it names.
pub(super) const MARKUP: &str =
    "</script></td><script>alert(1)</script><img src=x onerror='alert(2)'>\" onclick=\"alert(3)";

/// The clause that is violated by an event of the cluster, in its words.
pub(super) const HOSTILE: &str = "demo.hostile";

const CLAUSES: &str = r"
- id: demo.on-time
  level: must
  says: Probes come one period apart.
  source: { document: Demo, edition: '1', anchor: periods }
  tested: by measuring
- id: demo.hostile
  level: must
  says: Nobody says anything bad.
  source: { document: Demo, edition: '1' }
  tested: by listening
- id: demo.undecided
  level: should
  says: It can be decided.
  source: { document: Demo, edition: '1' }
  tested: not at all
";

fn on_time(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (_, container, spec) in run.probed(ProbeKind::Readiness) {
        for attempt in &container.attempts {
            for pair in attempt.probes.windows(2) {
                let bound = Bound::at_most(spec.period + 500_000, "periodSeconds + 0.5 s");
                if let Some(found) =
                    run.measure("from probe to probe", &attempt.node, &pair[0], &pair[1], bound)
                {
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

fn registry() -> Registry {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("demo", CLAUSES).unwrap();
    let judge = |clause, judge| Judge { clause, judge };
    let judges =
        [judge("demo.on-time", on_time), judge(HOSTILE, hostile), judge("demo.undecided", undecided)];
    Registry::new(catalogue, judges).unwrap()
}

/// A pod that is probed this many times. A hostile cluster names everything as it likes.
fn history(case: &str, judges: &[&str], probes: u32) -> History {
    let mut run = Composer::new(judges);
    let is_hostile = case.ends_with("hostile");
    let (pod, name) = if is_hostile { (MARKUP, MARKUP) } else { ("pod", "target") };
    run.of(pod, name);
    let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
    run.create(0.0, &json!({ "containers": [{ "name": name, "readinessProbe": probe, "args": [MARKUP] }] }));
    run.start(1.0, 0).noise(2.2, 2.4);
    for at in 0..probes {
        let path = if is_hostile { MARKUP } else { "/ready" };
        run.probe(2.0 + f64::from(at), "/ready", 200);
        run.probe(2.1 + f64::from(at), path, 503);
    }
    run.running(3.5, true, true, 0).event(
        5.0,
        "Warning",
        "Unhealthy",
        if is_hostile { MARKUP } else { "it was late" },
    );
    run.signal(f64::from(probes) + 3.0, "SIGTERM");
    run.deed(f64::from(probes) + 4.0, Did::Over { why: "done".to_owned() });
    let mut history = run.done();
    case.clone_into(&mut history.header.case);
    history
}

/// A run: its log and its histories by file.
pub(super) struct Run {
    facts: RunFacts,
    lines: Vec<LogLine>,
    histories: Vec<(String, History)>,
}

/// A case for each clause.
pub(super) fn run() -> Run {
    let mut run = Run::new();
    for (case, clause) in [("calm", "demo.on-time"), ("hostile", HOSTILE), ("quiet", "demo.undecided")] {
        run.add(case, clause, 3);
    }
    run
}

impl Run {
    pub(super) fn new() -> Self {
        let facts = RunFacts {
            run_id: "r1".to_owned(),
            began_wall_us: ZERO_WALL_US,
            command: ["probity", "run", "--context", MARKUP].map(str::to_owned).to_vec(),
            tool: Tool { name: "probity".to_owned(), version: "0.1.0".to_owned(), ..Tool::default() },
            suite: Suite { name: "demo".to_owned(), version: "0.1.0".to_owned(), ..Suite::default() },
            profiles: vec![Profile::Core],
            labels: [("product".to_owned(), MARKUP.to_owned())].into(),
            repeat: 1,
            ..RunFacts::default()
        };
        let node =
            NodeFacts { kubelet: MARKUP.to_owned(), runtime: MARKUP.to_owned(), ..NodeFacts::default() };
        let ground = ClusterFacts {
            context: MARKUP.to_owned(),
            server: MARKUP.to_owned(),
            nodes: [(MARKUP.to_owned(), node)].into(),
            ..ClusterFacts::default()
        };
        let lines = vec![LogLine::Ready(ground), LogLine::Warning { what: MARKUP.to_owned() }];
        Self { facts: facts.versioned(), lines, histories: Vec::new() }
    }

    /// Adds a case that was written for a clause.
    pub(super) fn add(&mut self, case: &str, clause: &str, probes: u32) {
        let (name, file) = (CaseName(format!("demo/{case}")), format!("history/demo/{case}.jsonl.zst"));
        self.facts.cases.push(Planned {
            case: name.clone(),
            source: format!("suites/demo/{case}.yaml"),
            profile: Profile::Core,
            judges: vec![clause.parse().unwrap()],
            story: String::new(),
        });
        let history = history(&name.0, &[clause], probes);
        self.lines.push(LogLine::CaseEnded {
            case: name,
            history: file.clone(),
            sha256: file.clone(),
            began_us: 0,
            us: 9_000_000,
        });
        self.histories.push((file, history));
    }

    /// Its histories as they are read back.
    pub(super) fn stored(&self) -> Vec<StoredHistory> {
        let stored = |(file, history): &(String, History)| StoredHistory {
            file: file.clone(),
            contents: Ok(ReadHistory { sha256: file.clone(), history: history.clone() }),
        };
        self.histories.iter().map(stored).collect()
    }

    /// The report of it.
    pub(super) fn report(&self) -> Report {
        let mut log = vec![LogLine::Began(Box::new(self.facts.clone()))];
        log.extend(self.lines.iter().cloned());
        log.push(LogLine::Finished(Usage { wall_us: 12_000_000, ..Usage::default() }));
        Report::build(&registry(), &log, &self.stored()).unwrap()
    }
}
