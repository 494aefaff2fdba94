//! The program `upstream`: runs upstream's own end-to-end specs on a cluster of `ci/cluster`, first with a stock
//! kubelet and then with a sample of the defects of `tests/saboteur`, and records which defects they detect, next to
//! the defects that the book detects. `ci/upstream` calls it.

mod cluster;
mod outcome;
mod page;
mod plan;
mod results;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use clap::Parser;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use probity_saboteur::table::{self, Row};

use cluster::Cluster;
use outcome::SpecOutcome;
use plan::Spec;
use results::{DefectResult, Results, SpecRun};

/// Compares upstream's specs with the book: how many defective kubelets does each of them detect?
#[derive(Parser)]
struct Arguments {
    /// Only rows whose name contains one of these texts, instead of a sample.
    filter: Vec<String>,
    /// How many rows to draw.
    #[arg(long, default_value_t = 60)]
    rows: usize,
    /// The seed of the draw.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many specs run at the same time.
    #[arg(long, default_value_t = 40)]
    parallel: usize,
    /// The program with upstream's specs.
    #[arg(long)]
    specs: PathBuf,
    /// The script that controls the cluster.
    #[arg(long, default_value = "ci/cluster")]
    cluster: PathBuf,
    /// The node of the cluster.
    #[arg(long, default_value = "node1")]
    node: String,
    /// The table of defects.
    #[arg(long, default_value = "tests/saboteur/defects")]
    table: PathBuf,
    /// Where the results go.
    #[arg(long, default_value = "target/upstream")]
    out: PathBuf,
    /// The page to write.
    #[arg(long, default_value = "docs/results/upstream.md")]
    page: PathBuf,
    /// Do not run anything: write the page from the results of the last run.
    #[arg(long)]
    page_only: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match work(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, there is nowhere left to report this.
            writeln!(io::stderr(), "upstream: {error}").ok();
            ExitCode::from(2)
        }
    }
}

async fn work(arguments: Arguments) -> io::Result<()> {
    let file = arguments.out.join("results.json");
    let results = if arguments.page_only {
        serde_json::from_slice(&fs::read(&file)?)?
    } else {
        cluster::empty(&arguments.out)?;
        let results = compare(&arguments).await?;
        fs::write(&file, serde_json::to_vec_pretty(&results)?)?;
        results
    };
    fs::write(&arguments.page, page::page(&results))
}

async fn compare(arguments: &Arguments) -> io::Result<Results> {
    let upstream = probity_suites::upstream().map_err(|problem| io::Error::other(problem.to_string()))?;
    let specs = plan::specs(&upstream);
    let rows = chosen(table::read(&arguments.table)?, arguments)?;
    let cluster = Cluster {
        script: arguments.cluster.clone(),
        node: arguments.node.clone(),
        specs: arguments.specs.clone(),
        kubeconfig: PathBuf::new(),
        out: fs::canonicalize(&arguments.out)?,
        run: format!("upstream-{:05x}", fastrand::u32(0..1 << 20)),
    };
    let cluster = cluster.find().await?;

    say(&format!("{} specs without a defect", specs.len()));
    let began = Instant::now();
    let stock = run(&cluster, arguments.parallel, specs.iter().collect()).await?;
    let seconds = began.elapsed().as_secs();

    let passed: Vec<Spec> = specs.into_iter().filter(|spec| results::passed(&stock, &spec.focus())).collect();
    let (defects, plain) = with_defects(arguments, &cluster, &rows, &passed).await?;
    Ok(Results { release: upstream.release.to_owned(), seed: arguments.seed, seconds, stock, plain, defects })
}

fn chosen(rows: Vec<Row>, arguments: &Arguments) -> io::Result<Vec<Row>> {
    let named = |row: &Row| arguments.filter.iter().any(|part| row.name.contains(part.as_str()));
    let rows = match arguments.filter[..] {
        [] => plan::draw(rows, arguments.rows, arguments.seed),
        _ => rows.into_iter().filter(named).collect(),
    };
    match rows[..] {
        [] => Err(io::Error::other("no row of the table has a name that matches the filter")),
        _ => Ok(rows),
    }
}

