//! The library embeds the book, but cargo does not know this: if a case changes, the library must be rebuilt.
//!
//! This script also computes a digest of the judges: the sources of this crate and of the judging core, without their
//! tests. That digest is part of the book's digest, so that two programs have the same book only if they judge in the same
//! way.

#![expect(clippy::disallowed_methods, reason = "a build script reads files; the library does not")]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

/// The folders with the sources that decide verdicts, relative to this folder.
const SOURCES: [&str; 2] = [".", "../harness/model/src"];

fn main() -> io::Result<()> {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let mut digest = Sha256::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        let root = here.join(folder);
        let mut files = Vec::new();
        collect(&root, &mut files)?;
        files.sort();
        for file in files {
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            let text = fs::read(&file)?;
            for part in [folder.as_bytes(), name.as_bytes(), &text] {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
            }
        }
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=PROBITY_JUDGES={hex}");
    Ok(())
}

/// Collects the sources in a folder, except those of tests.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !matches!(name, "tests" | "target" | "snapshots") {
            collect(&path, files)?;
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            files.push(path);
        }
    }
    Ok(())
}
