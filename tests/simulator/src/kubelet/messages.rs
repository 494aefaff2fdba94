//! Termination messages: the file that a container wrote, or the end of its log.

use probity_script::{Consumer, FILE_BLOCK, WitnessLine, file_text};
use serde_json::Value;

use crate::Defect;
use crate::pod::{Container, Kind, micros};
use crate::world::{LifeAt, MS, World};

/// The maximum size of a message in bytes.
const LONGEST: usize = 4096;
/// The maximum total size in bytes of the messages of all containers of a pod.
const OF_ALL: usize = 12 * 1024;
/// The maximum number of bytes of a log that are used in place of a message.
const OF_LOG: usize = 2048;
/// How much of a log a defective kubelet takes from its beginning.
const BEGINNING: usize = 200;
/// The default file of a message.
const USUAL_PATH: &str = "/dev/termination-log";

fn text<'v>(of: &'v Value, field: &str) -> &'v str {
    of[field].as_str().unwrap_or_default()
}

impl World<'_> {
    /// Adds a line to the log of a process, if the log may be needed.
    pub(crate) fn log(&mut self, life: LifeAt, line: &WitnessLine) {
        let spec = &self.pods[life.at.pod].containers[life.at.container].spec;
        if text(spec, "terminationMessagePolicy") != "FallbackToLogsOnError" {
            return;
        }
        let line = serde_json::to_string(line).unwrap_or_default();
        if let Some(of) = self.life_mut(life) {
            of.log.push_str(&line);
            of.log.push('\n');
        }
    }

    /// A process writes a line to its standard error, which is a part of its log.
    pub(crate) fn complain(&mut self, life: LifeAt, why: &str) {
        let spec = &self.pods[life.at.pod].containers[life.at.container].spec;
        let logs = text(spec, "terminationMessagePolicy") == "FallbackToLogsOnError";
        if logs
            && !self.has(Defect::StandardErrorLost)
            && let Some(of) = self.life_mut(life)
        {
            of.log.push_str("agnhost-rs: ");
            of.log.push_str(why);
            of.log.push('\n');
        }
    }

    /// The termination message of a process that ends with this status.
    pub(super) fn last_words(&self, life: LifeAt, code: i64) -> String {
        let Some(of) = self.life(life).filter(|of| of.is_target) else { return String::new() };
        let all = &self.pods[life.at.pod].containers;
        let spec = &all[life.at.container].spec;
        let named = text(spec, "terminationMessagePath");
        let path = if named.is_empty() || self.has(Defect::MessageOfUsualPath) { USUAL_PATH } else { named };
        let mut written = of.plan.process.consume.iter().filter_map(|consumer| match consumer {
            Consumer::Disk { path: file, bytes, after } if file == path => {
                let again = life.attempt > 0 && self.has(Defect::MessageOfPreviousInstance);
                let written = again || self.now - of.began > after.map_or(0, micros) + 20 * MS;
                usize::try_from(bytes.0).ok().filter(|_| written)
            }
            _ => None,
        });
        let longest = if self.has(Defect::MessageCutEarly) { LONGEST / 2 } else { LONGEST };
        let limit = if self.has(Defect::MessageUncut) { usize::MAX } else { longest };
        let mut message = self.text_of_file(written.next().unwrap_or(0), limit);
        let logs = text(spec, "terminationMessagePolicy") == "FallbackToLogsOnError";
        let failed = code != 0 || self.has(Defect::LogAfterSuccess);
        let silent = message.is_empty() || self.has(Defect::LogReplacesMessage);
        if silent && logs && failed && !self.has(Defect::LogNeverStandsIn) {
            let part = match of.log.len() {
                length if self.has(Defect::LogFromItsBeginning) => of.log.get(..length.min(BEGINNING)),
                length if self.has(Defect::LogUncut) => of.log.get(length.saturating_sub(LONGEST)..),
                length if self.has(Defect::LogCutEarly) => of.log.get(length.saturating_sub(OF_LOG / 2)..),
                length => of.log.get(length.saturating_sub(OF_LOG)..),
            };
            part.unwrap_or_default().clone_into(&mut message);
        }
        if self.loses_message(life)
            || self.has(Defect::MessageMissing)
            || (code == 0 && self.has(Defect::MessageOfFailuresOnly))
        {
            message.clear();
        }
        if !self.has(Defect::MessageUncut) && !self.has(Defect::MessagesOfPodUncut) {
            let shares =
                |of: &&Container| of.kind != Kind::Sidecar || !self.has(Defect::MessageSharesWithoutSidecars);
            message.truncate(OF_ALL / all.iter().filter(shares).count().max(1));
        }
        message
    }

    /// The end of a file of this size, at most this many bytes.
    fn text_of_file(&self, size: usize, limit: usize) -> String {
        let mut text = file_text(size.min(FILE_BLOCK));
        if text.len() > limit && self.has(Defect::LongMessageLosesMiddle) {
            let (half, end) = (limit / 2, text.len() - limit / 2);
            text.replace_range(half..end, "");
        }
        text = text.split_off(text.len().saturating_sub(limit));
        if self.has(Defect::MessageLowered) {
            text.make_ascii_lowercase();
        }
        text
    }
}
