//! Termination messages, which containers leave behind when they end.

use probity_model::timeline::{ContainerKind, ContainerLife, Life, Line, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::{Consumed, Exiting, Fact, WitnessLine};
use probity_script::{Consumer, FILE_BLOCK, file_text};
use serde_json::Value;

use crate::reading::ends::End;
use crate::reading::mains::lives_of;
use crate::reading::statuses::{of_kubelet, status_of};
use crate::reading::termination::KILLED;

/// The policy that uses the log of a container in place of its message, according to the Kubernetes API reference.
const LOGS: &str = "FallbackToLogsOnError";
/// The default file of the message, according to the Kubernetes API reference.
const USUAL_PATH: &str = "/dev/termination-log";

/// The beginning of the reason of a target that exits because its plan requires a variable that is missing.
const UNSET: &str = "not set in the environment";

/// The end of the target's message if the file does not exist, permission is missing, or the file system is read-only.
const NO_FILE: [&str; 3] = ["(os error 2)", "(os error 13)", "(os error 30)"];

/// The reasons of a container that was killed, according to the Kubernetes documentation. If the kubelet lost track of a
/// container, it shows another reason, and a message of its own.
const OF_KILLED: [&str; 2] = ["OOMKilled", "Error"];

/// An instance of a container that ended.
struct Ended<'t, 'h> {
    life: Life<'t, 'h>,
    code: u8,
    /// Whether it was killed. Otherwise it ended by itself, or after its stop signal.
    killed: bool,
    /// How many bytes it wrote to the file of its message.
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

    /// Whether its message is what it wrote. A runtime may put its own words about a kill before it, and if the message is
    /// then longer than its limit, its end is missing.
    fn is_as_written(&self, limit: usize) -> bool {
        let text = file_text(self.written);
        if !self.killed {
            return self.message == text;
        }
        let cut = self.length() >= limit && self.length() > self.written;
        cut || self.message.contains(&text)
    }

    /// Whether its message is a part of what it wrote, without a gap. The API reference does not say which part is kept.
    /// Nothing is known about a file that is so long that its text repeats.
    fn is_part(&self) -> bool {
        self.written > FILE_BLOCK || file_text(self.written).contains(self.message)
    }

    fn exit(&self) -> &'static str {
        if self.code == 0 { "zero" } else { "status" }
    }

    fn cause(&self) -> &'static str {
        match self.life.stop() {
            _ if self.killed => "killed",
            Some(_) => "after-a-signal",
            None => "by-itself",
        }
    }

    fn finding(&self) -> String {
        let (name, length) = (self.name(), self.length());
        let shown = if length == self.written { "others".to_owned() } else { length.to_string() };
        format!("{name} wrote {} characters as its message, but its status has {shown}", self.written)
    }
}

fn text<'h>(of: &'h Value, field: &str) -> &'h str {
    of.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// What an instance should write: whether it writes to the file of its message, how many bytes, and when.
struct Planned {
    to_its_message: bool,
    bytes: u64,
    /// When it begins, since the start of the process.
    after: u64,
}

/// The file that an instance should write, if there is one. The outer value is none if there is more than one file.
fn planned(life: &Life<'_, '_>) -> Option<Option<Planned>> {
    let named = text(life.container.spec, "terminationMessagePath");
    let wanted = if named.is_empty() { USUAL_PATH } else { named };
    let plan = life.container.plan()?;
    let mut files = plan.process.consume.iter().filter_map(|of| match of {
        Consumer::Disk { path, bytes, after } => {
            let after = after.unwrap_or_default().micros();
            Some(Planned { to_its_message: path == wanted, bytes: bytes.0, after })
        }
        _ => None,
    });
    let first = files.next();
    files.next().is_none().then_some(first)
}

/// What an instance records about the files that it writes.
fn consumed<'t>(life: &'t Life<'_, '_>) -> impl Iterator<Item = (EventId, &'t Consumed)> {
    life.lines.iter().filter_map(|line| match &line.line.fact {
        Fact::Consumed(of) if of.resource == "disk" => Some((line.id, of)),
        _ => None,
    })
}

