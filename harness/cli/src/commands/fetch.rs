//! `probity fetch`: downloads the results of a run inside the cluster, and writes one report on all its shards.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use probity_cluster::stored_run::{self, JobState, StoredShard};
use probity_cluster::{ClusterClient, connect};
use probity_report::Report;
use probity_report::run_log::Shard;

use crate::arguments::in_cluster::FetchArgs;
use crate::cases::book;
use crate::exit_status::{Exit, Failure};
use crate::run_folder::{self, bundle};
use crate::{commands, output, output_folder, pipeline, provenance, report_files};

/// How often to check for results.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The subfolder for the shards of a run.
const SHARDS: &str = "shards";

/// Fetches the results, and ends with the exit status of the report.
pub(crate) fn run(args: &FetchArgs) -> Result<Exit, Failure> {
    output_folder::check_for_run("--out", &args.out)?;
    let runtime = pipeline::runtime()?;
    let (cluster, shards) = runtime.block_on(async {
        let cluster = connect(&args.cluster.access()).await?;
        let shards = gather(&cluster, args).await?;
        Ok::<_, Failure>((cluster, shards))
    })?;
    let report = unpack(args, &shards)?;
    output::out(&format!("{}\nfetched {}\n", report.in_words(), args.out.display()))?;
    if args.delete {
        runtime.block_on(stored_run::remove(&cluster, &args.namespace, &args.name))?;
    }
    Ok(report.exit(args.standard.standard()))
}

