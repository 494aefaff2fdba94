//! What containers get from their specs, and pods that must not run: variables, users and kernel parameters.

use std::collections::BTreeMap;

use probity_composer::Composer;
use probity_model::history::Did;
use probity_script::witness::{Dump, Fact};
use serde_json::{Value, json};

use crate::tests::verdict;

const ENVIRONMENT: &str = "pod.environment";
const NON_ROOT: &str = "pod.run-as-non-root";
const SYSCTLS: &str = "pod.unsafe-sysctls";
const SAFE_SYSCTLS: &str = "pod.safe-sysctls";

/// The verdict on a container that has these variables. It gets the keys of a ConfigMap with the prefix `MAP_`, and those of
/// a Secret with the prefix `SECRET_`, and sets one of them itself.
fn environment(variables: &[(&str, &str)]) -> &'static str {
    let mut run = Composer::new(&[ENVIRONMENT]);
    let objects = [
        json!({ "kind": "ConfigMap", "data": { "hello": "world", "own": "theirs" } }),
        json!({ "kind": "Secret", "stringData": { "hello": "word" } }),
        json!({ "kind": "Service", "spec": { "ports": [{ "port": 80 }] } }),
    ];
    for manifest in objects {
        let kind = manifest["kind"].as_str().unwrap_or_default().to_owned();
        run.deed(0.1, Did::Created { kind, name: "of-all".to_owned(), manifest });
    }
    let from = json!([
        { "prefix": "MAP_", "configMapRef": { "name": "of-all" } },
        { "prefix": "SECRET_", "secretRef": { "name": "of-all" } },
    ]);
    let own = json!([{ "name": "MAP_own", "value": "mine" }]);
    let container = json!({ "name": "target", "env": own, "envFrom": from });
    run.create(0.5, &json!({ "enableServiceLinks": false, "containers": [container] }));
    let env: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    run.start(1.0, 0).fact(1.1, Fact::Dump(Dump { env, ..Dump::default() }));
    run.reading(20.0);
    verdict(&run.done(), ENVIRONMENT)
}

#[test]
fn the_variables_of_whole_objects_are_there() {
    let server = [("KUBERNETES_SERVICE_HOST", "10.96.0.1"), ("KUBERNETES_SERVICE_PORT_HTTPS", "443")];
    let right = [("MAP_hello", "world"), ("MAP_own", "mine"), ("SECRET_hello", "word")];
    let of = |own: &[(&str, &str)]| environment(&[own, &server[..]].concat());
    assert_eq!(of(&right), "holds");
    assert_eq!(of(&[right[0], ("MAP_own", "theirs"), right[2]]), "violated", "env comes second");
    assert_eq!(of(&[right[0], right[1], ("hello", "word")]), "violated", "no prefix");
    let linked = [right[0], right[1], right[2], ("WEB_SERVICE_HOST", "10.96.0.9")];
    assert_eq!(of(&linked), "violated", "a Service that the pod did not ask for");
    assert_eq!(environment(&right), "violated", "nobody finds the API server");
    let without_port = [right[0], right[1], right[2], server[0]];
    assert_eq!(environment(&without_port), "violated", "nobody knows its port");
}

/// The verdict on the variable `URL` with this value in the spec, which the container sees with another value. Two objects
/// have the key `host`.
fn reference(value: &str, seen: &str) -> &'static str {
    let mut run = Composer::new(&[ENVIRONMENT]);
    for (name, host) in [("first", "one"), ("second", "two")] {
        let (kind, name) = ("ConfigMap".to_owned(), name.to_owned());
        run.deed(0.1, Did::Created { kind, name, manifest: json!({ "data": { "host": host } }) });
    }
    let from = json!([{ "configMapRef": { "name": "first" } }, { "configMapRef": { "name": "second" } }]);
    let field = json!({ "fieldRef": { "fieldPath": "metadata.name" } });
    let own = json!([
        { "name": "port", "value": "80" }, { "name": "me", "valueFrom": field }, { "name": "URL", "value": value },
        { "name": "later", "value": "5" },
    ]);
    run.create(0.5, &json!({ "containers": [{ "name": "target", "env": own, "envFrom": from }] }));
    let all = [
        ("host", "two"),
        ("port", "80"),
        ("me", "pod"),
        ("later", "5"),
        ("URL", seen),
        ("KUBERNETES_SERVICE_HOST", "10.96.0.1"),
        ("KUBERNETES_SERVICE_PORT_HTTPS", "443"),
    ];
    let env = all.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    run.start(1.0, 0).fact(1.1, Fact::Dump(Dump { env, ..Dump::default() }));
    run.reading(20.0);
    verdict(&run.done(), ENVIRONMENT)
}

