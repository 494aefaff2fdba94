//! How long a case probably takes, according to its probes, plans and steps. The forecast is used for the order of a
//! run and shown to users. No judge uses it.

use std::collections::BTreeMap;

use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};
use probity_script::{Endpoint, Plan, Script, Span};
use serde_json::Value;

use crate::case::{Case, ONLY};
use crate::manifest::PROGRAM;
use crate::step::Step;
use crate::wait_conditions::Wait;

const SECOND: u64 = 1_000_000;
/// The time that scheduling, starting and removing a pod adds to the steps of a case.
const AROUND: u64 = 4 * SECOND;
/// The assumed duration of a wait about which nothing is known.
const USUAL: u64 = 4 * SECOND;
/// The maximum duration of a wait without `within`.
const LONGEST_WAIT: u64 = 60 * SECOND;
/// The duration of a step that calls the API server or a target.
const CALL: u64 = SECOND / 5;

/// How long a case without steps watches its pods: long enough for each probe to reach its threshold twice.
#[must_use]
pub fn watched<'p>(probes: impl Iterator<Item = &'p ProbeSpec>) -> Span {
    let needs = probes.map(|probe| {
        let decided_twice = probe.period * probe.failures.max(probe.successes) * 2;
        probe.initial_delay + decided_twice + probe.timeout + 3_000_000
    });
    let span = needs.max().unwrap_or(15_000_000).clamp(10_000_000, 180_000_000);
    Span::from_micros(u64::try_from(span).unwrap_or_default())
}

impl Case {
    /// How long the case takes, in whole seconds: as the author states, or calculated from steps, probes and plans.
    #[must_use]
    pub fn forecast(&self) -> Span {
        self.takes.unwrap_or_else(|| {
            let steps: u64 = match self.steps.is_empty() {
                true => watched(self.all_probes().iter().map(|(.., probe)| probe)).micros(),
                false => self.steps.iter().map(|step| self.step_takes(step)).sum(),
            };
            // A case without steps lasts at least until the last action of its plans, because a plan contains no action
            // that the case does not need.
            let plans = self.keys().filter_map(|key| self.plans(key)).flat_map(BTreeMap::values);
            let planned = if self.steps.is_empty() { 0 } else { plans.map(scripted).max().unwrap_or(0) };
            Span::from_micros((steps.max(planned) + AROUND).next_multiple_of(SECOND))
        })
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.pods.keys().chain(self.workloads.keys()).map(String::as_str)
    }

    fn spec(&self, key: &str) -> Option<&Value> {
        let pod = self.pods.get(key).map(|pod| &pod.pod["spec"]);
        pod.or_else(|| self.workloads.get(key).map(|workload| workload.pod_spec()))
    }

    /// All probes, each with the key of its pod and its container.
    fn all_probes(&self) -> Vec<(&str, &str, ProbeSpec)> {
        let mut all = Vec::new();
        for key in self.keys() {
            let lists = ["initContainers", "containers"].into_iter();
            let lists = lists.filter_map(|list| self.spec(key)?[list].as_array());
            for container in lists.flatten() {
                let name = container["name"].as_str().unwrap_or_default();
                let probes = ProbeKind::ALL.iter().filter_map(|kind| ProbeSpec::of(container, *kind));
                all.extend(probes.map(|probe| (key, name, probe)));
            }
        }
        all
    }

    fn step_takes(&self, step: &Step) -> u64 {
        match step {
            Step::Watch(span) => span.micros(),
            Step::Wait(wait) => {
                let most = wait.within.map_or(LONGEST_WAIT, Span::micros);
                self.wait_takes(wait).min(most)
            }
            Step::Drain(of) => (of.timeout() * SECOND / 2).max(USUAL),
            _ => CALL,
        }
    }

