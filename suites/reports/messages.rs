//! What a container left behind when it ended: its termination message.

use probity_model::timeline::{ContainerLife, Life, Revision};
use probity_model::{Clause, Seen, Timeline};
use probity_script::Consumer;
use probity_script::witness::Fact;
use serde_json::Value;

use crate::reading::mains::lives_of;
use crate::reading::statuses::{of_kubelet, statuses};

/// The policy by which the log of a container stands in for its message, by the Kubernetes API reference.
const LOGS: &str = "FallbackToLogsOnError";
/// The file of the message, unless the container names another one, by the Kubernetes API reference.
const USUAL_PATH: &str = "/dev/termination-log";

/// An instance of a container that ended by itself.
struct Ended<'t, 'h> {
    life: Life<'t, 'h>,
    code: u8,
    /// How much it wrote to the file of its message.
    written: usize,
    logs: bool,
    /// The first status that shows its end, and the message in it.
    shown: &'t Revision<'h>,
    message: &'h str,
}

impl Ended<'_, '_> {
    fn name(&self) -> String {
        self.life.name()
    }

    /// How many characters its message has. The target writes characters of one byte.
    fn length(&self) -> usize {
        self.message.chars().count()
    }

    fn exit(&self) -> &'static str {
        if self.code == 0 { "zero" } else { "status" }
    }
}

fn text<'h>(of: &'h Value, field: &str) -> &'h str {
    of.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// How much a process wrote to the file of its message. None if that is unclear.
fn written(life: &Life<'_, '_>) -> Option<usize> {
    let named = text(life.container.spec, "terminationMessagePath");
    let wanted = if named.is_empty() { USUAL_PATH } else { named };
    let plan = life.container.plan()?;
    let mut files = plan.process.consume.iter().filter_map(|of| match of {
        Consumer::Disk { path, bytes, .. } => Some((path.as_str(), bytes.0)),
        _ => None,
    });
    let Some((path, bytes)) = files.next() else { return Some(0) };
    let filled = life.lines.iter().any(|line| match &line.line.fact {
        Fact::Consumed(of) => of.resource == "disk" && of.amount == bytes && of.error.is_none(),
        _ => false,
    });
    let clear = path == wanted && filled && files.next().is_none();
    clear.then(|| usize::try_from(bytes).ok())?
}

/// The end of an instance in a status of its container: its state, or its last state once it waits or another one runs.
fn end_in<'h>(shown: &Revision<'h>, container: &ContainerLife<'_>, number: u64) -> Option<&'h Value> {
    let (_, status) = statuses(shown).find(|(name, _)| *name == container.name)?;
    let restarts = status.get("restartCount").and_then(Value::as_u64)?;
    let (state, last) = (status.get("state")?, status.get("lastState"));
    let is_last = restarts == number + 1 || (restarts == number && state.get("waiting").is_some());
    let place = if is_last { last? } else { state };
    place.get("terminated").filter(|_| is_last || restarts == number)
}

/// The instances of containers that ended by themselves and are shown so.
fn ended<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Ended<'t, 'h>> {
    let calm = run.pods.iter().filter(|_| !run.node_was_touched());
    let lives = calm.flat_map(move |pod| pod.containers.iter().flat_map(move |of| lives_of(run, pod, of)));
    lives.filter(|life| life.is_numbered() && life.holes.is_empty()).filter_map(|life| {
        let (_, code) = life.exited_by_itself()?;
        let end = |shown| Some((shown, end_in(shown, life.container, life.number)?));
        let (shown, end) = of_kubelet(life.pod).find_map(end)?;
        // A kill at the same time has another status.
        let same = end.get("exitCode").and_then(Value::as_u64) == Some(u64::from(code));
        let logs = text(life.container.spec, "terminationMessagePolicy") == LOGS;
        let written = written(&life).filter(|_| same)?;
        Some(Ended { code, written, logs, shown, message: text(end, "message"), life })
    })
}

/// The message is what the container wrote to its file, and nothing else.
pub(super) fn of_its_file(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let from_log = |of: &Ended<'_, '_>| of.logs && of.written == 0 && of.code != 0;
    let short = |of: &Ended<'_, '_>| of.written <= clause.tolerance_times("longest");
    for of in ended(run).filter(|of| !from_log(of) && short(of)) {
        let finding = || {
            let (name, length) = (of.name(), of.length());
            format!("{name} wrote {} characters as its message, and its status has {length}", of.written)
        };
        seen.check(of.length() == of.written, finding, [of.life.began.id, of.shown.id]);
        seen.facet("content", if of.written == 0 { "nothing" } else { "text" });
        seen.facet("exit", of.exit());
    }
}

/// A message that is too long is cut, and not before the limit.
pub(super) fn cut_at_limit(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let longest = clause.tolerance_times("longest");
    // All containers of a pod share another limit.
    let alone = |of: &Ended<'_, '_>| {
        of.life.pod.containers.len().saturating_mul(longest) <= clause.tolerance_times("of-all-containers")
    };
    for of in ended(run).filter(|of| of.written > longest && alone(of)) {
        let finding = || {
            let (name, length) = (of.name(), of.length());
            format!("{name} wrote {} characters as its message, and its status has {length}", of.written)
        };
        seen.check(of.length() == longest, finding, [of.life.began.id, of.shown.id]);
    }
}

/// The log stands in for a message that was not written, if the container failed.
pub(super) fn of_its_log(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (longest, lines) = (clause.tolerance_times("longest"), clause.tolerance_times("lines"));
    for of in ended(run).filter(|of| of.logs && of.written == 0) {
        let name = of.name();
        let last = of.life.last_line().and_then(|last| serde_json::to_string(last.line).ok());
        let wrong = match of.code {
            0 if of.message.is_empty() => None,
            0 => Some("succeeded, and its status has a message that it did not write".to_owned()),
            _ if of.message.len() > longest => {
                Some(format!("has a message of {} bytes from its log", of.message.len()))
            }
            _ if of.message.lines().count() > lines => {
                Some("has too many lines of its log as message".to_owned())
            }
            _ if last.is_some_and(|last| !of.message.contains(&last)) => {
                Some("failed, and its message is not the end of its log".to_owned())
            }
            _ => None,
        };
        let events = [of.life.began.id, of.shown.id];
        match wrong {
            Some(wrong) => seen.violated(format!("{name} {wrong}"), events),
            None => {
                seen.fine(events);
                seen.facet("exit", of.exit());
            }
        }
    }
}
