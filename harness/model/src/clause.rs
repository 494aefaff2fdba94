//! Clauses: requirements of the documentation, each in one sentence and with its source.
//!
//! A clause is data. Its id never changes and is never used again; the function that judges it is found by the id in
//! the [`Registry`](crate::judge::Registry).

mod promised;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use probity_document as document;
use probity_script::Span;
use probity_script::problem::{Problem, pin};
use serde::{Deserialize, Serialize};

use crate::facets::{self, Needed, Since};
use crate::kubelet_settings::KUBELET_SETTINGS;
use crate::measure::Bound;
use crate::stage::Stage;
use crate::stamp::counted;
use crate::version::{minor, patch};

/// The stable id of a clause, such as `probe.http.default-path`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct ClauseId(String);

impl ClauseId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClauseId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        };
        if text.contains('.') && text.split('.').all(word) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!(
                "`{text}` is not a valid clause id: use words of lowercase letters, digits and dashes, separated by dots"
            ))
        }
    }
}

impl TryFrom<String> for ClauseId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ClauseId> for String {
    fn from(id: ClauseId) -> Self {
        id.0
    }
}

impl fmt::Display for ClauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How strong a requirement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The clause is documented, deterministic, and the same on all conforming clusters.
    Must,
    /// The clause has no exact time, depends on the runtime or the node, or is derived only from the reference
    /// implementation.
    Should,
    /// The clause is advice or a definition, so there is nothing to test.
    Advice,
}

/// What a clause or a case needs beyond a plain cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// A namespace at the privileged Pod Security level.
    PrivilegedNamespace,
    /// A command from the user that acts on nodes.
    NodeVerbs,
    /// At least two schedulable nodes.
    MultiNode,
    /// At least three schedulable nodes.
    ThreeNodes,
    /// A changed kubelet configuration.
    KubeletConfig,
    /// Changed flags of the controller manager.
    CpConfig,
    /// Reading kubelet metrics through the API server.
    NodesProxy,
    /// Writes outside the run's namespace: cluster-scoped objects, and taints, cordons and extended resources of nodes.
    ClusterScope,
    /// Runtimes that report the user of a container, according to the feature `supplementalGroupsPolicy` of their nodes.
    UserStatus,
    /// Runtimes that support user namespaces, according to the feature `userNamespaces` of their nodes' default
    /// handler.
    UserNamespaces,
    /// An API server that keeps the field `lifecycle.stopSignal` of containers.
    StopSignalField,
    /// An API server that keeps the restart policies and restart rules of containers.
    ContainerRestartRules,
    /// An API server that accepts restart rules of containers with the action `RestartAllContainers`.
    RestartAllContainers,
}

/// One requirement of the documentation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Clause {
    /// Its permanent id.
    pub id: ClauseId,
    /// How strong it is.
    pub level: Level,
    /// The requirement, in the words of this project.
    pub says: String,
    /// Where it is written.
    pub source: Source,
    /// How the clause is tested, in a sentence or two.
    pub tested: String,
    /// The known deviation of upstream, if there is one: what upstream does instead. The verdict on such behavior is
    /// `diverges`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// The first minor version of the kubelet with this deviation. In an older version, the same behavior is a
    /// violation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual_since: Option<String>,
    /// The first kubelet versions with the fix, one for each minor version that received it: `["1.35.4", "1.36.2",
    /// "1.37.0"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actual_until: Vec<String>,
    /// Where upstream discusses the deviation: the address of an issue, or of the document that contradicts the clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual_issue: Option<String>,
    /// The first minor version of Kubernetes to which the clause applies, such as `"1.20"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The last minor version of Kubernetes to which the clause applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The lateness that the clause's bounds allow, with the reason; see [`Slack`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack: Option<Slack>,
    /// Other tolerances of the clause's bounds, and the numbers of observations that its judge needs, by name; see
    /// [`Tolerance`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tolerances: BTreeMap<String, Tolerance>,
    /// The clause's place on the path from the spec to the user's traffic. A violation at an earlier stage may explain
    /// a violation at this stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// The facets that must be observed before the clause holds; see [`crate::facets`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facets: Needed,
    /// The first minor version of Kubernetes in which some of the facets can be observed. With an older version, the clause
    /// holds without them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facets_since: Since,
    /// What the clause needs beyond a plain cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// Settings of the kubelet on which the promise depends, by their names in [`KUBELET_SETTINGS`]. If a kubelet does
    /// not have the default, a violation is inconclusive. If the settings are not known, the finding says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless_configured: Vec<String>,
    /// Why no judge exists: required for advice, and not allowed for other levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untestable: Option<String>,
    /// Why no case is written for the clause; absent if a case names the clause in `judges`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_case: Option<String>,
    /// Why the clause detects no planted defect; absent if it detects one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_defect: Option<String>,
    /// Why no defect of a real kubelet violates the clause; absent if a defect does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_real_defect: Option<String>,
}

