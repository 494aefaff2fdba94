//! What the process does when it receives a stop signal.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Span;
use crate::words::word_or_settings;

/// The answer to a stop signal.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminationAnswer {
    /// Exit immediately with status 0.
    Exit,
    /// Record the signal and continue unchanged.
    Ignore,
    /// Accept no new connections, let open requests finish, then exit with status 0.
    Drain,
    /// As the settings say.
    With(TerminationSettings),
}

/// The settings of a termination.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TerminationSettings {
    /// The exit status.
    pub exit: u8,
    /// How long after the signal the process exits. For `drain`, the maximum time that it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Span>,
    /// What the listeners do until the exit.
    pub serving: Serving,
}

/// What the listeners do between the stop signal and the exit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Serving {
    /// They continue as before; paths may change with `since: { sigterm: ... }`.
    #[default]
    Keep,
    /// They close, and open connections are aborted.
    Stop,
    /// They close, open requests finish, and the process exits as soon as the last request is finished.
    Drain,
}

impl TerminationAnswer {
    /// The settings that a word stands for. `ignore` has no settings.
    #[must_use]
    pub fn settings(&self) -> Option<TerminationSettings> {
        match self {
            Self::Exit => Some(TerminationSettings::default()),
            Self::Ignore => None,
            Self::Drain => {
                Some(TerminationSettings { serving: Serving::Drain, ..TerminationSettings::default() })
            }
            Self::With(settings) => Some(settings.clone()),
        }
    }
}

/// As the witness writes it: `serve for 5s, then exit 2`.
impl fmt::Display for TerminationAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(TerminationSettings { exit, after, serving }) = self.settings() else {
            return f.write_str("ignore");
        };
        match (after, serving) {
            (None, Serving::Drain) => f.write_str("drain, then ")?,
            (Some(after), Serving::Drain) => write!(f, "drain for at most {after}, then ")?,
            (None, Serving::Keep | Serving::Stop) => {}
            (Some(after), Serving::Keep) => write!(f, "serve for {after}, then ")?,
            (Some(after), Serving::Stop) => write!(f, "stop serving, wait {after}, then ")?,
        }
        write!(f, "exit {exit}")
    }
}

word_or_settings!(
    TerminationAnswer,
    "the answer to a stop signal: exit, ignore, drain, an exit status, or settings such as { exit: 3, after: 5s }",
    { "exit" => Exit, "ignore" => Ignore, "drain" => Drain },
    or ["an exit status", "settings such as { exit: 3, after: 5s }"],
    settings With(TerminationSettings),
    numbers Some((0, 255)),
    number |exit| u8::try_from(exit)
        .map(|exit| TerminationSettings { exit, ..TerminationSettings::default() })
        .map_err(|_| format!("an exit status must be between 0 and 255, not {exit}"))
);

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn an_answer_is_told_in_few_words() {
        for (written, told) in [
            ("exit", "exit 0"),
            ("ignore", "ignore"),
            ("3", "exit 3"),
            ("drain", "drain, then exit 0"),
            ("{ exit: 2, after: 5s }", "serve for 5s, then exit 2"),
            ("{ after: 1s, serving: stop }", "stop serving, wait 1s, then exit 0"),
            ("{ after: 4s, serving: drain }", "drain for at most 4s, then exit 0"),
        ] {
            let answer: TerminationAnswer = serde_saphyr::from_str(written).unwrap();
            assert_eq!(answer.to_string(), told);
        }
    }
}
