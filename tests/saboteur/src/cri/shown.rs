//! Changes how containers are shown to the kubelet. The alteration is the same in the list of containers, in the status
//! of a container and in the status of a sandbox, so that no request reveals the truth.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{
    fault::{CriFault, ShownEffect},
    plan::code_of,
    wire::Message,
};
use crate::{
    board::Board,
    defect::{Fault, Target},
};

/// The states of a container in the runtime's API.
const CREATED: i64 = 0;
const RUNNING: i64 = 1;
const EXITED: i64 = 2;

/// The positions of fields in a message about a container.
struct Layout {
    id: u32,
    state: u32,
    image: [u32; 2],
    annotations: u32,
    /// The fields for start time, end time, exit code and reason, which only the status has.
    end: Option<[u32; 4]>,
}

const IN_LIST: Layout = Layout { id: 1, state: 6, image: [4, 5], annotations: 9, end: None };
const IN_STATUS: Layout =
    Layout { id: 1, state: 3, image: [8, 9], annotations: 13, end: Some([5, 6, 7, 10]) };

/// What the proxy remembers about containers so that it shows each one consistently.
#[derive(Debug, Default)]
pub(super) struct Showings {
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// When a container was first seen in a state.
    first_seen: HashMap<(String, i64), Instant>,
    /// Whether a defect strikes a container instance. This is decided once.
    struck: HashMap<(String, String), bool>,
}

impl Showings {
    /// Alters the answer to `ListContainers`.
    pub(super) fn list(&self, response: &mut Message, board: &Board) {
        response.change_each(1, |container| self.show(&IN_LIST, container, board));
    }

    /// Alters the answer to `ContainerStatus`.
    pub(super) fn status(&self, response: &mut Message, board: &Board) {
        response.change_each(1, |status| {
            self.show(&IN_STATUS, status, board);
            true
        });
    }

    /// Alters the container statuses in a sandbox's status or an event.
    pub(super) fn statuses(&self, field: u32, response: &mut Message, board: &Board) {
        response.change_each(field, |status| self.show(&IN_STATUS, status, board));
    }

    /// Whether the container is still shown.
    fn show(&self, layout: &Layout, container: &mut Message, board: &Board) -> bool {
        let id = container.text(layout.id);
        let Some(target) = board.target_of_container(&id) else { return true };
        let effects = self.effects(&id, &target, board);
        if effects.is_empty() {
            return true;
        }
        let age = self.age(&id, container.integer(layout.state));
        effects.iter().all(|effect| alter(effect, layout, container, age))
    }

    fn effects(&self, id: &str, target: &Target, board: &Board) -> Vec<ShownEffect> {
        let pick = |fault: &Fault| match fault {
            Fault::Cri(CriFault::Shown(effect)) => Some(effect.clone()),
            _ => None,
        };
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let mut strikes = |name: &str, decide: &dyn Fn() -> bool| {
            *memory.struck.entry((name.to_owned(), id.to_owned())).or_insert_with(decide)
        };
        let found = board.matching(pick, target).into_iter();
        found
            .filter(|(active, _)| strikes(active.name(), &|| active.strikes(target)))
            .map(|(_, effect)| effect)
            .collect()
    }

    /// For how long the container has been seen in this state.
    fn age(&self, id: &str, state: i64) -> Duration {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.first_seen.entry((id.to_owned(), state)).or_insert_with(Instant::now).elapsed()
    }

    /// Forgets a container that was removed.
    pub(super) fn forget(&self, id: &str) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.first_seen.retain(|(of, _), _| of != id);
        memory.struck.retain(|(_, of), _| of != id);
    }
}

/// Applies one effect; returns false if the container is no longer shown. Changes only the message.
fn alter(effect: &ShownEffect, layout: &Layout, container: &mut Message, age: Duration) -> bool {
    let state = container.integer(layout.state);
    match effect {
        ShownEffect::Missing => return false,
        ShownEffect::ExitedLate(by) if state == EXITED && age < by.0 => {
            container.set_integer(layout.state, RUNNING);
            if let Some([_, finished, code, reason]) = layout.end {
                [finished, code, reason].into_iter().for_each(|field| container.remove(field));
            }
        }
        ShownEffect::RunningLate(by) if state == RUNNING && age < by.0 => {
            container.set_integer(layout.state, CREATED);
            if let Some([started, ..]) = layout.end {
                container.remove(started);
            }
        }
        ShownEffect::Image(image) => {
            let [specification, reference] = layout.image;
            container.change(specification, |inner| inner.set_bytes(1, image.clone()));
            container.set_bytes(reference, image.clone());
        }
        ShownEffect::RestartsMoved(by) => {
            let restarts =
                container.entry(layout.annotations, RESTARTS).and_then(|text| text.parse::<i64>().ok());
            let moved = (restarts.unwrap_or_default() + by).max(0);
            container.set_entry(layout.annotations, RESTARTS, &moved.to_string());
        }
        _ => alter_times(effect, layout, container),
    }
    true
}

