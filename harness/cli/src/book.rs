//! The book that a run is taken from: the built-in one, and the user's own files beside it.
//!
//! Everything that can be wrong with a case file is found here, before anything touches a cluster: it must be a case,
//! its clauses must exist, its matrix must name what it fills in, and no two cases may have one name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probity_case::masked;
use probity_case::{Case, CaseName};
use probity_document as document;
use probity_model::{Catalogue, Registry};
use probity_script::problem::{Problem, pin};

use crate::args::SuiteArgs;
use crate::exit::Failure;
use crate::found;

/// A file of cases.
pub(crate) struct CaseFile {
    /// Its name for people: a path, or `suites/…` for one of the book.
    pub(crate) source: String,
    /// What it says.
    pub(crate) text: String,
    /// The cases in it: one, or one for each variant of its matrix.
    pub(crate) cases: Vec<Case>,
    /// Whether it is the user's own.
    pub(crate) own: bool,
}

/// Clauses, judges and cases.
pub(crate) struct Book {
    /// The clauses and their judges.
    pub(crate) registry: Registry,
    /// The files, the built-in ones first.
    pub(crate) files: Vec<CaseFile>,
}

/// The clauses and their judges alone.
///
/// # Errors
///
/// If the built-in book contradicts itself, which its own tests rule out.
pub(crate) fn registry() -> Result<Registry, Failure> {
    probity_suites::draft().map_err(|why| Failure::failed(format!("the built-in book is wrong: {why}")))
}

impl Book {
    /// Opens the book with the user's own files.
    ///
    /// # Errors
    ///
    /// If a file is no case, or a name is taken twice.
    pub(crate) fn open(suites: &SuiteArgs) -> Result<Self, Failure> {
        let registry = registry()?;
        let mut files = Vec::new();
        if !suites.only_suite {
            let built_in = |file: probity_suites::CaseFile| CaseFile {
                source: file.source,
                text: file.text.to_owned(),
                cases: file.cases,
                own: false,
            };
            files.extend(probity_suites::cases()?.into_iter().map(built_in));
        }
        for path in files_below(&suites.suite)? {
            files.push(read(&path, &registry.catalogue)?);
        }
        twice(&files)?;
        Ok(Self { registry, files })
    }

    /// All cases, in the order of the files.
    pub(crate) fn cases(&self) -> impl Iterator<Item = &Case> + Clone {
        self.files.iter().flat_map(|file| &file.cases)
    }

    /// The file of a case.
    pub(crate) fn file_of(&self, case: &Case) -> Option<&CaseFile> {
        self.file_named(&case.name)
    }

    /// The file of the case of this name.
    pub(crate) fn file_named(&self, name: &CaseName) -> Option<&CaseFile> {
        self.files.iter().find(|file| file.cases.iter().any(|case| case.name == *name))
    }
}

/// Reads a file of cases and checks all that can be checked of it alone.
///
/// # Errors
///
/// If it is none, with the place of what is wrong.
pub(crate) fn read(path: &Path, catalogue: &Catalogue) -> Result<CaseFile, Box<Problem>> {
    let source = path.display().to_string();
    let text = std::fs::read(path)
        .map_err(|error| Problem::whole(&source, format!("it cannot be read: {error}")))?;
    let text = String::from_utf8(text)
        .map_err(|_| Problem::whole(&source, "it is no text: a case is written in UTF-8"))?;
    let cases = Case::read(&source, &text)?;
    for case in &cases {
        case.check_clauses(catalogue, &source, &text)?;
    }
    Ok(CaseFile { source, text, cases, own: true })
}

/// The files that are meant: files as they are given, and of folders all that end in `.yaml` or `.yml`, sorted.
///
/// # Errors
///
/// If one does not exist, or a folder holds none.
pub(crate) fn files_below(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    found::below(paths, is_case_file, "the folder holds no file that ends in .yaml or .yml")
}

fn is_case_file(path: &Path) -> bool {
    let yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    yaml && path.file_name().is_none_or(|name| name != "clauses.yaml")
}

/// Refuses a name that two cases have.
fn twice(files: &[CaseFile]) -> Result<(), Box<Problem>> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut slugs: BTreeMap<String, &str> = BTreeMap::new();
    for file in files {
        for case in &file.cases {
            let name = case.name.0.as_str();
            let refuse = |why: String| {
                Box::new(document::misfit(&file.source, &masked(&file.text), &pin(&why, &["case"])))
            };
            if let Some(other) = seen.insert(name, &file.source) {
                return Err(refuse(format!("the case `{name}` is there already, in {other}")));
            }
            if let Some(other) = slugs.insert(case.name.slug(), name) {
                let why =
                    format!("`{name}` and `{other}` would have the same names in the cluster; rename one");
                return Err(refuse(why));
            }
        }
    }
    Ok(())
}
