//! `probity list`: the cases, the clauses, and what there is to test each clause with. The same each time, and never from
//! a cluster.

mod clauses;

use probity_case::Case;
use serde_json::{Value, json};

use crate::args::{Format, ListArgs};
use crate::book::Book;
use crate::exit::{Exit, Failure};
use crate::say;
use crate::select::{need_word, profile_word};

/// Prints the list that was asked for.
pub(crate) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let book = Book::open(&args.suites)?;
    let cases: Vec<&Case> = book.cases().filter(|case| args.choice.lists(case)).collect();
    if args.clauses || args.coverage {
        return clauses::run(args, &book, &cases);
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

fn print(value: &Value) -> Result<Exit, Failure> {
    say::out(&format!("{value:#}\n"))
}