/// The annotation in which the kubelet keeps the number of restarts.
const RESTARTS: &str = "io.kubernetes.container.restartCount";

/// The effects on fields that only a status has.
fn alter_times(effect: &ShownEffect, layout: &Layout, container: &mut Message) {
    let Some([started, finished, code, reason]) = layout.end else { return };
    let exited = container.integer(layout.state) == EXITED;
    match effect {
        ShownEffect::StartedMoved(seconds) => move_time(container, started, *seconds),
        ShownEffect::FinishedMoved(seconds) => move_time(container, finished, *seconds),
        ShownEffect::ExitCode { from, to } if exited && from.include(code_of(container, code)) => {
            container.set_integer(code, i64::from(*to));
        }
        ShownEffect::Reason(text) if exited => container.set_bytes(reason, text.clone()),
        _ => {}
    }
}

/// Moves a time in nanoseconds; a time that is not set yet stays unset.
#[expect(clippy::cast_possible_truncation, reason = "a table moves times by seconds, not by centuries")]
fn move_time(container: &mut Message, field: u32, seconds: f64) {
    let time = container.integer(field);
    if time != 0 {
        container.set_integer(field, time + (seconds * 1e9) as i64);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use probity_script::Span;

    use super::{CREATED, EXITED, IN_LIST, IN_STATUS, Message, RESTARTS, RUNNING, ShownEffect, alter};
    use crate::cri::fault::ExitCodes;

    fn span(seconds: u64) -> Span {
        Span(Duration::from_secs(seconds))
    }

    fn exited() -> Message {
        let mut status = Message::default();
        status.set_bytes(1, "container-1");
        status.set_integer(3, EXITED);
        status.set_integer(5, 5_000_000_000);
        status.set_integer(6, 9_000_000_000);
        status.set_integer(7, 137);
        status.set_bytes(10, "Error");
        status.set_entry(13, RESTARTS, "2");
        status
    }

    fn shown(effect: ShownEffect, age: u64) -> Message {
        let mut status = exited();
        assert!(alter(&effect, &IN_STATUS, &mut status, Duration::from_secs(age)));
        status
    }

    #[test]
    fn an_exit_shows_late_and_then_whole() {
        let early = shown(ShownEffect::ExitedLate(span(5)), 4);
        assert_eq!((early.integer(3), early.integer(6), early.integer(7)), (RUNNING, 0, 0));
        assert_eq!(shown(ShownEffect::ExitedLate(span(5)), 5), exited());
    }

    #[test]
    fn a_start_shows_late_in_the_list_too() {
        let mut listed = Message::default();
        listed.set_integer(6, RUNNING);
        assert!(alter(&ShownEffect::RunningLate(span(2)), &IN_LIST, &mut listed, Duration::ZERO));
        assert_eq!(listed.integer(6), CREATED);
    }

    #[test]
    fn exit_code_reason_times_and_restarts_are_altered() {
        let code = ShownEffect::ExitCode { from: ExitCodes::NonZero, to: 0 };
        assert_eq!(shown(code, 0).integer(7), 0);
        assert_eq!(shown(ShownEffect::Reason("OOMKilled".into()), 0).text(10), "OOMKilled");
        assert_eq!(shown(ShownEffect::FinishedMoved(-1.5), 0).integer(6), 7_500_000_000);
        assert_eq!(shown(ShownEffect::StartedMoved(1.0), 0).integer(5), 6_000_000_000);
        let restarts = shown(ShownEffect::RestartsMoved(-1), 0);
        assert_eq!(restarts.entry(13, RESTARTS).as_deref(), Some("1"));
    }

    #[test]
    fn a_missing_container_does_not_show() {
        assert!(!alter(&ShownEffect::Missing, &IN_STATUS, &mut exited(), Duration::ZERO));
    }
}
