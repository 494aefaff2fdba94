//! `probity list --clauses` and `--coverage`: the promises, and what tests them.

use probity_case::Case;
use probity_model::Clause;
use serde_json::{Value, json};

use crate::arguments::{Format, ListArgs};
use crate::cases::book::Book;
use crate::clause_facts::{ClauseFacts, ClauseIndex};
use crate::exit_status::{Exit, Failure};
use crate::output::{self, named, word};

/// Prints the selected clauses. `cases` are the cases that pass the filters. A filter that does not occur in the name
/// of a clause or a chapter selects cases, and with them the clauses that these cases target.
pub(super) fn run(args: &ListArgs, book: &Book, cases: &[&Case]) -> Result<Exit, Failure> {
    let index = ClauseIndex::open()?;
    let all: Vec<ClauseFacts<'_>> =
        book.registry.catalogue.iter().map(|clause| index.facts(book, clause)).collect();
    let by_name = all.iter().any(|facts| meant_by_name(args, facts));
    let names = all.iter().flat_map(names);
    if args.coverage && !by_name {
        let names = names.chain(book.cases().map(|case| case.name.0.as_str()));
        args.filter.check_names("clause or case", "`probity list`, with or without --clauses,", names)?;
    } else {
        args.filter.check_names("clause", "`probity list --clauses`", names)?;
    }
    let meant = |facts: &&ClauseFacts<'_>| {
        let named = if args.filter.filter.is_empty() || by_name {
            meant_by_name(args, facts)
        } else {
            args.coverage && cases.iter().any(|case| case.judges.contains(&facts.clause.id))
        };
        named && in_profile(args, facts)
    };
    let meant: Vec<&ClauseFacts<'_>> = all.iter().filter(meant).collect();
    if meant.is_empty() {
        return Err(Failure::wrong_use(
            "the filters leave no clause (`probity list --clauses` shows all names)",
        ));
    }
    match args.format {
        Format::Json => super::print(&Value::Array(meant.iter().map(|facts| as_json(facts)).collect())),
        Format::Text if !args.coverage => {
            let rows: Vec<[String; 3]> = meant.iter().map(|facts| as_row(facts.clause)).collect();
            output::out(&output::table(&rows))
        }
        Format::Text => {
            let text = if args.wide {
                meant.iter().map(|facts| as_entry(facts)).collect()
            } else {
                output::table(&meant.iter().map(|facts| as_covered_row(facts)).collect::<Vec<_>>())
            };
            output::out(&(text + &summary(&meant)))
        }
    }
}

/// Whether a clause is selected by its own name or by the name of its chapter.
fn meant_by_name(args: &ListArgs, facts: &ClauseFacts<'_>) -> bool {
    args.filter.passes(&names(facts))
}

/// Whether a case of the requested profiles targets a clause. If no profile is given, every clause is included.
fn in_profile(args: &ListArgs, facts: &ClauseFacts<'_>) -> bool {
    let profiles = args.filter.profiles();
    args.filter.profile.is_empty() || facts.cases.iter().any(|case| profiles.contains(&case.profile))
}

/// The names of a clause for filters: its own name, and the name of its chapter.
fn names<'f>(facts: &ClauseFacts<'f>) -> [&'f str; 2] {
    [facts.clause.id.as_str(), facts.chapter.map_or("", |chapter| chapter.name)]
}

fn as_json(facts: &ClauseFacts<'_>) -> Value {
    json!({
        "clause": facts.clause,
        "chapter": facts.chapter.map(|chapter| chapter.name),
        "judge": facts.judge(),
        "cases": facts.cases.iter().map(|case| &case.name).collect::<Vec<_>>(),
        "defects": facts.defects,
        "real-defects": facts.real_defects,
        "upstream": facts.upstream.iter().map(|(first, last, _)| [first, last]).collect::<Vec<_>>(),
        "lacks": facts.lacks(),
    })
}

fn as_row(clause: &Clause) -> [String; 3] {
    [clause.id.to_string(), word(&clause.level), output::first_sentence(&clause.says)]
}

fn as_covered_row(facts: &ClauseFacts<'_>) -> [String; 5] {
    let clause = facts.clause;
    let none = |what: &str, excused: bool| match (clause.untestable.is_some(), excused) {
        (true, _) => "-".to_owned(),
        (false, true) => format!("no {what}, with a reason"),
        (false, false) => format!("no {what}"),
    };
    let names: Vec<&str> = facts.cases.iter().map(|case| case.name.0.as_str()).collect();
    [
        clause.id.to_string(),
        word(&clause.level),
        facts.judge().to_owned(),
        match facts.defects.len() {
            0 => none("defect", clause.without_defect.is_some()),
            1 => "1 defect".to_owned(),
            many => format!("{many} defects"),
        },
        if names.is_empty() { none("case", clause.without_case.is_some()) } else { names.join(", ") },
    ]
}

/// A clause with the names of its cases and defects, and the recorded reasons for what it lacks.
fn as_entry(facts: &ClauseFacts<'_>) -> String {
    let clause = facts.clause;
    let mut text = format!("{}  {}  {}\n", clause.id, word(&clause.level), facts.judge());
    let mut part = |name: &str, said: &str| text += &named(name, 7, said);
    if let Some(why) = &clause.untestable {
        part("reason", why);
        return text;
    }
    let none = |reason: &Option<String>| {
        reason.as_ref().map_or_else(|| "none".to_owned(), |why| format!("none: {why}"))
    };
    let names: Vec<&str> = facts.cases.iter().map(|case| case.name.0.as_str()).collect();
    part("cases", &if names.is_empty() { none(&clause.without_case) } else { names.join(", ") });
    let defects = facts.defects;
    if !facts.real_defects.is_empty() {
        part("real", &facts.real_defects.join(", "));
    } else if clause.without_real_defect.is_some() {
        part("real", &none(&clause.without_real_defect));
    }
    part("defects", &if defects.is_empty() { none(&clause.without_defect) } else { defects.join(", ") });
    text
}

/// The counts, and the clauses that lack something without a recorded reason.
fn summary(meant: &[&ClauseFacts<'_>]) -> String {
    let count = |what: fn(&ClauseFacts<'_>) -> bool| meant.iter().filter(|facts| what(facts)).count();
    let mut text = format!(
        "\n{} clauses: {} judged, {} untestable; {} with their own case, {} detect a planted defect, {} a defect of \
         a real kubelet\n",
        meant.len(),
        count(|facts| facts.judge() == "judged"),
        count(|facts| facts.judge() == "untestable"),
        count(|facts| !facts.cases.is_empty()),
        count(|facts| !facts.defects.is_empty()),
        count(|facts| !facts.real_defects.is_empty()),
    );
    let lacking: Vec<[String; 2]> = meant
        .iter()
        .map(|facts| (facts, facts.lacks()))
        .filter(|(_, lacks)| !lacks.is_empty())
        .map(|(facts, lacks)| [format!("  {}", facts.clause.id), format!("no {}", lacks.join(", no "))])
        .collect();
    if !lacking.is_empty() {
        text += &format!("\n{} of them lack something without a recorded reason:\n", lacking.len());
        text += &output::table(&lacking);
    }
    text
}
