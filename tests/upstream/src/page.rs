//! The page with the results, for docs/results.

use std::fmt::Write as _;

use crate::{
    outcome::SpecOutcome,
    results::{DefectResult, Results, SpecRun},
};

/// The page, in Markdown.
pub(crate) fn page(results: &Results) -> String {
    let mut page = String::new();
    for part in [beginning(results), defects(results), stock(results)] {
        page += &part;
    }
    page
}

fn beginning(results: &Results) -> String {
    let count = results.defects.len();
    let ours = results.defects.iter().filter(|defect| !defect.violated.is_empty()).count();
    let theirs = results.defects.iter().filter(|defect| results.noticed(defect).next().is_some()).count();
    let met = results.defects.iter().filter(|defect| defect.strikes > 0).count();
    let runs: usize = results.defects.iter().map(|defect| defect.runs.len()).sum();
    let uncovered = results.defects.iter().filter(|defect| defect.runs.is_empty()).count();
    let passed = results.stock.iter().filter(|run| run.outcome == SpecOutcome::Passed).count();
    let mut text = String::from(
        "<!-- Written by ci/upstream; do not edit. -->\n\n\
         # Defective kubelets: what upstream's specs notice, and what the book notices\n\n",
    );
    write!(
        text,
        "The end-to-end suite of Kubernetes ({release}) has {all} specs about probes and the pod lifecycle that can be run \
         against an existing cluster. `ci/upstream` builds them from upstream's own source and runs them on a cluster of \
         `ci/cluster`, with images that it builds from upstream's agnhost and from busybox. It then makes the kubelet \
         defective, with a sample of {count} rows from the table of [defective kubelets](../saboteur.md), and runs the \
         specs again.\n\n\
         | | upstream's specs | the book |\n|---|---|---|\n\
         | defects noticed, of {count} | **{theirs}** | **{ours}** |\n\n\
         How to read this:\n\n\
         - The rows were drawn at random (seed {seed}) from all rows that do not need a separate node. They are defects \
         that this project thought of, so they favor the book. They show where upstream's specs do not look, not how good \
         the specs are.\n\
         - Upstream's containers have other names than ours, so a defect of one container became a defect of all \
         containers of a pod.\n\
         - For each defect, the specs ran that check the same as a clause that the defect violates; for a defect of \
         probes, all specs about probes ran. There were {runs} runs in total. For {uncovered} defects there is no such \
         spec.\n\
         - {met} of the defects struck while the specs ran. The other defects need a situation that no spec creates.\n\
         - A spec notices a defect if it fails with the defect, and passes without a defect, both alone and while other \
         specs run.\n\
         - The book notices a defect if a clause is violated in `suites/real-defects.txt`, which `ci/saboteur` writes.\n\
         - Without a defect, {passed} of the {all} specs passed here, in {seconds} s. The others are listed at the end.\n\n",
        release = results.release,
        all = results.stock.len(),
        seed = results.seed,
        seconds = results.seconds,
    )
    .ok();
    text
}

fn defects(results: &Results) -> String {
    let mut text = String::from(
        "## The defects\n\n| defect | modeled after | struck | specs that noticed it | clauses that noticed it |\n|---|---|---|---|---|\n",
    );
    for defect in &results.defects {
        let noticed: Vec<&SpecRun> = results.noticed(defect).collect();
        writeln!(
            text,
            "| {} | {} | {} | {} of {}{} | {} |",
            defect.name,
            defect.like.replace('|', "\\|"),
            times(defect.strikes),
            noticed.len(),
            defect.runs.len(),
            links(&results.release, &noticed),
            clauses(defect),
        )
        .ok();
    }
    text + "\n"
}

fn times(strikes: u32) -> String {
    match strikes {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Links to the first few of these specs.
fn links(release: &str, runs: &[&SpecRun]) -> String {
    const SHOWN: usize = 3;
    let shown = runs.iter().take(SHOWN).map(|run| link(release, &run.spec));
    let mut parts: Vec<String> = shown.collect();
    if runs.len() > SHOWN {
        parts.push("…".to_owned());
    }
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

fn link(release: &str, spec: &str) -> String {
    let (file, line) = spec.rsplit_once(':').unwrap_or((spec, "1"));
    let name = file.rsplit('/').next().unwrap_or(file);
    format!("[{name}:{line}](https://github.com/kubernetes/kubernetes/blob/{release}/{file}#L{line})")
}

/// The first few of the clauses.
fn clauses(defect: &DefectResult) -> String {
    const SHOWN: usize = 2;
    let shown: Vec<String> = defect.violated.iter().take(SHOWN).map(|clause| format!("`{clause}`")).collect();
    match defect.violated.len() {
        0 => "none".to_owned(),
        count if count > SHOWN => format!("{count}: {}, …", shown.join(", ")),
        count => format!("{count}: {}", shown.join(", ")),
    }
}

fn stock(results: &Results) -> String {
    let mut text =
        String::from("## Specs that did not pass without a defect\n\n| spec | result |\n|---|---|\n");
    for run in &results.stock {
        let told = match &run.outcome {
            SpecOutcome::Passed => continue,
            SpecOutcome::Failed(why) => format!("failed: {why}"),
            SpecOutcome::Skipped(why) => format!("skipped: {why}"),
        };
        writeln!(text, "| {} | {} |", link(&results.release, &run.spec), one_line(&told)).ok();
    }
    for run in results.plain.iter().filter(|run| run.outcome != SpecOutcome::Passed) {
        writeln!(
            text,
            "| {} | passed alone, but not while other specs ran with defects |",
            link(&results.release, &run.spec)
        )
        .ok();
    }
    text
}

/// As much of a message as fits into a table.
fn one_line(message: &str) -> String {
    const LONGEST: usize = 160;
    let safe = message.replace('|', "\\|").replace('<', "&lt;");
    match safe.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &safe[..at]),
        None => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(spec: &str, outcome: SpecOutcome) -> SpecRun {
        SpecRun { spec: spec.to_owned(), outcome, seconds: 3 }
    }

    #[test]
    fn the_page_counts_what_each_of_the_two_noticed() {
        let failed = || SpecOutcome::Failed("no | restart".to_owned());
        let defect = |name: &str, violated: &[&str], outcome| DefectResult {
            name: name.to_owned(),
            like: "a bug".to_owned(),
            violated: violated.iter().map(ToString::to_string).collect(),
            strikes: 1,
            runs: vec![run("test/e2e/a.go:7", outcome)],
        };
        let results = Results {
            release: "v1.2.3".to_owned(),
            seed: 9,
            seconds: 100,
            stock: vec![run("test/e2e/a.go:7", SpecOutcome::Passed), run("test/e2e/b.go:8", failed())],
            plain: vec![run("test/e2e/a.go:7", SpecOutcome::Passed)],
            defects: vec![
                defect("one", &["probe.x", "probe.y", "probe.z"], failed()),
                defect("other", &["probe.x"], SpecOutcome::Passed),
            ],
        };
        let page = page(&results);
        assert!(page.contains("| defects noticed, of 2 | **1** | **2** |"), "{page}");
        assert!(page.contains("| one | a bug | once | 1 of 1: [a.go:7](https://github.com/kubernetes/kubernetes/blob/v1.2.3/test/e2e/a.go#L7) | 3: `probe.x`, `probe.y`, … |"), "{page}");
        assert!(page.contains("| other | a bug | once | 0 of 1 | 1: `probe.x` |"), "{page}");
        assert!(page.contains("failed: no \\| restart"), "{page}");
    }
}
