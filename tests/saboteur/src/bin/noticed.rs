//! The program `noticed`: tries the rows of the table of defects on a cluster, and compares what was violated with what
//! the table says. `ci/saboteur` calls it.

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

/// Tries defective kubelets, and says which the book does not notice.
#[derive(Parser)]
struct Arguments {
    /// Only rows whose name contains one of these texts.
    filter: Vec<String>,
    /// The table; repeatable, since it is in several files.
    #[arg(long, default_values = ["tests/saboteur/defects.yaml", "tests/saboteur/defects-pods-api.yaml"])]
    table: Vec<PathBuf>,
    /// The file of what was noticed.
    #[arg(long, default_value = "suites/real-defects.txt")]
    noticed: PathBuf,
    /// Only a third of the rows: another one each day.
    #[arg(long)]
    third: bool,
    #[command(flatten)]
    runner: RunnerOptions,
}

#[tokio::main]
async fn main() -> ExitCode {
    match compare(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nobody is left to be told when standard error is closed.
            writeln!(io::stderr(), "noticed: {error}").ok();
            ExitCode::from(2)
        }
    }
}

/// Whether all is as the table says.
async fn compare(arguments: Arguments) -> io::Result<bool> {
    let texts = arguments.table.iter().map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let all = table::parse(&texts).map_err(io::Error::other)?;
    let names: BTreeSet<String> = all.iter().map(|row| row.name.clone()).collect();
    let rows = chosen(all, &arguments);
    if rows.is_empty() {
        return Err(io::Error::other("no row of the table has such a name"));
    }
    let began = Instant::now();
    let mut trials = runner::run(&arguments.runner, &rows).await?;
    trials.sort_by_key(|trial| trial.job.name());
    let before = std::fs::read_to_string(&arguments.noticed).unwrap_or_default();
    std::fs::write(&arguments.noticed, merge_noticed(&before, &trials, &names))?;
    summarize(&trials, rows.len(), began)
}

fn chosen(rows: Vec<Row>, arguments: &Arguments) -> Vec<Row> {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400;
    let today = |number: usize| !arguments.third || number as u64 % 3 == days % 3;
    let named = |row: &Row| {
        arguments.filter.is_empty() || arguments.filter.iter().any(|part| row.name.contains(part.as_str()))
    };
    let numbered = rows.into_iter().enumerate();
    numbered.filter(|(number, row)| today(*number) && named(row)).map(|(_, row)| row).collect()
}

fn summarize(trials: &[Trial], rows: usize, began: Instant) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    let failed: Vec<_> =
        trials.iter().filter_map(|trial| Some((trial.job.name(), trial.complaint()?))).collect();
    writeln!(
        out,
        "\n{rows} defective kubelets and {} cases without a defect in {} s: {} not as the table says; {} clauses were violated",
        trials.len() - rows,
        began.elapsed().as_secs(),
        failed.len(),
        runner::noticed(trials).len(),
    )?;
    for (name, complaint) in &failed {
        writeln!(out, "  {name}: {complaint}")?;
    }
    Ok(failed.is_empty())
}