/// Runs the specs that might detect each row, all at the same time, and each spec once without a defect.
async fn with_defects(
    arguments: &Arguments,
    cluster: &Cluster,
    rows: &[Row],
    specs: &[Spec],
) -> io::Result<(Vec<DefectResult>, Vec<SpecRun>)> {
    let real = probity_suites::real_defects();
    let noticing = plan::noticing(&real);
    let nothing = BTreeSet::new();
    let mut trials = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let violated = noticing.get(row.name.as_str()).unwrap_or(&nothing);
        let relevant = plan::relevant(row, violated, specs);
        trials.extend(
            relevant
                .into_iter()
                .enumerate()
                .map(|(at, spec)| (Some(number), spec, cluster.namespace(&format!("row-{number}-{at}")))),
        );
    }
    let used: BTreeSet<&Spec> = trials.iter().map(|(_, spec, _)| *spec).collect();
    trials.extend(
        used.into_iter()
            .enumerate()
            .map(|(at, spec)| (None, spec, cluster.namespace(&format!("plain-{at}")))),
    );
    // The order is shuffled, so that the load is the same for all rows.
    fastrand::Rng::with_seed(arguments.seed).shuffle(&mut trials);

    let sabotaged = trials.iter().filter_map(|(row, _, name)| Some(plan::defects(rows.get((*row)?)?, name)));
    cluster.set(&sabotaged.flatten().collect::<Vec<_>>()).await?;
    say(&format!("{} specs with {} defects", trials.len(), rows.len()));
    let runs = stream::iter(trials).map(async |(row, spec, name)| {
        let run = one(cluster, spec, &name).await?;
        io::Result::Ok((row, run))
    });
    let ran: Vec<(Option<usize>, SpecRun)> = runs.buffer_unordered(arguments.parallel).try_collect().await?;
    let strikes = cluster.clear().await?;

    let of = |number: Option<usize>| {
        let own = ran.iter().filter(move |(row, _)| *row == number).map(|(_, run)| run.clone());
        let mut own: Vec<SpecRun> = own.collect();
        own.sort_by(|one, other| one.spec.cmp(&other.spec));
        own
    };
    let results = rows.iter().enumerate().map(|(number, row)| DefectResult {
        name: row.name.clone(),
        like: row.like.clone(),
        violated: noticing
            .get(row.name.as_str())
            .unwrap_or(&nothing)
            .iter()
            .map(ToString::to_string)
            .collect(),
        strikes: results::strikes(&strikes, &cluster.namespace(&format!("row-{number}-"))),
        runs: of(Some(number)),
    });
    Ok((results.collect(), of(None)))
}

/// Runs specs without a defect.
async fn run(cluster: &Cluster, parallel: usize, specs: Vec<&Spec>) -> io::Result<Vec<SpecRun>> {
    let named =
        specs.into_iter().enumerate().map(|(at, spec)| (spec, cluster.namespace(&format!("stock-{at}"))));
    let runs = stream::iter(named).map(async |(spec, name)| one(cluster, spec, &name).await);
    let mut ran: Vec<SpecRun> = runs.buffer_unordered(parallel).try_collect().await?;
    ran.sort_by(|one, other| one.spec.cmp(&other.spec));
    Ok(ran)
}

async fn one(cluster: &Cluster, spec: &Spec, name: &str) -> io::Result<SpecRun> {
    let (outcome, took) = cluster.spec(&spec.focus(), name).await?;
    let told = match &outcome {
        SpecOutcome::Passed => "passed".to_owned(),
        SpecOutcome::Failed(why) => format!("failed: {why}"),
        SpecOutcome::Skipped(why) => format!("skipped: {why}"),
    };
    say(&format!("{name} {} {} s {told}", spec.focus(), took.as_secs()));
    Ok(SpecRun { spec: spec.focus(), outcome, seconds: took.as_secs() })
}

fn say(line: &str) {
    // If standard output is closed, the run continues.
    writeln!(io::stdout(), "{line}").ok();
}
