//! `probity lint`: errors in case files, and hints about probable mistakes. It needs no cluster.

use crate::arguments::LintArgs;
use crate::cases::book::{self, UsedNames};
use crate::cases::hints;
use crate::exit_status::{Exit, Failure};
use crate::output::{self, counted};

/// Checks each file. Problems and hints are printed on standard error, and valid files on standard output.
pub(crate) fn run(args: &LintArgs) -> Result<Exit, Failure> {
    let registry = book::registry()?;
    let (mut problems, mut hinted) = (0_usize, 0_usize);
    let mut names = UsedNames::default();
    for path in book::files_below(&args.files)? {
        let file = book::read(&path, &registry.catalogue).and_then(|file| names.add(&file).map(|()| file));
        let file = match file {
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
