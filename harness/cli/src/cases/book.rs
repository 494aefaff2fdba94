//! The book of a run: the built-in clauses and cases, and the user's own case files.
//!
//! All errors of a case file are found here, before a cluster is contacted. The file must be a case, its clauses must
//! exist, the axes of its matrix must occur in the case, and case names must be unique.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use probity_case::{Case, CaseName, masked};
use probity_document as document;
use probity_model::{Catalogue, Registry};
use probity_script::problem::{Problem, pin};

use crate::exit_status::Failure;
use crate::input_files::{self, FileArgument};

/// The user's own cases.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SuiteArgs {
    /// Add a case file of your own, or a folder of them, to the built-in book; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) suite: Vec<PathBuf>,
    /// Leave out the cases of the built-in book
    #[arg(long, requires = "suite")]
    pub(crate) only_suite: bool,
}

/// A file of cases.
pub(crate) struct CaseFile {
    /// Its name for users: a path, or `suites/…` for a file of the book.
    pub(crate) source: String,
    /// Its text.
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
/// Fails if the built-in book contradicts itself, which its own tests rule out.
pub(crate) fn registry() -> Result<Registry, Failure> {
    probity_suites::draft()
        .map_err(|why| Failure::failed(format!("the built-in book is invalid: {why}; please report this")))
}

impl Book {
    /// Opens the built-in book with the user's own files.
    /// Fails if a file is not a valid case file, or two cases share a name.
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
            files.extend(probity_suites::regressions()?.into_iter().map(built_in));
        }
        for path in files_below(&suites.suite, "--suite")? {
            files.push(read(&path, &registry.catalogue)?);
        }
        let mut names = UsedNames::default();
        files.iter().try_for_each(|file| names.add(file))?;
        Ok(Self { registry, files })
    }

    /// Opens the built-in book alone.
    /// Fails if it contradicts itself, which its own tests rule out.
    pub(crate) fn built_in() -> Result<Self, Failure> {
        Self::open(&SuiteArgs::default())
    }

    /// All cases, in the order of the files.
    pub(crate) fn cases(&self) -> impl Iterator<Item = &Case> + Clone {
        self.files.iter().flat_map(|file| &file.cases)
    }

    /// The file of the case with this name.
    pub(crate) fn file_of(&self, name: &CaseName) -> Option<&CaseFile> {
        self.files.iter().find(|file| file.cases.iter().any(|case| case.name == *name))
    }
}

impl CaseFile {
    /// A problem at the place in the file to which the path of a field points. All variants of a matrix refer to the
    /// same place in the file.
    pub(crate) fn problem(&self, why: &str, path: &[String]) -> Problem {
        let found = document::misfit(&self.source, &masked(&self.text), &pin(why, path));
        match found.place {
            Some(place) => Problem::whole(&self.source, why).at(&self.text, place),
            None => found,
        }
    }
}

/// The maximum size of a case file, in bytes. The longest case file in the book has a few thousand bytes.
const LONGEST: u64 = 1 << 20;

/// Reads a case file and checks everything that needs no other file. Fails with the place of the error if it is not a
/// valid case file.
pub(crate) fn read(path: &Path, catalogue: &Catalogue) -> Result<CaseFile, Box<Problem>> {
    let (source, text) = text_of(path)?;
    of_text(source, text, catalogue)
}

/// The name of a case file for users, and its text.
fn text_of(path: &Path) -> Result<(String, String), Box<Problem>> {
    let source = path.display().to_string();
    let text = input_files::read(path, LONGEST).map_err(|error| {
        Problem::whole(&source, format!("it cannot be read: {}", input_files::in_words(&error)))
    })?;
    let text = String::from_utf8(text)
        .map_err(|_| Problem::whole(&source, "it is not text: a case file must be UTF-8"))?;
    Ok((source, text))
}

/// Like [`read`], for the text of a file.
pub(crate) fn of_text(source: String, text: String, catalogue: &Catalogue) -> Result<CaseFile, Box<Problem>> {
    let first = |problems: Vec<Problem>| Box::new(problems.into_iter().next().unwrap_or_default());
    examine_text(source, text, catalogue).map_err(first)
}

/// Like [`read`], but fails with all problems of the file that do not follow from each other.
pub(crate) fn examine(path: &Path, catalogue: &Catalogue) -> Result<CaseFile, Vec<Problem>> {
    let (source, text) = text_of(path).map_err(|problem| vec![*problem])?;
    examine_text(source, text, catalogue)
}

/// Like [`examine`], for the text of a file.
pub(crate) fn examine_text(
    source: String,
    text: String,
    catalogue: &Catalogue,
) -> Result<CaseFile, Vec<Problem>> {
    let cases = Case::examine(&source, &text, catalogue)?;
    Ok(CaseFile { source, text, cases, own: true })
}

/// The case files of a command line: the named files, and all `.yaml` and `.yml` files of named folders, sorted. `name` is
/// the name of the argument. Fails if a path does not exist, or if a folder contains no such file.
pub(crate) fn files_below(paths: &[PathBuf], name: &'static str) -> Result<Vec<PathBuf>, Failure> {
    let argument = FileArgument { name, takes: "a case file, or a folder of case files" };
    input_files::below(
        paths,
        argument,
        is_case_file,
        "the folder contains no file that ends in .yaml or .yml",
    )
}

fn is_case_file(path: &Path) -> bool {
    let yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    yaml && path.file_name().is_none_or(|name| name != "clauses.yaml")
}

/// The names of the cases so far and their names in the cluster, each with the file that defines the case.
#[derive(Default)]
pub(crate) struct UsedNames {
    names: BTreeMap<String, String>,
    slugs: BTreeMap<String, String>,
}

impl UsedNames {
    /// Adds the cases of a file.
    /// Fails if another case already has the same name, or would have the same name in the cluster.
    pub(crate) fn add(&mut self, file: &CaseFile) -> Result<(), Box<Problem>> {
        for case in &file.cases {
            let name = case.name.to_string();
            let refuse = |why: String| Box::new(file.problem(&why, &["case".to_owned()]));
            if let Some(other) = self.names.insert(name.clone(), file.source.clone()) {
                return Err(refuse(format!("the case `{name}` already exists, in {other}")));
            }
            if let Some(other) = self.slugs.insert(case.name.slug(), name.clone()) {
                let why = format!("`{name}` and `{other}` would have the same name in the cluster");
                return Err(refuse(format!("{why}; rename one")));
            }
        }
        Ok(())
    }
}
