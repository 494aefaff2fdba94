//! The case itself, and its parser.

pub(crate) mod checks;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;

use probity_document as document;
use probity_model::clause::{Catalogue, ClauseId, Need};
use probity_model::expectation::Expectation;
use probity_script::problem::{Problem, pin};
use probity_script::{Plan, Span};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hint::HintKind;
use crate::manifest::variants;
use crate::matrix::{self, Variant};
use crate::name::{CaseName, Profile};
use crate::names::{Places, node_verbs};
use crate::reported::Reported;
use crate::role::{self, ContainerRole};
use crate::step::Step;
use crate::wide;
use crate::workload::Workload;

/// A second run of a case watches for at most this much longer at its end.
const LONGER: Duration = Duration::from_secs(20);

/// The key of the only pod of a case that has one.
pub const ONLY: &str = "pod";

/// A case. If its file has a matrix, this is one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name, variant included.
    pub name: CaseName,
    /// Why the arrangement would expose a fault.
    pub story: String,
    /// The public report of the bug that it reproduces.
    pub reported: Option<Reported>,
    /// The clauses that it must give evidence for.
    pub judges: Vec<ClauseId>,
    /// Which runs it belongs to.
    pub profile: Profile,
    /// What it needs beyond a plain cluster.
    pub needs: BTreeSet<Need>,
    /// Whether it must run alone.
    pub quiet: bool,
    /// Kinds to watch besides pods, events and EndpointSlices, such as `Endpoints`.
    pub watch: Vec<String>,
    /// How long it takes, according to its author; used only for the order and the forecast.
    pub takes: Option<Span>,
    /// Its pods, by key.
    pub pods: BTreeMap<String, CasePod>,
    /// Its workloads, by key. No workload has the same key as a pod.
    pub workloads: BTreeMap<String, Workload>,
    /// Other objects, created before the pods.
    pub objects: Vec<Value>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Expectations that no clause covers.
    pub expect: Vec<Expectation>,
    /// Hints of `probity lint` that its author accepts, each with the reason.
    pub acknowledged: BTreeMap<HintKind, String>,
}

/// A pod of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CasePod {
    /// The pod as Kubernetes writes it. Strings may hold `{ip:KEY}`, `{uid:KEY}`, `{node:KEY}` and `{most-memory:KEY}` (of
    /// another pod), `{service-ip:NAME}` and `{object:NAME}`.
    pub pod: Value,
    /// The plan of each container that is a target.
    #[serde(default)]
    pub target: BTreeMap<String, Plan>,
    /// The pod is created by a step, not at the start.
    #[serde(default)]
    pub later: bool,
    /// The pod is not expected to start, so the harness does not wait for its containers.
    #[serde(default)]
    pub stays_pending: bool,
    /// The pod is static: the harness places its manifest on a node, and the kubelet runs it.
    #[serde(default, rename = "static")]
    pub is_static: bool,
    /// The node on which a static pod is placed, once it is known. The name of the mirror pod ends with the name of
    /// this node.
    #[serde(skip)]
    pub node: Option<String>,
    /// Which of the pod's `containers` the matrix turned into sidecars. These sidecars are the last init containers of
    /// the pod, in this order.
    #[serde(skip)]
    pub moved: Vec<usize>,
}

/// A case as written in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Case"))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WrittenCase {
    /// `chapter/what-it-shows`.
    case: String,
    /// Why the arrangement would expose a fault.
    story: String,
    /// The public report of the bug that it reproduces.
    #[serde(default)]
    reported: Option<Reported>,
    /// The clauses that it must give evidence for.
    #[serde(default)]
    judges: Vec<ClauseId>,
    /// Which runs it belongs to.
    #[serde(default)]
    profile: Profile,
    /// What it needs beyond a plain cluster.
    #[serde(default)]
    needs: BTreeSet<Need>,
    /// Whether it must run alone.
    #[serde(default)]
    quiet: bool,
    /// Kinds to watch besides pods, events and EndpointSlices.
    #[serde(default)]
    watch: Vec<String>,
    /// How long it takes.
    #[serde(default)]
    takes: Option<Span>,
    /// Literal values for `${axis}`.
    #[serde(default)]
    matrix: BTreeMap<String, Vec<Value>>,
    /// The only pod.
    #[serde(default)]
    pod: Option<Value>,
    /// The plans of its containers.
    #[serde(default)]
    target: BTreeMap<String, Plan>,
    /// Several pods, by key.
    #[serde(default)]
    pods: BTreeMap<String, CasePod>,
    /// Workloads, by key: a controller of the cluster creates their pods.
    #[serde(default)]
    workloads: BTreeMap<String, Workload>,
    /// Other objects, created before the pods.
    #[serde(default)]
    objects: Vec<Value>,
    /// The steps, in order.
    #[serde(default)]
    steps: Vec<Step>,
    /// Expectations that no clause covers.
    #[serde(default)]
    expect: Vec<Expectation>,
    /// Hints of `probity lint` that its author accepts, each with the reason.
    #[serde(default)]
    acknowledged: BTreeMap<HintKind, String>,
}

