//! `probity lint`: errors in case files, and hints about probable mistakes. It needs no cluster.

use std::path::Path;

use probity_model::Catalogue;

use crate::arguments::LintArgs;
use crate::cases::book::{self, CaseFile, UsedNames};
use crate::cases::hints;
use crate::exit_status::{Exit, Failure};
use crate::output::{self, counted};
use crate::trials::manifests;

/// Checks each file. Problems and hints are printed on standard error, and valid files on standard output.
pub(crate) fn run(args: &LintArgs) -> Result<Exit, Failure> {
    let registry = book::registry()?;
    let (mut problems, mut hinted) = (0_usize, 0_usize);
    let mut names = UsedNames::default();
    for file in args.files.iter().flat_map(|path| read(path, &registry.catalogue)) {
        let file = match file.and_then(|file| named(&mut names, file)) {
            Ok(file) => file,
            Err(problem) => {
                problems += 1;
                output::err(&format!("{problem}\n"));
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

/// The case files of a path, or of standard input for `-`. A file that cannot be read is a problem of its own, and the
/// others are still checked.
fn read(path: &Path, catalogue: &Catalogue) -> Vec<Result<CaseFile, Failure>> {
    if path == Path::new("-") {
        let text = manifests::text_of(path);
        let file =
            text.and_then(|(source, text)| book::of_text(source, text, catalogue).map_err(Failure::from));
        return vec![file];
    }
    match book::files_below(&[path.to_owned()]) {
        Ok(files) => files.iter().map(|file| book::read(file, catalogue).map_err(Failure::from)).collect(),
        Err(failure) => vec![Err(failure)],
    }
}

/// The file, unless one of its cases has a name that is already used.
fn named(names: &mut UsedNames, file: CaseFile) -> Result<CaseFile, Failure> {
    names.add(&file)?;
    Ok(file)
}
