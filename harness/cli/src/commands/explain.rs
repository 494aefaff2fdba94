//! `probity explain`: a clause with all that is known of it, or a case in English.

use probity_case::Case;
use probity_script::problem::nearest;

use crate::args::ExplainArgs;
use crate::book::Book;
use crate::dossier::{Archive, Dossier};
use crate::english;
use crate::exit::{Exit, Failure};
use crate::say;
use crate::select::{need_word, profile_word};
use crate::verdicts::level_word;

/// Explains what has this name.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let book = Book::open(&args.suites)?;
    if let Some(clause) = book.registry.catalogue.iter().find(|clause| clause.id.as_str() == args.id) {
        return say::out(&of_clause(&Archive::open()?.dossier(&book, clause)));
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

fn of_clause(dossier: &Dossier<'_>) -> String {
    let clause = dossier.clause;
    let mut text = format!("{}  {}\n", clause.id, level_word(clause.level));
    let mut part = |name: &str, said: &str| {
        let wrapped = say::wrapped(said, "            ", 108);
        text += &format!("  {name:<8}  {}", wrapped.trim_start());
    };
    part("promise", &clause.says);
    let source = &clause.source;
    let anchor = source.anchor.as_ref().map(|anchor| format!(", {anchor}")).unwrap_or_default();
    part("source", &format!("{}, edition {}{anchor}", source.document, source.edition));
    if let Some(versions) = clause.versions() {
        part("versions", &versions);
    }
    part("tested", &clause.tested);
    if let Some(known) = clause.known() {
        part("actual", &known);
    }
    if let Some(slack) = &clause.slack {
        part("slack", &format!("{}: {}", slack.by, slack.because));
    }
    match &clause.untestable {
        Some(why) => part("no judge", why),
        None if dossier.judge() == "no judge" => part("no judge", "nobody has written one yet"),
        None => {}
    }
    let mut cases: Vec<&str> = dossier.cases.iter().map(|case| case.name.0.as_str()).collect();
    if cases.is_empty() {
        cases.push(match &clause.without_case {
            Some(why) => why,
            None => "none of its own; it is judged in every case to which it applies",
        });
    }
    for (at, case) in cases.iter().enumerate() {
        part(if at == 0 { "cases" } else { "" }, case);
    }
    if !dossier.defects.is_empty() {
        part("notices", &dossier.defects.join(", "));
    } else if let Some(why) = &clause.without_defect {
        part("notices", &format!("no planted defect: {why}"));
    }
    for (at, (_, _, check)) in dossier.upstream.iter().enumerate() {
        let said = format!("{}: {}", check.arranges, check.asserts);
        part(if at == 0 { "upstream" } else { "" }, &said);
    }
    if dossier.upstream.is_empty() && clause.untestable.is_none() {
        part("upstream", "none of its own specs checks this");
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
