//! The conformance level of a run, and the certificate that states what it is based on.
//!
//! A level is a statement only about the MUST clauses of the book: each holds, or diverges as the book records it. A
//! run that left out cases of the level has not reached the level, whatever the other cases showed. If a cluster cannot
//! show a clause because it lacks a feature that a case declares under `needs`, the clause is an exception, and the
//! certificate names it.
//!
//! The certificate repeats parts of the report, so that a reader finds them in one place. `probity verify` compares all
//! of it with the log and the histories.

mod document;
mod level;
mod words;

use std::collections::BTreeSet;

use crate::book_facts::BookFacts;
use crate::document::Report;
use crate::run_log::Suite;

pub use document::{Certificate, ConformanceLevel, Exception, Kubelets, LevelReport, Obstacle, Subject};

impl Report {
    /// The report with its certificate.
    #[must_use]
    pub fn certified(self, book: &BookFacts) -> Self {
        let certificate = Certificate::of(&self, book);
        Self { certificate: Some(certificate), ..self }
    }
}

impl Certificate {
    /// The certificate of a report whose histories were judged by this book.
    #[must_use]
    pub fn of(report: &Report, book: &BookFacts) -> Self {
        let levels: Vec<LevelReport> = [ConformanceLevel::Core, ConformanceLevel::Extended]
            .into_iter()
            .map(|level| level::of(level, report, book))
            .collect();
        let reached = levels.iter().filter(|one| one.reached).map(|one| one.level).max();
        let files = report.cases.iter().filter_map(|case| case.history.as_ref());
        Self {
            level: reached.unwrap_or(ConformanceLevel::None),
            subject: subject(report),
            book: Suite { added: Vec::new(), ..book.suite.clone() },
            program: report.tool.clone(),
            began: report.began.clone(),
            levels,
            histories: files.map(|file| (file.file.clone(), file.sha256.clone())).collect(),
        }
    }

    /// The report on a level.
    #[must_use]
    pub fn of_level(&self, level: ConformanceLevel) -> Option<&LevelReport> {
        self.levels.iter().find(|one| one.level == level)
    }
}

fn subject(report: &Report) -> Subject {
    let ground = report.environment.clone().unwrap_or_default();
    let mut kubelets: Vec<Kubelets> = Vec::new();
    for node in ground.nodes.values() {
        let same = |one: &&mut Kubelets| {
            (&one.kubelet, &one.runtime, &one.architecture)
                == (&node.kubelet, &node.runtime, &node.architecture)
        };
        match kubelets.iter_mut().find(same) {
            Some(known) => known.nodes += 1,
            None => kubelets.push(Kubelets {
                kubelet: node.kubelet.clone(),
                runtime: node.runtime.clone(),
                architecture: node.architecture.clone(),
                nodes: 1,
            }),
        }
    }
    kubelets.sort();
    Subject {
        server: ground.server,
        cluster_uid: ground.cluster_uid,
        kubelets,
        image: ground.image,
        labels: report.labels.clone(),
    }
}

/// The values without repetitions, sorted.
fn distinct<T: Ord + Clone>(found: impl IntoIterator<Item = T>) -> Vec<T> {
    found.into_iter().collect::<BTreeSet<T>>().into_iter().collect()
}
