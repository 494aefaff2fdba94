//! `probity lint`: what is wrong with case files, and what is probably not meant. It needs no cluster.

use std::collections::BTreeMap;

use crate::args::LintArgs;
use crate::book;
use crate::exit::{Exit, Failure};
use crate::hints;
use crate::say;

/// Checks each file and tells all that was found: problems and hints on standard error, good files on standard output.
pub(crate) fn run(args: &LintArgs) -> Result<Exit, Failure> {
    let registry = book::registry()?;
    let (mut problems, mut hinted) = (0_usize, 0_usize);
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for path in book::files_below(&args.files)? {
        let file = match book::read(&path, &registry.catalogue) {
            Ok(file) => file,
            Err(problem) => {
                problems += 1;
                say::err(&format!("{problem}\n"));
                continue;
            }
        };
        if let Some((name, other)) = taken(&mut names, &file) {
            problems += 1;
            say::err(&format!("{}: the case `{name}` is there already, in {other}\n", file.source));
            continue;
        }
        for hint in hints::of(&file) {
            hinted += 1;
            say::err(&format!("hint: {hint}\n"));
        }
        say::out(&format!("{}: {}\n", file.source, counted(file.cases.len(), "case")))?;
    }
    match (problems, hinted) {
        (0, 0) => Ok(Exit::Success),
        (0, _) if !args.strict => Ok(Exit::Success),
        (0, hinted) => {
            Err(Failure::wrong_use(format!("{} (and --strict was given)", counted(hinted, "hint"))))
        }
        (problems, _) => Err(Failure::wrong_use(counted(problems, "problem"))),
    }
}

/// A name of the file that another file has already.
fn taken(names: &mut BTreeMap<String, String>, file: &book::CaseFile) -> Option<(String, String)> {
    for case in &file.cases {
        if let Some(other) = names.insert(case.name.0.clone(), file.source.clone()) {
            return Some((case.name.0.clone(), other));
        }
    }
    None
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
