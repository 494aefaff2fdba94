//! The text of an issue, in Markdown: the environment, the promises, the observations with their times, and how to
//! reproduce them.
//!
//! Texts from the cluster are escaped as in `summary.md`.

use std::path::Path;

use probity_model::History;
use probity_report::{Report, Word, course_in_words, paragraph};
use serde_json::Value;

use super::case_file::Reproduction;
use crate::cases::case_text;
use crate::markdown::{cell, lines};
use crate::output::counted;

/// The maximum number of kept promises that are named.
const NAMED: usize = 40;

/// The result of a reproduction.
pub(crate) struct Issue<'a> {
    /// The case.
    pub(crate) reproduction: &'a Reproduction,
    /// The report of the run.
    pub(crate) report: &'a Report,
    /// Its histories.
    pub(crate) histories: &'a [&'a History],
    /// Its folder.
    pub(crate) folder: &'a Path,
}

impl Issue<'_> {
    /// The whole text.
    pub(crate) fn markdown(&self) -> String {
        let parts = [
            ("What happened", self.seen()),
            ("Versions", self.versions()),
            ("What the documentation promises", self.promised()),
            ("Timeline", self.timeline()),
            ("Manifest as sent", self.manifest()),
            ("The case", self.case()),
            ("How to reproduce it", self.again()),
        ];
        parts
            .iter()
            .map(|(title, text)| format!("### {title}\n\n{}\n\n", text.trim_end()))
            .collect::<String>()
            .trim_end()
            .to_owned()
            + "\n"
    }

    fn seen(&self) -> String {
        let mut text = String::new();
        for word in [Word::Violated, Word::Error, Word::Inconclusive] {
            // A single pod never shows everything that a clause covers.
            for clause in self.report.causes_of(word).filter(|clause| !clause.is_half_seen()) {
                text += &block("text", &(paragraph(clause) + &self.report.effects(clause)));
            }
        }
        for case in &self.report.cases {
            for expected in &case.expected {
                let (word, sentence) = (expected.verdict.word(), expected.verdict.sentence());
                text += &format!("- expected {}: **{word}** {}\n", cell(&expected.what), cell(sentence));
            }
            if case.verdict == Word::Error {
                text += &format!("- {}: {}\n", cell(&case.case.0), cell(&case.finding));
            }
        }
        let half = self.report.causes_of(Word::Inconclusive).filter(|clause| clause.is_half_seen());
        let kept: Vec<&str> =
            self.report.causes_of(Word::Holds).chain(half).map(|clause| clause.id.as_str()).collect();
        if text.is_empty() {
            text += "Nothing contradicts the documentation.\n";
        }
        if !kept.is_empty() {
            let more = if kept.len() > NAMED { ", …" } else { "" };
            let named: Vec<&str> = kept.iter().take(NAMED).copied().collect();
            text += &format!(
                "\n{} kept, as far as this pod can show: {}{more}\n",
                counted(kept.len(), "promise"),
                named.join(", ")
            );
        }
        text
    }

    fn versions(&self) -> String {
        let suite = &self.report.suite;
        let mut text = format!("- {} {}\n", cell(&suite.name), cell(&suite.version));
        if let Some(ground) = &self.report.environment {
            text += &format!("- API server {}, image {}\n", cell(&ground.server), cell(&ground.image));
            for (name, node) in &ground.nodes {
                let known = [&node.kubelet, &node.runtime, &node.os_image, &node.kernel, &node.architecture];
                let known: Vec<&str> =
                    known.into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
                text += &format!("- node {}: {}\n", cell(name), cell(&known.join(", ")));
            }
        }
        text
    }

    fn promised(&self) -> String {
        let violated = self.report.causes_of(Word::Violated);
        let mut text: String =
            violated.map(|clause| format!("- `{}`: {}\n", clause.id, cell(&clause.text))).collect();
        text += "\nCalculated from the settings:\n\n";
        self.reproduction.cases.iter().for_each(|case| text += &block("text", &case_text::of(case)));
        text
    }

    fn timeline(&self) -> String {
        let of = |history: &&History| block("text", &course_in_words(history).join("\n"));
        self.histories.iter().map(of).collect()
    }

    /// The pods as sent, from the histories.
    fn manifest(&self) -> String {
        let mut text = String::new();
        for history in self.histories {
            for (_, manifest) in
                probity_model::Timeline::of(history).pods.iter().filter_map(|pod| pod.created)
            {
                let yaml = serde_saphyr::to_string(&without_token(manifest)).unwrap_or_default();
                text += &folded("Pod", &block("yaml", &yaml));
            }
        }
        text
    }

    fn case(&self) -> String {
        let mut text = String::new();
        if self.reproduction.workload.is_some() {
            text += "The images were replaced by a target that answers as planned; the plan is a guess:\n\n";
            self.reproduction.guesses.iter().for_each(|line| text += &format!("- {}\n", cell(line)));
            text += "\nDifferences from the manifest:\n\n";
            self.reproduction.differs.iter().for_each(|line| text += &format!("- {}\n", cell(line)));
            text.push('\n');
        }
        text + &folded("Case file", &block("yaml", &self.reproduction.text))
    }

    fn again(&self) -> String {
        let ran = self.report.command.join(" ");
        let folder = self.folder.display();
        let histories = self.report.cases.iter().filter_map(|case| case.history.as_ref());
        let judge: String =
            histories.map(|history| format!("probity judge {folder}/{}\n", history.file)).collect();
        block("console", &format!("{ran}\n{judge}"))
            + "\nAttach the history: the last command judges it without a cluster.\n"
    }
}

/// A fenced block, in which no character has a meaning in Markdown.
fn block(language: &str, text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    // A fenced block contains no HTML, so only control characters are removed.
    let plain: String =
        text.trim_end().chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    format!("{fence}{language}\n{plain}\n{fence}\n")
}

fn folded(title: &str, text: &str) -> String {
    format!("<details><summary>{}</summary>\n\n{text}\n</details>\n", lines(title))
}

/// A manifest without the token of the run. The token became invalid when the run ended.
fn without_token(manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    for list in ["initContainers", "containers"] {
        let containers = manifest["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if let Some(variables) = container.get_mut("env").and_then(Value::as_array_mut) {
                variables.retain(|variable| variable["name"] != "AGNHOST_TOKEN");
            }
        }
    }
    manifest
}
