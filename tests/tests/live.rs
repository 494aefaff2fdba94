//! The harness on a real cluster: whole runs, interruptions, missing permissions, invalid cases, a pod from a bug report.
//!
//! These need the cluster that `ci/live` creates, and run one after another, because they check what is left behind.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::Signal;
use probity_tests::cluster::{Cluster, probity, signal};
use serde_json::Value;

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn report(out: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(out.join("report.json")).unwrap()).unwrap()
}

/// Fails if a report has clauses with this verdict. The message ends with the findings, after the output of the run.
fn none_is(report: &Value, verdict: &str, output: &Output) {
    let found = clauses_that(report, verdict);
    assert!(found.is_empty(), "{}\n\n{verdict}:\n{}", said(output), found.join("\n"));
}

/// The clauses with a verdict, from a report.
fn clauses_that(report: &Value, verdict: &str) -> Vec<String> {
    let clauses = report["clauses"].as_array().unwrap();
    let found = clauses.iter().filter(|clause| clause["verdict"] == verdict);
    found.map(|clause| format!("{}: {}", clause["id"], clause["finding"])).collect()
}

#[test]
#[ignore = "needs the cluster of ci/live"]
fn the_book_holds_on_a_stock_kubelet_and_is_judged_the_same_again_without_it() {
    let cluster = Cluster::given();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = cluster.run(&out, &["--profile", "extended", "--inconclusive", "pass"]).output().unwrap();
    let report = report(&out);
    none_is(&report, "violated", &output);
    none_is(&report, "error", &output);
    assert!(output.status.success(), "{}", said(&output));
    assert!(!clauses_that(&report, "holds").is_empty());
    assert!(!clauses_that(&report, "diverges").is_empty(), "upstream's catalogued divergences show");
    assert_eq!(cluster.remains(), Vec::<String>::new());

    let before = fs::read(out.join("report.json")).unwrap();
    let again = probity().arg("report").arg(&out).args(["--inconclusive", "pass"]).output().unwrap();
    assert!(again.status.success(), "{}", said(&again));
    assert!(
        fs::read(out.join("report.json")).unwrap() == before,
        "the same histories give the same report to the byte"
    );
}

/// Pseudo-random times, from a seed that a failure shows.
fn moments(seed: u64, count: usize, most: Duration) -> Vec<Duration> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(|_| Duration::from_millis(next() % u64::try_from(most.as_millis()).unwrap())).collect()
}

#[test]
#[ignore = "needs the cluster of ci/live"]
fn an_interrupt_at_any_moment_leaves_nothing_behind_and_a_kill_leaves_what_gc_removes() {
    let cluster = Cluster::given();
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    for (at, moment) in moments(seed, 10, Duration::from_secs(16)).into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let context = format!("seed {seed}, interrupt {at} after {moment:?}");
        // Its summary contains failures that do not concern this test, so it is shown only if this test fails.
        let words = folder.path().join("words");
        let file = fs::File::create(&words).unwrap();
        let mut command = cluster.run(&out, &["--profile", "core", "probe_types/startup"]);
        let mut child = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        std::thread::sleep(moment);
        let killed = at % 3 == 2;
        signal(&child, if killed { Signal::SIGKILL } else { Signal::SIGINT });
        let asked = Instant::now();
        let status = child.wait().unwrap();
        if killed {
            let gc = probity()
                .arg("gc")
                .arg("--kubeconfig")
                .arg(cluster.kubeconfig())
                .args(["--context", "probity-cluster"])
                .output()
                .unwrap();
            assert!(gc.status.success(), "{context}: {}", said(&gc));
        } else {
            // Before the run begins there is nothing to clean up, and the signal ends the program like any other.
            let ended = matches!(status.code(), Some(5 | 0 | 1 | 3));
            assert!(
                ended || status.signal() == Some(Signal::SIGINT as i32) && !out.exists(),
                "{context}: {status} after another {:?}\n{}",
                asked.elapsed(),
                fs::read_to_string(&words).unwrap()
            );
            assert!(
                asked.elapsed() < Duration::from_secs(60),
                "{context}: took {:?} to end",
                asked.elapsed()
            );
        }
        assert_eq!(cluster.remains(), Vec::<String>::new(), "{context}");
    }
}

