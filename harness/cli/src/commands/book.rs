//! `probity book`: writes the pages of the clause book, or compares them with those that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::args::{BookArgs, SuiteArgs};
use crate::book::Book;
use crate::dossier::Archive;
use crate::exit::{Exit, Failure};
use crate::pages::{self, MADE};
use crate::say;

/// Writes the pages, or compares them.
pub(crate) fn run(args: &BookArgs) -> Result<Exit, Failure> {
    let book = Book::open(&SuiteArgs::default())?;
    let pages = pages::all(&book, &Archive::open()?)?;
    let there = made(&args.folder)?;
    if args.check {
        return compare(&args.folder, &pages, &there);
    }
    spare(&args.folder, &pages, &there)?;
    let failed =
        |path: &Path, error: &std::io::Error| Failure::failed(format!("{}: {error}", path.display()));
    fs::create_dir_all(&args.folder).map_err(|error| failed(&args.folder, &error))?;
    for (name, text) in &pages {
        let path = args.folder.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, &error))?;
    }
    for stale in there.keys().filter(|name| !pages.contains_key(*name)) {
        let path = args.folder.join(stale);
        fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
    }
    say::out(&format!("{}: {} pages\n", args.folder.display(), pages.len()))
}

/// Refuses to write over files that somebody else made. Nothing is written then.
fn spare(
    folder: &Path,
    pages: &BTreeMap<String, String>,
    there: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let not_ours = |name: &&String| !there.contains_key(*name) && folder.join(name).exists();
    let others: Vec<&str> = pages.keys().filter(not_ours).map(String::as_str).collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(Failure::wrong_use(format!(
        "{}: {} would be written over, and was not made by `probity book`; choose another folder, or move it away. \
         Nothing was written",
        folder.display(),
        others.join(", ")
    )))
}

/// The pages in a folder that were made by this program: whatever else lies there is left alone.
fn made(folder: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let failed = |error: &std::io::Error| Failure::failed(format!("{}: {error}", folder.display()));
    let mut pages = BTreeMap::new();
    if !folder.exists() {
        return Ok(pages);
    }
    for entry in fs::read_dir(folder).map_err(|error| failed(&error))? {
        let path = entry.map_err(|error| failed(&error))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.extension().is_some_and(|end| end == "md") {
            let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
            if text.starts_with(MADE) {
                pages.insert(name.to_owned(), text);
            }
        }
    }
    Ok(pages)
}

/// Says which pages are not what the book says now.
fn compare(
    folder: &Path,
    pages: &BTreeMap<String, String>,
    there: &BTreeMap<String, String>,
) -> Result<Exit, Failure> {
    let names: BTreeSet<&String> = pages.keys().chain(there.keys()).collect();
    let wrong: Vec<String> = names
        .into_iter()
        .filter_map(|name| {
            let why = match (pages.get(name), there.get(name)) {
                (Some(page), Some(old)) if page == old => return None,
                (Some(page), Some(old)) => {
                    let same = page.lines().zip(old.lines()).take_while(|(page, old)| page == old).count();
                    format!("differs from line {} on", same + 1)
                }
                (Some(_), None) => "is missing".to_owned(),
                (None, _) => "belongs to no chapter".to_owned(),
            };
            Some(format!("  {name} {why}\n"))
        })
        .collect();
    if wrong.is_empty() {
        return say::out(&format!("{}: {} pages, as the code says\n", folder.display(), pages.len()));
    }
    Err(Failure::failed(format!(
        "{} is not what the code says; run ci/book, and commit what it writes\n{}",
        folder.display(),
        wrong.concat().trim_end()
    )))
}
