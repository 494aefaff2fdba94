//! The names of the pods, plans and objects of a case, and whether the names in its steps exist.

use std::collections::{BTreeMap, BTreeSet};

use probity_script::problem::pin;
use probity_script::{Change, Endpoint, Plan};
use serde_json::Value;

use super::{PHASES, STATUSES, SUBRESOURCES, below, containers, did_you_mean, node_verbs, one_of, there_is};
use crate::case::{CasePod, ONLY};
use crate::manifest::variants;
use crate::pod_rules::{self, SIGNALS};
use crate::step::Step;
use crate::wait_conditions::Wait;
use crate::workload::Workload;

/// Everything of a case that has a name.
pub(crate) struct Places<'c> {
    pub(super) pods: &'c BTreeMap<String, CasePod>,
    pub(super) workloads: &'c BTreeMap<String, Workload>,
    pub(super) objects: &'c [Value],
    pub(super) steps: &'c [Step],
    /// Whether its only pod is written as `pod`.
    single: bool,
}

impl<'c> Places<'c> {
    pub(crate) fn new(
        pods: &'c BTreeMap<String, CasePod>,
        workloads: &'c BTreeMap<String, Workload>,
        objects: &'c [Value],
        steps: &'c [Step],
        single: bool,
    ) -> Self {
        Self { pods, workloads, objects, steps, single }
    }

    /// Where a part of a pod is in the document.
    pub(super) fn path(&self, key: &str, parts: &[&str]) -> Vec<String> {
        let first: &[&str] = if self.single { &[] } else { &["pods", key] };
        first.iter().chain(parts).map(|part| (*part).to_owned()).collect()
    }

    /// The spec and the plans of a pod, or of a workload's pods.
    pub(super) fn of(&self, key: &str) -> Option<(&'c Value, &'c BTreeMap<String, Plan>)> {
        let pod = self.pods.get(key).map(|pod| (&pod.pod["spec"], &pod.target));
        pod.or_else(|| self.workloads.get(key).map(|workload| (workload.pod_spec(), &workload.target)))
    }

    /// Checks the names in a step. The existence of its pod has already been checked.
    pub(crate) fn check_step(&self, step: &Step) -> Result<(), String> {
        let (pod, container) = step.speaks_of();
        let key = pod.unwrap_or(ONLY);
        for (place, spec) in step.patched_specs() {
            let path = [&[step.verb(), "patch"], place].concat();
            variants::check(spec, &path.into_iter().map(str::to_owned).collect::<Vec<_>>())?;
        }
        match step {
            Step::Wait(wait) => self.check_wait(wait).map_err(|why| below(&["wait"], &why)),
            Step::Node(of) => node_verbs::check(of),
            Step::Taint(of) => of.check(),
            Step::Untaint(of) => of.check(self.steps.iter().take_while(|other| !std::ptr::eq(*other, step))),
            Step::Advertise(of) => of.check(),
            Step::Change(of) => {
                self.check_change(key, container, &of.to).map_err(|why| below(&["change", "to"], &why))
            }
            Step::Exec(_) => self.check_container(key, container).map_err(|why| below(&["exec"], &why)),
            Step::Create(_) if self.pods.get(key).is_some_and(|pod| !pod.later) && !self.is_removed(key) => {
                let why = format!("pod `{key}` is created at the start: mark it with `later: true`");
                Err(pin(&why, &["create"]))
            }
            Step::Scale(of) => self.check_object(&of.kind, &of.name, "scale"),
            Step::Patch(of) => {
                if let Some(part) = &of.subresource {
                    let path = ["patch", "subresource"];
                    one_of("a subresource that can be patched", part, &SUBRESOURCES, &path)?;
                }
                match (&of.kind, &of.name) {
                    (Some(kind), Some(name)) => self.check_object(kind, name, "patch"),
                    (Some(_), None) => Err(pin("set `name` to the name of the object", &["patch", "kind"])),
                    _ => Ok(()),
                }
            }
            Step::Ephemeral(of) => {
                let path = ["ephemeral", "container"].map(str::to_owned);
                pod_rules::check_ephemeral(&of.container, &path)
            }
            _ => Ok(()),
        }
    }