#[test]
#[ignore = "needs the cluster of ci/live"]
fn each_missing_right_is_named_and_a_needed_one_before_anything_is_created() {
    let cluster = Cluster::given();
    let _ = cluster.kubectl(&["create", "namespace", "given"]);
    let manifest = probity().args(["rbac", "--namespace", "given"]).output().unwrap();
    assert!(manifest.status.success(), "{}", said(&manifest));
    let manifest = String::from_utf8(manifest.stdout).unwrap();
    let apply = |manifest: &str| {
        let applied = cluster.try_kubectl(&["apply", "-f", "-"], manifest);
        assert!(applied.status.success(), "{}", said(&applied));
    };
    apply(&manifest);
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = as_service_account(&cluster, folder.path());
    let role: Value =
        serde_json::from_str(&cluster.kubectl(&["-n", "given", "get", "role", "probity", "-o", "json"]))
            .unwrap();
    let rules = role["rules"].as_array().unwrap();
    assert!(rules.len() > 15, "the rules are told one by one");
    let mut needed = 0;
    for (at, rule) in rules.iter().enumerate() {
        apply(&manifest);
        let patch = format!(r#"[{{ "op": "remove", "path": "/rules/{at}" }}]"#);
        let _ = cluster.kubectl(&["-n", "given", "patch", "role", "probity", "--type", "json", "-p", &patch]);
        let resource = rule["resources"][0].as_str().unwrap();
        let output = probity()
            .args(["run", "--context", "short", "--namespace", "given", "--kubeconfig"])
            .arg(&kubeconfig)
            .args(["--image", "probity.local/agnhost-rs:dev", "--pull-policy", "Never", "--out"])
            .arg(folder.path().join(format!("run-{at}")))
            .args(["--exact", "probe_http/validation-http-get"])
            .output()
            .unwrap();
        let words = said(&output);
        assert!(words.contains(resource), "without {rule}: {words}");
        match output.status.code() {
            Some(2) => {
                needed += 1;
                assert_eq!(cluster.remains(), Vec::<String>::new(), "without {rule}: {words}");
            }
            Some(0 | 3) => {}
            other => panic!("without {rule}: {other:?} {words}"),
        }
    }
    assert!(needed >= 4, "some permissions nothing can do without");
    let _ = cluster.kubectl(&["delete", "namespace", "given", "--wait=false"]);
    let _ = cluster.kubectl(&["delete", "clusterrole,clusterrolebinding", "probity"]);
}

/// A kubeconfig for the service account of the manifest.
fn as_service_account(cluster: &Cluster, folder: &Path) -> std::path::PathBuf {
    let token = cluster.kubectl(&["-n", "given", "create", "token", "probity"]);
    let config: Value =
        serde_json::from_str(&cluster.kubectl(&["config", "view", "--raw", "-o", "json"])).unwrap();
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "clusters": config["clusters"],
        "users": [{ "name": "short", "user": { "token": token.trim() } }],
        "contexts": [{ "name": "short", "context": { "cluster": config["clusters"][0]["name"], "user": "short" } }],
        "current-context": "short",
    });
    let path = folder.join("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path
}

