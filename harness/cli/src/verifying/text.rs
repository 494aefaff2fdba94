//! The results of checking a run, as lines for a terminal.

use probity_report::{Kubelets, began_in_words};

use super::Verified;
use crate::output::counted;

/// How many lines of a kind are shown.
const SHOWN: usize = 40;

impl Verified {
    /// The results, under the name of the run.
    pub(crate) fn in_words(&self, name: &str) -> String {
        let mut text = format!("{name}: {}\n", self.headline());
        let list = |title: &str, lines: &[String]| -> String {
            let mut said = String::new();
            for (at, line) in lines.iter().take(SHOWN).enumerate() {
                said += &format!("  {:<9} {line}\n", if at == 0 { title } else { "" });
            }
            match lines.len().saturating_sub(SHOWN) {
                0 => said,
                more => said + &format!("  {:<9} and {more} more\n", ""),
            }
        };
        let flaws: Vec<String> =
            self.flaws.iter().map(|flaw| format!("{}: {}", flaw.file, flaw.what)).collect();
        text += &list("wrong", &flaws);
        text += &list("unchecked", &self.unchecked);
        text += &self.subject();
        text += &list("checked", &self.checked);
        text += &list("note", &self.notes);
        match self.certificate() {
            Some(certificate) if self.flaws.is_empty() => text + &certificate.in_words(),
            _ => text,
        }
    }

    fn headline(&self) -> String {
        match (self.flaws.len(), self.unchecked.is_empty()) {
            (0, true) => "verified".to_owned(),
            (0, false) => "not verified: nothing is wrong, but not everything can be checked".to_owned(),
            (count, _) => format!("NOT verified: {}", counted(count, "contradiction")),
        }
    }

    /// What the run is about.
    fn subject(&self) -> String {
        let Some(report) = &self.report else { return String::new() };
        let mut text = format!("  {:<9} {}, began {}\n", "run", report.run_id, began_in_words(&report.began));
        if let Some(certificate) = self.certificate() {
            let kubelets: Vec<String> = certificate.subject.kubelets.iter().map(Kubelets::in_words).collect();
            let server = &certificate.subject.server;
            text += &format!("  {:<9} API server {server}; kubelets {}\n", "cluster", kubelets.join("; "));
        }
        let book: String = report.suite.digest.trim_start_matches("sha256:").chars().take(12).collect();
        text + &format!("  {:<9} {} {} {book}\n", "book", report.suite.name, report.suite.version)
    }
}
