//! The main facts of a report, to show several reports side by side: what ran, where, when, and with what result.

use std::collections::{BTreeMap, BTreeSet};

use probity_case::Profile;
use probity_model::measure::seconds;
use serde::{Deserialize, Serialize};

use crate::document::{Counts, ProfileOutcome, Report};
use crate::run_log::{Suite, Tool};

/// The facts of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReportFacts {
    /// Its name in the comparison.
    pub name: String,
    /// The run's name.
    pub run_id: String,
    /// When the run started.
    pub began: String,
    /// How long the run took. Absent if the run did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<i64>,
    /// The name of the cluster's context. Empty if the run never reached the cluster.
    pub cluster: String,
    /// The version of the API server. Empty if the run never reached the API server.
    pub server: String,
    /// The nodes and the versions of their kubelets. Empty without permission to read nodes.
    pub nodes: BTreeMap<String, String>,
    /// The container runtimes of the nodes.
    pub runtimes: BTreeSet<String>,
    /// The result of each profile.
    pub profiles: Vec<ProfileFacts>,
    /// The clauses by verdict.
    pub counts: Counts,
    /// The labels that the user gave the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The program that ran.
    pub tool: Tool,
    /// The book on which the verdicts are based.
    pub book: Suite,
    /// The percentage of the time during which a node was overloaded.
    pub overloaded_percent: i64,
}

/// The result of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProfileFacts {
    /// The profile.
    pub profile: Profile,
    /// Its result.
    pub result: ProfileOutcome,
    /// Why, in a sentence.
    pub why: String,
}

impl ReportFacts {
    /// The facts of a report that is called `name`.
    #[must_use]
    pub fn of(name: &str, report: &Report) -> Self {
        let ground = report.environment.clone().unwrap_or_default();
        let runtimes = ground.nodes.values().map(|node| node.runtime.clone());
        let profile = |of: &crate::document::ProfileReport| ProfileFacts {
            profile: of.profile,
            result: of.result,
            why: of.why.clone(),
        };
        Self {
            name: name.to_owned(),
            run_id: report.run_id.clone(),
            began: report.began.clone(),
            took_us: report.usage.map(|usage| usage.wall_us),
            cluster: ground.context,
            server: ground.server,
            runtimes: runtimes.filter(|runtime| !runtime.is_empty()).collect(),
            nodes: ground.nodes.into_iter().map(|(name, node)| (name, node.kubelet)).collect(),
            profiles: report.result.profiles.iter().map(profile).collect(),
            counts: report.result.clauses,
            labels: report.labels.clone(),
            tool: report.tool.clone(),
            book: report.judged_by.clone().unwrap_or_else(|| report.suite.clone()),
            overloaded_percent: report.result.overloaded_percent,
        }
    }

    /// The versions of the kubelets or, without permission to read nodes, of the API server.
    #[must_use]
    pub fn version(&self) -> String {
        let kubelets: BTreeSet<&str> =
            self.nodes.values().map(String::as_str).filter(|kubelet| !kubelet.is_empty()).collect();
        match (kubelets.is_empty(), self.server.is_empty()) {
            (false, _) => kubelets.into_iter().collect::<Vec<_>>().join(" and "),
            (true, false) => self.server.clone(),
            (true, true) => "no cluster".to_owned(),
        }
    }

    /// When the run began, to the second: `2026-11-22 13:42:42 UTC`.
    #[must_use]
    pub fn began_in_words(&self) -> String {
        began_in_words(&self.began)
    }

    /// The program: its name, version and commit.
    #[must_use]
    pub fn program(&self) -> String {
        let Tool { name, version, commit, modified, .. } = &self.tool;
        let commit = if commit.is_empty() { String::new() } else { format!(", commit {commit}") };
        format!("{name} {version}{commit}{}", if *modified { ", modified sources" } else { "" })
    }

    /// The book: its name, version and the beginning of its digest.
    #[must_use]
    pub fn book_in_words(&self) -> String {
        let Suite { name, version, digest, .. } = &self.book;
        let digest: String = digest.trim_start_matches("sha256:").chars().take(12).collect();
        format!("{name} {version} {digest}").trim_end().to_owned()
    }

    /// The name of the node if there is one, or else the number of nodes.
    #[must_use]
    pub fn nodes_in_words(&self) -> String {
        match self.nodes.keys().next() {
            None => "nodes that could not be read".to_owned(),
            Some(only) if self.nodes.len() == 1 => only.clone(),
            Some(_) => format!("{} nodes", self.nodes.len()),
        }
    }

    /// All facts in one line, without the name.
    #[must_use]
    pub fn in_words(&self) -> String {
        let profiles = self
            .profiles
            .iter()
            .map(|of| format!("{} {}", of.profile, format!("{:?}", of.result).to_lowercase()));
        let took = self.took_us.map_or("without an end".to_owned(), |us| format!("took {}", seconds(us)));
        let mut words = vec![
            format!("{} of {} clauses", self.counts.in_words(), self.counts.total),
            profiles.collect::<Vec<_>>().join(", "),
            format!("Kubernetes {}", self.version()),
            format!("cluster {}", self.cluster),
            self.nodes_in_words(),
            self.began_in_words(),
            took,
            self.program(),
        ];
        words.retain(|word| !word.is_empty() && word != "cluster ");
        words.join("; ")
    }
}

/// A time without its fraction and its letters: `2026-11-22 13:42:42 UTC`.
#[must_use]
pub fn began_in_words(time: &str) -> String {
    let whole = time.split('.').next().unwrap_or(time).trim_end_matches('Z');
    format!("{} UTC", whole.replacen('T', " ", 1))
}

/// Short names that distinguish reports: the version and, if needed, more.
#[must_use]
pub fn names_of(reports: &[&Report]) -> Vec<String> {
    let facts: Vec<ReportFacts> = reports.iter().map(|report| ReportFacts::of("", report)).collect();
    names_by_facts(&facts.iter().collect::<Vec<_>>())
}

/// Short names that distinguish the reports with these facts.
#[must_use]
pub fn names_by_facts(facts: &[&ReportFacts]) -> Vec<String> {
    type Parts<'p> = &'p dyn Fn(&ReportFacts) -> Vec<String>;
    let labels = |of: &ReportFacts| of.labels.values().cloned().collect::<Vec<_>>().join(" ");
    let by: [Parts<'_>; 6] = [
        &|of| vec![of.version()],
        &|of| vec![of.version(), labels(of)],
        &|of| vec![of.version(), of.cluster.clone()],
        &|of| vec![of.version(), of.nodes_in_words()],
        &|of| vec![of.version(), of.cluster.clone(), of.nodes_in_words()],
        &|of| vec![of.version(), of.began_in_words()],
    ];
    for parts in by {
        let names: Vec<String> = facts.iter().map(|of| joined(parts(of))).collect();
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
            return names;
        }
    }
    facts.iter().enumerate().map(|(at, of)| format!("{} ({})", of.version(), at + 1)).collect()
}

fn joined(mut parts: Vec<String>) -> String {
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}
