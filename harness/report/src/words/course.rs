//! The course of a case as text: what the harness did, what the API server showed, and how probes were answered, in the
//! order in which the harness received the events. The text is for readers without a browser, such as readers of an
//! issue.

use probity_model::history::{Did, EventId, Happening, History};
use probity_model::measure::seconds;
use probity_model::timeline::{Attempt, Probe, Timeline};

use super::event::{event_in_words, revision_in_words};

/// The maximum number of lines. The history has the rest.
const LONGEST: usize = 120;

/// The course, one event per line.
#[must_use]
pub fn course_in_words(history: &History) -> Vec<String> {
    let run = Timeline::of(history);
    let mut entries = Vec::new();
    for (id, deed) in &run.deeds {
        if !matches!(deed.did, Did::Tried(_) | Did::Over { .. }) {
            entries.push(Entry::Line(*id, without_time(&event_in_words(history, *id))));
        }
    }
    for pod in &run.pods {
        let mut last = String::new();
        for revision in &pod.revisions {
            let words = revision_in_words(revision.object);
            if revision.gone {
                entries.push(Entry::Line(revision.id, format!("pod {} is gone", pod.key)));
            } else if words != last {
                entries.push(Entry::Line(revision.id, format!("pod {}: {words}", pod.key)));
                last = words;
            }
        }
        let events = pod.events.iter();
        entries.extend(
            events.map(|event| Entry::Line(event.id, format!("event {}: {}", event.reason, event.message))),
        );
        for container in &pod.containers {
            for attempt in &container.attempts {
                of_attempt(attempt, &container.name, &mut entries);
            }
        }
    }
    entries.sort_by_key(Entry::id);
    lines(&run, entries)
}

/// An entry: a separate line, or an answer. Several answers are combined into one line.
enum Entry {
    Line(EventId, String),
    Answer(EventId, String),
}

impl Entry {
    fn id(&self) -> EventId {
        match self {
            Self::Line(id, _) | Self::Answer(id, _) => *id,
        }
    }
}

fn of_attempt(attempt: &Attempt<'_>, container: &str, entries: &mut Vec<Entry>) {
    let number = attempt.earlier_processes();
    entries.push(Entry::Line(attempt.began.id, format!("{container} started (attempt {number})")));
    for (id, _, seen) in attempt.signals() {
        entries.push(Entry::Line(id, format!("{container} got {} (attempt {number})", seen.signal)));
    }
    if let Some(ended) = &attempt.ended {
        entries.push(Entry::Line(ended.id, format!("{container} terminated (attempt {number})")));
    }
    let answers = attempt.probes.iter().map(|probe| {
        let id = probe.settled.as_ref().map_or(probe.id, |settled| settled.id);
        Entry::Answer(id, answer(attempt, container, probe))
    });
    entries.extend(answers);
}

fn answer(attempt: &Attempt<'_>, container: &str, probe: &Probe<'_>) -> String {
    let kinds: Vec<&str> = probe.kinds.iter().map(|kind| kind.word()).collect();
    let at = probe.endpoint.map(|at| format!(" at {at}")).unwrap_or_default();
    let status =
        attempt.request(probe).and_then(|asked| asked.answer.as_ref()).map(|answer| answer.answer.clone());
    let said = status.unwrap_or_else(|| {
        match probe.passed {
            Some(true) => "success",
            Some(false) => "failure",
            None => "no answer",
        }
        .to_owned()
    });
    format!("{container} was probed{at} ({}): {said}", kinds.join(" or "))
}

/// The lines. Equal answers with nothing else between them are combined.
fn lines(run: &Timeline<'_>, entries: Vec<Entry>) -> Vec<String> {
    let at = |id: EventId| format!("{:>10}", format!("+{}", seconds(run.heard(id).at.lo)));
    let mut lines: Vec<String> = Vec::new();
    // The answers since the last line, each with its first event, its last event, and how often it occurred.
    let mut open: Vec<(String, EventId, EventId, u64)> = Vec::new();
    let close = |open: &mut Vec<(String, EventId, EventId, u64)>, lines: &mut Vec<String>| {
        for (words, first, last, count) in open.drain(..) {
            let more = match count {
                1 => String::new(),
                count => format!(", {count} times until {}", at(last).trim_start()),
            };
            lines.push(format!("{}  {words}{more}", at(first)));
        }
    };
    for entry in entries {
        match entry {
            Entry::Answer(id, words) => match open.iter_mut().find(|(known, ..)| *known == words) {
                Some((_, _, last, count)) => {
                    *last = id;
                    *count += 1;
                }
                None => open.push((words, id, id, 1)),
            },
            Entry::Line(id, words) => {
                close(&mut open, &mut lines);
                lines.push(format!("{}  {words}", at(id)));
            }
        }
    }
    close(&mut open, &mut lines);
    let ended = run.history.events().find(
        |(_, event)| matches!(&event.what, Happening::Deed(deed) if matches!(deed.did, Did::Over { .. })),
    );
    if let Some((id, _)) = ended {
        lines.push(format!("{}  the case ended", at(id)));
    }
    if lines.len() > LONGEST {
        let left = lines.len() - LONGEST;
        lines.truncate(LONGEST);
        lines.push(format!("and {left} more lines; the history has all of them"));
    }
    lines
}

/// The words of an event without its time.
fn without_time(words: &str) -> String {
    match words.strip_prefix('+').and_then(|rest| rest.split_once(" s ")) {
        Some((_, rest)) => rest.to_owned(),
        None => words.to_owned(),
    }
}
