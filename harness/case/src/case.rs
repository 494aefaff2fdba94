//! The case itself, and its parser.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use probity_document as document;
use probity_model::clause::{Catalogue, ClauseId, Need};
use probity_model::expectation::Expectation;
use probity_script::problem::{Problem, pin};
use probity_script::{Plan, Span};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hint::HintKind;
use crate::manifest::{FINALIZERS, variants};
use crate::matrix::{self, Variant};
use crate::name::{CaseName, Profile};
use crate::names::{Places, below, containers, did_you_mean, node_verbs};
use crate::pod_rules;
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

impl Case {
    /// Reads a case file: one case, or one for each combination of its matrix. `source` names the file in problems.
    ///
    /// # Errors
    ///
    /// If the text is not a case, or if its parts contradict each other. The problem has a line and a column.
    pub fn read(source: &str, text: &str) -> Result<Vec<Self>, Box<Problem>> {
        check_kind(source, text)?;
        let axes = matrix::axes(source, text)?;
        matrix::combinations(&axes)
            .into_iter()
            .map(|variant| {
                let text = matrix::fill(text, &variant);
                let written: WrittenCase = document::read(source, "case", &text)?;
                Self::of(written, &variant).map_err(|why| Box::new(document::misfit(source, &text, &why)))
            })
            .collect()
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
        Self::of(written, &Variant::new())
    }

    /// Checks that the clauses of a case exist and have judges.
    ///
    /// # Errors
    ///
    /// If a clause does not exist or has no judge. The problem has its place in the text.
    pub fn check_clauses(&self, catalogue: &Catalogue, source: &str, text: &str) -> Result<(), Box<Problem>> {
        for (at, id) in self.judges.iter().enumerate() {
            let wrong = id.as_str();
            let why = match catalogue.get(id) {
                None => {
                    let hint = did_you_mean(wrong, catalogue.iter().map(|clause| clause.id.as_str()));
                    format!("there is no clause `{wrong}`{hint}")
                }
                Some(clause) => match &clause.untestable {
                    Some(why) => format!("the clause `{wrong}` has no judge: {why}"),
                    None => continue,
                },
            };
            let why = pin(&why, &["judges".to_owned(), at.to_string()]);
            return Err(Box::new(document::misfit(source, text, &why)));
        }
        Ok(())
    }

    fn of(written: WrittenCase, variant: &Variant) -> Result<Self, String> {
        let mut pods = written.pods;
        let single = written.pod.is_some();
        check_name(&written.case)?;
        match written.pod {
            Some(_) if !pods.is_empty() => return Err(pin("write either `pod` or `pods`", &["pod"])),
            Some(pod) => {
                pods.insert(ONLY.to_owned(), CasePod { pod, target: written.target, ..CasePod::default() });
            }
            None if !written.target.is_empty() => {
                return Err(pin("`target` belongs to `pod`; with `pods`, each pod has its own", &["target"]));
            }
            None => {}
        }
        if written.story.trim().is_empty() {
            return Err(pin("the story is empty: explain why this case would expose a fault", &["story"]));
        }
        written.reported.as_ref().map_or(Ok(()), Reported::check)?;
        let path = |key: &str| if single { vec![] } else { vec!["pods".to_owned(), key.to_owned()] };
        for (key, pod) in &pods {
            check_pod(pod, &path(key))?;
        }
        if ContainerRole::of(variant) == ContainerRole::Sidecar {
            let mut any = false;
            for (key, pod) in &mut pods {
                any |= role::make_sidecars(pod, &path(key))?;
            }
            if !any {
                let why = "no container has a probe, so none can become a sidecar";
                return Err(pin(why, &["matrix", role::AXIS]));
            }
        }
        for (key, workload) in &written.workloads {
            if pods.contains_key(key) {
                let why = format!("a pod also has the key `{key}`: use unique keys");
                return Err(pin(&why, &["workloads", key]));
            }
            workload.check(key)?;
        }
        for (at, object) in written.objects.iter().enumerate() {
            wide::check_object(object, &at.to_string())?;
        }
        let places = Places::new(&pods, &written.workloads, &written.objects, &written.steps, single);
        for (at, step) in written.steps.iter().enumerate() {
            let checked = step.check(&pods, &written.workloads).and_then(|()| places.check_step(step));
            checked.map_err(|why| below(&["steps", &at.to_string()], &why))?;
        }
        for (at, expectation) in written.expect.iter().enumerate() {
            let checked = expectation.check().and_then(|()| places.check_expectation(expectation));
            checked.map_err(|why| below(&["expect", &at.to_string()], &why))?;
        }
        places.check_marks(&written.expect)?;
        places.check_placeholders()?;
        if let Some((kind, _)) = written.acknowledged.iter().find(|(_, because)| because.trim().is_empty()) {
            return Err(pin("explain why this is intended", &["acknowledged", kind.word()]));
        }
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
        node_verbs::check_case(&case)?;
        case.check_scope()?;
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

/// Rejects a name that is not valid as the name of a file and of a test.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
    };
    if name.contains('/') && name.split('/').all(plain) {
        return Ok(());
    }
    let why = "write `chapter/what-it-shows`: at least two words, separated by slashes, of letters, digits, dashes, \
               dots and underscores";
    Err(pin(&format!("`{name}` is not a valid case name; {why}"), &["case"]))
}

/// Checks a pod without a server: its structure, and whether each plan belongs to one of its containers.
fn check_pod(pod: &CasePod, path: &[String]) -> Result<(), String> {
    let at = |rest: &[&str]| [path, &rest.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>()].concat();
    if let Some(kind) = pod.pod.get("kind").and_then(Value::as_str)
        && kind != "Pod"
    {
        return Err(pin(&format!("this is a {kind}; only a Pod is allowed here"), &at(&["pod", "kind"])));
    }
    pod_rules::check(&pod.pod, false, &at(&["pod"]))?;
    check_finalizers(&pod.pod, &at(&["pod", "metadata", "finalizers"]))?;
    check_containers("pod", &pod.pod["spec"], &pod.target, &at(&["pod", "spec"]), &at(&["target"]))
}

/// Checks that the harness can remove all finalizers of a pod.
fn check_finalizers(pod: &Value, path: &[String]) -> Result<(), String> {
    let finalizers = pod["metadata"]["finalizers"].as_array().into_iter().flatten();
    let foreign = |name: &&str| !name.starts_with(FINALIZERS);
    match finalizers.filter_map(Value::as_str).find(foreign) {
        Some(name) => {
            let why = format!(
                "nothing would remove the finalizer `{name}`; its name must begin with `{FINALIZERS}`"
            );
            Err(pin(&why, path))
        }
        None => Ok(()),
    }
}

/// Checks that the spec of a pod or a template has containers, and that each plan belongs to one of them.
pub(super) fn check_containers(
    what: &str,
    spec: &Value,
    plans: &BTreeMap<String, Plan>,
    at_spec: &[String],
    at_plans: &[String],
) -> Result<(), String> {
    let names: Vec<&str> = containers(spec).collect();
    if names.is_empty() {
        return Err(pin(&format!("a {what} needs at least one container with a name"), at_spec));
    }
    variants::check(spec, at_spec)?;
    if let Some(name) = plans.keys().find(|name| !names.contains(&name.as_str())) {
        let hint = did_you_mean(name, names.iter().copied());
        let path = [at_plans, std::slice::from_ref(name)].concat();
        return Err(pin(&format!("the {what} has no container `{name}`{hint}"), &path));
    }
    Ok(())
}
