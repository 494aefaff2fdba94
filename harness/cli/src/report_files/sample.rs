//! Writes the composed runs of `tests/sample` as folders, for the tests of the report files.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use probity_report::{BookFacts, Report};

use crate::run_folder::LOG;

pub(crate) use probity_sample::{HOSTILE, Run, everything as run, registry, undecided as undecided_run};

/// Writes the log and the histories of a run as a real run does.
pub(crate) fn store(run: &Run, folder: &Path) {
    let log: String = run.log().iter().map(|line| line.write().unwrap()).collect();
    std::fs::write(folder.join(LOG), log).unwrap();
    for (file, text) in run.files() {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
    }
}

pub(crate) fn report() -> Report {
    run().report()
}

pub(crate) fn book() -> BookFacts {
    run().book()
}

pub(crate) fn undecided_report() -> Report {
    undecided_run().report()
}
