//! `probity list --clauses` and `--coverage`: what is promised, and what there is to test it with.

use probity_case::Case;
use probity_model::Clause;
use serde_json::{Value, json};

use crate::args::{Format, ListArgs};
use crate::book::Book;
use crate::dossier::{Archive, Dossier};
use crate::exit::{Exit, Failure};
use crate::say;
use crate::select::Choice;
use crate::verdicts::level_word;

/// Prints the clauses that are meant. `cases` are those that the choice means: a filter that neither a clause nor a
/// chapter has in its name is one of cases, and means the clauses that they are for.
pub(super) fn run(args: &ListArgs, book: &Book, cases: &[&Case]) -> Result<Exit, Failure> {
    let archive = Archive::open()?;
    let all: Vec<Dossier<'_>> =
        book.registry.catalogue.iter().map(|clause| archive.dossier(book, clause)).collect();
    let by_name = all.iter().any(|dossier| named(&args.choice, dossier));
    let meant = |dossier: &&Dossier<'_>| {
        if args.choice.filter.is_empty() || by_name {
            named(&args.choice, dossier)
        } else {
            args.coverage && cases.iter().any(|case| case.judges.contains(&dossier.clause.id))
        }
    };
    let meant: Vec<&Dossier<'_>> = all.iter().filter(meant).collect();
    if meant.is_empty() {
        return Err(Failure::wrong_use(
            "no clause has such a name (`probity list --clauses` shows them all)",
        ));
    }
    match args.format {
        Format::Json => super::print(&Value::Array(meant.iter().map(|dossier| as_json(dossier)).collect())),
        Format::Text if !args.coverage => {
            let rows: Vec<[String; 3]> = meant.iter().map(|dossier| as_row(dossier.clause)).collect();
            say::out(&say::table(&rows))
        }
        Format::Text => {
            let text = if args.wide {
                meant.iter().map(|dossier| as_entry(dossier)).collect()
            } else {
                say::table(&meant.iter().map(|dossier| as_covered_row(dossier)).collect::<Vec<_>>())
            };
            say::out(&(text + &summary(&meant)))
        }
    }
}

/// Whether a clause is meant by its own name or by that of its chapter.
fn named(choice: &Choice, dossier: &Dossier<'_>) -> bool {
    let names = [dossier.clause.id.as_str(), dossier.chapter.map_or("", |chapter| chapter.name)];
    let hit = |text: &String| {
        names.iter().any(|name| if choice.exact { name == text } else { name.contains(text.as_str()) })
    };
    (choice.filter.is_empty() || choice.filter.iter().any(hit)) && !choice.skip.iter().any(hit)
}

fn as_json(dossier: &Dossier<'_>) -> Value {
    json!({
        "clause": dossier.clause,
        "chapter": dossier.chapter.map(|chapter| chapter.name),
        "judge": dossier.judge(),
        "cases": dossier.cases.iter().map(|case| &case.name).collect::<Vec<_>>(),
        "defects": dossier.defects,
        "upstream": dossier.upstream.iter().map(|(first, last, _)| [first, last]).collect::<Vec<_>>(),
        "lacks": dossier.lacks(),
    })
}

fn as_row(clause: &Clause) -> [String; 3] {
    [clause.id.to_string(), level_word(clause.level).to_owned(), say::first_sentence(&clause.says)]
}

fn as_covered_row(dossier: &Dossier<'_>) -> [String; 5] {
    let clause = dossier.clause;
    let none = |what: &str, excused: bool| match (clause.untestable.is_some(), excused) {
        (true, _) => "-".to_owned(),
        (false, true) => format!("no {what}, with a reason"),
        (false, false) => format!("no {what}"),
    };
    let names: Vec<&str> = dossier.cases.iter().map(|case| case.name.0.as_str()).collect();
    [
        clause.id.to_string(),
        level_word(clause.level).to_owned(),
        dossier.judge().to_owned(),
        match dossier.defects.len() {
            0 => none("defect", clause.without_defect.is_some()),
            1 => "1 defect".to_owned(),
            many => format!("{many} defects"),
        },
        if names.is_empty() { none("case", clause.without_case.is_some()) } else { names.join(", ") },
    ]
}

/// A clause with the names of all that it has, and the written reasons for what it has not.
fn as_entry(dossier: &Dossier<'_>) -> String {
    let clause = dossier.clause;
    let mut text = format!("{}  {}  {}\n", clause.id, level_word(clause.level), dossier.judge());
    let mut part = |name: &str, said: &str| {
        let wrapped = say::wrapped(said, "           ", 108);
        text += &format!("  {name:<7}  {}", wrapped.trim_start());
    };
    if let Some(why) = &clause.untestable {
        part("reason", why);
        return text;
    }
    let none = |reason: &Option<String>| {
        reason.as_ref().map_or_else(|| "none".to_owned(), |why| format!("none: {why}"))
    };
    let names: Vec<&str> = dossier.cases.iter().map(|case| case.name.0.as_str()).collect();
    part("cases", &if names.is_empty() { none(&clause.without_case) } else { names.join(", ") });
    let defects = dossier.defects;
    part("defects", &if defects.is_empty() { none(&clause.without_defect) } else { defects.join(", ") });
    text
}

/// The counts, and by name what is empty without a written reason.
fn summary(meant: &[&Dossier<'_>]) -> String {
    let count = |what: fn(&Dossier<'_>) -> bool| meant.iter().filter(|dossier| what(dossier)).count();
    let mut text = format!(
        "\n{} clauses: {} judged, {} untestable; {} with a case of their own, {} notice a planted defect\n",
        meant.len(),
        count(|dossier| dossier.judge() == "judged"),
        count(|dossier| dossier.judge() == "untestable"),
        count(|dossier| !dossier.cases.is_empty()),
        count(|dossier| !dossier.defects.is_empty()),
    );
    let lacking: Vec<[String; 2]> = meant
        .iter()
        .map(|dossier| (dossier, dossier.lacks()))
        .filter(|(_, lacks)| !lacks.is_empty())
        .map(|(dossier, lacks)| [format!("  {}", dossier.clause.id), format!("no {}", lacks.join(", no "))])
        .collect();
    if !lacking.is_empty() {
        text += &format!("\n{} of them lack something without a written reason:\n", lacking.len());
        text += &say::table(&lacking);
    }
    text
}