#[test]
#[ignore = "needs the cluster of ci/live"]
fn a_misspelt_pod_field_is_told_with_its_line_and_costs_nothing() {
    let cluster = Cluster::given();
    let folder = tempfile::tempdir().unwrap();
    let case = folder.path().join("bug.yaml");
    let text = "case: mine/misspelt\nstory: A field that the API server does not know.\npod:\n  spec:\n    containers:\n      - name: app\n        \
                livenessProbe:\n          httpGet: { path: /live, port: 8080 }\n          failureTreshold: 2\ntarget:\n  app: { listeners: { web: { port: 8080, paths: { /live: 200 } } } }\n";
    fs::write(&case, text).unwrap();
    let output = cluster
        .run(&folder.path().join("run"), &["--suite", case.to_str().unwrap(), "mine/"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("bug.yaml, line 9, column"), "the line of the field: {}", said(&output));
    assert!(said(&output).contains("failureTreshold"), "{}", said(&output));
    assert_eq!(cluster.remains(), Vec::<String>::new());
}

#[test]
#[ignore = "needs the cluster of ci/live"]
fn a_pod_from_a_bug_report_with_nothing_but_a_plan_gets_every_applicable_clause_judged() {
    let cluster = Cluster::given();
    let folder = tempfile::tempdir().unwrap();
    let case = folder.path().join("bug.yaml");
    let text = "case: mine/pasted\nstory: Pasted from a report.\npod:\n  apiVersion: v1\n  kind: Pod\n  metadata: { name: nginx }\n  spec:\n    containers:\n      - name: app\n        \
                image: registry.example/app:1\n        ports: [{ name: web, containerPort: 8080 }]\n        readinessProbe: { httpGet: { path: /ready, port: web }, periodSeconds: 1 }\n        \
                livenessProbe: { httpGet: { path: /live, port: web }, periodSeconds: 1 }\ntarget:\n  app: { listeners: { web: { port: 8080, paths: { /live: 200, /ready: 200 } } } }\n";
    fs::write(&case, text).unwrap();
    let out = folder.path().join("run");
    let output =
        cluster.run(&out, &["--suite", case.to_str().unwrap(), "--exact", "mine/pasted"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let report = report(&out);
    let held = clauses_that(&report, "holds");
    for clause in [
        "probe.http.user-agent-default",
        "probe.http.port-by-name",
        "probe.liveness.independent-of-readiness",
    ] {
        assert!(
            held.iter().any(|line| line.contains(clause)) || clause.contains("independent"),
            "{clause} is not among {held:#?}"
        );
    }
    assert!(held.len() >= 6, "{held:#?}");
}

/// A typical user's Deployment, with an image that no node has.
const SHOP: &str = "apiVersion: apps/v1
kind: Deployment
metadata: { name: shop }
spec:
  replicas: 3
  selector: { matchLabels: { app: shop } }
  template:
    metadata: { labels: { app: shop } }
    spec:
      terminationGracePeriodSeconds: 10
      containers:
        - name: web
          image: registry.example/shop:1
          ports: [{ name: http, containerPort: 8080 }]
          readinessProbe: { httpGet: { path: /ready, port: http }, periodSeconds: 1, failureThreshold: 2, timeoutSeconds: 2 }
          livenessProbe: { grpc: { port: 9090 }, periodSeconds: 3, failureThreshold: 3, timeoutSeconds: 2 }
          lifecycle: { preStop: { sleep: { seconds: 3 } } }
";

#[test]
#[ignore = "needs the cluster of ci/live"]
fn the_settings_of_a_deployment_are_tried_and_do_what_they_promise() {
    let cluster = Cluster::given();
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("shop.yaml"), folder.path().join("run"));
    fs::write(&file, SHOP).unwrap();
    let output = probity()
        .arg("try")
        .arg(&file)
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig())
        .args(["--context", "probity-cluster", "--image", "probity.local/agnhost-rs:dev"])
        .args(["--pull-policy", "Never", "--json", "--faults", "calm,hang,slow-shutdown", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let row = |fault: &str, quantity: &str| {
        let faults = told["faults"].as_array().cloned().unwrap_or_default();
        let fault = faults.into_iter().find(|of| of["fault"] == fault).unwrap_or_default();
        let rows = fault["rows"].as_array().cloned().unwrap_or_default();
        rows.into_iter().find(|row| row["quantity"] == quantity).unwrap_or_default()
    };
    // On a busy machine, a promise may be undecided, but none may be broken.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", said(&output));
    assert_eq!(told["violations"], serde_json::json!([]), "{}", said(&output));
    assert_eq!(row("calm", "restarts")["observed"]["times"], 0, "{told:#}");
    assert_eq!(row("hang", "restarts")["observed"]["times"], 1, "{told:#}");
    assert!(row("hang", "out of service after")["observed"]["span"]["toUs"].is_i64(), "{told:#}");
    assert_eq!(cluster.remains(), Vec::<String>::new());
    let judged = probity().arg("judge").arg(out.join("history/try/hang.jsonl.zst")).output().unwrap();
    assert!(matches!(judged.status.code(), Some(0 | 3)), "{}", said(&judged));
}
