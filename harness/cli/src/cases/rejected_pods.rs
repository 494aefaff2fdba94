//! A pod or a workload that the API server rejects, with the place in the file.

use probity_case::{Case, CasePod};
use probity_cluster::{Refusal, RefusedPod};
use probity_script::problem::Problem;
use serde_json::Value;

use super::book::CaseFile;
use super::pods;

/// The problems of a rejected pod or workload of a case, each at its place in the file.
pub(crate) fn problems(file: &CaseFile, case: &Case, rejected: &RefusedPod) -> Vec<Problem> {
    let key = rejected.pod.as_str();
    let (workload, own) = (case.workloads.get(key), case.pods.get(key));
    let object = workload.map(|of| &of.workload).or(own.map(|pod| &pod.pod)).unwrap_or(&Value::Null);
    let what = if workload.is_some() { "workload" } else { "pod" };
    let problem = |(field, why): &(String, String)| {
        let mut path = pods::path(&file.text, key, workload.is_some());
        let inside = resolved(object, &parts(field));
        path.extend(match own {
            Some(pod) => written(pod, inside),
            None => inside,
        });
        file.problem(&sentence(what, field, why), &path)
    };
    causes(&rejected.refusal).iter().map(problem).collect()
}

/// A sentence about a rejection.
pub(crate) fn sentence(what: &str, field: &str, why: &str) -> String {
    let field = if field.is_empty() { String::new() } else { format!("{field}: ") };
    format!("the API server rejects this {what}: {field}{why}")
}

/// The fields at fault, with a sentence each. If the API server lists no fields, they are taken from its message. If the
/// message names no field either, the field is empty.
pub(crate) fn causes(refusal: &Refusal) -> Vec<(String, String)> {
    let message = &refusal.message;
    if refusal.causes.iter().any(|(field, _)| !field.is_empty()) {
        return refusal.causes.clone();
    }
    let mut fields = fields_in(message);
    if fields.is_empty() {
        fields.push(String::new());
    }
    fields.into_iter().map(|field| (field, message.clone())).collect()
}

/// The parts of the name of a field, as the API server writes it: `spec.containers[0].livenessProbe`,
/// `metadata.labels[a/b]`.
pub(crate) fn parts(field: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for c in field.chars() {
        match c {
            '.' if !inside => parts.push(String::new()),
            '[' => {
                inside = true;
                parts.push(String::new());
            }
            ']' => inside = false,
            c => parts.iter_mut().last().into_iter().for_each(|part| part.push(c)),
        }
    }
    parts.into_iter().map(|part| part.trim_matches('"').to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The path in the pod. For a wrong type, the server omits the position in a list; the path then uses the first element
/// that has the next part. The path ends with the first part that the pod does not have.
pub(crate) fn resolved(pod: &Value, parts: &[String]) -> Vec<String> {
    let (mut value, mut path) = (pod, Vec::new());
    for part in parts {
        if let Some(list) = value.as_array().filter(|_| part.parse::<usize>().is_err()) {
            let Some(at) = list.iter().position(|element| element.get(part).is_some()) else { break };
            path.push(at.to_string());
            value = &list[at];
        }
        let next = match part.parse::<usize>() {
            Ok(at) if value.is_array() => value.get(at),
            _ => value.get(part),
        };
        path.push(part.clone());
        let Some(next) = next else { break };
        value = next;
    }
    path
}

/// The same path in the file.
fn written(pod: &CasePod, mut path: Vec<String>) -> Vec<String> {
    if let [spec, list, at, ..] = path.as_mut_slice()
        && spec == "spec"
        && ["containers", "initContainers"].contains(&list.as_str())
        && let Ok(place) = at.parse()
    {
        let (of, place) = pod.written_at(list, place);
        (*list, *at) = (of.to_owned(), place.to_string());
    }
    path
}

/// The fields that a sentence of the API server names: in quotes after `unknown field`, or after the name of a Go struct.
fn fields_in(message: &str) -> Vec<String> {
    let quoted = message.split("field \"").skip(1).filter_map(|rest| rest.split('"').next());
    let typed = message.split("Go struct field ").skip(1).filter_map(|rest| {
        let name = rest.split_whitespace().next()?;
        name.split_once('.').map(|(_, field)| field)
    });
    let mut fields: Vec<String> = quoted.chain(typed).map(str::to_owned).collect();
    fields.dedup();
    fields
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_case::ONLY;

    use super::*;

    const TEXT: &str = "\
case: mine/one
story: x
pod:
  spec:
    containers:
      - name: first
      - name: second
        livenessProbe: { httpGet: { path: /, port: 80 }, periodSeconds: 9 }
";

    fn told(message: &str, causes: &[(&str, &str)]) -> Vec<String> {
        told_of(TEXT, message, causes)
    }

    fn told_of(text: &str, message: &str, causes: &[(&str, &str)]) -> Vec<String> {
        let cases = Case::read("case.yaml", text).unwrap();
        let case = cases.last().unwrap().clone();
        let file = CaseFile { source: "case.yaml".to_owned(), text: text.to_owned(), cases, own: true };
        let causes = causes.iter().map(|(field, why)| ((*field).to_owned(), (*why).to_owned())).collect();
        let refusal = Refusal { message: message.to_owned(), causes, ..Refusal::default() };
        let rejected = RefusedPod { case: case.name.clone(), pod: ONLY.to_owned(), refusal };
        problems(&file, &case, &rejected).iter().map(Problem::line).collect()
    }

    #[test]
    fn a_cause_with_a_field_has_its_place() {
        let said =
            told("Pod is invalid", &[("spec.containers[1].livenessProbe.periodSeconds", "must be positive")]);
        let place = "case.yaml, line 8, column 73: the API server rejects this pod: ";
        assert_eq!(
            said,
            [format!("{place}spec.containers[1].livenessProbe.periodSeconds: must be positive")]
        );
    }

    #[test]
    fn a_misspelt_field_is_found_in_the_sentence() {
        let message = "strict decoding error: unknown field \"spec.containers[1].livenessProbe\"";
        let said = told(message, &[]);
        assert!(said.len() == 1 && said[0].starts_with("case.yaml, line 8, column 9: "), "{said:?}");
    }

    #[test]
    fn a_wrong_type_is_found_though_the_server_names_no_place_in_the_list() {
        let message = "json: cannot unmarshal string into Go struct field \
                       Probe.spec.containers.livenessProbe.periodSeconds of type int32";
        let said = told(message, &[]);
        assert!(said.len() == 1 && said[0].starts_with("case.yaml, line 8, column 73: "), "{said:?}");
    }

    #[test]
    fn what_became_a_sidecar_by_the_matrix_is_found_where_it_is_written() {
        let text = TEXT.to_owned() + "matrix: { container-kind: [main, sidecar] }\n";
        let field = "spec.initContainers[0].livenessProbe.periodSeconds";
        let said = told_of(&text, "Pod is invalid", &[(field, "must be positive")]);
        assert!(said.len() == 1 && said[0].starts_with("case.yaml, line 8, column 73: "), "{said:?}");
    }

    #[test]
    fn what_names_no_field_stands_at_the_pod() {
        let said = told("admission webhook said no", &[]);
        assert!(said.len() == 1 && said[0].starts_with("case.yaml, line 3, column 1: "), "{said:?}");
    }

    #[test]
    fn a_key_in_brackets_is_one_part() {
        assert_eq!(parts("metadata.labels[a.b/c].x"), ["metadata", "labels", "a.b/c", "x"]);
    }
}