#[test]
fn references_have_the_values_of_earlier_variables() {
    assert_eq!(reference("$(host):$(port)", "two:80"), "holds");
    assert_eq!(reference("$(host):$(port)", "one:80"), "violated", "the later object takes precedence");
    assert_eq!(reference("$(host):$(port)", "$(host):80"), "violated");
    assert_eq!(reference("$$(host) $(nobody)", "$(host) $(nobody)"), "holds");
    assert_eq!(reference("$$(host)", "$two"), "violated", "it is escaped");
    assert_eq!(reference("$(me)", "pod"), "holds");
    assert_eq!(reference("$(me)", "$(me)"), "violated", "its value comes from a field of the pod");
    assert_eq!(reference("$(later)", "$(later)"), "holds");
    assert_eq!(reference("$(later)", "5"), "violated", "it comes later");
    assert_eq!(reference("$(KUBERNETES_SERVICE_HOST)", "10.96.0.1"), "holds");
    assert_eq!(reference("$(KUBERNETES_SERVICE_HOST)", "$(KUBERNETES_SERVICE_HOST)"), "violated");
}

/// The verdict on a pod with this security context, which later may have this status.
fn judged(clause: &str, context: &Value, status: Option<&Value>) -> &'static str {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "securityContext": context, "containers": [{ "name": "target" }] }));
    if let Some(status) = status {
        run.status(1.0, status);
    }
    run.reading(40.0);
    verdict(&run.done(), clause)
}

/// The status of a pod whose only container has this state.
fn status_with(state: &Value) -> Value {
    let id = if state.get("running").is_some() { "containerd://target-0" } else { "" };
    let container = json!({
        "name": "target", "restartCount": 0, "ready": false, "started": false,
        "containerID": id, "state": state, "lastState": {},
    });
    json!({ "phase": "Pending", "containerStatuses": [container] })
}

#[test]
fn root_does_not_run_where_it_must_not() {
    let with_state = |state: &Value| {
        let context = json!({ "runAsNonRoot": true, "runAsUser": 0 });
        judged(NON_ROOT, &context, Some(&status_with(state)))
    };
    assert_eq!(with_state(&json!({ "waiting": { "reason": "CreateContainerConfigError" } })), "holds");
    assert_eq!(with_state(&json!({ "running": {} })), "violated");
}

#[test]
fn an_unsafe_sysctl_after_a_safe_one_is_found() {
    let all = ["net.ipv4.tcp_syncookies", "fs.mqueue.msg_max"];
    let context = json!({ "sysctls": all.map(|name| json!({ "name": name, "value": "1" })) });
    let of = |status: Option<&Value>| judged(SYSCTLS, &context, status);
    let failed = |reason: &str| json!({ "phase": "Failed", "reason": reason });
    assert_eq!(of(Some(&failed("SysctlForbidden"))), "holds");
    assert_eq!(of(Some(&failed("OutOfpods"))), "inconclusive", "perhaps for something else");
    assert_eq!(of(None), "violated", "nobody rejects it");
    assert_eq!(of(Some(&status_with(&json!({ "running": {} })))), "violated");
}

/// The verdict on a pod that sets these sysctls, in a spec that may have another field. Its status becomes this one.
fn with_sysctls(clause: &str, names: &[&str], host: &str, status: &Value) -> &'static str {
    let mut run = Composer::new(&[clause]);
    let all: Vec<Value> = names.iter().map(|name| json!({ "name": name, "value": "1" })).collect();
    let mut spec = json!({ "securityContext": { "sysctls": all }, "containers": [{ "name": "target" }] });
    if !host.is_empty() {
        spec[host] = json!(true);
    }
    run.create(0.0, &spec).status(1.0, status).reading(40.0);
    verdict(&run.done(), clause)
}

