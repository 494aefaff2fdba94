//! Runs the rows of the table on a cluster whose nodes have saboteurs. Each row gets copies of its cases, and its
//! defects strike only the pods of these copies. All copies run in parallel in one run of the harness, together with
//! the original cases, which must not violate any clause.

mod commands;
mod copies;
mod outcome;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write as _},
    path::PathBuf,
};

use serde_json::Value;

use crate::table::{self, Row};
use commands::Commands;
pub use outcome::{RunOutcome, Trial, merge_noticed};

/// How the rows are run.
#[derive(Clone, Debug, clap::Args)]
pub struct RunnerOptions {
    /// The harness.
    #[arg(long, default_value = "target/debug/probity")]
    pub probity: PathBuf,
    /// The script that controls the cluster.
    #[arg(long, default_value = "ci/cluster")]
    pub cluster: PathBuf,
    /// The folder of the book.
    #[arg(long, default_value = "suites")]
    pub book: PathBuf,
    /// The node whose saboteur receives the defects, and which runs all pods.
    #[arg(long, default_value = "node1")]
    pub node: String,
    /// The maximum number of pods at the same time.
    #[arg(long, default_value_t = 60)]
    pub pods: u32,
    /// A row that is not detected is run again, with this many pods at the same time.
    #[arg(long, default_value_t = 12)]
    pub pods_again: u32,
    /// The number of pods that run at the same time for a row that needs many pods on the node.
    #[arg(long, default_value_t = 100)]
    pub crowd: u32,
    /// Where the reports of the runs go.
    #[arg(long, default_value = "target/saboteur")]
    pub out: PathBuf,
    /// Do not run anything: judge the last run again.
    #[arg(long)]
    pub judge_again: bool,
}

/// A job: a row with its defects, or a case without defects.
#[derive(Clone, Debug)]
pub enum Job {
    /// A row of the table, and its number there.
    Row(usize, Box<Row>),
    /// One case of the book, without a defect.
    Plain(String),
}

impl Job {
    /// The name of the row, or of the case.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Row(_, row) => &row.name,
            Self::Plain(case) => case,
        }
    }

    /// The cases to run, each with the name that it runs under.
    fn cases(&self) -> Vec<(&str, String)> {
        match self {
            Self::Row(number, row) => {
                let copies = (0..row.copies).flat_map(|_| &row.cases).enumerate();
                let named = |(at, case): (usize, &'_ String)| {
                    format!("row/{number:03}-{at}-{}{}", row.name, copies::variant(case))
                };
                copies.map(|(at, case)| (case.as_str(), named((at, case)))).collect()
            }
            Self::Plain(case) => vec![(case, case.clone())],
        }
    }

    fn alone(&self) -> bool {
        matches!(self, Self::Row(_, row) if row.alone)
    }

    /// How many times each of its cases runs.
    fn copies(&self) -> u32 {
        match self {
            Self::Row(_, row) => row.copies,
            Self::Plain(_) => 1,
        }
    }
}

/// The unique prefix of the names of all pods of a row.
#[must_use]
pub fn mark(number: usize) -> String {
    format!("row-{number:03}-")
}

/// Runs all rows, and the cases that they name without a defect. Prints a line for each as it ends.
///
/// # Errors
///
/// If a command to the cluster fails, or a run has no result.
pub async fn run(options: &RunnerOptions, rows: &[Row]) -> io::Result<Vec<Trial>> {
    let plain = table::cases(rows).into_iter().map(Job::Plain);
    let rows = rows.iter().enumerate().map(|(number, row)| Job::Row(number, Box::new(row.clone())));
    let (alone, together): (Vec<_>, Vec<_>) = plain.chain(rows).partition(Job::alone);
    if options.judge_again {
        return judge_again(options, together).await;
    }
    let commands = Commands::new(options).await?;
    let mut trials = attempt(&commands, TOGETHER, together, options.pods).await?;
    // A busy node makes verdicts inconclusive. A violation without a defect is not repeated and stays a violation.
    let (again, rest): (Vec<_>, Vec<_>) = trials.into_iter().partition(Trial::is_worth_another);
    trials = rest;
    let again = again.into_iter().map(|trial| trial.job).collect();
    trials.extend(attempt(&commands, "again", again, options.pods_again).await?);
    for job in alone {
        let name = job.name().to_owned();
        let pods = if job.copies() > 1 { options.crowd } else { options.pods_again };
        trials.extend(attempt(&commands, &name, vec![job], pods).await?);
    }
    Ok(trials)
}

/// The name of the run that contains all rows that share the node.
const TOGETHER: &str = "together";

/// Judges the last run of all rows again. Rows that were not in that run are left out.
async fn judge_again(options: &RunnerOptions, jobs: Vec<Job>) -> io::Result<Vec<Trial>> {
    let report = commands::judge_again(options, TOGETHER).await?;
    let trials = jobs.into_iter().map(|job| trial(job, &report, &BTreeMap::new()));
    let trials: Vec<Trial> = trials.filter(|trial| trial.outcome.failed.is_none()).collect();
    print(&trials);
    Ok(trials)
}

/// Runs jobs in one run of the harness, in a separate namespace, which is created with all its defects before any pod.
async fn attempt(commands: &Commands, name: &str, jobs: Vec<Job>, pods: u32) -> io::Result<Vec<Trial>> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let namespace = format!("saboteur-{:05x}", fastrand::u32(0..1 << 20));
    let defects = jobs.iter().flat_map(|job| match job {
        Job::Row(number, row) => row.defects(&namespace, &mark(*number)),
        Job::Plain(_) => Vec::new(),
    });
    commands.prepare(&namespace, &defects.collect::<Vec<_>>()).await?;
    let cases: Vec<(&str, String)> = jobs.iter().flat_map(Job::cases).collect();
    let report = commands.probity(name, &namespace, &cases, pods).await;
    let strikes = commands.clean(&namespace).await?;
    let report = report?;
    let trials: Vec<Trial> = jobs.into_iter().map(|job| trial(job, &report, &strikes)).collect();
    print(&trials);
    Ok(trials)
}

fn print(trials: &[Trial]) {
    for trial in trials {
        // If standard output is closed, the run continues.
        writeln!(io::stdout(), "{trial}").ok();
    }
}

fn trial(job: Job, report: &Value, strikes: &BTreeMap<String, u32>) -> Trial {
    let cases: BTreeSet<String> =
        job.cases().iter().map(|(_, name)| outcome::without_number(name).to_owned()).collect();
    let outcome = RunOutcome::of(report, &cases);
    let own = |name: &String| matches!(&job, Job::Row(number, _) if name.starts_with(&mark(*number)));
    let strikes = strikes.iter().filter(|(name, _)| own(name)).map(|(_, count)| *count).collect();
    Trial { job, outcome, strikes }
}

/// The clauses that all trials of rows together violated.
#[must_use]
pub fn noticed(trials: &[Trial]) -> BTreeSet<String> {
    let rows = trials.iter().filter(|trial| matches!(trial.job, Job::Row(..)));
    rows.flat_map(|trial| trial.outcome.violated.keys().cloned()).collect()
}
