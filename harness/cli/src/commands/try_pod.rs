//! `probity try`: a user's own probe settings under a standard set of faults.
//!
//! The file is read and everything in it checked before a cluster is asked, and every pod is tried by a dry run before
//! anything is created. The faults run as cases of a run of their own, so their histories and verdicts lie where those of
//! `probity run` would, and can be judged again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use clap::Args;
use probity_cluster::{
    ClusterClient, Rights, RunClock, RunError, RunOptions, connect, rehearse, rights, schedule,
};
use probity_model::report::Undecided;
use probity_model::run_log::{Planned, RunFacts};
use probity_model::trial::{self, Fault, Outcome, Stand, Trial};
use probity_model::{Case, History, LogLine, Report};
use probity_script::Span;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use super::run::{conduct, of_cluster, run_name};
use crate::args::{ClusterArgs, image};
use crate::book::Book;
use crate::desk::{Desk, Seat, Told};
use crate::english;
use crate::exit::{Exit, Failure};
use crate::facts;
use crate::files;
use crate::front::Line;
use crate::live::screen::Screen;
use crate::live::{Board, clock};
use crate::manifests;
use crate::say;
use crate::signals;
use crate::trial_report::{self, Told as Trials};

/// Tries
#[derive(Args, Debug)]
pub(crate) struct TryArgs {
    /// A file with a Pod, or a workload with a pod template; - for standard input
    #[arg(value_name = "POD.yaml")]
    pub(crate) file: PathBuf,
    /// Which workload of the file, by its name or KIND/NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// A namespace that is there, at the restricted Pod Security level; else one is made and removed
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Use this node alone
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Only these faults, with commas between them
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = fault)]
    pub(crate) faults: Vec<Fault>,
    /// How long the application takes to start in the fault slow-start
    #[arg(long, value_name = "SPAN", default_value = "20s", value_parser = some_time)]
    pub(crate) slow_start: Span,
    /// How long a fault may take at most; a file whose settings need more is refused
    #[arg(long, value_name = "SPAN", default_value = "5m", value_parser = some_time)]
    pub(crate) span: Span,
    /// Only say what would be tried, what is promised and how long it takes, without a cluster
    #[arg(long)]
    pub(crate) plan: bool,
    /// For programs instead of people
    #[arg(long)]
    pub(crate) json: bool,
    /// Where histories, verdicts and the report go; probity-out/RUN if not said
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The target's image, as the nodes know it
    #[arg(long, value_name = "REF", default_value_t = image())]
    pub(crate) image: String,
    /// Whether nodes ask a registry for the image
    #[arg(long, value_name = "POLICY", default_value = "IfNotPresent", value_parser = ["Never", "IfNotPresent", "Always"])]
    pub(crate) pull_policy: String,
    /// Leave everything on the cluster, to look at
    #[arg(long)]
    pub(crate) keep: bool,
}

/// A span that is longer than none: of none there would be nothing to try.
fn some_time(text: &str) -> Result<Span, String> {
    let span: Span = text.parse()?;
    if span == Span::default() { Err("it must be longer than 0s".to_owned()) } else { Ok(span) }
}

fn fault(word: &str) -> Result<Fault, String> {
    let found = Fault::ALL.into_iter().find(|fault| fault.word() == word);
    found.ok_or_else(|| {
        let words: Vec<&str> = Fault::ALL.iter().map(|fault| fault.word()).collect();
        let near = probity_script::problem::nearest(word, words.iter().copied());
        let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        format!("{hint}the faults are {}", words.join(", "))
    })
}

/// Tries the settings of a file, and ends as the promises were kept.
pub(crate) fn run(args: &TryArgs) -> Result<Exit, Failure> {
    let file = manifests::read(&args.file)?;
    let found = file.choose(args.workload.as_deref())?;
    let stand = Stand::of(&found.workload).map_err(|why| found.misfit(&why))?;
    let boot = i64::try_from(args.slow_start.micros()).unwrap_or(i64::MAX);
    let faults: Vec<Fault> = Fault::ALL
        .into_iter()
        .filter(|fault| args.faults.is_empty() || args.faults.contains(fault))
        .collect();
    let trials: Result<Vec<Trial>, String> =
        faults.iter().map(|fault| trial::trial(&stand, *fault, boot)).collect();
    let trials = trials.map_err(|why| Failure::failed(format!("{why}; please report this with the file")))?;
    let attempt = Attempt { args, found, stand, trials, boot };
    attempt.allow()?;
    if args.plan {
        return attempt.say(&[], None);
    }
    attempt.perform()
}

/// Demands the rights to a Service, where clients call through one: without them every such fault would fail in the
/// middle of the run.
fn demand_service(rights: &Rights, trials: &[Trial]) -> Result<(), Failure> {
    if trials.iter().all(|trial| trial.case.objects.is_empty()) {
        return Ok(());
    }
    let missing: Vec<String> =
        ["Service", "EndpointSlice"].iter().filter_map(|kind| rights.lacking_for(kind)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::wrong_use(format!(
        "clients call the pod through a Service, and we may not\n  {}\nnothing was created; `probity rbac` prints all \
         rights that are needed, and --faults slow-start needs no Service",
        missing.join("\n  ")
    )))
}

