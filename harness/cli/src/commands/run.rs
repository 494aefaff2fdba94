//! `probity run`: cases on a cluster.
//!
//! Nothing is created before the input has been checked: the book, the context, the permissions, and the pods of the
//! user's own cases with dry runs. What depends on the namespace of the run, such as the policies of the cluster, is
//! checked as soon as the namespace exists.

use probity_case::Case;
use probity_cluster::{RefusedPod, RunOptions};
use probity_report::Word;
use probity_report::run_log::RunFacts;

use crate::arguments::{Inconclusive, RunArgs};
use crate::cases::book::{Book, CaseFile};
use crate::cases::rejected_pods;
use crate::exit_status::{Exit, ExitFacts, Failure};
use crate::output::{self, counted};
use crate::pipeline::kubectl;
use crate::pipeline::progress::console::Console;
use crate::pipeline::selection::Selection;
use crate::pipeline::{RunPlan, closing_summary, deliver, prepare, words};
use crate::report_files::Github;

const NO_NODES: &str = "--every-node found no node: no ready node matches --node-selector and --toleration, or you lack permission to list nodes; nothing was created";

/// Runs the selected cases, and ends with the exit status of the report.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let book = Book::open(&args.suites)?;
    let standard = args.standard.standard();
    let node_command = args.node_command.is_some();
    let mut selection =
        Selection::of(&book, &args.filter, node_command, args.repeat, args.shard, args.every_node);
    args.filter.check(book.cases())?;
    if args.libtest.list {
        return args.libtest.list(&selection.lines);
    }
    if selection.is_empty() && args.shard.is_none_or(|_| !book.cases().any(|case| args.filter.runs(case))) {
        return Err(Failure::wrong_use(args.filter.nothing(book.cases())));
    }
    if let Some(shard) = args.shard.filter(|_| selection.is_empty()) {
        output::err(&format!("probity: shard {shard} has no cases: there are fewer cases than shards\n"));
    }
    let logfile = args.libtest.open()?;
    // Users who merge shards or fetch the results of a Job need this run too, even if nothing runs in it.
    if selection.cases.is_empty() && args.shard.is_none() && !args.delivery.delivers() {
        let lacks = selection.lines.iter().filter(|line| line.chosen).find_map(|line| line.lacks.clone());
        args.libtest.show(selection.lines, &Console::default(), logfile);
        output::err(&format!("probity: nothing ran: {}\n", lacks.unwrap_or_default()));
        return Ok(ExitFacts::default().status(standard));
    }
    let options = RunOptions {
        node_command: args.node_command.as_deref().map(words),
        kubectl: kubectl::find(args.kubectl.as_deref(), &args.settings.cluster.access())?,
        starts: args.starts,
        pods: args.pods,
        ..args.settings.options()
    };
    let mut prepared = prepare(&args.settings, options)?;
    for missing in prepared.permissions.shortcomings() {
        output::err(&format!("probity: you lack permission to {missing}\n"));
    }
    for (case, why) in prepared.lacking(&selection.cases)? {
        selection.leave_out(&case, &why);
    }
    // This must come after the selection, because an API server without a feature rejects the pods of cases that need it.
    prepared.rehearse(&own_cases(&book, &selection), |rejected| rejections(rejected, &book, &selection))?;
    if args.every_node {
        let nodes = prepared.nodes()?;
        if nodes.is_empty() {
            return Err(Failure::wrong_use(NO_NODES));
        }
        prepared.bind(selection.on_each(&nodes, args.shard));
    }
    let Selection { cases, awaited, lines, planned, left_out } = selection;
    let title = counted(cases.len(), "case");
    let facts = RunFacts {
        profiles: args.filter.profiles(),
        repeat: args.repeat.max(1),
        labels: args.label.iter().cloned().collect(),
        shard: args.shard,
        cases: planned,
        ..RunFacts::default()
    };
    // A user who requests repetitions wants to see each of them.
    let retries = if args.repeat > 1 { 0 } else { args.retries };
    let plan = RunPlan { book: &book, title, cases, awaited, facts, left_out, standard, retries };
    let finished = prepared.conduct(plan, |console| args.libtest.show(lines, console, logfile))?;
    let annotated = output::out(&Github::of_environment().publish(&finished.report, standard)?);
    let delivered = deliver(&args.delivery, &args.settings.cluster.access(), args.shard, &finished.folder);
    // So the log of a pod ends with the summary, and with the place where the results remain after the pod is gone.
    output::err(&closing_summary::of(&finished.report, &finished.folder, shown(args)));
    output::err(delivered.as_deref().unwrap_or_default());
    let facts = finished.report.exit_facts();
    let exit = finished.end(facts)?;
    delivered?;
    annotated?;
    Ok(after_delivery(exit, args.delivery.delivers()))
}

/// The recipient judges the results: a violated or undecided clause is not a failure of the delivery.
fn after_delivery(exit: Exit, delivered: bool) -> Exit {
    match exit {
        Exit::Violated | Exit::Inconclusive if delivered => Exit::Success,
        exit => exit,
    }
}

/// The selected cases of the user's own files.
fn own_cases(book: &Book, selection: &Selection) -> Vec<Case> {
    let is_own = |case: &&Case| file_of(case, book, selection).is_some_and(|file| file.own);
    selection.cases.iter().filter(is_own).cloned().collect()
}

/// The file of a selected case. A case that is repeated has another name in the cluster than in its file.
fn file_of<'b>(case: &Case, book: &'b Book, selection: &Selection) -> Option<&'b CaseFile> {
    let name = selection.awaited.get(&case.name).map_or(&case.name, |awaited| &awaited.case);
    book.file_of(name)
}

/// The problems of rejected pods, with their places in the case files, each once.
fn rejections(rejected: &[RefusedPod], book: &Book, selection: &Selection) -> String {
    let mut problems: Vec<String> = Vec::new();
    for pod in rejected {
        let Some(case) = selection.cases.iter().find(|case| case.name == pod.case) else { continue };
        let Some(file) = file_of(case, book, selection) else { continue };
        for problem in rejected_pods::problems(file, case, pod) {
            let text = problem.to_string();
            if !problems.contains(&text) {
                problems.push(text);
            }
        }
    }
    let pods = counted(rejected.len(), "pod");
    format!("the API server rejects {pods}; nothing was created\n{}", problems.join("\n"))
}

/// The verdicts whose findings the test output has already shown.
fn shown(args: &RunArgs) -> &'static [Word] {
    match args.standard.inconclusive {
        _ if !args.libtest.shows_failures() => &[],
        Inconclusive::Warn | Inconclusive::Fail => &[Word::Violated, Word::Error, Word::Inconclusive],
        Inconclusive::Pass => &[Word::Violated, Word::Error],
    }
}
