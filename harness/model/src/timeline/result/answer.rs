//! The answer to a probe by a command, a connection or a health check.

use super::ProbeResult;
use crate::timeline::{Handler, Through};

/// The records of answers to health checks that do not show what the kubelet received.
const UNCLEAR: [&str; 4] = ["", "hang", "half-frame", "code 0"];
/// The records of answers in which the target ended the connection of a health check on purpose.
const BROKEN_OFF: [&str; 2] = ["close", "reset"];

/// The answer to a probe other than an HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeAnswer<'h> {
    /// A command exited by itself with this status, well within the timeout.
    Exited(u8),
    /// A connection was accepted, and the target did this with it.
    Connected(&'h str),
    /// A health check was answered.
    Checked {
        /// The answer, as the target records it.
        word: &'h str,
        /// Whether it is SERVING.
        serving: bool,
    },
    /// No answer came within the timeout.
    TooLate,
}

impl<'h> ProbeResult<'_, 'h> {
    /// The answer, if it is certain which answer the kubelet received. `None` for an HTTP request, since its answer can
    /// be a redirect.
    #[must_use]
    pub fn answer(&self) -> Option<ProbeAnswer<'h>> {
        let certain = match self.probe.through {
            _ if matches!(self.spec.handler, Handler::Http { .. }) => return None,
            Through::Connection(_) => {
                let connection = self.attempt.connection_of(self.probe)?;
                return Some(ProbeAnswer::Connected(&connection.accepted.answer));
            }
            Through::Command(_) => self.exit(),
            Through::Request(_) => self.check().filter(|_| self.is_prompt()),
        };
        certain.or_else(|| self.is_late().then_some(ProbeAnswer::TooLate))
    }

    /// How a command ended: it exited by itself and promptly, or it was stopped after the time that a prompt command
    /// takes.
    fn exit(&self) -> Option<ProbeAnswer<'h>> {
        let ended = self.attempt.command(self.probe)?.ended.as_ref()?;
        let stopped = || self.attempt.stop().is_some_and(|stop| stop.at.at.lo <= ended.at.at.hi);
        let lived_on = || self.attempt.last_line().is_some_and(|line| line.at.at.lo > ended.at.at.hi);
        match ended.exit {
            Some(status) => self.is_prompt().then_some(ProbeAnswer::Exited(status)),
            None => (!self.is_prompt() && !stopped() && lived_on()).then_some(ProbeAnswer::TooLate),
        }
    }

    /// How a health check was answered, if the answer arrived in full or was interrupted on purpose.
    fn check(&self) -> Option<ProbeAnswer<'h>> {
        let answer = self.attempt.request(self.probe)?.answer.as_ref()?.record;
        let word = answer.answer.as_str();
        let arrived = answer.error.is_none() || BROKEN_OFF.contains(&word);
        let serving = self.probe.passed == Some(true);
        (arrived && !UNCLEAR.contains(&word)).then_some(ProbeAnswer::Checked { word, serving })
    }
}
