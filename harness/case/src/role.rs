//! The axis `container-kind` of a matrix: the same case for main containers and for sidecars.
//!
//! The axis decides only in which list of its pod a container is. The containers themselves do not change. The purpose
//! of the pod does not matter here.

use probity_script::problem::{nearest, pin};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::case::CasePod;
use crate::matrix::Variant;

/// The name of the axis.
pub(super) const AXIS: &str = "container-kind";

/// The container that replaces the containers that became sidecars, because a pod needs at least one main container.
const STAND_IN: &str = "main";

/// A value of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ContainerRole {
    Main,
    Sidecar,
}

impl ContainerRole {
    /// Reads the kind from a value.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        serde_json::from_value(value.clone()).map_err(|_| {
            let words = ["main", "sidecar"];
            let near = value.as_str().and_then(|word| nearest(word, words));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("a kind of container is `main` or `sidecar`, not {value}{hint}")
        })
    }

    /// The kind of a variant: main containers if its matrix does not have the axis.
    pub(super) fn of(variant: &Variant) -> Self {
        let value = variant.iter().find(|(axis, _)| axis == AXIS).map(|(_, value)| value);
        value.and_then(|value| Self::read(value).ok()).unwrap_or(Self::Main)
    }
}

/// Turns all containers that have a probe into sidecars. If no other container is left, adds one that does nothing.
/// Returns whether any container had a probe.
///
/// # Errors
///
/// If the pod already has a container with the name of the added one.
pub(super) fn make_sidecars(pod: &mut CasePod, path: &[String]) -> Result<bool, String> {
    let Some(spec) = pod.pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(false) };
    let Some(containers) = spec.get_mut("containers").and_then(Value::as_array_mut) else { return Ok(false) };
    let (mut sidecars, mut others) = (Vec::new(), Vec::new());
    for (at, mut container) in std::mem::take(containers).into_iter().enumerate() {
        if is_probed(&container) {
            container["restartPolicy"] = json!("Always");
            pod.moved.push(at);
            sidecars.push(container);
        } else {
            others.push(container);
        }
    }
    let taken = sidecars.iter().position(|container| container["name"] == STAND_IN);
    if let (Some(at), true) = (taken, others.is_empty()) {
        let why =
            format!("the harness adds a container called `{STAND_IN}` beside the sidecars; rename this one");
        let rest = ["pod", "spec", "containers", &pod.moved[at].to_string(), "name"].map(str::to_owned);
        return Err(pin(&why, &[path, &rest].concat()));
    }
    if others.is_empty() {
        others.push(json!({ "name": STAND_IN }));
    }
    *containers = others;
    let any = !sidecars.is_empty();
    match spec.get_mut("initContainers").and_then(Value::as_array_mut) {
        Some(first) => first.extend(sidecars),
        None if any => drop(spec.insert("initContainers".to_owned(), Value::Array(sidecars))),
        None => {}
    }
    Ok(any)
}

fn is_probed(container: &Value) -> bool {
    ["startupProbe", "livenessProbe", "readinessProbe"].iter().any(|probe| container.get(*probe).is_some())
}

