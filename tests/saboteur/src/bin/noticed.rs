//! The program `noticed`: runs the rows of the table of defects on a cluster, and compares the violated clauses with
//! the table. `ci/saboteur` calls it.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use clap::Parser;
use probity_saboteur::{
    runner::{self, RunnerOptions, Trial, merge_noticed},
    table::{self, Row},
};

/// Runs defective kubelets, and reports which of them the book does not detect.
#[derive(Parser)]
struct Arguments {
    /// Only rows whose name contains one of these texts.
    filter: Vec<String>,
    /// The folder of the table.
    #[arg(long, default_value = "tests/saboteur/defects")]
    table: PathBuf,
    /// The file with the detected defects.
    #[arg(long, default_value = "suites/real-defects.txt")]
    noticed: PathBuf,
    /// Only one of this many shares of the confirmed rows, a different one each day.
    #[arg(long, value_name = "SHARES", value_parser = clap::value_parser!(u64).range(1..))]
    share: Option<u64>,
    /// The percentage of rows whose results may differ from the table, because a busy machine leaves some of them
    /// undecided. A violation in a case without a defect always counts as a failure.
    #[arg(long, default_value_t = 0)]
    tolerate: usize,
    #[command(flatten)]
    runner: RunnerOptions,
}

#[tokio::main]
async fn main() -> ExitCode {
    match compare(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // If standard error is closed, there is nowhere left to report this.
            writeln!(io::stderr(), "noticed: {error}").ok();
            ExitCode::from(2)
        }
    }
}

/// Whether all results match the table.
async fn compare(arguments: Arguments) -> io::Result<bool> {
    let all = table::read(&arguments.table)?;
    let names: BTreeSet<String> = all.iter().map(|row| row.name.clone()).collect();
    let rows = chosen(all, &arguments);
    if rows.is_empty() {
        return Err(io::Error::other("no row of the table has a name that matches the filter"));
    }
    let began = Instant::now();
    let mut trials = runner::run(&arguments.runner, &rows).await?;
    trials.sort_by(|one, other| one.job.name().cmp(other.job.name()));
    let before = std::fs::read_to_string(&arguments.noticed).unwrap_or_default();
    std::fs::write(&arguments.noticed, merge_noticed(&before, &trials, &names))?;
    summarize(&trials, rows.len(), began)?;
    Ok(is_as_the_table_says(&trials, arguments.tolerate))
}

fn chosen(rows: Vec<Row>, arguments: &Arguments) -> Vec<Row> {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400;
    let today = |number: usize| arguments.share.is_none_or(|shares| number as u64 % shares == days % shares);
    let named = |row: &Row| {
        arguments.filter.is_empty() || arguments.filter.iter().any(|part| row.name.contains(part.as_str()))
    };
    let numbered = rows.into_iter().filter(|row| !(arguments.share.is_some() && row.slow)).enumerate();
    numbered.filter(|(number, row)| today(*number) && named(row)).map(|(_, row)| row).collect()
}

fn summarize(trials: &[Trial], rows: usize, began: Instant) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let failed: Vec<_> =
        trials.iter().filter_map(|trial| Some((trial.job.name(), trial.complaint()?))).collect();
    writeln!(
        out,
        "\n{rows} defective kubelets and {} cases without a defect in {} s: {} differ from the table; {} clauses were violated",
        trials.len() - rows,
        began.elapsed().as_secs(),
        failed.len(),
        runner::noticed(trials).len(),
    )?;
    for (name, complaint) in &failed {
        writeln!(out, "  {name}: {complaint}")?;
    }
    Ok(())
}

fn is_as_the_table_says(trials: &[Trial], tolerate: usize) -> bool {
    let failed = || trials.iter().filter(|trial| trial.complaint().is_some());
    failed().all(Trial::is_row) && failed().count() * 100 <= trials.len() * tolerate
}