impl WrittenCase {
    /// Takes the pods out, by key. If there are both `pod` and `pods`, which is an error, these are the ones under `pods`.
    fn take_pods(&mut self) -> BTreeMap<String, CasePod> {
        match self.pod.take().filter(|_| self.pods.is_empty()) {
            Some(pod) => {
                let target = mem::take(&mut self.target);
                BTreeMap::from([(ONLY.to_owned(), CasePod { pod, target, ..CasePod::default() })])
            }
            None => mem::take(&mut self.pods),
        }
    }
}

impl Case {
    /// Reads a case file: one case, or one for each combination of its matrix. `source` names the file in problems.
    ///
    /// # Errors
    ///
    /// If the text is not a case, or if its parts contradict each other. The problem has a line and a column.
    pub fn read(source: &str, text: &str) -> Result<Vec<Self>, Box<Problem>> {
        let first = |problems: Vec<Problem>| Box::new(problems.into_iter().next().unwrap_or_default());
        Self::read_all(source, text, None).map_err(first)
    }

    /// Reads a case file like [`Case::read`], and also checks that its clauses exist and have judges.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, as far as the problems do not follow from each other, in the order of their places. If the
    /// text cannot be parsed as a case, only the first problem is found. If the file has a matrix, the problems are those of
    /// the first variant that has any.
    pub fn examine(source: &str, text: &str, catalogue: &Catalogue) -> Result<Vec<Self>, Vec<Problem>> {
        Self::read_all(source, text, Some(catalogue)).map_err(|mut problems| {
            problems.sort_by_key(|problem| problem.place.map(|place| (place.line, place.column)));
            problems.dedup();
            problems
        })
    }

    fn read_all(source: &str, text: &str, catalogue: Option<&Catalogue>) -> Result<Vec<Self>, Vec<Problem>> {
        let only = |problem: Box<Problem>| vec![*problem];
        check_kind(source, text).map_err(only)?;
        let axes = matrix::axes(source, text).map_err(only)?;
        let of_variant = |variant: Variant| -> Result<Self, Vec<Problem>> {
            let text = matrix::fill(text, &variant);
            let written: WrittenCase = document::read(source, "case", &text).map_err(only)?;
            let of_clauses = catalogue.map_or_else(Vec::new, |all| checks::of_clauses(&written.judges, all));
            let whys = match Self::of(written, &variant) {
                Ok(case) if of_clauses.is_empty() => return Ok(case),
                Ok(_) => of_clauses,
                Err(whys) => [whys, of_clauses].concat(),
            };
            Err(whys.iter().map(|why| document::misfit(source, &text, why)).collect())
        };
        matrix::combinations(&axes).into_iter().map(of_variant).collect()
    }

    /// This case for a second run, after the first one was undecided because a node was busy. If it ends with a `watch`, it
    /// watches longer: what must not happen has to be absent for some time without noise.
    #[must_use]
    pub fn again(&self) -> Self {
        let mut again = Self { name: self.name.again(), ..self.clone() };
        if let Some(Step::Watch(span)) = again.steps.last_mut() {
            *span = Span(span.0 + span.0.min(LONGER));
        }
        again
    }

    /// The case that is written without a matrix.
    ///
    /// # Errors
    ///
    /// If the parts of the case do not fit together.
    pub fn from_written(written: WrittenCase) -> Result<Self, String> {
        Self::of(written, &Variant::new()).map_err(|whys| whys.into_iter().next().unwrap_or_default())
    }

    /// Checks that the clauses of a case exist and have judges.
    ///
    /// # Errors
    ///
    /// If a clause does not exist or has no judge. The problem has its place in the text.
    pub fn check_clauses(&self, catalogue: &Catalogue, source: &str, text: &str) -> Result<(), Box<Problem>> {
        match checks::of_clauses(&self.judges, catalogue).first() {
            Some(why) => Err(Box::new(document::misfit(source, text, why))),
            None => Ok(()),
        }
    }

