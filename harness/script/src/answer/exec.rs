//! What an exec probe or an exec hook does when the same program is run inside the container.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::word_or_settings;
use crate::{Size, Span};

/// How a command that was started by a probe or a hook behaves.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecAnswer {
    /// Exit immediately with status 0.
    Succeed,
    /// Exit immediately with status 1.
    Fail,
    /// Never terminate.
    Hang,
    /// As the settings say.
    With(ExecSettings),
}

/// The settings of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ExecSettings {
    /// The exit status.
    pub exit: u8,
    /// How long the command runs first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Span>,
    /// Text that the command prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub print: Option<String>,
    /// Text that the command prints to standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub print_error: Option<String>,
    /// The number of bytes that the command prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub print_bytes: Option<Size>,
    /// Leave a child process behind that runs for this long after the command has exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<Span>,
    /// SIGTERM does not end the command.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignore_term: bool,
}

impl ExecAnswer {
    /// The settings that a word stands for. `hang` never ends, so it has no settings.
    #[must_use]
    pub fn settings(&self) -> Option<ExecSettings> {
        match self {
            Self::Succeed => Some(ExecSettings::default()),
            Self::Fail => Some(ExecSettings { exit: 1, ..ExecSettings::default() }),
            Self::Hang => None,
            Self::With(settings) => Some(settings.clone()),
        }
    }
}

/// What a command does: the answer of a plan, which flags of the command line may override.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CommandOrders {
    /// Whether it never ends.
    pub hang: bool,
    /// What else it does.
    pub settings: ExecSettings,
}

impl From<&ExecAnswer> for CommandOrders {
    fn from(answer: &ExecAnswer) -> Self {
        let settings = answer.settings();
        Self { hang: settings.is_none(), settings: settings.unwrap_or_default() }
    }
}

/// As the witness writes it: `exit 3 after 2s, leaves a child for 10s`.
impl fmt::Display for CommandOrders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExecSettings { exit, sleep, print, print_error, print_bytes, fork, ignore_term } = &self.settings;
        if self.hang {
            f.write_str("hang")?;
        } else {
            write!(f, "exit {exit}")?;
            if let Some(sleep) = sleep {
                write!(f, " after {sleep}")?;
            }
        }
        if let Some(text) = print {
            write!(f, ", prints {} bytes of text", text.len())?;
        }
        if let Some(text) = print_error {
            write!(f, ", prints {} bytes of text to standard error", text.len())?;
        }
        if let Some(size) = print_bytes {
            write!(f, ", prints {size}")?;
        }
        if let Some(lives) = fork {
            write!(f, ", leaves a child for {lives}")?;
        }
        if *ignore_term { f.write_str(", ignores SIGTERM") } else { Ok(()) }
    }
}

word_or_settings!(
    ExecAnswer,
    "a command's answer: succeed, fail, hang, an exit status, or settings such as { exit: 3, sleep: 2s }",
    { "succeed" => Succeed, "fail" => Fail, "hang" => Hang },
    or ["an exit status", "settings such as { exit: 3, sleep: 2s }"],
    settings With(ExecSettings),
    numbers Some((0, 255)),
    number |exit| u8::try_from(exit)
        .map(|exit| ExecSettings { exit, ..ExecSettings::default() })
        .map_err(|_| format!("an exit status must be between 0 and 255, not {exit}"))
);
