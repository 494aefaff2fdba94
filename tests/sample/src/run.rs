//! A run that a test builds: its log and its histories.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use probity_case::{CaseName, Profile};
use probity_composer::{Composer, ZERO_WALL_US};
use probity_model::History;
use probity_model::history::{Did, NodeFacts};
use probity_model::verdict::Skip;
use probity_report::run_log::{ClusterFacts, Planned, RunFacts, Suite, Tool, Usage};
use probity_report::{BookCase, BookFacts, LogLine, ReadHistory, Report, StoredHistory, Workers};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{MARKUP, registry};

/// A run: the content of its log and its histories.
pub struct Run {
    facts: RunFacts,
    ground: ClusterFacts,
    lines: Vec<LogLine>,
    histories: Vec<(String, History)>,
}

impl Default for Run {
    fn default() -> Self {
        Self::new()
    }
}

impl Run {
    /// A run without cases, on one node of version 1.36.3.
    #[must_use]
    pub fn new() -> Self {
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
        let ground = ClusterFacts {
            cluster_uid: String::new(),
            context: "kind-x".to_owned(),
            namespace: "probity-x".to_owned(),
            image: "sha256:5a".to_owned(),
            us: 1_000_000,
            ..ClusterFacts::default()
        };
        let run = Self { facts: facts.versioned(), ground, lines: Vec::new(), histories: Vec::new() };
        run.named("0198a1b2").on("node1", "v1.36.3")
    }

    /// The same run under another name.
    #[must_use]
    pub fn named(mut self, run_id: &str) -> Self {
        run_id.clone_into(&mut self.facts.run_id);
        self
    }

    /// The same run on a node with this kubelet, and with an API server of the same version.
    #[must_use]
    pub fn on(mut self, node: &str, version: &str) -> Self {
        let facts = NodeFacts { kubelet: version.to_owned(), ..NodeFacts::default() };
        version.clone_into(&mut self.ground.server);
        self.ground.nodes = [(node.to_owned(), facts)].into();
        self
    }

    /// The same run with a cluster and a command line that contain hostile text wherever possible.
    #[must_use]
    pub fn hostile(mut self) -> Self {
        self.facts.command = ["probity", "run", "--context", MARKUP].map(str::to_owned).to_vec();
        self.facts.labels = [("product".to_owned(), MARKUP.to_owned())].into();
        let node =
            NodeFacts { kubelet: MARKUP.to_owned(), runtime: MARKUP.to_owned(), ..NodeFacts::default() };
        self.ground.context = MARKUP.to_owned();
        self.ground.server = MARKUP.to_owned();
        self.ground.nodes = [(MARKUP.to_owned(), node)].into();
        self.lines.insert(0, LogLine::Warning { what: MARKUP.to_owned() });
        self
    }

    /// Adds a case that was written for a clause, with a pod that is probed at these times.
    #[must_use]
    pub fn case(mut self, case: &str, clause: &str, probes: &[f64]) -> Self {
        self.plan(case, &[clause]);
        let (name, file) = (name(case), format!("history/demo/{case}.jsonl.zst"));
        let mut history = history(&name.0, clause, probes);
        self.facts.run_id.clone_into(&mut history.header.run);
        self.ground.server.clone_into(&mut history.header.server);
        history.header.nodes.clone_from(&self.ground.nodes);
        self.lines.push(LogLine::CaseEnded {
            case: name,
            history: file.clone(),
            sha256: digest(&text(&history)),
            began_us: 2_000_000,
            us: 8_500_000,
        });
        self.histories.push((file, history));
        self
    }

    /// Adds a case that could not be run.
    #[must_use]
    pub fn broken(mut self, case: &str, why: &str) -> Self {
        self.plan(case, &[]);
        self.lines.push(LogLine::CaseBroken { case: name(case), why: why.to_owned() });
        self
    }