/// All that is known before a cluster is asked.
struct Attempt<'a> {
    args: &'a TryArgs,
    found: manifests::Found,
    stand: Stand,
    trials: Vec<Trial>,
    boot: i64,
}

impl Attempt<'_> {
    /// Refuses what takes too long, with the arithmetic.
    fn allow(&self) -> Result<(), Failure> {
        let most = i64::try_from(self.args.span.micros()).unwrap_or(i64::MAX);
        let too_long: Vec<String> = self
            .trials
            .iter()
            .filter(|trial| trial.takes.span.hi > most)
            .map(|trial| {
                let Trial { fault, takes, .. } = trial;
                format!(
                    "  {} takes up to {} = {}",
                    fault.word(),
                    clock(takes.span.hi / 1_000_000),
                    takes.formula
                )
            })
            .collect();
        if too_long.is_empty() {
            return Ok(());
        }
        Err(Failure::wrong_use(format!(
            "the settings are too slow for --span {}; nothing was created\n{}\nraise --span, or leave faults out by \
             --faults",
            self.args.span,
            too_long.join("\n")
        )))
    }

    fn cases(&self) -> Vec<Case> {
        self.trials.iter().map(|trial| trial.case.clone()).collect()
    }

    fn say(&self, outcomes: &[Outcome], run: Option<&Trials<'_>>) -> Result<Exit, Failure> {
        let of = trial_report::Of {
            found: &self.found,
            stand: &self.stand,
            trials: &self.trials,
            outcomes,
            remarks: trial::remarks(&self.stand, self.boot),
            run,
        };
        if self.args.json {
            let text = serde_json::to_string_pretty(&trial_report::json(&of))
                .map_err(|error| Failure::failed(format!("the report could not be made: {error}")))?;
            return say::out(&(text + "\n"));
        }
        let mut text = trial_report::text(&of);
        if self.args.plan {
            for case in self.cases() {
                text += &format!("\n{}\n{}", case.name, english::case(&case));
            }
        }
        say::out(&text)
    }

    fn perform(&self) -> Result<Exit, Failure> {
        let options = self.options();
        let folder = self.args.out.clone().unwrap_or_else(|| Path::new("probity-out").join(&options.run));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| Failure::failed(format!("failed to start: {error}")))?;
        let ground = runtime.block_on(self.prepare(&options))?;
        let (told, fell) = self.conduct(&runtime, ground, &options, &folder)?;
        self.conclude(&folder, &told, fell)
    }

    fn options(&self) -> RunOptions {
        RunOptions {
            run: run_name(),
            namespace: self.args.namespace.clone(),
            node: self.args.node.clone(),
            image: self.args.image.clone(),
            pull_policy: self.args.pull_policy.clone(),
            node_command: None,
            keep: self.args.keep,
            starts: 2,
            pods: None,
        }
    }

    /// All that can be known before anything is created.
    async fn prepare(&self, options: &RunOptions) -> Result<ClusterClient, Failure> {
        let ground = connect(&self.args.cluster.access()).await.map_err(|error| of_cluster(&error))?;
        let namespace = options.namespace.as_deref().unwrap_or(&options.run);
        let rights = rights::check(&ground, namespace).await.map_err(|error| of_cluster(&error))?;
        rights.demand(options.namespace.is_none()).map_err(|error| of_cluster(&error))?;
        demand_service(&rights, &self.trials)?;
        // All faults have the same pod, so the first case is enough.
        let cases: Vec<Case> = self.cases().into_iter().take(1).collect();
        match rehearse(&ground, options, &cases).await {
            Ok(()) => Ok(ground),
            Err(RunError::Cluster(error)) => Err(of_cluster(&error)),
            Err(RunError::Refused(refused)) => {
                let told =
                    refused.first().map(|refused| self.found.refused(&refused.refusal)).unwrap_or_default();
                Err(Failure::wrong_use(format!("{told}\nnothing was created")))
            }
        }
    }

    fn conduct(
        &self,
        runtime: &Runtime,
        ground: ClusterClient,
        options: &RunOptions,
        folder: &Path,
    ) -> Result<(Told, Option<String>), Failure> {
        let (cases, zero) = (self.cases(), RunClock::now());
        let forecast = schedule::forecast(&cases, options.starts).micros();
        let forecast_us = i64::try_from(forecast).unwrap_or(i64::MAX);
        say::err(&format!(
            "probity: context {} ({}), {} faults of {}, about {}\n",
            ground.context,
            ground.server_version,
            cases.len(),
            self.found.words(),
            clock(forecast_us / 1_000_000)
        ));
        let board = Arc::new(Mutex::new(Board::new(&cases, forecast_us)));
        let mut seats = BTreeMap::new();
        for case in &cases {
            // Nobody waits for single outcomes here: the report tells them together.
            let (_, tell) = Line::new(case.name.0.clone(), true, None);
            seats.insert(case.name.clone(), Seat { case: case.name.clone(), repetition: None, tell });
        }
        let registry = crate::book::registry()?;
        let mut desk = Desk::open(folder.to_owned(), registry, seats, Arc::clone(&board), Undecided::Told)
            .map_err(|error| {
                Failure::wrong_use(format!("{}: {error}; choose another --out", folder.display()))
            })?;
        let (screen, voice) = Screen::open(Arc::clone(&board), zero);
        desk.speak_by(voice.clone());
        desk.write(&LogLine::Began(Box::new(self.facts(options, zero)?)));
        let (out, tidings) = unbounded_channel();
        let desk = thread::spawn(move || desk.work(tidings));
        let stop = CancellationToken::new();
        let remains = super::run::remains(&ground, options);
        runtime.spawn(signals::listen(stop.clone(), board, voice, remains));
        let fell = runtime.block_on(conduct(ground, options.clone(), cases, zero, out, stop));
        let told = desk.join().unwrap_or_default();
        screen.close();
        Ok((told, fell.err()))
    }

    fn facts(&self, options: &RunOptions, zero: RunClock) -> Result<RunFacts, Failure> {
        let book = Book::open(&crate::args::SuiteArgs::default())?;
        Ok(RunFacts {
            run_id: options.run.clone(),
            began_wall_us: zero.wall_us(),
            command: std::env::args().collect(),
            tool: facts::tool(),
            suite: facts::suite(&book),
            repeat: 1,
            cases: self.trials.iter().map(|trial| Planned::of(&trial.case, &self.found.source)).collect(),
            ..RunFacts::default()
        }
        .versioned())
    }

    /// Writes the files of the run, reads what followed from the faults, and says it.
    fn conclude(&self, folder: &Path, told: &Told, fell: Option<String>) -> Result<Exit, Failure> {
        let registry = crate::book::registry()?;
        let (log, stored) = files::load(folder)?;
        let histories: Vec<History> = stored
            .iter()
            .filter_map(|stored| stored.told.as_ref().ok())
            .map(|told| told.history.clone())
            .collect();
        let report = Report::build(&registry, &log, &stored)
            .map_err(|error| Failure::failed(format!("the report could not be made: {error}")))?;
        files::write(folder, &report, Undecided::Told)?;
        let outcomes: Vec<Outcome> = self
            .trials
            .iter()
            .filter_map(|trial| {
                let history = histories.iter().find(|history| history.header.case == trial.case.name.0)?;
                Some(Outcome::of(trial, history))
            })
            .collect();
        let trials = Trials::of(&registry, folder, &log, &histories);
        self.say(&outcomes, Some(&trials))?;
        if let Some(why) = fell {
            return Err(Failure::failed(why));
        }
        if let Some(trouble) = told.troubles.first() {
            return Err(Failure::failed(trouble.clone()));
        }
        let exit = trial_report::exit(&self.trials, &outcomes, &trials);
        let interrupted = told.usage.is_some_and(|usage| usage.interrupted);
        Ok(match (told.leftovers.is_empty() || self.args.keep, exit) {
            (_, Exit::Violated) => exit,
            (false, _) => Exit::LeftBehind,
            (true, _) if interrupted => Exit::Interrupted,
            (true, exit) => exit,
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_cluster::rights::{Missing, RULES};
    use probity_model::trial::Workload;
    use serde_json::json;

    use super::*;

    fn trials(faults: &[Fault]) -> Vec<Trial> {
        let pod = json!({ "kind": "Pod", "spec": { "containers": [{ "name": "c" }] } });
        let stand = Stand::of(&Workload::of(&pod).unwrap().unwrap()).unwrap();
        faults.iter().map(|fault| trial::trial(&stand, *fault, 1_000_000).unwrap()).collect()
    }

    #[test]
    fn without_the_rights_to_a_service_nothing_begins_that_needs_one() {
        for resource in ["services", "endpointslices"] {
            let rule = *RULES.iter().find(|rule| rule.resource == resource).unwrap();
            let rights = Rights { missing: vec![Missing { rule, verbs: vec!["list"] }] };
            let said = demand_service(&rights, &trials(&[Fault::SlowStart, Fault::Hang])).unwrap_err();
            assert_eq!(said.exit, Exit::Usage);
            let said = said.to_string();
            assert!(said.contains(&format!("list {resource}")) && said.contains("`probity rbac`"), "{said}");
            assert!(said.contains("nothing was created"), "{said}");
            assert!(demand_service(&rights, &trials(&[Fault::SlowStart])).is_ok());
        }
        assert!(demand_service(&Rights::default(), &trials(&[Fault::Hang])).is_ok());
    }

    #[test]
    fn a_span_of_nothing_is_refused() {
        assert!(some_time("0s").unwrap_err().contains("longer than 0s"));
        assert!(some_time("1x").is_err());
        assert_eq!(some_time("90s").unwrap().micros(), 90_000_000);
    }
}
