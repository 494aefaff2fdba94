//! `agnhost-rs dump`: prints a view of the container from inside to standard output.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::dump;

/// Prints what a process sees from inside the container, as JSON.
#[derive(Args, Clone, Debug)]
pub struct DumpArgs {
    /// An additional file to read, at most 64 KiB of it; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
}

impl DumpArgs {
    /// Prints the dump. The status is 1 if standard output is closed, or if a requested file cannot be read.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let mut dump = dump::take();
        let mut missing = false;
        for path in &self.files {
            match dump::read(path) {
                Some((path, text)) => drop(dump.files.insert(path, text)),
                None => {
                    missing = true;
                    let _ =
                        writeln!(std::io::stderr().lock(), "agnhost-rs: failed to read {}", path.display());
                }
            }
        }
        let mut out = std::io::stdout().lock();
        let printed = serde_json::to_writer_pretty(&mut out, &dump).map_err(std::io::Error::from);
        if printed.and_then(|()| writeln!(out)).is_err() || missing {
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }
}
