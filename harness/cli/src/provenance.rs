//! Versions and digests of the program and of the book, so that a report can be checked.

use std::fs::File;
use std::io::{self, Read};

use probity_report::run_log::{Suite, Tool};
use probity_report::{BookCase, BookFacts};
use sha2::{Digest, Sha256};

use crate::cases::book::{Book, CaseFile};
use crate::exit_status::Failure;

/// The commit that the program was built from, if the build knew it. The suffix `-dirty` means that the sources differed
/// from the commit.
const COMMIT: Option<&str> = option_env!("PROBITY_COMMIT");

/// This program.
pub(crate) fn tool() -> Tool {
    let commit = COMMIT.unwrap_or_default();
    Tool {
        name: "probity".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit.trim_end_matches("-dirty").to_owned(),
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        digest: own_digest().unwrap_or_default(),
        modified: commit.ends_with("-dirty"),
    }
}

/// The digest of the program's own file, if it can be read.
fn own_digest() -> io::Result<String> {
    let mut file = File::open(std::env::current_exe()?)?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    while let read @ 1.. = file.read(&mut buffer)? {
        digest.update(&buffer[..read]);
    }
    Ok(format!("sha256:{}", hex(digest)))
}

/// The built-in book: its version, clauses, cases and judges as one digest, and the user's own files by name.
/// Fails if the book contradicts itself, which its own tests rule out.
pub(crate) fn suite(book: &Book) -> Result<Suite, Failure> {
    let mut digest = Sha256::new();
    let mut add = |source: &str, text: &str| {
        for part in [source, text] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
    };
    add("version", env!("CARGO_PKG_VERSION"));
    add("judges", probity_suites::JUDGES);
    for chapter in probity_suites::CHAPTERS {
        let (source, text) = chapter.clauses();
        add(&source, text);
    }
    // With --only-suite, the book of a run lacks these cases, but the run still uses the judges of the whole book.
    for file in probity_suites::cases()?.into_iter().chain(probity_suites::regressions()?) {
        add(&file.source, file.text);
    }
    Ok(Suite {
        name: "probity".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        digest: format!("sha256:{}", hex(digest)),
        added: book.files.iter().filter(|file| file.own).map(|file| file.source.clone()).collect(),
    })
}

/// What the built-in book requires of a run.
/// Fails if the book contradicts itself, which its own tests rule out.
pub(crate) fn book_facts() -> Result<BookFacts, Failure> {
    let book = Book::built_in()?;
    let cases = |file: &CaseFile| -> Vec<BookCase> {
        file.cases.iter().map(|case| BookCase::of(case, &file.source)).collect()
    };
    Ok(BookFacts { suite: suite(&book)?, cases: book.files.iter().flat_map(cases).collect() })
}

/// A book with its version and the beginning of its digest.
pub(crate) fn named(suite: &Suite) -> String {
    let digest: String = suite.digest.trim_start_matches("sha256:").chars().take(12).collect();
    let digest = if digest.is_empty() { "no digest" } else { &digest };
    format!("{} {} ({digest})", suite.name, suite.version)
}

/// A digest in hexadecimal digits.
pub(crate) fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