impl Clause {
    /// The area: everything before the last dot or, for two-word names, the first word.
    #[must_use]
    pub fn area(&self) -> &str {
        self.id.as_str().rsplit_once('.').map_or("", |(area, _)| area)
    }

    /// The lateness that the clause's upper bounds allow, in microseconds.
    #[must_use]
    pub fn slack_us(&self) -> i64 {
        self.slack.as_ref().map_or(0, |slack| micros(slack.by))
    }

    /// At most the slack.
    #[must_use]
    pub fn in_time(&self) -> Bound {
        Bound::at_most(self.slack_us(), "the clause's slack")
    }

    /// A tolerance in microseconds. A judge uses only tolerances that its clause has; the tests of the book check this.
    #[must_use]
    pub fn tolerance_us(&self, name: &str) -> i64 {
        let by = self.tolerances.get(name).and_then(|tolerance| tolerance.by);
        debug_assert!(by.is_some(), "`{}` has no tolerance `{name}` with a span", self.id);
        by.map_or(0, micros)
    }

    /// A tolerance that is a number of observations.
    #[must_use]
    pub fn tolerance_times(&self, name: &str) -> usize {
        let times = self.tolerances.get(name).and_then(|tolerance| tolerance.times);
        debug_assert!(times.is_some(), "`{}` has no tolerance `{name}` with a number", self.id);
        times.unwrap_or_default()
    }

    /// The product of a unit and a tolerance that is a number.
    #[must_use]
    pub fn tolerance_multiple(&self, of: i64, name: &str) -> i64 {
        of.saturating_mul(i64::try_from(self.tolerance_times(name)).unwrap_or(i64::MAX))
    }

    /// One of several equal parts of a value. A tolerance sets the number of parts.
    #[must_use]
    pub fn tolerance_part(&self, of: i64, name: &str) -> i64 {
        of / i64::try_from(self.tolerance_times(name)).unwrap_or(i64::MAX).max(1)
    }

    fn actual_field_without_actual(&self) -> Option<&'static str> {
        let fields = [
            ("actual-since", self.actual_since.is_some()),
            ("actual-until", !self.actual_until.is_empty()),
            ("actual-issue", self.actual_issue.is_some()),
        ];
        fields.into_iter().find(|(_, there)| *there && self.actual.is_none()).map(|(field, _)| field)
    }

    /// The versions to which the clause applies, in words; `None` if it applies to all versions.
    #[must_use]
    pub fn versions(&self) -> Option<String> {
        match (&self.since, &self.until) {
            (None, None) => None,
            (Some(since), None) => Some(format!("{since} or later")),
            (None, Some(until)) => Some(format!("{until} or earlier")),
            (Some(since), Some(until)) => Some(format!("{since} to {until}")),
        }
    }

    /// Whether the clause applies to a minor version such as `1.36`.
    #[must_use]
    pub fn holds_for(&self, version: &str) -> bool {
        let Some(version) = minor(version.trim_start_matches('v')) else { return true };
        self.since.as_deref().and_then(minor).is_none_or(|since| since <= version)
            && self.until.as_deref().and_then(minor).is_none_or(|until| version <= until)
    }

    /// The known deviation of upstream, with the affected kubelets.
    #[must_use]
    pub fn known(&self) -> Option<String> {
        let actual = self.actual.as_deref()?;
        let until = match self.actual_until.as_slice() {
            [] => String::new(),
            fixed => format!(" until the fix in {}", fixed.join(", ")),
        };
        Some(match &self.actual_since {
            Some(since) if until.is_empty() => format!("in kubelets from {since} on: {actual}"),
            Some(since) => format!("in kubelets from {since}{until}: {actual}"),
            None if until.is_empty() => actual.to_owned(),
            None => format!("in kubelets{until}: {actual}"),
        })
    }

    /// Whether a kubelet of this version is known to have the deviation in `actual`.
    #[must_use]
    pub fn excuses(&self, version: &str) -> bool {
        let version = version.trim_start_matches('v');
        let Some(of) = minor(version) else { return true };
        let since = self.actual_since.as_deref().and_then(minor);
        since.is_none_or(|since| since <= of) && !self.is_mended_in(version, of)
    }

    /// Whether a kubelet has the fix: its minor version received the fix in this patch release or an earlier one, or
    /// the first release of an earlier minor version already had it.
    fn is_mended_in(&self, version: &str, of: (u32, u32)) -> bool {
        self.actual_until.iter().any(|mended| match minor(mended) {
            Some(minor) if minor == of => patch(mended) <= patch(version),
            Some(minor) => minor < of && patch(mended).unwrap_or(0) == 0,
            None => false,
        })
    }
}

