//! Where the bug that a case reproduces was reported, and which versions have it.

use std::collections::BTreeMap;

use probity_script::problem::pin;
use serde::{Deserialize, Serialize};

/// A public report of a bug: what its thread states, and what has been measured since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reported {
    /// Its repository and number: `kubernetes/kubernetes#94080`.
    pub issue: String,
    /// Its title.
    pub title: String,
    /// The documented behavior.
    pub promised: String,
    /// The versions that showed the bug, according to its thread.
    pub shown: String,
    /// The releases with the fix. Absent if the bug is not fixed yet.
    #[serde(default)]
    pub fixed: Option<String>,
    /// What this case showed, by kubelet version.
    #[serde(default)]
    pub measured: BTreeMap<String, Shown>,
}

/// What a run of the case showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// The documented behavior.
    AsPromised,
    /// The bug.
    StillShown,
}

impl Shown {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::AsPromised => "as promised",
            Self::StillShown => "still shown",
        }
    }
}

impl Reported {
    /// The address of the report.
    #[must_use]
    pub fn address(&self) -> String {
        format!("https://github.com/{}", self.issue.replace('#', "/issues/"))
    }

    /// What was measured, in one line.
    #[must_use]
    pub fn measurements(&self) -> String {
        let each = self.measured.iter().map(|(version, shown)| format!("{version}: {}", shown.words()));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Checks that the issue is valid, and that no field is empty.
    pub(super) fn check(&self) -> Result<(), String> {
        let parts = self.issue.split_once('#').and_then(|(of, number)| Some((of.split_once('/')?, number)));
        let named = parts.is_some_and(|((owner, name), number)| {
            let plain = |part: &str| !part.is_empty() && !part.contains(['/', ' ']);
            plain(owner) && plain(name) && !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
        });
        if !named {
            let why = format!("`{}` is not a valid issue: write OWNER/REPOSITORY#NUMBER", self.issue);
            return Err(pin(&why, &["reported", "issue"]));
        }
        let texts = [("title", &self.title), ("promised", &self.promised), ("shown", &self.shown)];
        match texts.iter().find(|(_, text)| text.trim().is_empty()) {
            Some((field, _)) => Err(pin("it is empty", &["reported", *field])),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use crate::Case;

    fn read(issue: &str, title: &str) -> Result<Vec<Case>, String> {
        let text = format!(
            "case: a/b\nstory: x\nreported: {{ issue: '{issue}', title: '{title}', promised: y, shown: z }}\n\
             pod: {{ spec: {{ containers: [{{ name: c }}] }} }}\n"
        );
        Case::read("case", &text).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_report_has_an_address_and_one_that_names_none_is_refused() {
        let case = read("kubernetes/kubernetes#94080", "t").unwrap().remove(0);
        let reported = case.reported.unwrap();
        assert_eq!(reported.address(), "https://github.com/kubernetes/kubernetes/issues/94080");
        for wrong in ["94080", "#94080", "kubernetes#94080", "kubernetes/kubernetes#", "a/b/c#1", "a/b#one"] {
            let refused = read(wrong, "t").unwrap_err();
            assert!(refused.contains("write OWNER/REPOSITORY#NUMBER"), "{wrong}: {refused}");
        }
        assert!(read("a/b#1", " ").unwrap_err().contains("it is empty"));
    }
}
