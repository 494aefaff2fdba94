//! Whether everything that an expectation names exists.

use probity_model::expectation::{DoneBy, Expectation, Occurrence, Since};
use probity_script::Endpoint;
use probity_script::problem::pin;

use super::places::{Places, check_endpoint};
use super::{PHASES, below, containers, one_of, there_is};
use crate::pod_rules::SIGNALS;
use crate::step::Step;

impl Places<'_> {
    /// Checks the names in an expectation. Errors are pinned to their places in the expectation.
    pub(crate) fn check_expectation(&self, expectation: &Expectation) -> Result<(), String> {
        match expectation {
            Expectation::Never(of) => self.occurrence(of, &["never"]),
            Expectation::Always(of) => self.occurrence(of, &["always"]),
            Expectation::Times { of, .. } => self.occurrence(of, &["times", "of"]),
            Expectation::Before { earlier, later } => {
                self.occurrence(earlier, &["before", "earlier"])?;
                self.occurrence(later, &["before", "later"])
            }
            Expectation::Within { of, after, .. } => {
                self.occurrence(of, &["within", "of"])?;
                self.occurrence(after, &["within", "after"])
            }
        }
    }

    fn occurrence(&self, of: &Occurrence, path: &[&str]) -> Result<(), String> {
        self.words_of(of, None, None).map_err(|why| below(path, &why))
    }

    /// Checks an occurrence in this pod and container, or in any pod and container.
    fn words_of(&self, of: &Occurrence, pod: Option<&str>, container: Option<&str>) -> Result<(), String> {
        let at = |endpoint: &Endpoint, word: &str| {
            let targets = self.targets(pod, container);
            let nobody = match (pod, container) {
                (_, Some(name)) => format!("target `{name}` has no endpoint"),
                (Some(key), _) => format!("pod `{key}` has no endpoint"),
                _ => "no target of the case has an endpoint".to_owned(),
            };
            check_endpoint(endpoint, &self.endpoints(&targets), &nobody).map_err(|why| below(&[word], &why))
        };
        match of {
            Occurrence::ProbeOf(endpoint) => at(endpoint, "probe-of"),
            Occurrence::SuccessOf(endpoint) => at(endpoint, "success-of"),
            Occurrence::FailureOf(endpoint) => at(endpoint, "failure-of"),
            Occurrence::Signal(signal) => one_of("a signal", signal, &SIGNALS, &["signal"]),
            Occurrence::Phase(phase) => one_of("a pod phase", phase, &PHASES, &["phase"]),
            Occurrence::Only(only) => {
                let said = self.limits(only.pod.as_deref(), only.container.as_deref(), only.since.as_ref());
                said.map_err(|why| below(&["only"], &why))?;
                let what = self.words_of(&only.what, only.pod.as_deref(), only.container.as_deref());
                what.map_err(|why| below(&["only", "what"], &why))
            }
            _ => Ok(()),
        }
    }

    /// The targets that match, as pairs of a pod's key and a container.
    fn targets(&self, pod: Option<&str>, container: Option<&str>) -> Vec<(&str, &str)> {
        let keys = self.pods.keys().chain(self.workloads.keys()).map(String::as_str);
        let keys = keys.filter(|key| pod.is_none_or(|wanted| wanted == *key));
        let of = |key| {
            self.of(key)
                .into_iter()
                .flat_map(move |(_, plans)| plans.keys().map(move |name| (key, name.as_str())))
        };
        let all = keys.flat_map(of);
        all.filter(|(_, name)| container.is_none_or(|wanted| wanted == *name)).collect()
    }

    fn limits(
        &self,
        pod: Option<&str>,
        container: Option<&str>,
        since: Option<&Since>,
    ) -> Result<(), String> {
        let keys = || self.pods.keys().chain(self.workloads.keys()).map(String::as_str);
        if let Some(key) = pod.filter(|key| self.of(key).is_none()) {
            return Err(pin(&format!("the case has no pod `{key}`{}", there_is(key, keys())), &["pod"]));
        }
        let meant =
            keys().filter(|key| pod.is_none_or(|wanted| wanted == *key)).filter_map(|key| self.of(key));
        let names: Vec<&str> = meant.flat_map(|(spec, _)| containers(spec)).collect();
        if let Some(name) = container.filter(|name| !names.contains(name)) {
            let why = format!("no pod has a container `{name}`{}", there_is(name, names));
            return Err(pin(&why, &["container"]));
        }
        match since {
            Some(Since::Mark(name)) => {
                let marks = || {
                    self.steps.iter().filter_map(|step| {
                        if let Step::Mark(of) = step { Some(of.name.as_str()) } else { None }
                    })
                };
                if marks().any(|mark| mark == name) {
                    return Ok(());
                }
                Err(pin(
                    &format!("no step sets the mark `{name}`{}", there_is(name, marks())),
                    &["since", "mark"],
                ))
            }
            Some(Since::Step(by)) if !self.steps.iter().any(|step| is_done(step, *by)) => {
                Err(pin("the case has no such step", &["since", "step"]))
            }
            _ => Ok(()),
        }
    }
}

fn is_done(step: &Step, by: DoneBy) -> bool {
    match by {
        DoneBy::Change => matches!(step, Step::Change(_)),
        DoneBy::Reset => matches!(step, Step::Reset(_)),
        DoneBy::Delete => matches!(step, Step::Delete(_)),
        DoneBy::Evict => matches!(step, Step::Evict(_)),
        DoneBy::Patch => matches!(step, Step::Patch(_) | Step::Update(_)),
        DoneBy::Scale => matches!(step, Step::Scale(_)),
        DoneBy::Exec => matches!(step, Step::Exec(_)),
        DoneBy::Node => matches!(step, Step::Node(_)),
    }
}
