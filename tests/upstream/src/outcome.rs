//! The outcome of a spec, from Ginkgo's report.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The outcome of a spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state", content = "why")]
pub(crate) enum SpecOutcome {
    /// It passed.
    Passed,
    /// It failed, with the first line of its message.
    Failed(String),
    /// It did not run, with the reason.
    Skipped(String),
}

/// The outcome of the spec that was requested. A loop in the source creates several specs at the same line: the
/// requested spec passes if all of these specs pass.
///
/// # Errors
///
/// If the report has no such spec: then the run proves nothing.
pub(crate) fn of_report(report: &Value, focus: &str) -> Result<SpecOutcome, String> {
    let suites = report.as_array().into_iter().flatten();
    let specs = suites.flat_map(|suite| suite["SpecReports"].as_array().into_iter().flatten());
    let place = |spec: &Value| {
        let place = &spec["LeafNodeLocation"];
        format!("{}:{}", place["FileName"].as_str().unwrap_or_default(), place["LineNumber"])
    };
    if specs.clone().any(|spec| place(spec).ends_with(focus) && is_slow(spec)) {
        return Ok(SpecOutcome::Skipped("upstream labels it as slow".to_owned()));
    }
    // The rest of the suite, which was not requested, is skipped without a message.
    let asked = |spec: &&Value| {
        spec["LeafNodeType"] == "It" && (spec["State"] != "skipped" || spec["Failure"].is_object())
    };
    let worst = |outcome: &SpecOutcome| match outcome {
        SpecOutcome::Failed(_) => 0,
        SpecOutcome::Skipped(_) => 1,
        SpecOutcome::Passed => 2,
    };
    let found = specs.filter(asked).map(of_spec).min_by_key(worst);
    found.ok_or_else(|| "the report has no spec that ran".to_owned())
}

fn is_slow(spec: &Value) -> bool {
    let own = spec["LeafNodeLabels"].as_array().into_iter().flatten();
    let above = spec["ContainerHierarchyLabels"].as_array().into_iter().flatten();
    own.chain(above.flat_map(|labels| labels.as_array().into_iter().flatten())).any(|label| label == "Slow")
}

fn of_spec(spec: &Value) -> SpecOutcome {
    let message = || {
        let text = spec["Failure"]["Message"].as_str().unwrap_or_default();
        text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message").trim().to_owned()
    };
    match spec["State"].as_str() {
        Some("passed") => SpecOutcome::Passed,
        Some("skipped" | "pending") => SpecOutcome::Skipped(message()),
        _ => SpecOutcome::Failed(message()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HERE: &str = "test/e2e/a.go:7";

    #[test]
    fn a_slow_spec_is_left_out() {
        let place = json!({ "FileName": "k8s.io/kubernetes@v1/test/e2e/a.go", "LineNumber": 7 });
        let slow = json!({
            "LeafNodeType": "It", "State": "skipped", "LeafNodeLocation": place,
            "LeafNodeLabels": ["NodeConformance"], "ContainerHierarchyLabels": [[], ["Slow"]],
        });
        let outcome = of_report(&report(&json!([slow])), HERE);
        assert_eq!(outcome, Ok(SpecOutcome::Skipped("upstream labels it as slow".to_owned())));
        assert!(of_report(&report(&json!([slow])), "test/e2e/a.go:8").is_err());
    }

    fn report(specs: &Value) -> Value {
        json!([{ "SpecReports": specs }])
    }

    #[test]
    fn the_rest_of_the_suite_does_not_count() {
        let rest = json!({ "LeafNodeType": "It", "State": "skipped" });
        let passed = json!({ "LeafNodeType": "It", "State": "passed" });
        assert_eq!(of_report(&report(&json!([rest, passed])), HERE), Ok(SpecOutcome::Passed));
        assert!(of_report(&report(&json!([rest])), HERE).is_err());
    }

    #[test]
    fn one_failure_among_several_specs_of_a_line_is_enough() {
        let passed = json!({ "LeafNodeType": "It", "State": "passed" });
        let failed = json!({ "LeafNodeType": "It", "State": "failed", "Failure": { "Message": "bad" } });
        let outcome = of_report(&report(&json!([passed, failed, passed])), HERE);
        assert_eq!(outcome, Ok(SpecOutcome::Failed("bad".to_owned())));
    }

    #[test]
    fn a_failure_has_its_first_line_and_a_timeout_is_one() {
        let failed = json!({ "LeafNodeType": "It", "State": "failed", "Failure": { "Message": "\nno restart\nmore" } });
        assert_eq!(
            of_report(&report(&json!([failed])), HERE),
            Ok(SpecOutcome::Failed("no restart".to_owned()))
        );
        let late = json!({ "LeafNodeType": "It", "State": "timedout", "Failure": { "Message": "too late" } });
        assert_eq!(of_report(&report(&json!([late])), HERE), Ok(SpecOutcome::Failed("too late".to_owned())));
    }

    #[test]
    fn a_skipped_spec_says_why() {
        let skipped =
            json!({ "LeafNodeType": "It", "State": "skipped", "Failure": { "Message": "needs 2 nodes" } });
        assert_eq!(
            of_report(&report(&json!([skipped])), HERE),
            Ok(SpecOutcome::Skipped("needs 2 nodes".to_owned()))
        );
    }
}