/// Returns the shards as soon as all of them are stored. Fails if the time is over or nothing more will be stored; with
/// `--incomplete`, it then returns the complete shards, if there are any.
async fn gather(cluster: &ClusterClient, args: &FetchArgs) -> Result<Vec<(Shard, Vec<u8>)>, Failure> {
    let began = Instant::now();
    let patience = Duration::from_micros(args.wait.micros());
    let mut told = String::new();
    let mut before = JobState::Unknown;
    loop {
        // Read the Job first: if it has ended, everything that it stored is visible now.
        let job = stored_run::job_state(cluster, &args.namespace, &args.name).await;
        let stored = stored_run::stored(cluster, &args.namespace, &args.name).await?;
        let why = match missing(&stored) {
            None => return whole(&stored),
            Some(why) => format!("{why} in the namespace {}", args.namespace),
        };
        let ended = over(before, job);
        if ended.is_some() || began.elapsed() >= patience {
            let some = stored.iter().any(|shard| shard.bytes.is_ok());
            if args.allowed.incomplete && some {
                return whole(&stored);
            }
            let look = format!("see `kubectl --namespace {} get pods` and their logs", args.namespace);
            return Err(match ended {
                Some(ended) => Failure::failed(format!("{why}, and {ended}; {look}")),
                None => Failure::wrong_use(format!("{why}; {look}, or wait for the run with --wait 30m")),
            });
        }
        if told != why {
            output::err(&format!("probity: {why}; waiting\n"));
            told = why;
        }
        before = if job == JobState::Unknown { before } else { job };
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Why nothing more will be stored, according to the earlier and the current state of the Job. Results may come from
/// elsewhere, so a Job that never existed proves nothing.
fn over(before: JobState, now: JobState) -> Option<&'static str> {
    match (before, now) {
        (_, JobState::Failed) => Some("the Job has failed"),
        (_, JobState::Complete) => Some("the Job is complete"),
        (JobState::Running, JobState::Absent) => Some("the Job was deleted"),
        _ => None,
    }
}

/// The maximum number of missing shards that are named. A ConfigMap can claim to belong to one of billions of shards.
const NAMED: usize = 20;

/// The missing parts of a run, in words; `None` if it is complete.
fn missing(stored: &[StoredShard]) -> Option<String> {
    let Some(of) = stored.iter().map(|found| found.shard.of).max() else {
        return Some("no results are stored".to_owned());
    };
    let there = |shard: Shard| stored.iter().any(|found| found.shard == shard && found.bytes.is_ok());
    let missing: Vec<String> = (0..of)
        .map(|index| Shard { index, of })
        .filter(|shard| !there(*shard))
        .map(|shard| match stored.iter().find(|found| found.shard == shard).map(|found| &found.bytes) {
            Some(Err(parts)) => format!("{shard} ({parts})"),
            _ => shard.to_string(),
        })
        .take(NAMED)
        .collect();
    let one = if missing.len() == 1 { "is" } else { "are" };
    (!missing.is_empty()).then(|| format!("of {of} shards, {} {one} not stored", missing.join(", ")))
}

/// The bytes of the complete shards.
/// Fails if they differ from the bytes that the run stored.
fn whole(stored: &[StoredShard]) -> Result<Vec<(Shard, Vec<u8>)>, Failure> {
    let mut shards = Vec::new();
    for found in stored {
        let Ok(bytes) = &found.bytes else { continue };
        if run_folder::digest_of(bytes) != found.digest {
            let why = format!(
                "the results of shard {} differ from those that the run stored: wrong digest",
                found.shard
            );
            return Err(Failure::failed(why));
        }
        shards.push((found.shard, bytes.clone()));
    }
    Ok(shards)
}

/// Unpacks the shards and merges them into one run.
fn unpack(args: &FetchArgs, shards: &[(Shard, Vec<u8>)]) -> Result<Report, Failure> {
    if let [(Shard { of: 1, .. }, bytes)] = shards {
        bundle::unpack(bytes, &args.out)?;
        return report(&args.out, args);
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for (shard, bytes) in shards {
        let folder = args.out.join(SHARDS).join(shard.index.to_string());
        bundle::unpack(bytes, &folder)?;
        report(&folder, args)?;
        folders.push(folder);
    }
    commands::merge::merged(&args.out, &folders, args.allowed.allowed(), args.standard.standard())
}

/// Writes the files of a downloaded run.
fn report(folder: &Path, args: &FetchArgs) -> Result<Report, Failure> {
    let (report, files) =
        commands::report::judged_again(folder, &book::registry()?, &provenance::book_facts()?)?;
    report_files::write(folder, &report, &files, args.standard.standard())?;
    Ok(report)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_cluster::stored_run::MissingPart;

    use super::*;

    fn found(index: u32, of: u32, bytes: Result<Vec<u8>, MissingPart>) -> StoredShard {
        let digest = run_folder::digest_of(bytes.as_deref().unwrap_or_default());
        StoredShard { shard: Shard { index, of }, bytes, digest }
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(missing(&[]).unwrap(), "no results are stored");
        let half = found(1, 3, Err(MissingPart { there: 1, of: 2 }));
        assert_eq!(
            missing(&[found(0, 3, Ok(Vec::new())), half]).unwrap(),
            "of 3 shards, 1/3 (1 of its 2 parts exist), 2/3 are not stored"
        );
        assert_eq!(missing(&[found(0, 1, Ok(Vec::new()))]), None);
    }

    #[test]
    fn nobody_waits_for_a_job_that_has_ended() {
        use JobState::{Absent, Complete, Failed, Running, Unknown};
        for (before, now) in [(Unknown, Unknown), (Absent, Absent), (Absent, Running), (Running, Unknown)] {
            assert_eq!(over(before, now), None, "{before:?}, {now:?}");
        }
        assert_eq!(over(Running, Absent), Some("the Job was deleted"));
        assert_eq!(over(Unknown, Failed), Some("the Job has failed"));
        assert_eq!(over(Running, Complete), Some("the Job is complete"));
    }

    #[test]
    fn bytes_of_another_digest_are_refused() {
        let mut changed = found(0, 1, Ok(b"one".to_vec()));
        changed.bytes = Ok(b"two".to_vec());
        assert!(whole(&[changed]).unwrap_err().to_string().contains("wrong digest"));
    }
}
