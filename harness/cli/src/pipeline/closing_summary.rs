//! The summary at the end of a run: findings that were not shown before, the counts, the duration and resources of the
//! run, and where the report is.

use std::path::Path;

use probity_model::measure::seconds;
use probity_report::run_log::Usage;
use probity_report::{Certificate, Report, Word, paragraph};

/// The summary. `shown` are the verdicts whose findings the test output has already shown.
pub(crate) fn of(report: &Report, folder: &Path, shown: &[Word]) -> String {
    let mut text = String::new();
    for word in [Word::Violated, Word::Error, Word::Inconclusive, Word::Diverges] {
        if !shown.contains(&word) {
            for clause in report.clauses.iter().filter(|clause| clause.verdict == word) {
                text += &format!("{}\n", paragraph(clause));
            }
        }
    }
    text += &report.fleet_in_words();
    text += &format!("probity: {}\n", report.headline());
    text += &report.certificate.as_ref().map(Certificate::in_words).unwrap_or_default();
    if let Some(usage) = &report.usage {
        text += &took(usage);
    }
    for leftover in &report.leftovers {
        text += &format!("  left     {} ({})\n", leftover.what, leftover.why);
    }
    text + &format!("  report   {}\n", folder.display())
}

/// The duration of a run, and whether it met its goal.
pub(crate) fn took(usage: &Usage) -> String {
    let may = usage.longest_us + usage.longest_us / 2 + 20_000_000;
    let met = if usage.wall_us <= may { "met" } else { "missed" };
    let mut text = format!(
        "  wall     {}; goal: at most 1.5 × the longest case ({}) + 20 s = {}: {met}\n",
        seconds(usage.wall_us),
        seconds(usage.longest_us),
        seconds(may)
    );
    let cases = usage.cases.max(1);
    let tenths = usage.requests * 10 / cases;
    text += &format!(
        "  requests {} to the API server, {}.{} per case\n",
        usage.requests,
        tenths / 10,
        tenths % 10
    );
    text + &format!(
        "  harness  at most {} MiB, {} of CPU time, stalled {} times, for {} in total\n",
        usage.peak_memory >> 20,
        seconds(usage.cpu_us),
        usage.stalls,
        seconds(usage.stalled_us)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_measured_by_its_longest_case() {
        let usage =
            Usage { wall_us: 64_000_000, longest_us: 30_000_000, cases: 4, requests: 43, ..Usage::default() };
        let said = took(&usage);
        assert!(said.contains("(30.000 s) + 20 s = 65.000 s: met"), "{said}");
        assert!(said.contains("43 to the API server, 10.7 per case"), "{said}");
        assert!(took(&Usage { wall_us: 66_000_000, ..usage }).contains(": missed"));
    }
}
