//! `probity judge`: what follows from stored histories, without a cluster.

use probity_model::Registry;

use crate::args::{Format, JudgeArgs};
use crate::book;
use crate::exit::{self, Exit, Failure};
use crate::say;
use crate::stored::{self, Stored};
use crate::verdicts::CaseVerdicts;

/// Judges each history and prints what follows.
pub(crate) fn run(args: &JudgeArgs) -> Result<Exit, Failure> {
    let registry = book::registry()?;
    for id in &args.clause {
        known(&registry, id)?;
    }
    let mut all = Vec::new();
    for path in stored::below(&args.histories)? {
        let stored = stored::read(&path)?;
        if let Some(torn) = &stored.torn {
            say::err(&format!("probity judge: {}: {torn}; judged is what is there\n", path.display()));
        }
        let found = CaseVerdicts::of(&registry, &stored.history).only(&args.clause);
        say::out(&match args.format {
            Format::Json => found.file().map_err(|error| Failure::failed(error.to_string()))?,
            Format::Text => text(&registry, &stored, &found),
        })?;
        all.push(found.conclusion());
    }
    Ok(exit::of_verdicts(&all, args.inconclusive.into()))
}

fn known(registry: &Registry, id: &str) -> Result<(), Failure> {
    if registry.catalogue.iter().any(|clause| clause.id.as_str() == id) {
        return Ok(());
    }
    let near =
        probity_script::problem::nearest(id, registry.catalogue.iter().map(|clause| clause.id.as_str()));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(Failure::wrong_use(format!("there is no clause `{id}`{hint}")))
}

/// The verdicts as a table, and what they rest on where they are more than a word.
fn text(registry: &Registry, stored: &Stored, found: &CaseVerdicts) -> String {
    let events = stored.history.events().len();
    let mut text = format!(
        "{}  {}  (run {}, {}, {events} events)\n",
        found.case, found.verdict, found.run, found.server
    );
    let rows: Vec<[String; 4]> = found
        .judgements
        .iter()
        .map(|judgement| {
            let measured: Vec<String> = judgement.measurements.iter().take(1).map(|m| m.in_words()).collect();
            let also = if judgement.intended { "" } else { "(not what the case is for)" };
            [
                format!("  {}", judgement.verdict.word()),
                judgement.clause.to_string(),
                measured.concat(),
                also.to_owned(),
            ]
        })
        .collect();
    text += &say::table(&rows);
    for expected in &found.expected {
        text += &format!("  {}  expected: {}\n", expected.verdict.word(), expected.what);
    }
    let path = stored.path.display().to_string();
    for finding in found.findings(registry, &stored.history, &path, &[]) {
        text += &format!("\n{finding}");
    }
    text + "\n"
}
