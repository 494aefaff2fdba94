//! `probity list`: the cases, the clauses, and what tests each clause. It needs no cluster, and its output is stable.

mod clauses;

use probity_case::Case;
use serde_json::{Value, json};

use crate::arguments::{Format, ListArgs};
use crate::cases::book::Book;
use crate::exit_status::{Exit, Failure};
use crate::output::{self, word};

/// Prints the requested list.
pub(crate) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let book = Book::open(&args.suites)?;
    let cases: Vec<&Case> = book.cases().filter(|case| args.filter.lists(case)).collect();
    if args.clauses || args.coverage {
        return clauses::run(args, &book, &cases);
    }
    args.filter.check(book.cases())?;
    if cases.is_empty() {
        return Err(Failure::wrong_use(args.filter.nothing(book.cases())));
    }
    match args.format {
        Format::Json => print(&Value::Array(cases.iter().map(|case| case_as_json(&book, case)).collect())),
        Format::Text => {
            let rows: Vec<[String; 4]> = cases.iter().map(|case| case_as_row(case)).collect();
            output::out(&output::table(&rows))
        }
    }
}

fn case_as_row(case: &Case) -> [String; 4] {
    let needs: Vec<String> = case.needs.iter().map(word).collect();
    let reported = case.reported.as_ref().map(|reported| format!("{}: {}", reported.issue, reported.title));
    let needs = (!needs.is_empty()).then(|| format!("needs {}", needs.join(", ")));
    let more: Vec<String> = needs.into_iter().chain(reported).collect();
    [case.name.to_string(), word(&case.profile), case.forecast().to_string(), more.join("; ")]
}

fn case_as_json(book: &Book, case: &Case) -> Value {
    json!({
        "case": case.name,
        "source": book.file_of(&case.name).map(|file| &file.source),
        "story": case.story,
        "reported": case.reported,
        "profile": case.profile,
        "needs": case.needs,
        "judges": case.judges,
        "forecast": case.forecast(),
        "pods": case.most_pods(),
    })
}

fn print(value: &Value) -> Result<Exit, Failure> {
    output::out(&format!("{value:#}\n"))
}
