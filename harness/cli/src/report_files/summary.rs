//! `summary.md`: the report for the page of a workflow step.
//!
//! The first line has the verdict and the counts. Findings on violated, failed or undecided clauses and cases are
//! expanded; the rest is collapsed. GitHub drops a summary of more than one mebibyte completely, so a longer summary is
//! truncated well before that, with a note. Texts from the cluster are hostile input: they are escaped for HTML
//! everywhere and for Markdown in tables.

use std::collections::BTreeSet;

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};
use probity_model::measure::seconds;
use probity_report::run_log::Suite;
use probity_report::{CaseReport, Certificate, ClauseReport, Report, Standard, Word, paragraph};
use serde_json::{Value, json};

use super::exit_word;
use crate::markdown::{cell, cut, lines, tidy};
use crate::output::counted;

/// The maximum size of a summary, in bytes.
const LONGEST: usize = 900 << 10;

const TEMPLATE: &str = include_str!("summary.md.j2");

/// The maximum number of rows that are shown of each list.
#[derive(Clone, Copy)]
struct Shown {
    open: usize,
    rest: usize,
    cases: usize,
}

/// The summary. It has at most 900 KiB.
pub(super) fn markdown(report: &Report, standard: Standard) -> Result<String, minijinja::Error> {
    markdown_within(report, standard, LONGEST)
}

fn markdown_within(report: &Report, standard: Standard, longest: usize) -> Result<String, minijinja::Error> {
    let safe = minijinja::Value::from_safe_string;
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("cell", move |text: String| safe(cell(&text)));
    environment.add_filter("lines", move |text: String| safe(lines(&text)));
    environment.add_template("summary.md", TEMPLATE)?;
    let template = environment.get_template("summary.md")?;
    let head = head(report, standard);
    let open = open(report);
    let rest: Vec<Value> = report.clauses.iter().filter(|clause| !is_open(clause.verdict)).map(row).collect();
    let cases: Vec<Value> = report.cases.iter().map(case_row).collect();
    let mut shown = Shown { open: open.len(), rest: rest.len(), cases: cases.len() };
    loop {
        let page = json!({
            "head": head,
            "open": open[..shown.open],
            "open_cut": open.len() - shown.open,
            "rest": rest[..shown.rest],
            "rest_cut": rest.len() - shown.rest,
            "rest_title": format!("{} other clauses", rest.len()),
            "cases": cases[..shown.cases],
            "cases_cut": cases.len() - shown.cases,
            "cases_title": format!("{} cases", cases.len()),
        });
        let text = tidy(&template.render(Serde(&page))?);
        if text.len() <= longest {
            return Ok(text);
        }
        match shown.less() {
            Some(less) => shown = less,
            None => return Ok(cut(text, longest)),
        }
    }
}

impl Shown {
    /// The same limits, but with half the rows for the least important list. `None` if no list has rows left.
    fn less(self) -> Option<Self> {
        match self {
            Self { cases: 1.., .. } => Some(Self { cases: self.cases / 2, ..self }),
            Self { rest: 1.., .. } => Some(Self { rest: self.rest / 2, ..self }),
            Self { open: 1.., .. } => Some(Self { open: self.open / 2, ..self }),
            _ => None,
        }
    }
}

/// The text before the lists.
fn head(report: &Report, standard: Standard) -> Value {
    let ground = report.environment.as_ref();
    let noise = report.usage.filter(|usage| usage.stalls > 0).map(|usage| {
        format!("the harness was stalled {} times, for {} in total", usage.stalls, seconds(usage.stalled_us))
    });
    let profiles = report.result.profiles.iter().map(|profile| {
        json!({
            "name": profile.profile,
            "result": profile.result,
            "counts": profile.counts.in_words(),
            "why": profile.why,
        })
    });
    let name = |suite: &Suite| format!("{} {}", suite.name, suite.version);
    json!({
        "word": exit_word(report.exit(standard)),
        "headline": report.headline(),
        "profiles": profiles.collect::<Vec<_>>(),
        "certificate": report.certificate.as_ref().map(Certificate::in_words),
        "server": ground.map(|ground| &ground.server),
        "nodes": nodes(ground),
        "suite": name(&report.suite),
        "judged_by": report.judged_by.as_ref().map(name),
        "run": report.run_id.replace('`', ""),
        "command": report.command.join(" "),
        "noise": noise,
        "fleet": report.fleet_in_words(),
        "warnings": report.warnings,
        "leftovers": report.leftovers,
    })
}

/// The number of nodes, with the versions of their kubelets if one differs from the version of the API server.
fn nodes(ground: Option<&probity_report::run_log::ClusterFacts>) -> String {
    let Some(ground) = ground.filter(|ground| !ground.nodes.is_empty()) else {
        return "nodes that Probity has no permission to read".to_owned();
    };
    let kubelets: BTreeSet<&str> = ground.nodes.values().map(|node| node.kubelet.as_str()).collect();
    let nodes = counted(ground.nodes.len(), "node");
    if kubelets.iter().all(|kubelet| *kubelet == ground.server) {
        return nodes;
    }
    format!("{nodes} with kubelet {}", kubelets.into_iter().collect::<Vec<_>>().join(", "))
}

