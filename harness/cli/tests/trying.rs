//! `probity try` without a cluster: the plan, and what it rejects.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use probity::{ProgramOutput, probity, write};

const GOOD: &str = "\
apiVersion: v1
kind: Service
metadata: { name: web }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  template:
    spec:
      volumes: [{ name: data, emptyDir: {} }]
      containers:
        - name: web
          image: web:1
          ports: [{ name: http, containerPort: 8080 }]
          livenessProbe: { httpGet: { path: /live, port: http } }
          readinessProbe: { httpGet: { path: /ready, port: http }, periodSeconds: 2 }
";

/// Runs `probity try --plan` on a file with these flags.
fn plan(text: &str, flags: &[&str]) -> ProgramOutput {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "pod.yaml", text);
    let mut arguments = vec!["try", path.to_str().unwrap(), "--plan"];
    arguments.extend(flags);
    let mut said = probity(&arguments);
    said.err = said.err.replace(&format!("{}/", folder.path().display()), "");
    said
}

fn refused(said: &ProgramOutput, beginning: &str) {
    assert_eq!(said.status, 2, "{}", said.err);
    let beginning = format!("probity try: {beginning}");
    assert!(said.err.starts_with(&beginning), "wanted {beginning}, got {}", said.err);
    assert_eq!(said.out, "");
}

#[test]
fn the_plan_tells_the_promises_and_what_is_left_out_without_a_cluster() {
    let said = plan(GOOD, &[]);
    assert_eq!((said.status, said.err.as_str()), (0, ""));
    for part in [
        "the pod template of the Deployment web\n",
        "left out: volumes",
        "ignored: Service web",
        "stop signal after     21.0-31.0 s",
        "(failureThreshold - 1) × periodSeconds + timeoutSeconds, plus at most periodSeconds (liveness)",
        "slow-shutdown: ",
        "(probe.readiness.no-auto-unready-on-delete)",
    ] {
        assert!(said.out.contains(part), "{part} in {}", said.out);
    }
    assert!(!said.out.contains("try/hang"), "the cases of the harness are not shown: {}", said.out);
}

#[test]
fn the_formula_of_an_overload_names_the_probe() {
    let said = plan(GOOD, &["--faults", "overload"]);
    assert!(said.out.contains("plus at most periodSeconds (readiness), at most 3 s later"), "{}", said.out);
}

#[test]
fn the_plan_is_json_for_programs() {
    // `--json` is the older name of the flag.
    for flag in ["--format=json", "--json"] {
        let said = plan(GOOD, &[flag, "--faults", "calm,hang"]);
        assert_eq!(said.status, 0, "{}", said.err);
        let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(json["schema"], "probity.dev/try");
        let faults: Vec<&str> =
            json["faults"].as_array().unwrap().iter().map(|fault| fault["fault"].as_str().unwrap()).collect();
        assert_eq!(faults, ["calm", "hang"]);
        assert_eq!(json["faults"][1]["rows"][1]["promise"]["within"]["fromUs"], 21_000_000);
    }
}

#[test]
fn what_is_no_manifest_is_refused_at_its_place() {
    refused(&plan("kind: [Pod\n", &[]), "pod.yaml, line ");
    refused(&plan("", &[]), "pod.yaml: the manifest is empty");
    refused(&plan("- one\n", &[]), "pod.yaml, line 1, column 1: this is not a Kubernetes object");
    let said = plan("kind: ConfigMap\nmetadata: { name: c }\n", &[]);
    refused(
        &said,
        "pod.yaml, line 1, column 7: there is no pod in it, only ConfigMap c; it needs one of Pod, Deployment,",
    );
    let said = plan("kind: pod\nmetadata: { name: c }\n", &[]);
    refused(&said, "pod.yaml, line 1, column 7: there is no pod in it, only pod c; did you mean `Pod`?");
    let said = plan("case: mine/one\nstory: x\npod: {}\n", &[]);
    refused(
        &said,
        "pod.yaml, line 1, column 7: this is a case, not a manifest; run it with `probity reproduce`",
    );
    let said = probity(&["try", "/nonexistent/pod.yaml", "--plan"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("it cannot be read"), "{}", said.err);
}

#[test]
fn what_cannot_be_meant_is_refused_at_its_place() {
    let said = plan(&GOOD.replace("path: /ready, port: http", "path: /ready, port: htpp"), &[]);
    refused(
        &said,
        "pod.yaml, line 17, column 60: container `web` has no port `htpp`; it has http; did you mean `http`?",
    );
    let said = plan(&GOOD.replace("livenessProbe", "livenesProbe"), &[]);
    refused(&said, "pod.yaml, line 16, column 11: a container has no field `livenesProbe`; did you mean");
}

#[test]
fn of_several_workloads_one_must_be_chosen() {
    let two = format!(
        "{GOOD}---\nkind: Pod\nmetadata: {{ name: other }}\nspec: {{ containers: [{{ name: c }}] }}\n"
    );
    refused(
        &plan(&two, &[]),
        "pod.yaml: several workloads match; choose one with --workload: Deployment/web, Pod/other",
    );
    let said = plan(&two, &["--workload", "other"]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(
        said.out.contains("no probe: a container counts as healthy and ready while it runs"),
        "{}",
        said.out
    );
}

#[test]
fn settings_that_are_too_slow_are_refused_with_the_arithmetic() {
    let slow = GOOD.replace("periodSeconds: 2", "periodSeconds: 200");
    let said = plan(&slow, &["--faults", "hang"]);
    refused(&said, "the settings are too slow for --span 5m; nothing was created\n  hang takes up to ");
    assert!(said.err.contains("until every probe has detected it 606 s"), "{}", said.err);
    let enough = said.err.split("\nuse --span ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    assert_eq!(plan(&slow, &["--faults", "hang", "--span", enough]).status, 0, "{enough}");
}

#[test]
fn an_unknown_fault_is_refused_with_the_nearest_one() {
    let said = plan(GOOD, &["--faults", "hnag"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("did you mean `hang`?"), "{}", said.err);
}

#[test]
fn spans_of_nothing_are_refused_with_a_sentence() {
    for flag in ["--slow-start", "--span"] {
        let said = plan(GOOD, &[flag, "0s"]);
        assert_eq!(said.status, 2);
        assert!(said.err.contains("it must be longer than 0s"), "{}", said.err);
    }
}

#[test]
fn the_settings_of_a_probe_tell_its_own_grace() {
    let said = plan(&GOOD.replace("port: http } }", "port: http }, terminationGracePeriodSeconds: 7 }"), &[]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(said.out.contains("failureThreshold 3, terminationGracePeriodSeconds 7\n"), "{}", said.out);
}
