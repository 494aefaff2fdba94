//! `probity list`: the cases, the clauses, and which case gives evidence for which clause. The same each time, and
//! never from a cluster.

use probity_model::{Case, Clause};
use serde_json::{Value, json};

use crate::args::{Format, ListArgs};
use crate::book::Book;
use crate::exit::{Exit, Failure};
use crate::say;
use crate::select::{need_word, profile_word};
use crate::verdicts::level_word;

/// Prints the list that was asked for.
pub(crate) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let book = Book::open(&args.suites)?;
    let cases: Vec<&Case> = book.cases().filter(|case| args.choice.lists(case)).collect();
    if args.clauses || args.coverage {
        return clauses(args, &book, &cases);
    }
    if cases.is_empty() {
        return Err(Failure::wrong_use(args.choice.nothing(book.cases())));
    }
    match args.format {
        Format::Json => print(&Value::Array(cases.iter().map(|case| case_as_json(&book, case)).collect())),
        Format::Text => {
            let rows: Vec<[String; 4]> = cases.iter().map(|case| case_as_row(case)).collect();
            say::out(&say::table(&rows))
        }
    }
}

fn case_as_row(case: &Case) -> [String; 4] {
    let needs: Vec<&str> = case.needs.iter().map(|need| need_word(*need)).collect();
    [
        case.name.to_string(),
        profile_word(case.profile).to_owned(),
        case.forecast().to_string(),
        if needs.is_empty() { String::new() } else { format!("needs {}", needs.join(", ")) },
    ]
}

fn case_as_json(book: &Book, case: &Case) -> Value {
    json!({
        "case": case.name,
        "source": book.file_of(case).map(|file| &file.source),
        "story": case.story,
        "profile": case.profile,
        "needs": case.needs,
        "judges": case.judges,
        "forecast": case.forecast(),
        "pods": case.most_pods(),
    })
}

fn clauses(args: &ListArgs, book: &Book, cases: &[&Case]) -> Result<Exit, Failure> {
    let meant = |clause: &&Clause| {
        let id = clause.id.as_str();
        let filter = &args.choice.filter;
        let hit = |text: &String| if args.choice.exact { id == text } else { id.contains(text.as_str()) };
        filter.is_empty()
            || filter.iter().any(hit)
            || (args.coverage && cases.iter().any(|case| case.judges.contains(&clause.id)))
    };
    let meant: Vec<&Clause> = book.registry.catalogue.iter().filter(meant).collect();
    if meant.is_empty() {
        return Err(Failure::wrong_use(
            "no clause has such a name (`probity list --clauses` shows them all)",
        ));
    }
    let of = |clause: &Clause| -> Vec<&str> {
        book.cases()
            .filter(|case| case.judges.contains(&clause.id))
            .map(|case| case.name.0.as_str())
            .collect()
    };
    match (args.format, args.coverage) {
        (Format::Json, _) => {
            let clause = |clause: &&Clause| {
                json!({
                    "clause": clause, "judge": judge(book, clause), "cases": of(clause),
                })
            };
            print(&Value::Array(meant.iter().map(clause).collect()))
        }
        (Format::Text, false) => {
            let row = |clause: &&Clause| {
                [clause.id.to_string(), level_word(clause.level).to_owned(), first_sentence(&clause.says)]
            };
            say::out(&say::table(&meant.iter().map(row).collect::<Vec<_>>()))
        }
        (Format::Text, true) => {
            let row = |clause: &&Clause| {
                let cases = of(clause);
                let cases = if cases.is_empty() { "-".to_owned() } else { cases.join(", ") };
                [
                    clause.id.to_string(),
                    level_word(clause.level).to_owned(),
                    judge(book, clause).to_owned(),
                    cases,
                ]
            };
            let rows: Vec<_> = meant.iter().map(row).collect();
            say::out(&(say::table(&rows) + &summary(book, &meant, &of)))
        }
    }
}

/// Whether a clause has a judge, in a word or two.
fn judge(book: &Book, clause: &Clause) -> &'static str {
    match (book.registry.has_judge(&clause.id), clause.untestable.is_some()) {
        (true, _) => "judged",
        (false, true) => "untestable",
        (false, false) => "no judge",
    }
}

fn summary<'b>(book: &Book, meant: &[&Clause], of: &dyn Fn(&Clause) -> Vec<&'b str>) -> String {
    let judged = meant.iter().filter(|clause| book.registry.has_judge(&clause.id)).count();
    let untestable = meant.iter().filter(|clause| clause.untestable.is_some()).count();
    let arranged = meant.iter().filter(|clause| !of(clause).is_empty()).count();
    format!(
        "\n{} clauses: {judged} judged, {untestable} untestable, {arranged} with a case of their own\n",
        meant.len()
    )
}

fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

fn print(value: &Value) -> Result<Exit, Failure> {
    say::out(&format!("{value:#}\n"))
}
