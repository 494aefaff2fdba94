//! Whether each history is the one that the log names, is complete, and belongs to this run, case and cluster.

use std::collections::BTreeSet;

use probity_model::history::{Did, Happening, Header};
use probity_model::{ClauseId, History};

use super::{Flaw, LOG};
use crate::judged::ReadHistory;
use crate::outline::{NamedHistory, Outline};
use crate::run_log::LogLine;

/// The contradictions in a history of a run. A history that cannot be read is also a flaw.
#[must_use]
pub fn history(
    outline: &Outline<'_>,
    named: &NamedHistory<'_>,
    read: Result<&ReadHistory, &str>,
) -> Vec<Flaw> {
    let mut found = Vec::new();
    let mut say = |what: String| found.push(Flaw::new(named.file, what));
    match read {
        Err(why) => say(why.to_owned()),
        Ok(told) => {
            if told.sha256 != named.sha256 {
                say(format!(
                    "it is not the file that the run wrote: {LOG} has the digest {}, but the file has {}",
                    named.sha256, told.sha256
                ));
            }
            of_header(&told.history.header, outline, named).into_iter().for_each(&mut say);
            if !is_over(&told.history) {
                say("it does not show the end of its case".to_owned());
            }
        }
    }
    found
}

/// Whether a history that no result names belongs to a case that failed. The beginning of a history is stored even if
/// its case fails.
#[must_use]
pub fn is_evidence_of_a_failure(log: &[LogLine], file: &str) -> bool {
    // The name is followed by the number of a repetition and the extension.
    let place = |name: &str| {
        let rest = file.strip_prefix("history/").and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    log.iter().any(|line| matches!(line, LogLine::CaseBroken { case, .. } if place(&case.file())))
}

/// The differences between the header of a history and the log.
fn of_header(header: &Header, outline: &Outline<'_>, named: &NamedHistory<'_>) -> Vec<String> {
    let (facts, ground) = (outline.facts, outline.environment);
    let mut found = Vec::new();
    let mut differs = |what: &str, here: &str, there: &str| {
        if here != there {
            found.push(format!("it belongs to the {what} {here}, but {LOG} says {there}"));
        }
    };
    differs("case", &header.case, &named.case.0);
    if facts.merged.is_empty() {
        differs("run", &header.run, &facts.run_id);
        differs("time", &header.began_wall_us.to_string(), &facts.began_wall_us.to_string());
    } else if !facts.merged.iter().any(|part| part.run_id == header.run) {
        found.push(format!("it belongs to the run {}, which is not one of the merged runs", header.run));
    }
    let mut differs = |what: &str, here: &str, there: &str| {
        if here != there {
            found.push(format!("it belongs to {what} {here}, but {LOG} says {there}"));
        }
    };
    if let Some(planned) = named.planned {
        let names = |ids: &[ClauseId]| -> String {
            let ids: BTreeSet<&str> = ids.iter().map(ClauseId::as_str).collect();
            ids.into_iter().collect::<Vec<_>>().join(", ")
        };
        differs("a case for the clauses", &names(&header.judges), &names(&planned.judges));
    }
    if let Some(ground) = ground {
        // A merged log names the values of all its runs.
        if facts.merged.is_empty() || !ground.server.contains(", ") {
            differs("a cluster of version", &header.server, &ground.server);
        }
        for (name, node) in &header.nodes {
            match ground.nodes.get(name) {
                Some(there) => {
                    differs(
                        &format!("a run whose node {name} has the kubelet"),
                        &node.kubelet,
                        &there.kubelet,
                    );
                    differs(
                        &format!("a run whose node {name} has the runtime"),
                        &node.runtime,
                        &there.runtime,
                    );
                }
                None => differs("a cluster with a node", name, "that there is none with this name"),
            }
        }
    }
    found
}

/// Whether the harness wrote the end of the case.
fn is_over(history: &History) -> bool {
    history.events().rev().any(
        |(_, event)| matches!(&event.what, Happening::Deed(deed) if matches!(deed.did, Did::Over { .. })),
    )
}
