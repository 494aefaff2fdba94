//! `probity lint`: errors in case files, and hints about probable mistakes. It needs no cluster.

use std::path::Path;

use probity_model::Catalogue;
use probity_script::problem::Problem;

use crate::arguments::LintArgs;
use crate::cases::book::{self, CaseFile, UsedNames};
use crate::cases::hints;
use crate::exit_status::{Exit, Failure};
use crate::output::{self, counted};
use crate::trials::manifests;

/// The maximum number of problems of one file that are printed.
const SHOWN: usize = 20;

/// Checks each file. Problems and hints are printed on standard error, and valid files on standard output.
pub(crate) fn run(args: &LintArgs) -> Result<Exit, Failure> {
    let registry = book::registry()?;
    let (mut problems, mut hinted) = (0_usize, 0_usize);
    let mut names = UsedNames::default();
    for file in args.files.iter().flat_map(|path| read(path, &registry.catalogue)) {
        let file = match file.and_then(|file| named(&mut names, file)) {
            Ok(file) => file,
            Err(found) => {
                problems += found.len();
                output::err(&listed(&found));
                continue;
            }
        };
        for hint in hints::of(&file) {
            hinted += 1;
            output::err(&format!("hint: {hint}\n"));
        }
        output::out(&format!("{}: {}\n", file.source, counted(file.cases.len(), "case")))?;
    }
    match (problems, hinted) {
        (0, 0) => Ok(Exit::Success),
        (0, _) if !args.strict => Ok(Exit::Success),
        (0, hinted) => Err(Failure::wrong_use(format!("{}, and --strict is given", counted(hinted, "hint")))),
        (problems, _) => Err(Failure::wrong_use(counted(problems, "problem"))),
    }
}

/// The problems of a file, each with its place.
fn listed(problems: &[String]) -> String {
    let shown: String = problems.iter().take(SHOWN).map(|problem| format!("{problem}\n")).collect();
    match problems.len().saturating_sub(SHOWN) {
        0 => shown,
        rest => format!("{shown}not shown: {} of this file\n", counted(rest, "more problem")),
    }
}

/// The case files of a path, or of standard input for `-`, or the problems of a file. A file that cannot be read is a
/// problem of its own, and the others are still checked.
fn read(path: &Path, catalogue: &Catalogue) -> Vec<Result<CaseFile, Vec<String>>> {
    let in_words = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    let failed = |failure: Failure| vec![failure.to_string()];
    if path == Path::new("-") {
        let text = manifests::text_of(path).map_err(failed);
        let examine = |(source, text)| book::examine_text(source, text, catalogue).map_err(in_words);
        return vec![text.and_then(examine)];
    }
    match book::files_below(&[path.to_owned()], "FILE") {
        Ok(files) => files.iter().map(|file| book::examine(file, catalogue).map_err(in_words)).collect(),
        Err(failure) => vec![Err(failed(failure))],
    }
}

/// The file, unless one of its cases has a name that is already used.
fn named(names: &mut UsedNames, file: CaseFile) -> Result<CaseFile, Vec<String>> {
    match names.add(&file) {
        Ok(()) => Ok(file),
        Err(problem) => Err(vec![problem.to_string()]),
    }
}
