//! `probity run`: cases on a cluster.
//!
//! Nothing is created before all is known to be in order: the book, the context, the rights, and every pod by a dry run.
//! Then three threads share the work beside those that watch the cluster: the front end on this one, the desk that
//! writes and judges, and the screen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use probity_cluster::Progress;
use probity_cluster::rights::{self, Rights};
use probity_cluster::{
    ClusterClient, ClusterError, RunClock, RunError, RunOptions, connect, rehearse, schedule,
};
use probity_model::case::Workload;
use probity_model::clause::Need;
use probity_model::report::Word;
use probity_model::run_log::RunFacts;
use probity_model::verdict::Skip;
use probity_model::{Case, CaseName, LogLine, Report};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::args::RunArgs;
use crate::book::Book;
use crate::commands::report::Inconclusive;
use crate::desk::{Desk, Told};
use crate::exit::{Exit, Failure};
use crate::facts;
use crate::files;
use crate::live::screen::Screen;
use crate::live::voice::Voice;
use crate::live::{Board, clock};
use crate::refusal::{self, Refused};
use crate::roster::Roster;
use crate::say;
use crate::select::{Means, profiles};
use crate::signals;
use crate::summary;

/// Runs what was chosen, and ends as the report says.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let book = Book::open(&args.suites)?;
    let means = Means { node_command: args.node_command.is_some() };
    let mut roster = Roster::of(&book, &args.choice, means, args.repeat);
    if args.front.list {
        args.front.show(std::mem::take(&mut roster.lines), &Voice::default());
        return Ok(Exit::Success);
    }
    if roster.is_empty() {
        return Err(Failure::wrong_use(args.choice.nothing(book.cases())));
    }
    if roster.cases.is_empty() {
        let lacks = roster.lines.iter().filter(|line| line.chosen).find_map(|line| line.lacks.clone());
        args.front.show(std::mem::take(&mut roster.lines), &Voice::default());
        say::err(&format!("probity: nothing ran: {}\n", lacks.unwrap_or_default()));
        return Ok(Exit::Inconclusive);
    }
    let options = args.options(run_name());
    let folder = args.out.clone().unwrap_or_else(|| Path::new("probity-out").join(&options.run));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("failed to start: {error}")))?;
    let (ground, rights) = runtime.block_on(prepare(args, &options, &roster, &book))?;
    let lacking = runtime.block_on(lacking(&ground, &rights, &roster.cases));
    let run = Run { args, book, options, folder, ground };
    run.perform(&runtime, roster, lacking)
}

/// A name for a run that no other has: it labels all that is made, and names the namespace.
pub(crate) fn run_name() -> String {
    let now = jiff::Timestamp::now().to_string();
    let digits: String = now.chars().filter(char::is_ascii_digit).take(14).collect();
    let lot = uuid::Uuid::now_v7().simple().to_string();
    let (date, time) = digits.split_at(digits.len().min(8));
    format!("probity-{date}-{time}-{}", &lot[lot.len() - 4..])
}

/// All that can be known before anything is created.
async fn prepare(
    args: &RunArgs,
    options: &RunOptions,
    roster: &Roster,
    book: &Book,
) -> Result<(ClusterClient, Rights), Failure> {
    let ground = connect(&args.cluster.access()).await.map_err(|error| of_cluster(&error))?;
    let namespace = options.namespace.as_deref().unwrap_or(&options.run);
    let rights = rights::check(&ground, namespace).await.map_err(|error| of_cluster(&error))?;
    rights.demand(options.namespace.is_none()).map_err(|error| of_cluster(&error))?;
    for missing in rights.shortcomings() {
        say::err(&format!("probity: you may not {missing}\n"));
    }
    rehearse(&ground, options, &roster.cases).await.map_err(|error| of_run(&error, book, roster))?;
    Ok((ground, rights))
}

