//! The book: the clauses, the cases, and the judges.
//!
//! Each chapter consists of one file of judges and a folder of the same name, which contains more judges, the clauses
//! and the cases. The listing of this folder is the table of contents. Other files are about all chapters: which
//! planted defects each clause detects, which clauses upstream's own specs check, where to read the sources of clauses,
//! and which cases reproduce publicly reported bugs. Everything is embedded into the program. Judges are pure functions
//! over a timeline: none of them sleeps, polls or reads a clock.

mod applies;
mod conditions;
mod container_state;
#[cfg(test)]
mod coverage;
mod defects;
mod disruption;
mod downward;
mod ephemeral;
mod init;
#[cfg(test)]
mod lint;
mod node_shutdown;
mod pod_basics;
mod pod_phase;
mod podgc;
mod probe_config;
mod probe_grpc;
mod probe_http;
mod probe_mechanism;
mod probe_tcp;
mod probe_types;
mod prober;
mod qos;
mod reading;
mod refusals;
mod regressions;
mod reports;
mod resize;
mod restart;
mod scenario;
mod sidecar;
mod sources;
mod static_pods;
mod termination;
mod upstream;
mod userns;

use include_dir::{Dir, include_dir};
use probity_case::Case;
use probity_model::{Catalogue, Judge, Registry};
use probity_script::problem::Problem;

pub use applies::{cannot_apply, looks_at};
pub use defects::{defects, real_defects};
pub use regressions::regressions;
pub use sources::{Sources, sources};
pub use upstream::{Area, Check, Upstream, upstream};

/// The digest of the judges: it covers their sources and those of the judging core, without tests.
pub const JUDGES: &str = env!("PROBITY_JUDGES");

/// A chapter: its name, its folder, and its judges.
pub struct Chapter {
    /// The folder's name.
    pub name: &'static str,
    /// Its subject.
    pub title: &'static str,
    folder: &'static Dir<'static>,
    judges: fn() -> Vec<Judge>,
}

static PROBE_TYPES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/probe_types");
static PROBE_MECHANISM: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/probe_mechanism");
static PROBE_CONFIG: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/probe_config");
static PROBE_HTTP: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/probe_http");
static PROBE_TCP: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/probe_tcp");
static PROBE_GRPC: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/probe_grpc");
static PROBER: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/prober");
static SCENARIO: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/scenario");
static CONTAINER_STATE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/container_state");
static POD_BASICS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/pod_basics");
static POD_PHASE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/pod_phase");
static CONDITIONS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/conditions");
static REPORTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/reports");
static RESIZE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/resize");
static DOWNWARD: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/downward");
static EPHEMERAL: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/ephemeral");
static USERNS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/userns");
static STATIC_PODS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/static_pods");
static PODGC: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/podgc");
static QOS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/qos");
static RESTART: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/restart");
static INIT: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/init");
static SIDECAR: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/sidecar");
static DISRUPTION: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/disruption");
static NODE_SHUTDOWN: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/node_shutdown");
static TERMINATION: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/termination");