    /// The case, or everything that is wrong with it: a sentence each, pinned to its place. Names in steps and expectations
    /// are checked only if everything to which they can refer is valid.
    fn of(mut written: WrittenCase, variant: &Variant) -> Result<Self, Vec<String>> {
        let single = written.pod.is_some() && written.pods.is_empty();
        let path = |key: &str| if single { vec![] } else { vec!["pods".to_owned(), key.to_owned()] };
        let mut problems = checks::of_head(&written);
        let mut pods = written.take_pods();
        problems.extend(pods.iter().flat_map(|(key, pod)| checks::of_pod(pod, &path(key))));
        problems.extend(checks::of_workloads(&written.workloads, &pods));
        let objects = written.objects.iter().enumerate();
        problems.extend(objects.filter_map(|(at, object)| wide::check_object(object, &at.to_string()).err()));
        refuse(problems)?;
        if ContainerRole::of(variant) == ContainerRole::Sidecar {
            make_sidecars(&mut pods, path).map_err(|why| vec![why])?;
        }
        let places = Places::new(&pods, &written.workloads, &written.objects, &written.steps, single);
        refuse(checks::of_names(&written, &pods, &places))?;
        let case = Self {
            name: matrix::name(&written.case, variant),
            story: written.story.trim().to_owned(),
            reported: written.reported,
            judges: written.judges,
            profile: written.profile,
            needs: written.needs,
            quiet: written.quiet,
            watch: written.watch,
            takes: written.takes,
            pods,
            workloads: written.workloads,
            objects: written.objects,
            steps: written.steps,
            expect: written.expect,
            acknowledged: written.acknowledged,
        };
        let declared = [node_verbs::check_case(&case), case.check_scope()];
        refuse(declared.into_iter().filter_map(Result::err).collect())?;
        Ok(case)
    }

    /// The plans of the containers of a pod, or of a workload's pods.
    #[must_use]
    pub fn plans(&self, key: &str) -> Option<&BTreeMap<String, Plan>> {
        let of_pod = self.pods.get(key).map(|pod| &pod.target);
        of_pod.or_else(|| self.workloads.get(key).map(|workload| &workload.target))
    }

    /// The variants of the target's image that the case's containers request, at the start or after a patch or an
    /// update.
    #[must_use]
    pub fn variants(&self) -> BTreeSet<&str> {
        let pods = self.pods.values().map(|pod| &pod.pod["spec"]);
        let workloads = self.workloads.values().map(Workload::pod_spec);
        let patches = self.steps.iter().flat_map(Step::patched_specs).map(|(_, spec)| spec);
        pods.chain(workloads).chain(patches).flat_map(variants::asked_of).collect()
    }

    /// The maximum number of pods that the case has at the same time.
    #[must_use]
    pub fn most_pods(&self) -> u64 {
        self.pods.len() as u64 + self.workloads.values().map(Workload::most_pods).sum::<u64>()
    }
}

/// Rejects a file that contains a manifest instead of a case.
fn check_kind(source: &str, text: &str) -> Result<(), Box<Problem>> {
    let at_start = |field: &str| text.lines().find_map(|line| line.strip_prefix(field)).map(str::trim);
    let (Some(kind), Some(_), None) = (at_start("kind:"), at_start("apiVersion:"), at_start("case:")) else {
        return Ok(());
    };
    let why = format!(
        "this is a {kind} and not a case: put a pod under `pod:` of a case, or use the file with `probity try` or `probity reproduce`"
    );
    Err(Box::new(document::misfit(source, text, &pin(&why, &["kind"]))))
}

/// Fails if there are problems.
fn refuse(problems: Vec<String>) -> Result<(), Vec<String>> {
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Turns the containers with probes into sidecars. `path` is the place of a pod in the file.
fn make_sidecars(
    pods: &mut BTreeMap<String, CasePod>,
    path: impl Fn(&str) -> Vec<String>,
) -> Result<(), String> {
    let mut any = false;
    for (key, pod) in pods {
        any |= role::make_sidecars(pod, &path(key))?;
    }
    if any {
        return Ok(());
    }
    Err(pin("no container has a probe, so none can become a sidecar", &["matrix", role::AXIS]))
}
