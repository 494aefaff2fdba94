//! The run itself. The cluster client, the sink, the screen and the test output work at the same time.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use probity_case::{Case, CaseName};
use probity_cluster::{ClusterClient, Progress, RunClock, RunOptions, schedule};
use probity_report::run_log::{Leftover, Planned, RunFacts};
use probity_report::{LogLine, Standard};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::conclude::FinishedRun;
use super::prepare::PreparedRun;
use super::progress::console::Console;
use super::progress::screen::Screen;
use super::progress::{ProgressBoard, clock};
use super::run_sink::{AwaitedCase, RunSink};
use super::signals::{self, Signals};
use crate::cases::book::Book;
use crate::exit_status::Failure;
use crate::{output, provenance, run_folder};

/// The input of a run.
pub(crate) struct RunPlan<'p> {
    /// The book that judges it.
    pub(crate) book: &'p Book,
    /// What runs, in a few words, for the first line.
    pub(crate) title: String,
    /// The cases, under the names that they have in the cluster.
    pub(crate) cases: Vec<Case>,
    /// The results that are awaited, by those names.
    pub(crate) awaited: BTreeMap<CaseName, AwaitedCase>,
    /// The first line of the log. The name, the time, the program and the book are filled in.
    pub(crate) facts: RunFacts,
    /// The log lines of the cases that do not run.
    pub(crate) left_out: Vec<LogLine>,
    /// What counts as a failure.
    pub(crate) standard: Standard,
    /// How many more times a case may run if it left something undecided.
    pub(crate) retries: u32,
}

impl<'p> RunPlan<'p> {
    /// A run of these cases, which were read from `source`. Their results are shown together at the end, so nothing
    /// waits for a single result.
    pub(crate) fn shown_together(book: &'p Book, title: String, cases: Vec<Case>, source: &str) -> Self {
        let awaited = cases.iter().map(|case| {
            let awaited = AwaitedCase { case: case.name.clone(), repetition: None, result: channel().0 };
            (case.name.clone(), awaited)
        });
        let planned = cases.iter().map(|case| Planned::of(case, source));
        Self {
            book,
            title,
            awaited: awaited.collect(),
            facts: RunFacts { repeat: 1, cases: planned.collect(), ..RunFacts::default() },
            cases,
            left_out: Vec::new(),
            standard: Standard::default(),
            retries: 0,
        }
    }
}

impl PreparedRun {
    /// Runs the cases and writes the report. `show` runs at the same time, on this thread. Fails if the folder cannot be
    /// used, or if the report cannot be written.
    pub(crate) fn conduct(
        self,
        plan: RunPlan<'_>,
        show: impl FnOnce(&Console),
    ) -> Result<FinishedRun, Failure> {
        let RunPlan { book, title, cases, awaited, facts, left_out, standard, retries } = plan;
        let signals = self.runtime.block_on(async { Signals::open() });
        let signals =
            signals.map_err(|error| Failure::failed(format!("failed to listen for signals: {error}")))?;
        let zero = RunClock::now();
        let forecast = schedule::forecast(&cases, self.options.starts).micros();
        let forecast_us = i64::try_from(forecast).unwrap_or(i64::MAX);
        output::err(&self.announcement(&title, forecast_us));
        let board = Arc::new(Mutex::new(ProgressBoard::new(&cases, forecast_us)));
        let sink = RunSink::open(self.folder.clone(), &book.registry, awaited, Arc::clone(&board), standard)
            .map_err(|error| Failure::wrong_file(&self.folder, format!("{error}; choose another --out")))?
            .retrying(retries, &facts.cases);
        let mut first = vec![LogLine::Began(Box::new(self.facts(facts, book, zero)?))];
        first.extend(left_out);
        let (screen, console) = Screen::open(Arc::clone(&board), zero);
        let (send, progress) = unbounded_channel();
        let (stop, cleaned) = (CancellationToken::new(), CancellationToken::new());
        let abandon = self.abandon();
        let tokens = (stop.clone(), cleaned.clone());
        self.runtime.spawn(signals::listen(signals, tokens, board, console.clone(), abandon));
        let (failed, broken_log) = thread::scope(|scope| {
            let sink = scope.spawn(|| sink.work(&first, progress, console.clone()));
            let cluster = (self.cluster.clone(), self.options.clone());
            let conducting = self.runtime.spawn(conduct(cluster, cases, zero, send, stop));
            show(&console);
            let ended = self.runtime.block_on(conducting).map_err(|error| error.to_string());
            cleaned.cancel();
            (ended.and_then(|ended| ended).err(), sink.join().unwrap_or_default())
        });
        screen.close();
        FinishedRun::load(self.folder, book, standard, failed.or(broken_log), self.runtime)
    }

    fn announcement(&self, title: &str, forecast_us: i64) -> String {
        let namespace = match &self.options.namespace {
            Some(name) => format!("namespace {name}"),
            None => format!("new namespace {}", self.options.run),
        };
        let ClusterClient { context, server_version, .. } = &self.cluster;
        let forecast = clock(forecast_us / 1_000_000);
        format!("probity: context {context} ({server_version}), {namespace}, {title}, about {forecast}\n")
    }

    fn facts(&self, facts: RunFacts, book: &Book, zero: RunClock) -> Result<RunFacts, Failure> {
        let mut suite = provenance::suite(book)?;
        suite.added = added(book, &facts.cases);
        let facts = RunFacts {
            run_id: self.options.run.clone(),
            began_wall_us: zero.wall_us(),
            command: std::env::args().collect(),
            tool: provenance::tool(),
            suite,
            ..facts
        };
        Ok(facts.versioned())
    }

    /// What to do if the user does not wait for the cleanup. The log and the returned sentence name the objects that may
    /// remain.
    fn abandon(&self) -> impl FnOnce() -> String + use<> {
        let (context, run, folder) =
            (self.cluster.context.clone(), self.options.run.clone(), self.folder.clone());
        let (place, flag) = match &self.options.namespace {
            Some(name) => (format!("in the namespace {name}"), format!(" --namespace {name}")),
            None => (format!("and the namespace {run}"), String::new()),
        };
        move || {
            let what = format!("objects labeled probity.dev/run={run} {place}");
            let text = format!(
                "{what} may remain; this command removes them:\n  probity gc --context {context}{flag}"
            );
            let why = "the run ended before the cleanup".to_owned();
            let _ = run_folder::append(&folder, &LogLine::Leftover(Leftover { what, why }));
            text
        }
    }
}

/// The case files that are not part of the book: the user's own files, and the pod of `probity try` or `reproduce`.
fn added(book: &Book, cases: &[Planned]) -> Vec<String> {
    let built_in = |source: &str| book.files.iter().any(|file| !file.own && file.source == source);
    let mut added: Vec<String> =
        book.files.iter().filter(|file| file.own).map(|file| file.source.clone()).collect();
    for planned in cases.iter().filter(|planned| !built_in(&planned.source)) {
        if !added.contains(&planned.source) {
            added.push(planned.source.clone());
        }
    }
    added
}

/// Runs the cases. A failure is reported to the sink like all progress, and also to the caller.
async fn conduct(
    (cluster, options): (ClusterClient, RunOptions),
    cases: Vec<Case>,
    zero: RunClock,
    out: UnboundedSender<Progress>,
    stop: CancellationToken,
) -> Result<(), String> {
    let ended = probity_cluster::conduct(cluster, options, cases, zero, out.clone(), stop).await;
    ended.map_err(|error| {
        let why = error.to_string();
        let _ = out.send(Progress::Warning(format!("the run failed: {why}")));
        why
    })
}