/// Cases that cannot run on this cluster, each with the reason.
async fn lacking(ground: &ClusterClient, rights: &Rights, cases: &[Case]) -> BTreeMap<CaseName, String> {
    let mut lacking = BTreeMap::new();
    for case in cases {
        let kinds = case.workloads.values().map(Workload::kind);
        if let Some(missing) = kinds.filter_map(|kind| rights.lacking_for(kind)).next() {
            lacking.insert(case.name.clone(), format!("it makes a workload, and we may not {missing}"));
        }
        let proxied = case.needs.contains(&Need::NodesProxy).then(|| rights.lacking("nodes/proxy")).flatten();
        if let Some(missing) = proxied {
            lacking.insert(case.name.clone(), format!("it needs nodes-proxy, and we may not {missing}"));
        }
    }
    // Where nodes may not be read nobody knows how many there are, so those who need several are left out as well.
    let needy: Vec<&Case> = cases.iter().filter(|case| case.needs.contains(&Need::MultiNode)).collect();
    if !needy.is_empty() {
        let nodes = ground.node_facts(None).await.len();
        let why = format!("it needs two nodes that take pods, and {nodes} can be seen");
        let few = nodes < 2;
        lacking.extend(needy.into_iter().filter(|_| few).map(|case| (case.name.clone(), why.clone())));
    }
    lacking
}

/// Whether the user can put it right.
pub(crate) fn of_cluster(error: &ClusterError) -> Failure {
    match error {
        ClusterError::Kubeconfig { .. }
        | ClusterError::ContextNotNamed { .. }
        | ClusterError::NoSuchContext { .. }
        | ClusterError::Context { .. }
        | ClusterError::Rights(_)
        | ClusterError::Namespace { .. }
        | ClusterError::UnknownKind { .. } => Failure::wrong_use(error.to_string()),
        _ => Failure::failed(error.to_string()),
    }
}

/// Pods that are refused are told where they are written, each problem once.
fn of_run(error: &RunError, book: &Book, roster: &Roster) -> Failure {
    let refused = match error {
        RunError::Cluster(error) => return of_cluster(error),
        RunError::Refused(refused) => refused,
    };
    let mut told: Vec<String> = Vec::new();
    for refused in refused {
        let Some(case) = roster.cases.iter().find(|case| case.name == refused.case) else { continue };
        let name = roster.seats.get(&case.name).map_or(&case.name, |seat| &seat.case);
        let Some(file) = book.file_named(name) else { continue };
        let of = Refused {
            case,
            key: &refused.pod,
            message: &refused.refusal.message,
            causes: &refused.refusal.causes,
        };
        for problem in refusal::problems(file, &of) {
            let text = problem.to_string();
            if !told.contains(&text) {
                told.push(text);
            }
        }
    }
    Failure::wrong_use(format!("{error}\n{}", told.join("\n")))
}

/// A run of which all is known to be in order.
struct Run<'a> {
    args: &'a RunArgs,
    book: Book,
    options: RunOptions,
    folder: PathBuf,
    ground: ClusterClient,
}