    /// Whether a step removes a pod, so that another pod with the same name can be created.
    fn is_removed(&self, key: &str) -> bool {
        let removes = |step: &&Step| match step {
            Step::Delete(deletion) => deletion.workload.is_none(),
            Step::Evict(eviction) => eviction.workload.is_none(),
            _ => false,
        };
        self.steps.iter().filter(removes).any(|step| step.speaks_of().0.unwrap_or(ONLY) == key)
    }

    fn check_wait(&self, wait: &Wait) -> Result<(), String> {
        let key = wait.workload.as_deref().or(wait.pod.as_deref()).unwrap_or(ONLY);
        self.check_container(key, wait.container.as_deref())?;
        if let Some(phase) = &wait.phase {
            one_of("a pod phase", phase, &PHASES, &["phase"])?;
        }
        if let Some(condition) = &wait.condition {
            one_of("a condition status", &condition.status, &STATUSES, &["condition", "status"])?;
        }
        if let Some(signal) = &wait.signal {
            one_of("a signal", signal, &SIGNALS, &["signal"])?;
        }
        if let Some(dumped) = &wait.dumped
            && dumped.says.is_some() == dumped.missing
        {
            let why = "`dumped` needs either `says` with a part of the file's content, or `missing: true`";
            return Err(pin(why, &["dumped"]));
        }
        if let Some(serving) = &wait.serving {
            let services =
                || self.objects.iter().filter(|object| object["kind"] == "Service").filter_map(name);
            if !services().any(|service| service == serving.service) {
                let hint = there_is(&serving.service, services());
                let why = format!("the case has no Service `{}` under `objects`{hint}", serving.service);
                return Err(pin(&why, &["serving", "service"]));
            }
        }
        let Some((_, plans)) = self.of(key) else { return Ok(()) };
        if wait.asked.is_none() && wait.signal.is_none() && wait.dumped.is_none() {
            return Ok(());
        }
        let first = plans.keys().next().map(String::as_str);
        let Some(target) = wait.container.as_deref().or(first).filter(|name| plans.contains_key(*name))
        else {
            let hint = there_is("", plans.keys().map(String::as_str));
            return Err(pin(
                &format!("only a container with a plan under `target` records this{hint}"),
                &["container"],
            ));
        };
        match &wait.asked {
            Some(asked) => {
                let known = self.endpoints(&[(key, target)]);
                check_endpoint(&asked.at, &known, &format!("target `{target}` has no endpoint"))
                    .map_err(|why| below(&["asked", "at"], &why))
            }
            None => Ok(()),
        }
    }

    fn check_container(&self, key: &str, container: Option<&str>) -> Result<(), String> {
        let (Some((spec, _)), Some(name)) = (self.of(key), container) else { return Ok(()) };
        let added = self.steps.iter().filter_map(|step| match step {
            Step::Ephemeral(of) => of.container["name"].as_str(),
            _ => None,
        });
        if containers(spec).chain(added).any(|known| known == name) {
            return Ok(());
        }
        let what = if self.workloads.contains_key(key) { "the template of workload" } else { "pod" };
        let hint = there_is(name, containers(spec));
        Err(pin(&format!("{what} `{key}` has no container `{name}`{hint}"), &["container"]))
    }

    fn check_change(&self, key: &str, container: Option<&str>, change: &Change) -> Result<(), String> {
        let Some((_, plans)) = self.of(key) else { return Ok(()) };
        let first = || plans.keys().next().map(String::as_str);
        let Some(plan) = container.or_else(first).and_then(|name| plans.get(name)) else { return Ok(()) };
        let (_, touched) = change.clone().apply(plan)?;
        let known = plan_endpoints(plan);
        let star = |of: &str| Endpoint::Of { listener: of.to_owned(), name: "*".to_owned() };
        for endpoint in touched {
            let path = match &endpoint {
                Endpoint::Of { listener, name } if !known.contains(&star(listener)) => {
                    let part = if name.starts_with('/') { "paths" } else { "services" };
                    vec!["listeners", listener.as_str(), part, name.as_str()]
                }
                Endpoint::Exec(name) => vec!["exec", name.as_str()],
                _ => continue,
            };
            if !known.contains(&endpoint) {
                let texts: Vec<String> = known.iter().map(Endpoint::to_string).collect();
                let hint = did_you_mean(&endpoint.to_string(), texts.iter().map(String::as_str));
                let why = format!("the plan has no `{endpoint}` to change{hint}");
                return Err(pin(&why, &path));
            }
        }
        Ok(())
    }

