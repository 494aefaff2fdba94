//! `probity explain`: clauses with all their facts, cases as text, or all cases of files.

use std::path::Path;

use probity_case::{Case, Reported};
use probity_model::{ClauseId, Registry};
use probity_suites::Sources;

use crate::arguments::ExplainArgs;
use crate::cases::book::{self, Book};
use crate::cases::case_text;
use crate::clause_facts::{ClauseFacts, ClauseIndex};
use crate::exit_status::{Exit, Failure};
use crate::output::{self, counted, did_you_mean, named, word};

/// Explains each clause and case with one of these names, and all cases of each file or folder.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let (book, index) = (Book::open(&args.suites)?, ClauseIndex::open()?);
    let texts = args.ids.iter().map(|id| explained(&book, &index, id)).collect::<Result<Vec<_>, _>>()?;
    output::out(&texts.join("\n"))
}

fn explained(book: &Book, index: &ClauseIndex, id: &str) -> Result<String, Failure> {
    if is_file(id) {
        return of_files(&book.registry, Path::new(id));
    }
    if let Some(clause) = book.registry.catalogue.iter().find(|clause| clause.id.as_str() == id) {
        return Ok(of_clause(&index.facts(book, clause), &index.sources));
    }
    let variants: Vec<&Case> = book.cases().filter(|case| is_or_varies(&case.name.0, id)).collect();
    let of_book = |case: &Case| {
        let source = book.file_of(&case.name).map(|file| file.source.as_str());
        of_case(&book.registry, source, case)
    };
    match variants.as_slice() {
        [] if Path::new(id).exists() => of_files(&book.registry, Path::new(id)),
        [] => Err(unknown(book, id)),
        [only] => Ok(of_book(only)),
        [first, rest @ ..] => {
            let others: String = rest.iter().map(|case| format!("  {}\n", case.name)).collect();
            Ok(format!("{}\nand its other variants\n{others}", of_book(first)))
        }
    }
}

/// Whether this can only be the name of a file. No clause or case of the book has a name that ends like this.
fn is_file(id: &str) -> bool {
    [".yaml", ".yml"].iter().any(|end| id.ends_with(end))
}

/// Explains all cases of a file, or of all case files in a folder.
fn of_files(registry: &Registry, path: &Path) -> Result<String, Failure> {
    let mut cases: Vec<String> = Vec::new();
    for path in book::files_below(&[path.to_owned()], "ID")? {
        let file = book::read(&path, &registry.catalogue)?;
        cases.extend(file.cases.iter().map(|case| of_case(registry, Some(&file.source), case)));
    }
    Ok(cases.join("\n"))
}

/// Whether a case has this name, or is a variant of the case of this name.
fn is_or_varies(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && rest.contains('=')))
}

/// The maximum number of names in an error.
const SHOWN: usize = 12;

/// The failure for an unknown name: with the closest name, or with the names that contain it.
fn unknown(book: &Book, id: &str) -> Failure {
    let clauses = book.registry.catalogue.iter().map(|clause| clause.id.as_str());
    let names: Vec<&str> = clauses.chain(book.cases().map(|case| case.name.0.as_str())).collect();
    let mut more = did_you_mean(id, names.iter().copied());
    if more.is_empty() {
        let containing: Vec<&str> = names.into_iter().filter(|name| name.contains(id)).collect();
        more = match containing.len() {
            0 => "; `probity list` and `probity list --clauses` show all names".to_owned(),
            many => {
                let rest =
                    if many > SHOWN { format!("\n  and {} more", many - SHOWN) } else { String::new() };
                let shown = containing.into_iter().take(SHOWN).collect::<Vec<_>>().join("\n  ");
                format!("; these names contain it:\n  {shown}{rest}")
            }
        };
    }
    Failure::wrong_use(format!("no clause, case or file is called `{id}`{more}"))
}