    /// Adds a case that was left out.
    #[must_use]
    pub fn left_out(mut self, case: &str, clause: &str, why: &str) -> Self {
        self.plan(case, &[clause]);
        let (case, why) = (name(case), why.to_owned());
        self.lines.push(LogLine::CaseSkipped { case, reason: Skip::Filtered, why });
        self
    }

    fn plan(&mut self, case: &str, judges: &[&str]) {
        self.facts.cases.push(Planned {
            case: name(case),
            source: format!("suites/demo/{case}.yaml"),
            profile: Profile::Core,
            judges: judges.iter().map(|id| id.parse().expect("a clause's name")).collect(),
            story: "It shows a file.".to_owned(),
        });
    }

    /// Its log.
    #[must_use]
    pub fn log(&self) -> Vec<LogLine> {
        let begin = [LogLine::Began(Box::new(self.facts.clone())), LogLine::Ready(self.ground.clone())];
        let cases = u64::try_from(self.histories.len()).unwrap_or(u64::MAX);
        let usage =
            Usage { wall_us: 12_000_000, longest_us: 6_500_000, cases, requests: 80, ..Usage::default() };
        begin.into_iter().chain(self.lines.iter().cloned()).chain([LogLine::Finished(usage)]).collect()
    }

    /// Its histories: the names of their uncompressed files, and their lines.
    pub fn files(&self) -> impl Iterator<Item = (&str, String)> {
        self.histories.iter().map(|(file, history)| (file.as_str(), text(history)))
    }

    /// Its histories as they are read back.
    #[must_use]
    pub fn stored(&self) -> Vec<StoredHistory> {
        let stored = |(file, history): &(String, History)| StoredHistory {
            file: file.clone(),
            contents: Ok(ReadHistory { sha256: digest(&text(history)), history: history.clone() }),
        };
        self.histories.iter().map(stored).collect()
    }

    /// The report of it.
    #[must_use]
    pub fn report(&self) -> Report {
        let report = Report::build(&registry(), &self.log(), &self.stored(), Workers::all());
        report.expect("the log has a beginning").certified(&self.book())
    }

    /// The book of the run: the run contains all of its cases.
    #[must_use]
    pub fn book(&self) -> BookFacts {
        let case = |planned: &Planned| BookCase { planned: planned.clone(), needs: BTreeSet::new() };
        BookFacts { suite: self.facts.suite.clone(), cases: self.facts.cases.iter().map(case).collect() }
    }
}

fn name(case: &str) -> CaseName {
    CaseName(format!("demo/{case}"))
}

fn text(history: &History) -> String {
    history.write().expect("a history is text")
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut digest, byte| {
        let _ = write!(digest, "{byte:02x}");
        digest
    })
}

/// A pod that is probed at these times. A hostile case uses hostile names, and has a warning.
fn history(case: &str, clause: &str, probes: &[f64]) -> History {
    let is_hostile = case.ends_with("hostile");
    let (pod, target) = if is_hostile { (MARKUP, MARKUP) } else { ("pod", "target") };
    let mut run = Composer::new(&[clause]);
    run.of(pod, target);
    let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
    run.create(
        0.0,
        &json!({ "containers": [{ "name": target, "readinessProbe": probe, "args": [MARKUP] }] }),
    );
    run.start(1.0, 0).noise(2.2, 2.4);
    for at in probes {
        run.probe(*at, "/ready", 200);
    }
    let last = probes.last().copied().unwrap_or(2.0);
    run.running(last + 0.5, true, true, 0);
    let (kind, reason, message) =
        if is_hostile { ("Warning", "Unhealthy", MARKUP) } else { ("Normal", "Started", "it has started") };
    run.event(last + 1.0, kind, reason, message);
    if is_hostile {
        run.probe(last + 1.1, MARKUP, 503);
    }
    run.signal(last + 2.0, "SIGTERM");
    run.deed(last + 3.0, Did::Over { why: "done".to_owned() });
    let mut history = run.done();
    case.clone_into(&mut history.header.case);
    history
}