/// The chapters, in order.
pub const CHAPTERS: &[Chapter] = &[
    Chapter {
        name: "probe_types",
        title: "Startup, liveness and readiness probes",
        folder: &PROBE_TYPES,
        judges: probe_types::judges,
    },
    Chapter {
        name: "probe_mechanism",
        title: "Mechanisms and results of probes",
        folder: &PROBE_MECHANISM,
        judges: probe_mechanism::judges,
    },
    Chapter {
        name: "probe_config",
        title: "Fields, timing and thresholds of probes",
        folder: &PROBE_CONFIG,
        judges: probe_config::judges,
    },
    Chapter { name: "probe_http", title: "HTTP probes", folder: &PROBE_HTTP, judges: probe_http::judges },
    Chapter { name: "probe_tcp", title: "TCP probes", folder: &PROBE_TCP, judges: probe_tcp::judges },
    Chapter { name: "probe_grpc", title: "gRPC probes", folder: &PROBE_GRPC, judges: probe_grpc::judges },
    Chapter { name: "prober", title: "The kubelet's prober", folder: &PROBER, judges: prober::judges },
    Chapter {
        name: "scenario",
        title: "What probe settings do to an application in trouble",
        folder: &SCENARIO,
        judges: scenario::judges,
    },
    Chapter {
        name: "container_state",
        title: "States of containers",
        folder: &CONTAINER_STATE,
        judges: container_state::judges,
    },
    Chapter {
        name: "pod_basics",
        title: "What a pod is, and updates of pods",
        folder: &POD_BASICS,
        judges: pod_basics::judges,
    },
    Chapter {
        name: "pod_phase",
        title: "Phases and lifetime of pods",
        folder: &POD_PHASE,
        judges: pod_phase::judges,
    },
    Chapter {
        name: "conditions",
        title: "Conditions and readiness gates",
        folder: &CONDITIONS,
        judges: conditions::judges,
    },
    Chapter { name: "restart", title: "Restarts of containers", folder: &RESTART, judges: restart::judges },
    Chapter { name: "init", title: "Init containers", folder: &INIT, judges: init::judges },
    Chapter { name: "sidecar", title: "Sidecars", folder: &SIDECAR, judges: sidecar::judges },
    Chapter {
        name: "termination",
        title: "Termination of pods",
        folder: &TERMINATION,
        judges: termination::judges,
    },
    Chapter {
        name: "node_shutdown",
        title: "Graceful shutdown of nodes",
        folder: &NODE_SHUTDOWN,
        judges: node_shutdown::judges,
    },
    Chapter {
        name: "reports",
        title: "Events and reports of a pod's life",
        folder: &REPORTS,
        judges: reports::judges,
    },
    Chapter { name: "resize", title: "Resizes in place", folder: &RESIZE, judges: resize::judges },
    Chapter {
        name: "ephemeral",
        title: "Ephemeral containers",
        folder: &EPHEMERAL,
        judges: ephemeral::judges,
    },
    Chapter { name: "qos", title: "Classes of service and limits", folder: &QOS, judges: qos::judges },
    Chapter { name: "downward", title: "The downward API", folder: &DOWNWARD, judges: downward::judges },
    Chapter { name: "userns", title: "User namespaces", folder: &USERNS, judges: userns::judges },
    Chapter { name: "static_pods", title: "Static pods", folder: &STATIC_PODS, judges: static_pods::judges },
    Chapter { name: "podgc", title: "Collection of pods", folder: &PODGC, judges: podgc::judges },
    Chapter {
        name: "disruption",
        title: "Disruptions, evictions and budgets",
        folder: &DISRUPTION,
        judges: disruption::judges,
    },
];

/// A case file of the book.
pub struct CaseFile {
    /// Its path, which starts with `suites/`.
    pub source: String,
    /// Its content.
    pub text: &'static str,
    /// The cases in it.
    pub cases: Vec<Case>,
}

impl Chapter {
    /// Its clauses, as written in the file.
    #[must_use]
    pub fn clauses(&self) -> (String, &'static str) {
        let text =
            self.folder.get_file("clauses.yaml").and_then(|file| file.contents_utf8()).unwrap_or_default();
        (format!("suites/{}/clauses.yaml", self.name), text)
    }

    /// Its parsed clauses.
    ///
    /// # Errors
    ///
    /// If the file is invalid.
    pub fn catalogue(&self) -> Result<Catalogue, Box<Problem>> {
        let (source, text) = self.clauses();
        let mut catalogue = Catalogue::default();
        catalogue.add_chapter(&source, text)?;
        Ok(catalogue)
    }

    /// Its cases, in the order of their files.
    ///
    /// # Errors
    ///
    /// If a file is not a case.
    pub fn cases(&self) -> Result<Vec<CaseFile>, Box<Problem>> {
        case_files(self.folder, self.name)
    }
}

/// The case files in a folder of this name, in order.
fn case_files(folder: &'static Dir<'static>, name: &str) -> Result<Vec<CaseFile>, Box<Problem>> {
    let yaml = folder.files().filter(|file| file.path().extension().is_some_and(|end| end == "yaml"));
    yaml.filter(|file| file.path().file_name().is_some_and(|name| name != "clauses.yaml"))
        .map(|file| {
            let source = format!("suites/{name}/{}", file.path().display());
            let text = file.contents_utf8().unwrap_or_default();
            let cases = Case::read(&source, text)?;
            Ok(CaseFile { source, text, cases })
        })
        .collect()
}

/// All clauses of the book.
///
/// # Errors
///
/// If a chapter's clauses are invalid.
pub fn catalogue() -> Result<Catalogue, Box<Problem>> {
    let mut catalogue = Catalogue::default();
    for chapter in CHAPTERS {
        let (source, text) = chapter.clauses();
        catalogue.add_chapter(&source, text)?;
    }
    Ok(catalogue)
}