/// How many bytes a process wrote to the file of its message. None if the number is unclear.
fn written(life: &Life<'_, '_>) -> Option<usize> {
    let Some(planned) = planned(life)? else { return Some(0) };
    let filled = consumed(life).any(|(_, of)| of.amount == planned.bytes && of.error.is_none());
    (filled && planned.to_its_message).then(|| usize::try_from(planned.bytes).ok())?
}

/// Nothing, for a process that exited at least this long before it would have written to a file.
fn unwritten(life: &Life<'_, '_>, ending: i64) -> Option<usize> {
    let due = planned(life)??.after;
    let began = life.lines.iter().find_map(|line| match &line.line.fact {
        Fact::Started(of) => Some(of.began_mono_us),
        _ => None,
    });
    let gone = life.exiting()?.line.mono_us.saturating_add_signed(ending);
    (gone < began?.saturating_add(due)).then_some(0)
}

/// Why a process could not write to the file of its message: the file does not exist, or the process has no access.
fn denied<'t>(life: &'t Life<'_, '_>) -> Option<(EventId, &'t str)> {
    planned(life)??.to_its_message.then_some(())?;
    let told = |(id, of): (EventId, &'t Consumed)| Some((id, of.error.as_deref()?));
    consumed(life).find_map(told).filter(|(_, error)| NO_FILE.iter().any(|of| error.ends_with(of)))
}

/// The end of an instance in a status of its container: its state, or its last state once it waits or another one runs.
fn end_in<'h>(shown: &Revision<'h>, container: &ContainerLife<'_>, number: u64) -> Option<&'h Value> {
    let status = status_of(shown, &container.name)?;
    let restarts = status.get("restartCount").and_then(Value::as_u64)?;
    let (state, last) = (status.get("state")?, status.get("lastState"));
    let waits = state.get("waiting").is_some();
    // While a container waits, its count is still that of the instance in its last state.
    let is_last = restarts == if waits { number } else { number + 1 };
    let place = if is_last { last? } else { state };
    place.get("terminated").filter(|_| is_last || restarts == number)
}

/// The number of an instance, if it is known. An ephemeral container has only one instance.
fn number(life: &Life<'_, '_>) -> Option<u64> {
    match life.container.kind {
        ContainerKind::Ephemeral => Some(0),
        _ => life.is_numbered().then_some(life.number),
    }
}

/// The instances of containers whose records are complete.
fn known<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Life<'t, 'h>> {
    let calm = run.pods.iter().filter(|_| !run.node_was_touched());
    let lives = calm.flat_map(move |pod| {
        pod.containers.iter().chain(&pod.ephemeral).flat_map(move |of| lives_of(run, pod, of))
    });
    lives.filter(|life| number(life).is_some() && life.holes.is_empty())
}

/// The first status that shows the end of an instance, and this end.
fn shown_end<'t, 'h>(life: &Life<'t, 'h>) -> Option<(&'t Revision<'h>, &'h Value)> {
    let (container, number) = (life.container, number(life)?);
    of_kubelet(life.pod).find_map(|shown| Some((shown, end_in(shown, container, number)?)))
}

/// Whether an end is shown with this exit status.
fn has_code(end: &Value, code: u8) -> bool {
    end.get("exitCode").and_then(Value::as_u64) == Some(u64::from(code))
}

/// The known instances that exited, by themselves or after a stop signal, and are shown with their exit status.
fn ended<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Ended<'t, 'h>> {
    ended_with(run, written)
}

/// Those of them that wrote a known number of bytes to the file of their message.
fn ended_with<'t, 'h>(
    run: &'t Timeline<'h>,
    written: impl Fn(&Life<'t, 'h>) -> Option<usize>,
) -> impl Iterator<Item = Ended<'t, 'h>> {
    known(run).filter_map(move |life| {
        let Fact::Exiting(Exiting { code, .. }) = life.exiting()?.line.fact else { return None };
        let (shown, end) = shown_end(&life)?;
        let logs = text(life.container.spec, "terminationMessagePolicy") == LOGS;
        // If the container was killed at the same time, the status shows another exit code.
        let written = written(&life).filter(|_| has_code(end, code))?;
        Some(Ended { code, killed: false, written, logs, shown, message: text(end, "message"), life })
    })
}

/// The known instances that were killed after they had written a message: by the kernel, because they took too much
/// memory, or at the end of their grace period. Their processes recorded that they had written it.
fn killed<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Ended<'t, 'h>> {
    known(run).filter_map(|life| {
        End::of(&life).filter(|end| end.was_killed(&life))?;
        let code = u8::try_from(KILLED).ok()?;
        let (shown, end) = shown_end(&life)?;
        let told = has_code(end, code) && OF_KILLED.contains(&text(end, "reason"));
        let written = written(&life).filter(|written| told && *written > 0)?;
        Some(Ended { code, killed: true, written, logs: false, shown, message: text(end, "message"), life })
    })
}

/// A later status that shows the same end with another message.
fn retold<'t, 'h>(of: &Ended<'t, 'h>) -> Option<&'t Revision<'h>> {
    let number = number(&of.life).filter(|_| !of.killed)?;
    let later = of_kubelet(of.life.pod).filter(|shown| shown.id > of.shown.id);
    later.into_iter().find(|shown| {
        let end = end_in(shown, of.life.container, number).filter(|end| has_code(end, of.code));
        end.is_some_and(|end| text(end, "message") != of.message)
    })
}

/// The maximum size of a message in bytes: the limit of a container, or its equal share of the limit of the pod.
fn limit(of: &Ended<'_, '_>, clause: &Clause) -> usize {
    share(of, clause).min(clause.tolerance_times("longest"))
}

/// A container's share of the limit for all messages of its pod.
fn share(of: &Ended<'_, '_>, clause: &Clause) -> usize {
    let pod = of.life.pod;
    clause.tolerance_times("of-all-containers") / (pod.containers.len() + pod.ephemeral.len()).max(1)
}

/// The message is what the container wrote to its file, and nothing else.
pub(super) fn of_its_file(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in known(run) {
        if let Some((told, error)) = denied(&life) {
            seen.violated(
                format!("{} could not write its message: {error}", life.name()),
                [life.began.id, told],
            );
        }
    }
    let from_log = |of: &Ended<'_, '_>| of.logs && of.written == 0 && of.code != 0;
    let ending = clause.tolerance_us("ending");
    let silent = ended_with(run, move |life| unwritten(life, ending));
    let all = ended(run).chain(silent).chain(killed(run));
    for of in all.filter(|of| !from_log(of) && of.written <= limit(of, clause)) {
        seen.check(of.is_as_written(limit(&of, clause)), || of.finding(), [of.life.began.id, of.shown.id]);
        if let Some(later) = retold(&of) {
            let finding = format!("the message of {} changed after its termination was shown", of.name());
            seen.violated(finding, [of.shown.id, later.id]);
        }
        seen.facet("content", if of.written == 0 { "nothing" } else { "text" });
        seen.facet("exit", of.exit());
        if of.written > 0 {
            seen.facet("of", of.life.container.kind.word());
            seen.facet("ended", of.cause());
        }
    }
}

/// A message that is too long is truncated at the limit, and not before it.
pub(super) fn cut_at_limit(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for of in ended(run).filter(|of| of.written > limit(of, clause)) {
        let events = [of.life.began.id, of.shown.id];
        seen.check(of.length() == limit(&of, clause), || of.finding(), events);
        if !of.is_part() {
            let finding = format!("the truncated message of {} is not a part of what it wrote", of.name());
            seen.violated(finding, events);
        }
        seen.facet(
            "limit",
            if limit(&of, clause) < clause.tolerance_times("longest") { "pod" } else { "container" },
        );
        // Each ephemeral container makes the shares of the others smaller.
        if of.life.pod.ephemeral.is_empty()
            && let Some(later) = retold(&of)
        {
            let finding =
                format!("the truncated message of {} changed after its termination was shown", of.name());
            seen.violated(finding, [of.shown.id, later.id]);
        }
    }
}

/// The log of an instance: its records, one per line. None if it cannot be reproduced exactly.
fn log(lines: &[Line<'_>]) -> Option<String> {
    let line = |line: &Line<'_>| Some(serde_json::to_string(line.line).ok()? + "\n");
    lines.iter().map(line).collect()
}

/// The lines up to the exit of an instance. Anything that another thread recorded after that may not have reached the
/// log.
fn until_exit<'a, 'h>(life: &'a Life<'_, 'h>) -> &'a [Line<'h>] {
    let exit = life.lines.iter().position(|line| matches!(line.line.fact, Fact::Exiting(_)));
    exit.and_then(|exit| life.lines.get(..=exit)).unwrap_or(&life.lines)
}

/// Whether the target writes records in the same form as this program: another version may write more fields.
fn is_written_alike(message: &str) -> bool {
    let last = message.trim_end().lines().next_back().unwrap_or_default();
    let parsed = serde_json::from_str::<WitnessLine>(last).ok();
    parsed.is_none_or(|parsed| serde_json::to_string(&parsed).is_ok_and(|again| again == last))
}

/// The last `lines` lines of a log, and of these only the last `bytes` bytes.
pub(super) fn end_of(log: &str, lines: usize, bytes: usize) -> Option<&str> {
    let mut ends = log.trim_end_matches('\n').rmatch_indices('\n').map(|(end, _)| end + 1);
    let last = log.get(ends.nth(lines.saturating_sub(1)).unwrap_or_default()..)?;
    last.get(last.len().saturating_sub(bytes)..)
}

/// What a target also wrote to its standard error before it exited: which variables are missing.
fn complaint<'t>(life: &'t Life<'_, '_>) -> Option<&'t str> {
    match &life.exiting()?.line.fact {
        Fact::Exiting(Exiting { why, .. }) => Some(why.as_str()).filter(|why| why.starts_with(UNSET)),
        _ => None,
    }
}

/// The log contains both streams. The runtime may write their lines in either order. A message that is shorter than its limit
/// has all of them.
fn judge_complaint(of: &Ended<'_, '_>, why: &str, longest: usize, seen: &mut Seen) {
    if of.message.len() >= longest {
        return;
    }
    let said = of.message.lines().any(|line| !line.starts_with('{') && line.ends_with(why));
    let finding =
        || format!("{} failed, but its message lacks what it wrote to its standard error: {why}", of.name());
    seen.check(said, finding, [of.life.began.id, of.shown.id]);
}

/// The log is used in place of a message that was not written, if the container failed.
pub(super) fn of_its_log(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (longest, lines) = (clause.tolerance_times("longest"), clause.tolerance_times("lines"));
    for of in ended(run).filter(|of| of.logs && of.written == 0) {
        let events = [of.life.began.id, of.shown.id];
        let name = of.name();
        if of.code == 0 {
            let finding = || format!("{name} succeeded, but its status has a message that it did not write");
            seen.check(of.message.is_empty(), finding, events);
            seen.facet("exit", of.exit());
            continue;
        }
        // In a pod with many containers, the message is truncated further.
        let whole = log(&of.life.lines).filter(|_| share(&of, clause) >= longest);
        if let Some(why) = complaint(&of.life) {
            judge_complaint(&of, why, longest.min(share(&of, clause)), seen);
            continue;
        }
        let (Some(whole), Some(exited)) = (whole, log(until_exit(&of.life))) else { continue };
        if !is_written_alike(of.message) {
            continue;
        }
        let ends = |log: &String| {
            end_of(log, lines, longest).is_some_and(|end| end.trim_end() == of.message.trim_end())
        };
        let log = if ends(&exited) { exited } else { whole };
        let Some(end) = end_of(&log, lines, longest) else { continue };
        let finding = || {
            let (length, wanted) = (of.message.len(), end.len());
            format!(
                "{name} failed, but the {length} bytes of its message are not the last {wanted} bytes of its log"
            )
        };
        seen.check(of.message.trim_end() == end.trim_end(), finding, events);
        seen.facet("exit", of.exit());
        seen.facet("of", of.life.container.kind.word());
        seen.facet("log", if end.len() < log.len() { "cut" } else { "whole" });
    }
}