#[test]
fn safe_sysctls_are_no_reason_to_reject_a_pod() {
    let rejected = json!({ "phase": "Failed", "reason": "SysctlForbidden" });
    let of = |names: &[&str], host: &str| with_sysctls(SAFE_SYSCTLS, names, host, &rejected);
    let (safe, slashed) = ("kernel.shm_rmid_forced", "net/ipv4/ip_unprivileged_port_start");
    assert_eq!(of(&[safe], ""), "violated");
    assert_eq!(of(&[slashed, safe], ""), "violated");
    assert_eq!(of(&[safe, "fs.mqueue.msg_max"], ""), "inconclusive", "one of them is unsafe");
    assert_eq!(of(&["net.ipv4.tcp_rmem"], ""), "inconclusive", "the kernel may be too old");
    assert_eq!(of(&[slashed], "hostNetwork"), "inconclusive", "it belongs to the node");
    let full = json!({ "phase": "Failed", "reason": "OutOfpods" });
    assert_eq!(with_sysctls(SAFE_SYSCTLS, &[safe], "", &full), "inconclusive", "for another reason");
}

#[test]
fn a_name_with_slashes_is_as_safe_as_one_with_dots() {
    let running = status_with(&json!({ "running": {} }));
    let of = |name: &str| with_sysctls(SYSCTLS, &[name], "", &running);
    assert_eq!(of("kernel/shm_rmid_forced"), "inconclusive", "it is safe");
    assert_eq!(of("fs/mqueue/msg_max"), "violated");
    assert_eq!(of("net.ipv4.conf.eth0/1.forwarding"), "violated", "it is unsafe");
}

/// The verdict on a container whose command in the spec has this argument, which its process receives as another text.
fn argument(word: &str, received: &str) -> &'static str {
    const CLAUSE: &str = "pod.command-references";
    let mut run = Composer::new(&[CLAUSE]);
    let manifest = json!({ "data": { "key": "$(port)" } });
    run.deed(0.1, Did::Created { kind: "ConfigMap".to_owned(), name: "map".to_owned(), manifest });
    let field = json!({ "fieldRef": { "fieldPath": "metadata.name" } });
    let container = json!({
        "name": "target", "args": ["serve", word],
        "envFrom": [{ "configMapRef": { "name": "map" } }],
        "env": [{ "name": "port", "value": "80" }, { "name": "me", "valueFrom": field }],
    });
    run.create(0.5, &json!({ "containers": [container] }));
    let all = [
        ("key", "$(port)"),
        ("port", "80"),
        ("me", "pod"),
        ("PATH", "/bin"),
        ("KUBERNETES_SERVICE_HOST", "10.96.0.1"),
    ];
    let env = all.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    run.start_with(1.0, 0, &["/agnhost-rs", "serve", received])
        .fact(1.1, Fact::Dump(Dump { env, ..Dump::default() }));
    run.reading(20.0);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn references_in_arguments_have_the_values_of_variables() {
    const ALL: &str = "$(port)-$(me)-$(key)-$(KUBERNETES_SERVICE_HOST)-$(nobody)-$$(me)";
    assert_eq!(argument(ALL, "80-pod-$(port)-10.96.0.1-$(nobody)-$(me)"), "holds");
    assert_eq!(argument("$(me)", "$(me)"), "violated");
    assert_eq!(argument("$(KUBERNETES_SERVICE_HOST)", "$(KUBERNETES_SERVICE_HOST)"), "violated");
    assert_eq!(argument("$(key)", "80"), "violated", "values are not expanded again");
    assert_eq!(argument("$(nobody)", ""), "violated", "it stays unchanged");
    assert_eq!(argument("$$(me)", "$pod"), "violated", "it is escaped");
    assert_eq!(argument("$(PATH)", "/sbin"), "inconclusive", "the image sets it");
    assert_eq!(argument("plain", "other"), "inconclusive", "it has no reference");
}
