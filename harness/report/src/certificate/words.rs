//! The certificate in words, for a terminal and for pages.

use std::fmt::{Display, Write as _};

use super::document::{Certificate, ConformanceLevel, Exception, Kubelets, LevelReport, Obstacle};
use crate::document::Counts;
use crate::words::counted;

/// How many names of clauses or cases a terminal shows for each reason.
const NAMED: usize = 3;

impl Certificate {
    /// The level and the obstacles to the next level, in aligned lines:
    ///
    /// ```text
    ///   level    core: of 247 MUST clauses, 231 hold and 15 diverge as the book records; 1 cannot be shown here
    ///            cannot be shown: reports.users (it needs runtimes that …)
    ///            not extended: MUST clauses are undecided: restart.rules.all-containers
    /// ```
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut lines = vec![match self.of_level(self.level) {
            Some(level) => format!("{}: {}", self.level, level.sentence()),
            None => "none".to_owned(),
        }];
        if let Some(level) = self.of_level(self.level) {
            lines.extend(level.exceptions.iter().map(|one| format!("cannot be shown: {}", one.in_words())));
        }
        if let Some(next) = self.levels.iter().find(|level| !level.reached) {
            lines.extend(next.obstacles.iter().map(|one| format!("not {}: {}", next.level, one.in_words())));
        }
        let mut text = String::new();
        for (at, line) in lines.iter().enumerate() {
            let _ = writeln!(text, "  {:<8} {line}", if at == 0 { "level" } else { "" });
        }
        text
    }

    /// The level in a few words: `level core`, or `no level`.
    #[must_use]
    pub fn level_in_words(&self) -> String {
        match self.level {
            ConformanceLevel::None => "no level".to_owned(),
            level => format!("level {level}"),
        }
    }
}

impl LevelReport {
    /// The counts of the level's MUST clauses, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Counts { total, holds, diverges, .. } = self.must;
        let excepted = match self.exceptions.len() {
            0 => String::new(),
            count => format!("; {count} cannot be shown on this cluster"),
        };
        format!("of {total} MUST clauses, {holds} hold and {diverges} diverge as the book records{excepted}")
    }
}

impl Obstacle {
    /// The reason and the first names.
    #[must_use]
    pub fn in_words(&self) -> String {
        let names: Vec<&dyn Display> = self
            .clauses
            .iter()
            .map(|id| id as &dyn Display)
            .chain(self.cases.iter().map(|case| case as &dyn Display))
            .collect();
        if names.is_empty() {
            return self.why.clone();
        }
        let shown: Vec<String> = names.iter().take(NAMED).map(ToString::to_string).collect();
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}: {}{more}", self.why, shown.join(", "))
    }
}

impl Exception {
    /// The clause and what the cluster lacks for it.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{} ({})", self.clause, self.why)
    }
}

impl Kubelets {
    /// The programs and the number of nodes: `v1.36.3 with containerd://1.6.20 on amd64, 2 nodes`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let kubelet = if self.kubelet.is_empty() { "an unknown kubelet" } else { &self.kubelet };
        let mut words = kubelet.to_owned();
        if !self.runtime.is_empty() {
            let _ = write!(words, " with {}", self.runtime);
        }
        if !self.architecture.is_empty() {
            let _ = write!(words, " on {}", self.architecture);
        }
        format!("{words}, {}", counted(self.nodes, "node", "nodes"))
    }
}