impl CasePod {
    /// The place in the file of the container that is now at this place of `list` (`containers` or `initContainers`).
    /// The place differs if the axis `container-kind` turned this container, or others before it, into sidecars.
    #[must_use]
    pub fn written_at<'l>(&self, list: &'l str, at: usize) -> (&'l str, usize) {
        let first = self.pod["spec"]["initContainers"].as_array().map_or(0, Vec::len) - self.moved.len();
        match list {
            "initContainers" => match at.checked_sub(first).and_then(|at| self.moved.get(at)) {
                Some(written) => ("containers", *written),
                None => (list, at),
            },
            _ => (list, self.moved.iter().fold(at, |at, moved| if *moved <= at { at + 1 } else { at })),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use crate::case::{Case, CasePod, ONLY};

    const TEXT: &str = "\
case: mine/one
story: x
matrix: { container-kind: [main, sidecar] }
pod:
  spec:
    initContainers: [{ name: before }]
    containers:
      - name: plain
      - { name: first, readinessProbe: { tcpSocket: { port: 80 } } }
      - name: beside
      - { name: second, livenessProbe: { tcpSocket: { port: 81 } } }
";

    fn read(text: &str) -> Vec<(String, CasePod)> {
        let cases = Case::read("f", text).unwrap();
        cases.into_iter().map(|case| (case.name.0.clone(), case.pods[ONLY].clone())).collect()
    }

    fn refused(text: &str) -> String {
        Case::read("f", text).err().map(|problem| problem.line()).unwrap_or_default()
    }

    fn names(pod: &CasePod, list: &str) -> Vec<String> {
        let containers = pod.pod["spec"][list].as_array().into_iter().flatten();
        containers.map(|container| container["name"].as_str().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn containers_with_a_probe_become_sidecars_and_all_others_stay() {
        let variants = read(TEXT);
        assert_eq!(names(&variants[0].1, "containers"), ["plain", "first", "beside", "second"]);
        let sidecar = &variants[1].1;
        assert_eq!(names(sidecar, "initContainers"), ["before", "first", "second"]);
        assert_eq!(names(sidecar, "containers"), ["plain", "beside"]);
        assert_eq!(sidecar.pod["spec"]["initContainers"][2]["restartPolicy"], "Always");
        assert!(sidecar.pod["spec"]["initContainers"][0].get("restartPolicy").is_none());
    }

    #[test]
    fn the_case_for_main_containers_keeps_its_name() {
        let names: Vec<String> = read(TEXT).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["mine/one", "mine/one/container-kind=sidecar"]);
    }

    #[test]
    fn a_container_that_does_nothing_stands_in_where_none_is_left() {
        let text = "case: a/b\nstory: x\nmatrix: { container-kind: [sidecar] }\npod:\n  spec:\n    containers:\n      \
                    - { name: one, startupProbe: { exec: { command: [x] } } }\n";
        assert_eq!(names(&read(text)[0].1, "containers"), ["main"]);
        let said = refused(&text.replace("name: one", "name: main"));
        assert!(
            said.starts_with("f, line 7, column 17: the harness adds a container called `main`"),
            "{said}"
        );
    }

    #[test]
    fn a_place_in_the_pod_is_found_in_the_file() {
        let sidecar = &read(TEXT)[1].1;
        let at = |list, at| sidecar.written_at(list, at);
        assert_eq!(
            [at("initContainers", 0), at("initContainers", 1)],
            [("initContainers", 0), ("containers", 1)]
        );
        assert_eq!([at("initContainers", 2), at("containers", 0)], [("containers", 3), ("containers", 0)]);
        assert_eq!(at("containers", 1), ("containers", 2));
        let main = &read(TEXT)[0].1;
        assert_eq!(main.written_at("containers", 3), ("containers", 3));
        assert_eq!(main.written_at("initContainers", 0), ("initContainers", 0));
    }

    #[test]
    fn a_kind_that_does_not_exist_and_an_axis_that_changes_nothing_are_refused_at_their_place() {
        let said = refused(&TEXT.replace("[main, sidecar]", "[main, sidcar]"));
        assert_eq!(
            said,
            "f, line 3, column 34: a kind of container is `main` or `sidecar`, not \"sidcar\"; did you mean `sidecar`?"
        );
        let probes =
            ["readinessProbe: { tcpSocket: { port: 80 } }", "livenessProbe: { tcpSocket: { port: 81 } }"];
        let said =
            refused(&probes.iter().fold(TEXT.to_owned(), |text, probe| text.replace(probe, "tty: true")));
        assert!(said.starts_with("f, line 3, column 11: no container has a probe"), "{said}");
    }
}
