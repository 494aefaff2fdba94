//! Names and spans as the page shows them.

use probity_model::Level;
use probity_model::facets::Sight;
use probity_report::{Exit, ProfileOutcome};

/// A span for users: `0.42 s`, `12.3 s`, `6 min 32 s`.
pub(crate) fn span(us: i64) -> String {
    let (seconds, rest) = (us / 1_000_000, us % 1_000_000);
    match seconds {
        i64::MIN..10 => format!("{seconds}.{:02} s", rest.abs() / 10_000),
        10..60 => format!("{seconds}.{} s", rest.abs() / 100_000),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A number of things.
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The level of a clause as documents write it.
pub(crate) fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "must",
        Level::Should => "should",
        Level::Advice => "advice",
    }
}

/// The result of a run, in a word, and the verdict with its color.
pub(crate) fn exit(exit: Exit) -> (&'static str, &'static str) {
    match exit {
        Exit::Success => ("Passed", "holds"),
        Exit::Violated => ("Violated", "violated"),
        Exit::Inconclusive => ("Inconclusive", "inconclusive"),
        Exit::Error | Exit::Usage => ("Error", "error"),
        Exit::Interrupted => ("Interrupted", "error"),
        Exit::LeftBehind => ("Objects left behind", "error"),
    }
}

/// The result of a profile, and the verdict with its color.
pub(crate) fn outcome(outcome: ProfileOutcome) -> (&'static str, &'static str) {
    match outcome {
        ProfileOutcome::Success => ("success", "holds"),
        ProfileOutcome::Partial => ("partial", "inconclusive"),
        ProfileOutcome::Failure => ("failure", "violated"),
        ProfileOutcome::Invalid => ("invalid", "error"),
    }
}

/// The result of a facet: a word, and the verdict with its color.
pub(crate) fn sight(sight: Sight) -> (&'static str, &'static str) {
    match sight {
        Sight::Kept => ("seen", "holds"),
        Sight::Diverged => ("diverges", "diverges"),
        Sight::Broken => ("violated", "violated"),
        Sight::Unseen => ("not seen", "skipped"),
    }
}

/// A text with a maximum number of characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_as_many_digits_as_matter() {
        let spans = [
            (420_000, "0.42 s"),
            (12_345_678, "12.3 s"),
            (391_671_091, "6 min 31 s"),
            (7_260_000_000, "2 h 1 min"),
        ];
        for (us, words) in spans {
            assert_eq!(span(us), words);
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äöü…");
    }
}