/// A span from a document in microseconds, the unit of the judges.
#[must_use]
pub fn micros(span: Span) -> i64 {
    counted(span.micros())
}

/// Where a requirement is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Source {
    /// The document, or `reference implementation`.
    pub document: String,
    /// The edition that was read.
    pub edition: String,
    /// The section, or the source file and the symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
}

/// The lateness that a clause allows beyond its upper bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Slack {
    /// How much.
    pub by: Span,
    /// The reason for the value.
    pub because: String,
}

/// A tolerance of a clause in addition to its slack, or a number of observations that the clause needs. Exactly one of
/// `by` and `times` is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tolerance {
    /// How much time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Span>,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<usize>,
    /// The reason for the value.
    pub because: String,
}

impl Tolerance {
    /// How much or how many: `10s`, or `3`.
    #[must_use]
    pub fn amount(&self) -> String {
        let span = self.by.map(|by| by.to_string());
        span.or_else(|| self.times.map(|times| times.to_string())).unwrap_or_default()
    }
}

/// All clauses, in the order of the book.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    clauses: Vec<Clause>,
    index: BTreeMap<ClauseId, usize>,
}

impl Catalogue {
    /// Adds the clauses of one chapter, a YAML list. `source` is the name of the file in error messages.
    ///
    /// # Errors
    ///
    /// If the text is not a list of clauses, or if a clause has a duplicate id or lacks something that its level
    /// requires.
    pub fn add_chapter(&mut self, source: &str, text: &str) -> Result<(), Box<Problem>> {
        let chapter: Vec<Clause> = document::read(source, "list of clauses", text)?;
        for (at, clause) in chapter.into_iter().enumerate() {
            let refuse = |why: String, field: &str| {
                let path = [at.to_string(), field.to_owned()];
                Err(Box::new(document::misfit(source, text, &pin(&why, &path))))
            };
            if self.index.contains_key(&clause.id) {
                return refuse(format!("the clause `{}` already exists", clause.id), "id");
            }
            let unclear = |one: &Tolerance| one.by.is_some() == one.times.is_some();
            if let Some((name, _)) = clause.tolerances.iter().find(|(_, one)| unclear(one)) {
                return refuse(format!("write one of `by` and `times` for `{name}`"), "tolerances");
            }
            if let Some(field) = clause.actual_field_without_actual() {
                return refuse(format!("`{field}` needs `actual`, which is missing"), field);
            }
            let unknown = |name: &&String| !KUBELET_SETTINGS.contains(&name.as_str());
            if let Some(name) = clause.unless_configured.iter().find(unknown) {
                let known = KUBELET_SETTINGS.join(", ");
                return refuse(
                    format!("`{name}` is not a known setting; known are: {known}"),
                    "unless-configured",
                );
            }
            if let Some(why) = facets::problem(&clause.facets) {
                return refuse(why, "facets");
            }
            if let Some(why) = facets::problem_of_since(&clause.facets, &clause.facets_since) {
                return refuse(why, "facets-since");
            }
            if (clause.level == Level::Advice) != clause.untestable.is_some() {
                let why =
                    "advice needs `untestable`, the reason why it has no judge; other levels must not have it"
                        .to_owned();
                return refuse(why, "level");
            }
            if clause.untestable.is_some()
                && (clause.without_case.is_some() || clause.without_defect.is_some())
            {
                let why =
                    "a clause without a judge needs neither a case nor a defect: `untestable` is enough"
                        .to_owned();
                return refuse(why, "untestable");
            }
            self.index.insert(clause.id.clone(), self.clauses.len());
            self.clauses.push(clause);
        }
        Ok(())
    }

    /// The clause with this ID.
    #[must_use]
    pub fn get(&self, id: &ClauseId) -> Option<&Clause> {
        self.index.get(id).and_then(|at| self.clauses.get(*at))
    }

    /// All clauses, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Clause> {
        self.clauses.iter()
    }
}

#[cfg(test)]
mod tests;