impl Run<'_> {
    fn perform(
        &self,
        runtime: &Runtime,
        mut roster: Roster,
        lacking: BTreeMap<CaseName, String>,
    ) -> Result<Exit, Failure> {
        roster.cases.retain(|case| !lacking.contains_key(&case.name));
        let zero = RunClock::now();
        let forecast = schedule::forecast(&roster.cases, self.options.starts).micros();
        let forecast_us = i64::try_from(forecast).unwrap_or(i64::MAX);
        self.announce(&roster, forecast_us);
        let board = Arc::new(Mutex::new(Board::new(&roster.cases, forecast_us)));
        let facts = self.facts(&roster, zero);
        let Roster { cases, seats, lines, left_out, .. } = roster;
        let registry = crate::book::registry()?;
        let undecided = self.args.inconclusive.into();
        let mut desk = Desk::open(self.folder.clone(), registry, seats, Arc::clone(&board), undecided)
            .map_err(|error| {
                Failure::wrong_use(format!("{}: {error}; choose another --out", self.folder.display()))
            })?;
        let (screen, voice) = Screen::open(Arc::clone(&board), zero);
        desk.speak_by(voice.clone());
        desk.write(&LogLine::Began(Box::new(facts)));
        for line in &left_out {
            desk.write(line);
        }
        let (out, tidings) = unbounded_channel();
        for (case, why) in lacking {
            let _ = out.send(Progress::Skipped { case, reason: Skip::Precondition, why });
        }
        let desk = thread::spawn(move || desk.work(tidings));
        let stop = CancellationToken::new();
        runtime.spawn(signals::listen(
            stop.clone(),
            Arc::clone(&board),
            voice.clone(),
            remains(&self.ground, &self.options),
        ));
        let conducting =
            runtime.spawn(conduct(self.ground.clone(), self.options.clone(), cases, zero, out, stop));
        self.args.front.show(lines, &voice);
        let fell = runtime.block_on(conducting).map_err(|error| error.to_string()).and_then(|ended| ended);
        let told = desk.join().unwrap_or_default();
        screen.close();
        self.conclude(&told, fell.err())
    }

    fn announce(&self, roster: &Roster, forecast_us: i64) {
        let namespace = match &self.options.namespace {
            Some(name) => format!("the namespace {name}"),
            None => format!("a namespace of its own, {}", self.options.run),
        };
        say::err(&format!(
            "probity: context {} ({}), {namespace}, {} cases, about {}\n",
            self.ground.context,
            self.ground.server_version,
            roster.cases.len(),
            clock(forecast_us / 1_000_000)
        ));
    }

    fn facts(&self, roster: &Roster, zero: RunClock) -> RunFacts {
        RunFacts {
            run_id: self.options.run.clone(),
            began_wall_us: zero.wall_us(),
            command: std::env::args().collect(),
            tool: facts::tool(),
            suite: facts::suite(&self.book),
            profiles: profiles(&self.args.choice.profile),
            repeat: self.args.repeat.max(1),
            labels: self.args.label.iter().cloned().collect::<BTreeMap<_, _>>(),
            cases: roster.planned.clone(),
            ..RunFacts::default()
        }
        .versioned()
    }

    /// Writes the report, says what there is to say, and finds the exit status.
    fn conclude(&self, told: &Told, fell: Option<String>) -> Result<Exit, Failure> {
        let undecided = self.args.inconclusive.into();
        let (log, stored) = files::load(&self.folder)?;
        let report = Report::build(&crate::book::registry()?, &log, &stored)
            .map_err(|error| Failure::failed(format!("the report could not be made: {error}")))?;
        files::write(&self.folder, &report, undecided)?;
        say::out(&files::Github::of_environment().tell(&report, undecided)?)?;
        say::err(&summary::of(&report, &self.folder, self.told_by_front()));
        if let Some(why) = fell {
            return Err(Failure::failed(why));
        }
        if let Some(trouble) = told.troubles.first() {
            return Err(Failure::failed(trouble.clone()));
        }
        let exit = report.exit(undecided);
        // Something of ours on a cluster outweighs all but a broken promise.
        let clean = told.leftovers.is_empty() || self.options.keep;
        Ok(if clean || exit == Exit::Violated { exit } else { Exit::LeftBehind })
    }

    /// Whose findings the front end has told.
    fn told_by_front(&self) -> &'static [Word] {
        match (self.args.front.tells_failures(), self.args.inconclusive) {
            (false, _) => &[],
            (true, Inconclusive::Warn | Inconclusive::Fail) => {
                &[Word::Violated, Word::Error, Word::Inconclusive]
            }
            (true, Inconclusive::Pass) => &[Word::Violated, Word::Error],
        }
    }
}

/// What must be said when there is no time left to clean up.
pub(crate) fn remains(ground: &ClusterClient, options: &RunOptions) -> String {
    let (context, run) = (&ground.context, &options.run);
    let (place, flag) = match &options.namespace {
        Some(name) => (format!("in the namespace {name}"), format!(" --namespace {name}")),
        None => (format!("with the namespace {run}"), String::new()),
    };
    format!(
        "objects labelled probity.dev/run={run} {place} may be left; this removes them:\n  \
         probity gc --context {context}{flag}"
    )
}

/// Conducts the cases; if that fails, it is told like everything else, and to the caller.
pub(crate) async fn conduct(
    ground: ClusterClient,
    options: RunOptions,
    cases: Vec<Case>,
    zero: RunClock,
    out: UnboundedSender<Progress>,
    stop: CancellationToken,
) -> Result<(), String> {
    let ended = probity_cluster::conduct(ground, options, cases, zero, out.clone(), stop).await;
    ended.map_err(|error| {
        let why = error.to_string();
        let _ = out.send(Progress::Warning(format!("the run could not go on: {why}")));
        why
    })
}
