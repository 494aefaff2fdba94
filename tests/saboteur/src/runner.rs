//! Tries the rows of the table on a cluster whose nodes have saboteurs: each row in a namespace of its own, many side by
//! side, and each case also plain, where nothing may be violated.

mod commands;
mod outcome;

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::table::{self, Row};
use commands::{Commands, LABEL};
pub use outcome::{RunOutcome, Trial, merge_noticed};

/// How the rows are tried.
#[derive(Clone, Debug, clap::Args)]
pub struct RunnerOptions {
    /// The harness.
    #[arg(long, default_value = "target/debug/probity")]
    pub probity: PathBuf,
    /// The script that controls the cluster.
    #[arg(long, default_value = "ci/cluster")]
    pub cluster: PathBuf,
    /// The node whose saboteur is told, and which all pods go to.
    #[arg(long, default_value = "node1")]
    pub node: String,
    /// How many rows are tried at the same time.
    #[arg(long, default_value_t = 12)]
    pub side_by_side: usize,
    /// How many of them may run commands in containers: each command costs a node tens of milliseconds of CPU time.
    #[arg(long, default_value_t = 3)]
    pub execs_side_by_side: usize,
    /// Where the reports of the runs go.
    #[arg(long, default_value = "target/saboteur")]
    pub out: PathBuf,
    /// A row that is not noticed is tried once more, with fewer beside it.
    #[arg(long, default_value_t = 4)]
    pub side_by_side_again: usize,
}

/// A run that takes longer has hung.
const LONGEST_RUN: Duration = Duration::from_secs(300);

/// What to run: a row with its defects, or a case without any.
#[derive(Clone, Debug)]
pub enum Job {
    /// A row of the table.
    Row(Box<Row>),
    /// One case of the book, plain.
    Plain(String),
}

impl Job {
    /// The name of the row, or one made of the case's.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Row(row) => row.name.clone(),
            Self::Plain(case) => format!("plain-{}", case.replace(['/', '_', '='], "-")),
        }
    }

    fn cases(&self) -> Vec<String> {
        match self {
            Self::Row(row) => row.cases.clone(),
            Self::Plain(case) => vec![case.clone()],
        }
    }

    fn alone(&self) -> bool {
        matches!(self, Self::Row(row) if row.alone)
    }
}

/// Tries all rows, and the cases that they name without a defect. Prints a line for each as it ends.
///
/// # Errors
///
/// When the cluster does not obey.
pub async fn run(options: &RunnerOptions, rows: &[Row]) -> io::Result<Vec<Trial>> {
    let commands = Arc::new(Commands::new(options).await?);
    let plain = table::cases(rows).into_iter().map(Job::Plain);
    let jobs = plain.chain(rows.iter().map(|row| Job::Row(Box::new(row.clone())))).collect();
    let execs = table::cases(rows.iter().filter(|row| row.execs()));
    let mut trials = in_turn(&commands, jobs, options.side_by_side, &execs).await;
    // A busy node makes verdicts inconclusive. What was violated without a defect stays violated.
    let again: Vec<Job> =
        trials.iter().filter(|trial| trial.is_worth_another()).map(|trial| trial.job.clone()).collect();
    trials.retain(|trial| !trial.is_worth_another());
    trials.extend(in_turn(&commands, again, options.side_by_side_again, &execs).await);
    Ok(trials)
}

/// First all that can be tried side by side, then the others, one by one.
async fn in_turn(
    commands: &Arc<Commands>,
    jobs: Vec<Job>,
    many: usize,
    execs: &BTreeSet<String>,
) -> Vec<Trial> {
    let (alone, together): (Vec<_>, Vec<_>) = jobs.into_iter().partition(Job::alone);
    let mut trials = side_by_side(commands, together, many, execs).await;
    trials.extend(side_by_side(commands, alone, 1, execs).await);
    trials
}

async fn side_by_side(
    commands: &Arc<Commands>,
    jobs: Vec<Job>,
    many: usize,
    execs: &BTreeSet<String>,
) -> Vec<Trial> {
    let places = Arc::new(Semaphore::new(many.max(1)));
    let exec_places = Arc::new(Semaphore::new(commands.options.execs_side_by_side.clamp(1, many.max(1))));
    let mut running = JoinSet::new();
    for job in jobs {
        let (commands, places) = (commands.clone(), places.clone());
        let exec_places = job.cases().iter().any(|case| execs.contains(case)).then(|| exec_places.clone());
        running.spawn(async move {
            // The semaphores are never closed. One who waits for the scarcer place first keeps no other from running.
            let _exec_place = match exec_places {
                Some(places) => places.acquire_owned().await.ok(),
                None => None,
            };
            let _place = places.acquire_owned().await.ok();
            attempt(&commands, job).await
        });
    }
    let mut trials = Vec::new();
    while let Some(ended) = running.join_next().await {
        let Ok(trial) = ended else { continue };
        // Progress for people; a closed terminal is no reason to stop.
        writeln!(io::stdout(), "{trial}").ok();
        trials.push(trial);
    }
    trials
}

/// Tries one job in a namespace of its own, which is there with its defects before any pod is.
async fn attempt(commands: &Commands, job: Job) -> Trial {
    let began = tokio::time::Instant::now();
    let namespace = namespace(&job.name());
    let outcome = match prepare(commands, &namespace, &job).await {
        Ok(()) => match tokio::time::timeout(LONGEST_RUN, commands.probity(&namespace, &job)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(io::Error::other(format!("the run took longer than {} s", LONGEST_RUN.as_secs()))),
        },
        Err(error) => Err(error),
    };
    let strikes = commands.clean(&namespace).await.unwrap_or_default();
    let outcome = outcome.unwrap_or_else(|error| RunOutcome::failed(error.to_string()));
    Trial { job, outcome, strikes, took: began.elapsed() }
}

/// A name that no other try has had: the namespace of an earlier one may still be on its way out.
fn namespace(job: &str) -> String {
    let mut name = format!("saboteur-{job}");
    name.truncate(LONGEST_NAMESPACE);
    format!("{}-{:05x}", name.trim_end_matches('-'), fastrand::u32(0..1 << 20))
}

/// The longest name of a namespace, without what makes it unique.
const LONGEST_NAMESPACE: usize = 63 - 6;

async fn prepare(commands: &Commands, namespace: &str, job: &Job) -> io::Result<()> {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": namespace, "labels": { LABEL: "row", "pod-security.kubernetes.io/enforce": "restricted" } },
    });
    commands.kubectl(&["create", "--filename=-"], &object.to_string()).await?;
    if let Job::Row(row) = job {
        commands.saboteur(&["set"], &serde_json::to_string(&row.defects(namespace))?).await?;
    }
    Ok(())
}

/// The clauses that all trials of rows together violated.
#[must_use]
pub fn noticed(trials: &[Trial]) -> BTreeSet<String> {
    let rows = trials.iter().filter(|trial| matches!(trial.job, Job::Row(_)));
    rows.flat_map(|trial| trial.outcome.violated.keys().cloned()).collect()
}
