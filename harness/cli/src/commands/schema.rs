//! `probity schema`: the JSON Schemas of all documents, for editors and for other languages.

use probity_case::WrittenCase;
use probity_model::{Clause, Event, Header};
use probity_report::{Diff, LogLine, Matrix, Report};
use probity_script::schema;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

use crate::arguments::{Document, SchemaArgs};
use crate::exit_status::{Exit, Failure};
use crate::output;
use crate::verdicts::CaseVerdicts;

/// A line of a history: the first is a header, all others are events.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used; histories are read line by line")]
enum HistoryLine {
    Header(Header),
    Event(Event),
}

/// Prints the schema of a document.
pub(crate) fn run(args: SchemaArgs) -> Result<Exit, Failure> {
    output::out(&format!("{:#}\n", of(args.document).as_value()))
}

fn of(document: Document) -> Schema {
    match document {
        Document::Case => schema_for!(WrittenCase),
        Document::Clauses => schema_for!(Vec<Clause>),
        Document::Plan => schema::plan(),
        Document::Change => schema::change(),
        Document::Witness => schema::witness(),
        Document::History => schema_for!(HistoryLine),
        Document::Verdicts => schema_for!(CaseVerdicts),
        Document::Log => schema_for!(LogLine),
        Document::Report => schema_for!(Report),
        Document::Diff => schema_for!(Diff),
        Document::Matrix => schema_for!(Matrix),
    }
}
