//! Delivers the results of an unattended run: to ConfigMaps of the cluster, or to Sonobuoy.

use std::fs;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use probity_cluster::job::JOB;
use probity_cluster::stored_run::{self, StoragePlace};
use probity_cluster::{Access, connect};
use probity_image::{Entry, Tree};
use probity_report::run_log::Shard;

use super::runtime;
use crate::arguments::in_cluster::DeliveryArgs;
use crate::exit_status::Failure;
use crate::output::counted;
use crate::run_folder::{self, bundle};

/// The files for Sonobuoy, which reads only the JUnit file.
const FOR_SONOBUOY: [&str; 4] = ["junit.xml", "report.json", "report.html", "summary.md"];
/// A run that is not divided is stored as shard 0 of 1.
const WHOLE: Shard = Shard { index: 0, of: 1 };

/// Delivers the files of a run, according to the flags. Returns a line that describes what was done.
/// Fails if the results could not be stored.
pub(crate) fn deliver(
    args: &DeliveryArgs,
    access: &Access,
    shard: Option<Shard>,
    folder: &Path,
) -> Result<String, Failure> {
    let mut said = String::new();
    if let Some(namespace) = &args.store {
        let bytes = bundle::pack(folder)?;
        let digest = run_folder::digest_of(&bytes);
        let job = args.job_uid.iter().map(|uid| (args.store_name.clone(), uid.clone())).next();
        let place = StoragePlace { namespace: namespace.clone(), name: args.store_name.clone(), job };
        // The client of the run no longer exists, so this needs a new one.
        let storing = async {
            let cluster = connect(access).await?;
            stored_run::store(&cluster, &place, shard.unwrap_or(WHOLE), &digest, &bytes).await
        };
        let parts = runtime()?.block_on(storing).map_err(|error| {
            Failure::failed(format!("the results could not be stored in the namespace {namespace}: {error}"))
        })?;
        said += &format!(
            "probity: stored the results in {} of the namespace {namespace}; `{}` downloads them\n",
            counted(parts, "ConfigMap"),
            fetching(namespace, &args.store_name)
        );
    }
    if let Some(results) = &args.sonobuoy {
        for_sonobuoy(folder, results).map_err(|why| Failure::file_failed(results, why))?;
        said += &format!("probity: wrote the results for Sonobuoy into {}\n", results.display());
    }
    Ok(said)
}

/// The command that downloads the stored results, without the flags for access to the cluster.
fn fetching(namespace: &str, name: &str) -> String {
    let name = if name == JOB { String::new() } else { format!(" --name {name}") };
    format!("probity fetch --namespace {namespace}{name} --out DIR")
}

/// Writes an archive of the results and then the file that tells Sonobuoy where the archive is.
fn for_sonobuoy(folder: &Path, results: &Path) -> Result<(), String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let mut tree = Tree::new();
    for name in FOR_SONOBUOY {
        let bytes = fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        tree.insert(name, Entry::file(0o644, &bytes)).map_err(|error| words(&error))?;
    }
    let run = bundle::pack(folder).map_err(|error| words(&error))?;
    tree.insert("run.tar.zst", Entry::file(0o644, &run)).map_err(|error| words(&error))?;
    let tar = tree.to_tar().map_err(|error| words(&error))?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    std::io::Write::write_all(&mut packed, &tar).map_err(|error| words(&error))?;
    let archive = results.join("probity.tar.gz");
    let bytes = packed.finish().map_err(|error| words(&error))?;
    run_folder::store(&archive, &bytes).map_err(|error| words(&error))?;
    // Sonobuoy waits for this file.
    run_folder::store(&results.join("done"), archive.display().to_string().as_bytes())
        .map_err(|error| words(&error))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn sonobuoy_finds_the_archive_by_the_file_that_says_it_is_done() {
        let (folder, results) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        crate::report_files::sample::store(&crate::report_files::sample::run(), folder.path());
        for name in FOR_SONOBUOY {
            fs::write(folder.path().join(name), name).unwrap();
        }
        for_sonobuoy(folder.path(), results.path()).unwrap();
        let archive = fs::read_to_string(results.path().join("done")).unwrap();
        let mut tar = Vec::new();
        let packed = fs::File::open(archive).unwrap();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed), &mut tar).unwrap();
        let tree = Tree::from_tar(&tar, "results").unwrap();
        assert_eq!(tree.file("junit.xml"), Some(b"junit.xml".as_slice()));
        let unpacked = tempfile::tempdir().unwrap();
        bundle::unpack(tree.file("run.tar.zst").unwrap(), unpacked.path()).unwrap();
    }

    #[test]
    fn the_log_says_how_to_get_the_results() {
        assert_eq!(fetching("mine", JOB), "probity fetch --namespace mine --out DIR");
        assert_eq!(fetching("mine", "other"), "probity fetch --namespace mine --name other --out DIR");
    }

    #[test]
    fn without_results_nothing_says_done() {
        let (folder, results) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert!(for_sonobuoy(folder.path(), results.path()).unwrap_err().contains("junit.xml"));
        assert!(!results.path().join("done").exists());
    }
}