fn is_open(word: Word) -> bool {
    matches!(word, Word::Violated | Word::Error | Word::Inconclusive)
}

/// The expanded findings, the worst first: on clauses, on the expectations of cases, and on cases that ended with an
/// error.
fn open(report: &Report) -> Vec<Value> {
    let mut open = Vec::new();
    for word in [Word::Violated, Word::Error, Word::Inconclusive] {
        let mut add =
            |name: &str, text: String| open.push(json!({ "title": format!("{name}: {word}"), "text": text }));
        for clause in report.causes_of(word) {
            add(clause.id.as_str(), paragraph(clause) + &report.effects(clause));
        }
        for case in &report.cases {
            for expected in case.expected.iter().filter(|expected| Word::of(&expected.verdict) == word) {
                let (what, seen) = (&expected.what, expected.verdict.sentence());
                add(&case.case.0, format!("  expected   {what}\n  seen       {seen}\n"));
            }
            if word == Word::Error && case.verdict == word {
                add(&case.case.0, format!("  why        {}\n", case.finding));
            }
        }
    }
    open
}

fn row(clause: &ClauseReport) -> Value {
    let tightest = clause.measurements.iter().min_by_key(|measured| measured.measured.room());
    let measured =
        tightest.map(|found| format!("{}: {}", found.measured.quantity, found.measured.in_words()));
    let said = if clause.finding.is_empty() { measured.unwrap_or_default() } else { clause.finding.clone() };
    json!({ "id": clause.id, "level": clause.level, "verdict": clause.verdict, "said": said })
}

fn case_row(case: &CaseReport) -> Value {
    let took = case.began_us.zip(case.ended_us).map(|(began, ended)| seconds(ended - began));
    let nth = case.repetition.map(|nth| format!(" ({nth})")).unwrap_or_default();
    json!({
        "name": format!("{}{nth}", case.case),
        "verdict": case.verdict,
        "took": took.unwrap_or_default(),
        "finding": case.finding,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::collections::BTreeMap;

    use probity_model::history::NodeFacts;
    use probity_report::{Counts, NodeGroup};

    use super::*;
    use crate::report_files::sample;

    fn text() -> String {
        markdown(&sample::report(), Standard::default()).unwrap()
    }

    #[test]
    fn a_small_run() {
        insta::assert_snapshot!(text());
    }

    #[test]
    fn the_first_line_has_the_verdict_and_the_counts() {
        let first = text().lines().next().unwrap().to_owned();
        assert!(first.contains("violated") && first.contains("of 4 clauses"), "{first}");
    }

    #[test]
    fn a_kubelet_of_another_version_than_the_api_server_is_named() {
        let mut report = sample::report();
        let ground = report.environment.as_mut().unwrap();
        ground.nodes.values_mut().for_each(|node| node.kubelet = "v1.36.3-vendor".to_owned());
        let text = markdown(&report, Standard::default()).unwrap();
        assert!(text.contains("on 1 node with kubelet v1.36.3-vendor; "), "{text}");
    }

    #[test]
    fn what_holds_is_folded_and_what_does_not_is_open() {
        let text = text();
        let folded = text.find("<details>").unwrap();
        assert!(text.find("### demo.hostile: violated").unwrap() < folded);
        assert!(text.find("### demo.undecided: inconclusive").unwrap() < folded);
        assert!(text.find("| demo.on-time |").unwrap() > folded);
    }

    #[test]
    fn captured_text_is_only_text() {
        let text = text();
        assert!(!text.contains("<script>"), "{text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        assert_eq!(text.matches("<pre>").count(), text.matches("</pre>").count());
        let rows = text.lines().filter(|line| line.starts_with("| demo"));
        for row in rows {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
        }
    }

    #[test]
    fn a_long_summary_is_cut_and_says_so() {
        let mut report = sample::report();
        let violated = report.clauses[1].clone();
        report.clauses = vec![violated; 5000];
        report.cases = vec![report.cases[0].clone(); 5000];
        let text = markdown(&report, Standard::default()).unwrap();
        assert!(text.len() <= LONGEST, "{}", text.len());
        assert!(text.contains("more findings are omitted here"));
        assert_eq!(text.matches("<pre>").count(), text.matches("</pre>").count());
    }

    #[test]
    fn warnings_beyond_measure_are_cut_too() {
        let mut report = sample::report();
        report.warnings = vec!["é".repeat(500); 100];
        let text = markdown_within(&report, Standard::default(), 10_000).unwrap();
        assert!(text.len() <= 10_000 && text.ends_with("`report.json` has everything.\n"));
    }

    #[test]
    fn the_nodes_of_a_fleet_stand_before_the_findings() {
        let mut report = sample::report();
        let facts = NodeFacts { kubelet: "v1.36.3-<b>".to_owned(), ..NodeFacts::default() };
        let nodes = vec!["n1".to_owned(), "n2".to_owned()];
        report.fleet.push(NodeGroup { nodes, facts, clauses: Counts::default(), differs: BTreeMap::new() });
        let text = markdown(&report, Standard::default()).unwrap();
        let fleet = text.find("nodes n1, n2: v1.36.3-&lt;b&gt;").unwrap();
        assert!(fleet < text.find("### demo.hostile: violated").unwrap(), "{text}");
    }
}
