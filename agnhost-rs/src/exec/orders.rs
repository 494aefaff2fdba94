//! What a command should do: the plan's answer, with the flags as overrides.

use clap::Args;
use probity_script::answer::{CommandOrders, ExecAnswer, ExecSettings};
use probity_script::{Size, Span};
use serde::{Deserialize, Serialize};

/// The request on the command line.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ExecFlags {
    /// The exit status
    #[arg(long, value_name = "STATUS")]
    pub exit: Option<u8>,
    /// How long the command runs first, such as 2s
    #[arg(long, value_name = "SPAN")]
    pub sleep: Option<Span>,
    /// A text to print, followed by a line break
    #[arg(long, value_name = "TEXT")]
    pub print: Option<String>,
    /// A text to print to standard error, followed by a line break
    #[arg(long, value_name = "TEXT")]
    pub print_error: Option<String>,
    /// The number of bytes to print, such as 10KiB, in lines of 64
    #[arg(long, value_name = "SIZE")]
    pub print_bytes: Option<Size>,
    /// Leave a child process behind that runs for this long and has standard output and error closed
    #[arg(long, value_name = "SPAN")]
    pub fork: Option<Span>,
    /// Ignore SIGTERM, SIGINT, SIGQUIT and SIGHUP
    #[arg(long)]
    pub ignore_term: bool,
    /// Never end
    #[arg(long, conflicts_with = "exit")]
    pub hang: bool,
}

impl ExecFlags {
    /// Whether nothing is requested.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The plan's answer, overridden by these flags.
    #[must_use]
    pub fn over(self, answer: &ExecAnswer) -> CommandOrders {
        let CommandOrders { hang, settings: planned } = answer.into();
        // A command that hangs has no exit status, so a given status means that it ends.
        let hang = self.hang || (hang && self.exit.is_none());
        let settings = ExecSettings {
            exit: self.exit.unwrap_or(planned.exit),
            sleep: self.sleep.or(planned.sleep),
            print: self.print.or(planned.print),
            print_error: self.print_error.or(planned.print_error),
            print_bytes: self.print_bytes.or(planned.print_bytes),
            fork: self.fork.or(planned.fork),
            ignore_term: self.ignore_term || planned.ignore_term,
        };
        CommandOrders { hang, settings }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn answer(text: &str) -> ExecAnswer {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn flags_win_over_the_plan() {
        let planned = answer("{ exit: 3, sleep: 2s, fork: 10s }");
        assert_eq!(
            ExecFlags::default().over(&planned).to_string(),
            "exit 3 after 2s, leaves a child for 10s"
        );
        let flags = ExecFlags { exit: Some(0), ignore_term: true, ..ExecFlags::default() };
        assert_eq!(
            flags.over(&planned).to_string(),
            "exit 0 after 2s, leaves a child for 10s, ignores SIGTERM"
        );
        assert!(ExecFlags { hang: true, ..ExecFlags::default() }.over(&planned).hang);
    }

    #[test]
    fn a_status_ends_a_hang() {
        assert_eq!(ExecFlags::default().over(&answer("hang")).to_string(), "hang");
        assert_eq!(
            ExecFlags { exit: Some(4), ..ExecFlags::default() }.over(&answer("hang")).to_string(),
            "exit 4"
        );
    }
}