/// The judges of the chapters, and the judge of clauses that the table of rejections covers.
fn judges() -> Vec<Judge> {
    let mut judges: Vec<Judge> = CHAPTERS.iter().flat_map(|chapter| (chapter.judges)()).collect();
    judges.extend(refusals::judges(&judges));
    judges
}

/// All clauses with their judges.
///
/// # Errors
///
/// If the book is invalid, which cannot happen in a build that passes its tests.
pub fn registry() -> Result<Registry, String> {
    let catalogue = catalogue().map_err(|problem| problem.to_string())?;
    Registry::new(catalogue, judges())
}

/// All clauses with the existing judges: a clause without a judge is listed, and is not an error.
///
/// # Errors
///
/// If a clause has two judges, or a judge has no clause.
pub fn draft() -> Result<Registry, String> {
    let catalogue = catalogue().map_err(|problem| problem.to_string())?;
    Registry::unfinished(catalogue, judges())
}

/// All cases of the book.
///
/// # Errors
///
/// If a file is not a case, or names a clause that does not exist.
pub fn cases() -> Result<Vec<CaseFile>, Box<Problem>> {
    let catalogue = catalogue()?;
    let mut all = Vec::new();
    for chapter in CHAPTERS {
        for file in chapter.cases()? {
            for case in &file.cases {
                case.check_clauses(&catalogue, &file.source, file.text)?;
            }
            all.push(file);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::LazyLock;

    use probity_case::Profile;
    use probity_model::History;
    use probity_model::clause::Need;
    use probity_model::facets::{self, Facet};

    use super::*;

    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let catalogue = catalogue().unwrap();
        Registry::unfinished(catalogue, judges()).unwrap()
    });

    /// The verdict of one clause on a history, as a word: `none` if it is left out.
    pub(crate) fn verdict(history: &History, clause: &str) -> &'static str {
        judgement(history, clause).map_or("none", |judgement| judgement.verdict.word())
    }

    /// The verdict in a report on this history alone: if some facets were not observed, the clause does not hold.
    pub(crate) fn verdict_of_all_facets(history: &History, clause: &str) -> &'static str {
        let Some(judgement) = judgement(history, clause) else { return "none" };
        let catalogue = catalogue().unwrap();
        let needed = &catalogue.get(&judgement.clause).unwrap().facets;
        let seen =
            |facet: &Facet| judgement.facets.iter().any(|one| one.of == facet.of && one.value == facet.value);
        match judgement.verdict.word() {
            "holds" if !facets::all(needed).all(|facet| seen(&facet)) => "inconclusive",
            word => word,
        }
    }

    /// The whole judgement.
    pub(crate) fn judgement(history: &History, clause: &str) -> Option<probity_model::Judgement> {
        REGISTRY.judge(history).into_iter().find(|judgement| judgement.clause.as_str() == clause)
    }

    #[test]
    fn every_case_is_well_written_and_speaks_of_clauses_that_exist() {
        if let Err(problem) = cases() {
            panic!("{problem}");
        }
    }

    /// The table in `docs/probity.md` states how long a run of each profile takes, so no case of a profile may take
    /// longer than that.
    #[test]
    fn no_case_takes_more_than_its_profile_says() {
        for case in cases().unwrap().into_iter().flat_map(|file| file.cases) {
            let needs = |need| case.needs.contains(&need);
            let everything = case.takes_a_node_away() || needs(Need::ClusterScope) || needs(Need::CpConfig);
            let node = needs(Need::NodeVerbs) || needs(Need::KubeletConfig);
            let right = match case.profile {
                Profile::Core | Profile::Extended => !everything && !node,
                Profile::Node => !everything && node,
                Profile::Cluster => everything,
                Profile::Slow => true,
                Profile::Regressions => false,
            };
            assert!(right, "{} does not belong to the profile {}", case.name, case.profile);
        }
    }

    #[test]
    fn each_divergence_names_where_it_is_discussed_and_each_clause_its_stage() {
        for clause in catalogue().unwrap().iter().filter(|clause| clause.untestable.is_none()) {
            assert_eq!(clause.actual.is_some(), clause.actual_issue.is_some(), "{}", clause.id);
            assert!(clause.stage.is_some(), "{} has no stage", clause.id);
        }
    }
}
