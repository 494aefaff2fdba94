//! `probity explain`: a clause with all that is known of it, or a case in English.

use probity_model::{Case, Clause};
use probity_script::problem::nearest;

use crate::args::ExplainArgs;
use crate::book::Book;
use crate::english;
use crate::exit::{Exit, Failure};
use crate::say;
use crate::select::{need_word, profile_word};
use crate::verdicts::level_word;

/// Explains what has this name.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let book = Book::open(&args.suites)?;
    if let Some(clause) = book.registry.catalogue.iter().find(|clause| clause.id.as_str() == args.id) {
        return say::out(&of_clause(&book, clause));
    }
    let variants: Vec<&Case> = book.cases().filter(|case| is_or_varies(&case.name.0, &args.id)).collect();
    match variants.as_slice() {
        [] => Err(unknown(&book, &args.id)),
        [only] => say::out(&of_case(&book, only)),
        [first, rest @ ..] => {
            let others: String = rest.iter().map(|case| format!("  {}\n", case.name)).collect();
            say::out(&format!("{}\nand its other variants\n{others}", of_case(&book, first)))
        }
    }
}

/// Whether a case has this name, or is a variant of the case of this name.
fn is_or_varies(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && rest.contains('=')))
}

fn unknown(book: &Book, id: &str) -> Failure {
    let clauses = book.registry.catalogue.iter().map(|clause| clause.id.as_str());
    let near = nearest(id, clauses.chain(book.cases().map(|case| case.name.0.as_str())));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Failure::wrong_use(format!("there is neither a clause nor a case `{id}`{hint}"))
}

fn of_clause(book: &Book, clause: &Clause) -> String {
    let mut text = format!("{}  {}\n", clause.id, level_word(clause.level));
    let mut part = |name: &str, said: &str| {
        let wrapped = say::wrapped(said, "            ", 108);
        text += &format!("  {name:<8}  {}", wrapped.trim_start());
    };
    part("promise", &clause.says);
    let source = &clause.source;
    let anchor = source.anchor.as_ref().map(|anchor| format!(", {anchor}")).unwrap_or_default();
    part("source", &format!("{}, edition {}{anchor}", source.document, source.edition));
    match (&clause.since, &clause.until) {
        (None, None) => {}
        (Some(since), None) => part("versions", &format!("since {since}")),
        (None, Some(until)) => part("versions", &format!("until {until}")),
        (Some(since), Some(until)) => part("versions", &format!("{since} to {until}")),
    }
    part("tested", &clause.tested);
    if let Some(actual) = &clause.actual {
        part("actual", actual);
    }
    if let Some(slack) = &clause.slack {
        part("slack", &format!("{}: {}", slack.by, slack.because));
    }
    if let Some(why) = &clause.untestable {
        part("no judge", why);
    } else if !book.registry.has_judge(&clause.id) {
        part("no judge", "nobody has written one yet");
    }
    let mut cases: Vec<&str> = book
        .cases()
        .filter(|case| case.judges.contains(&clause.id))
        .map(|case| case.name.0.as_str())
        .collect();
    if cases.is_empty() {
        cases.push("none of its own; it is judged in every case to which it applies");
    }
    for (at, case) in cases.iter().enumerate() {
        part(if at == 0 { "cases" } else { "" }, case);
    }
    text
}

fn of_case(book: &Book, case: &Case) -> String {
    let mut text = format!("{}  {}, about {}\n", case.name, profile_word(case.profile), case.forecast());
    let needs: Vec<&str> = case.needs.iter().map(|need| need_word(*need)).collect();
    if !needs.is_empty() {
        text += &format!("  needs {}\n", needs.join(", "));
    }
    if case.quiet {
        text += "  runs alone\n";
    }
    text += &english::case(case);
    text += "\nmust give evidence for\n";
    for id in &case.judges {
        let says = book.registry.catalogue.get(id).map_or("", |clause| clause.says.as_str());
        text += &format!("  {id}\n{}", say::wrapped(says, "      ", 104));
    }
    if case.judges.is_empty() {
        text += "  nothing in particular; every clause that applies is judged\n";
    }
    if let Some(file) = book.file_of(case) {
        text += &format!("\nwritten in {}\n", file.source);
    }
    text
}
