//! `badge.json`: what a badge service shows (the endpoint format of shields.io).

use probity_report::{Exit, Report, Standard};
use serde_json::json;

/// The badge: the counts that matter, in the color of the exit status.
pub(super) fn json(report: &Report, standard: Standard) -> String {
    let exit = report.exit(standard);
    let color = match exit {
        Exit::Success => "brightgreen",
        Exit::Violated => "red",
        Exit::Inconclusive => "yellow",
        Exit::Error | Exit::Usage => "orange",
        Exit::Interrupted | Exit::LeftBehind => "lightgrey",
    };
    let message = report.result.clauses.in_words();
    let badge = json!({ "schemaVersion": 1, "label": "probity", "message": message, "color": color });
    format!("{badge:#}\n")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::report_files::sample;

    #[test]
    fn a_violation_is_red_and_says_how_many() {
        let badge: serde_json::Value =
            serde_json::from_str(&json(&sample::report(), Standard::default())).unwrap();
        assert_eq!(badge["schemaVersion"], 1);
        assert_eq!(badge["color"], "red");
        assert_eq!(badge["message"], "1 violated, 1 inconclusive, 1 holds, 1 skipped");
    }

    #[test]
    fn an_undecided_clause_is_yellow_unless_it_passes() {
        let report = sample::undecided_report();
        assert!(json(&report, Standard::default()).contains("yellow"));
        assert!(json(&report, probity_report::Undecided::Passes.into()).contains("brightgreen"));
    }
}
