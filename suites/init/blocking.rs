//! An init container that waits for a precondition delays the main containers until the precondition is met.

use probity_model::clocks::Order;
use probity_model::stamp::counted;
use probity_model::timeline::{Attempt, Line};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::{Fact, Waited};

use crate::reading::inits::inits;
use crate::reading::mains::{is_recorded, mains};

/// The record of the last precondition for which an instance waited, with the time that it waited.
fn found<'t, 'h>(attempt: &'t Attempt<'h>) -> Option<(&'t Line<'h>, &'h Waited)> {
    attempt.lines.iter().rev().find_map(|line| match &line.line.fact {
        Fact::Waited(waited) => Some((line, waited)),
        _ => None,
    })
}

/// No main container starts before each init container has found what it waits for.
pub(super) fn delays_mains(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        for init in inits(pod) {
            let waits = init.plan().is_some_and(|plan| !plan.process.wait_for.is_empty());
            let Some(attempt) = init.attempts.first().filter(|_| waits && is_recorded(init)) else {
                continue;
            };
            for main in mains(pod) {
                let Some(first) = main.attempts.first().filter(|first| first.is_numbered()) else { continue };
                let began = &first.began;
                match init.attempts.iter().rev().find_map(found) {
                    Some((line, _)) if run.clocks.order(began, &line.at) == Order::Before => {
                        let finding = format!(
                            "{}/{} started before {} had found what it waits for",
                            pod.key, main.name, init.name
                        );
                        seen.violated(finding, [began.id, line.id]);
                    }
                    Some((line, waited)) => {
                        let took = counted(waited.took_us);
                        if took >= clause.tolerance_us("missing") {
                            seen.fine([line.id, began.id]);
                        }
                    }
                    None => {
                        let finding = format!(
                            "{}/{} started, but {} never found what it waits for",
                            pod.key, main.name, init.name
                        );
                        seen.violated(finding, [attempt.began.id, began.id]);
                    }
                }
            }
        }
    }
}