    fn wait_takes(&self, wait: &Wait) -> u64 {
        let key = wait.workload.as_deref().or(wait.pod.as_deref()).unwrap_or(ONLY);
        let plans = self.plans(key);
        let first = plans.and_then(|plans| plans.keys().next()).map(String::as_str);
        let container = wait.container.as_deref().or(first).unwrap_or_default();
        let plan = plans.and_then(|plans| plans.get(container));
        let of_pod = self.all_probes().into_iter().filter(|(of, ..)| *of == key);
        let probes: Vec<(&str, ProbeSpec)> = of_pod.map(|(_, name, probe)| (name, probe)).collect();
        let own = || probes.iter().filter(|(name, _)| *name == container).map(|(_, probe)| probe);
        let mut takes = USUAL;
        if let Some(asked) = &wait.asked {
            let asks = |probe: &&ProbeSpec| {
                plan.is_some_and(|plan| endpoint(plan, &probe.handler).as_ref() == Some(&asked.at))
            };
            if let Some(period) = own().filter(asks).map(|probe| probe.period).min() {
                takes = takes.max(asked.times.saturating_mul(micros(period)));
            }
        }
        if let Some(ready) = wait.ready {
            let of_kind = probes.iter().filter(|(_, probe)| probe.kind == ProbeKind::Readiness);
            let turns =
                of_kind.map(|(_, probe)| if ready { probe.successes } else { probe.failures } * probe.period);
            takes = takes.max(micros(turns.max().unwrap_or(0)));
        }
        if wait.restarts.is_some() || wait.signal.is_some() {
            let killers = own().filter(|probe| probe.kind != ProbeKind::Readiness);
            takes = takes.max(micros(killers.map(|probe| probe.failures * probe.period).min().unwrap_or(0)));
        }
        if let (Some(true), Some(workload)) = (wait.stalled, self.workloads.get(key)) {
            let deadline = workload.workload["spec"]["progressDeadlineSeconds"].as_u64().unwrap_or(600);
            takes = takes.max(deadline.saturating_mul(SECOND));
        }
        takes
    }
}

fn micros(span: i64) -> u64 {
    u64::try_from(span).unwrap_or_default()
}

/// The endpoint of a plan to which a probe sends its requests.
fn endpoint(plan: &Plan, handler: &Handler) -> Option<Endpoint> {
    if let Handler::Exec { command } = handler {
        return match command.as_slice() {
            [program, verb, name, ..] if program == PROGRAM && verb == "exec" => {
                Some(Endpoint::Exec(name.clone()))
            }
            _ => None,
        };
    }
    let port = handler.port()?;
    let (listener, settings) = plan.listeners.iter().find(|(_, listener)| listener.port == port)?;
    let of = |name: &str| Endpoint::Of { listener: listener.clone(), name: name.to_owned() };
    match handler {
        Handler::Http { path, .. } => {
            let plain = path.split(['?', '#']).next().unwrap_or_default();
            Some(of(if settings.paths.contains_key(plain) { plain } else { "*" }))
        }
        Handler::Grpc { service, .. } => {
            Some(of(if settings.services.contains_key(service) { service } else { "*" }))
        }
        Handler::Tcp { .. } | Handler::Exec { .. } => Some(Endpoint::Connections(listener.clone())),
    }
}

/// The latest time for which a plan schedules an action.
fn scripted(plan: &Plan) -> u64 {
    fn lasts<A>(script: &Script<A>) -> u64 {
        script.steps().iter().filter_map(|step| step.lasts).map(Span::micros).sum()
    }
    let of_listeners = plan.listeners.values().flat_map(|listener| {
        let whole = [lasts(&listener.listen), lasts(&listener.connections)].into_iter();
        let paths = listener.paths.values().map(lasts);
        whole.chain(paths).chain(listener.services.values().map(lasts)).collect::<Vec<_>>()
    });
    of_listeners.chain(plan.exec.values().map(lasts)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use crate::case::Case;

    fn seconds(steps: &str, period: u64) -> u64 {
        let text = format!(
            "case: a/b\nstory: x\npod:\n  spec:\n    containers:\n      - name: c\n        livenessProbe: {{ httpGet: {{ path: /a, \
             port: 80 }}, periodSeconds: {period} }}\ntarget: {{ c: {{ listeners: {{ web: {{ port: 80, paths: {{ /a: \
             [{{ answer: 200, for: 9s }}, {{ answer: 503 }}] }} }} }} }} }}\n{steps}"
        );
        Case::read("f", &text).unwrap()[0].forecast().micros() / 1_000_000
    }

    #[test]
    fn a_case_without_steps_takes_as_long_as_its_probes_need() {
        assert_eq!(seconds("", 10), 68, "two times three failures, ten seconds apart, and what is around");
        assert_eq!(seconds("takes: 7s\n", 10), 7);
    }

    #[test]
    fn a_wait_takes_as_long_as_what_is_waited_for() {
        assert_eq!(seconds("steps: [{ wait: { asked: { at: 'web:/a', times: 5 } } }]\n", 10), 54);
        assert_eq!(seconds("steps: [{ wait: { restarts: 1 } }]\n", 10), 34);
        assert_eq!(seconds("steps: [{ wait: { restarts: 1, within: 12s } }]\n", 10), 16);
    }

    #[test]
    fn a_case_takes_no_less_than_what_its_plan_does_in_time() {
        assert_eq!(seconds("steps: [{ watch: 1s }]\n", 1), 13);
    }
}