    fn check_object(&self, kind: &str, named: &str, step: &str) -> Result<(), String> {
        let of_workloads =
            self.workloads.iter().filter(|(_, of)| of.kind() == kind).map(|(key, _)| key.as_str());
        let of_objects = self.objects.iter().filter(|object| object["kind"] == kind).filter_map(name);
        let known: Vec<&str> = of_workloads.chain(of_objects).collect();
        if known.contains(&named) {
            return Ok(());
        }
        let hint = there_is(named, known);
        Err(pin(&format!("the case has no {kind} `{named}`{hint}"), &[step, "name"]))
    }

    /// The endpoints of these containers, with those that steps add.
    pub(super) fn endpoints(&self, of: &[(&str, &str)]) -> BTreeSet<Endpoint> {
        let mut known = BTreeSet::new();
        for (key, container) in of {
            if let Some(plan) = self.of(key).and_then(|(_, plans)| plans.get(*container)) {
                known.extend(plan_endpoints(plan));
            }
            for step in self.steps {
                match step {
                    Step::Change(change) => {
                        let plan = self.of(key).and_then(|(_, plans)| plans.get(*container)).cloned();
                        let changed = plan.and_then(|plan| change.to.clone().apply(&plan).ok());
                        known.extend(changed.into_iter().flat_map(|(_, touched)| touched));
                    }
                    Step::Update(update) if update.workload == *key => {
                        known.extend(update.target.get(*container).into_iter().flat_map(plan_endpoints));
                    }
                    _ => {}
                }
            }
        }
        known
    }
}

/// The endpoints of a plan that have a script.
fn plan_endpoints(plan: &Plan) -> BTreeSet<Endpoint> {
    let mut all = BTreeSet::from([Endpoint::Stop]);
    for (listener, settings) in &plan.listeners {
        let of = |name: &String| Endpoint::Of { listener: listener.clone(), name: name.clone() };
        all.insert(Endpoint::Connections(listener.clone()));
        all.insert(Endpoint::Listen(listener.clone()));
        all.extend(settings.paths.keys().chain(settings.services.keys()).map(of));
    }
    all.extend(plan.exec.keys().cloned().map(Endpoint::Exec));
    all
}

/// Rejects an endpoint that no plan has, because nothing is ever counted for such an endpoint. `nobody` is the
/// beginning of the error: which target or pod has no endpoint.
pub(super) fn check_endpoint(of: &Endpoint, known: &BTreeSet<Endpoint>, nobody: &str) -> Result<(), String> {
    if known.contains(of) {
        return Ok(());
    }
    if let Endpoint::Of { listener, .. } = of {
        let star = Endpoint::Of { listener: listener.clone(), name: "*".to_owned() };
        if known.contains(&star) {
            let why = format!(
                "the path `*` of the plan answers `{of}`, so these requests are counted under `*`: \
                               write `{star}`"
            );
            return Err(why);
        }
    }
    let texts: Vec<String> = known.iter().map(Endpoint::to_string).collect();
    // An author rarely means a port or a signal, so only requests and commands are suggested.
    let asked = texts.iter().map(String::as_str).filter(|text| !text.ends_with("@listen") && *text != "stop");
    Err(format!("{nobody} `{of}`{}", there_is(&of.to_string(), asked)))
}

/// The name of an object, as written in the case.
fn name(object: &Value) -> Option<&str> {
    object["metadata"]["name"].as_str()
}