fn of_clause(facts: &ClauseFacts<'_>, sources: &Sources) -> String {
    let clause = facts.clause;
    let mut text = format!("{}  {}\n", clause.id, word(&clause.level));
    let mut part = |name: &str, said: &str| text += &named(name, 8, said);
    part("promise", &clause.says);
    let source = &clause.source;
    let anchor = source.anchor.as_ref().map(|anchor| format!(", {anchor}")).unwrap_or_default();
    part("source", &format!("{}, edition {}{anchor}", source.document, source.edition));
    let addresses = [sources.document(source).map(str::to_owned), sources.file(source)];
    addresses.iter().flatten().for_each(|address| part("", address));
    if let Some(versions) = clause.versions() {
        part("versions", &versions);
    }
    part("tested", &clause.tested);
    if !clause.unless_configured.is_empty() {
        part("unless", &format!("the kubelet is configured with {}", clause.unless_configured.join(", ")));
    }
    if let Some(known) = clause.known() {
        part("actual", &known);
    }
    if let Some(issue) = &clause.actual_issue {
        part("see", issue);
    }
    for (at, (of, values)) in clause.facets_in_words().enumerate() {
        part(if at == 0 { "seen in" } else { "" }, &format!("{of}: {values}"));
    }
    if let Some(slack) = &clause.slack {
        part("slack", &format!("{}: {}", slack.by, slack.because));
    }
    for (at, (name, tolerance)) in clause.tolerances.iter().enumerate() {
        let allowed = format!("{name}, {}: {}", tolerance.amount(), tolerance.because);
        part(if at == 0 { "allows" } else { "" }, &allowed);
    }
    if let Some(looks_at) = probity_suites::looks_at(clause.id.as_str()) {
        part("applies to", &format!("only cases that have: {looks_at}"));
    }
    match &clause.untestable {
        Some(why) => part("no judge", why),
        None if facts.judge() == "no judge" => part("no judge", "not written yet"),
        None => {}
    }
    let mut cases: Vec<&str> = facts.cases.iter().map(|case| case.name.0.as_str()).collect();
    if cases.is_empty() {
        cases.push(match &clause.without_case {
            Some(why) => why,
            None => "no case targets it; it is judged on every case to which it applies",
        });
    }
    for (at, case) in cases.iter().enumerate() {
        part(if at == 0 { "cases" } else { "" }, case);
    }
    if !facts.defects.is_empty() {
        part("detects", &facts.defects.join(", "));
    } else if let Some(why) = &clause.without_defect {
        part("detects", &format!("no planted defect: {why}"));
    }
    if !facts.real_defects.is_empty() {
        part("kubelet", &format!("defects of a real kubelet: {}", facts.real_defects.join(", ")));
    } else if let Some(why) = &clause.without_real_defect {
        part("kubelet", &format!("no defect of a real kubelet: {why}"));
    }
    for (at, (_, _, check)) in facts.upstream.iter().enumerate() {
        let said = format!("{}: {}", check.arranges, check.asserts);
        part(if at == 0 { "upstream" } else { "" }, &said);
    }
    if facts.upstream.is_empty() && clause.untestable.is_none() {
        part("upstream", "no upstream spec checks this");
    }
    text
}

/// The report of the bug that a case reproduces.
fn of_report(reported: &Reported) -> String {
    let mut text = "\nreported\n".to_owned();
    let mut part = |name: &str, said: &str| text += &named(name, 8, said);
    part("where", &reported.address());
    part("title", &reported.title);
    part("promised", &reported.promised);
    part("shown by", &reported.shown);
    part("fixed", reported.fixed.as_deref().unwrap_or("not yet, according to the issue"));
    if !reported.measured.is_empty() {
        part("measured", &reported.measurements());
    }
    text
}

/// The clauses that the case does not target but may exercise as well: those whose judges look for something particular
/// that the case has. Only the events of a run show which of them it exercises.
fn possible(registry: &Registry, case: &Case) -> String {
    let judged = registry.catalogue.iter().map(|clause| &clause.id).filter(|id| registry.has_judge(id));
    let others: Vec<&ClauseId> = judged.filter(|id| !case.judges.contains(id)).collect();
    let (particular, general): (Vec<&ClauseId>, Vec<&ClauseId>) =
        others.into_iter().partition(|id| probity_suites::looks_at(id.as_str()).is_some());
    let fits = |id: &&&ClauseId| probity_suites::cannot_apply(id.as_str(), case).is_none();
    let fitting: Vec<&str> = particular.iter().filter(fits).map(|id| id.as_str()).collect();
    let more = counted(general.len(), "more clause");
    let list = if fitting.is_empty() { "none".to_owned() } else { fitting.join(", ") };
    format!(
        "\nmay also give evidence for\n{}{}",
        output::wrapped(&list, "  ", 108),
        output::wrapped(
            &format!("and for {more} that may apply to any case, depending on what happens"),
            "  ",
            108
        )
    )
}

fn of_case(registry: &Registry, source: Option<&str>, case: &Case) -> String {
    let mut text = format!("{}  {}, about {}\n", case.name, word(&case.profile), case.forecast());
    let needs: Vec<String> = case.needs.iter().map(word).collect();
    if !needs.is_empty() {
        text += &format!("  needs {}\n", needs.join(", "));
    }
    if case.quiet {
        text += "  runs alone\n";
    }
    text += &case_text::of(case);
    text += &case.reported.as_ref().map(of_report).unwrap_or_default();
    text += "\nmust give evidence for\n";
    for id in &case.judges {
        let says = registry.catalogue.get(id).map_or("", |clause| clause.says.as_str());
        text += &format!("  {id}\n{}", output::wrapped(says, "      ", 104));
        if let Some(why) = probity_suites::cannot_apply(id.as_str(), case) {
            text += &output::wrapped(&format!("It cannot apply here because {why}."), "      ", 104);
        }
    }
    if case.judges.is_empty() {
        text += "  nothing in particular; every clause that applies is judged\n";
    }
    text += &possible(registry, case);
    for (kind, because) in &case.acknowledged {
        text += &format!("\nacknowledged ({}): {because}\n", kind.word());
    }
    if let Some(source) = source {
        text += &format!("\ndefined in {source}\n");
    }
    text
}
