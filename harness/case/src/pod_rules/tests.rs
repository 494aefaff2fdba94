//! A table of rejections.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::case::Case;

const GOOD: &str = "\
case: mine/one
story: A container that is asked for its health.
pod:
  spec:
    terminationGracePeriodSeconds: 5
    volumes: [{ name: data, emptyDir: {} }]
    initContainers: [{ name: first }]
    containers:
      - name: app
        ports: [{ name: web, containerPort: 8080 }]
        env: [{ name: A, value: one }]
        volumeMounts: [{ name: data, mountPath: /data }]
        lifecycle: { preStop: { sleep: { seconds: 3 } } }
        readinessProbe: { httpGet: { path: /ready, port: web }, periodSeconds: 1 }
        livenessProbe: { tcpSocket: { port: 8080 } }
      - name: beside
";

fn refused(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    Case::read("f", &GOOD.replacen(from, to, 1)).err().map(|problem| problem.line()).unwrap_or_default()
}

#[test]
fn a_good_pod_is_good() {
    assert_eq!(refused("", ""), "");
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    for (from, to, said) in [
        (
            "readinessProbe",
            "readynessProbe",
            "line 14, column 9: a container has no field `readynessProbe`; did you mean `readinessProbe`?",
        ),
        (
            "periodSeconds: 1",
            "periodSecond: 1",
            "line 14, column 65: a probe has no field `periodSecond`; did you mean `periodSeconds`?",
        ),
        (
            "periodSeconds: 1",
            "periodSeconds: one",
            "line 14, column 80: `periodSeconds` must be a whole number from 0 to 2147483647, not \"one\"",
        ),
        (
            "periodSeconds: 1",
            "periodSeconds: 1s",
            "line 14, column 80: `periodSeconds` must be a whole number from 0 to 2147483647, not \"1s\": write 1",
        ),
        (
            "periodSeconds: 1",
            "periodSeconds: -1",
            "line 14, column 80: `periodSeconds` is -1; it must be at least 0",
        ),
        (
            "periodSeconds: 1",
            "periodSeconds: 1.5",
            "line 14, column 80: `periodSeconds` must be a whole number from 0 to 2147483647, not 1.5",
        ),
        (
            "periodSeconds: 1",
            "periodSeconds: 2147483648",
            "line 14, column 80: `periodSeconds` is 2147483648; it must be at most 2147483647",
        ),
        (
            "periodSeconds: 1",
            "terminationGracePeriodSeconds: 4",
            "line 14, column 65: a readiness probe has no `terminationGracePeriodSeconds`",
        ),
        (
            "periodSeconds: 1",
            "tcpSocket: { port: 1 }",
            "line 14, column 9: a probe must have one of httpGet, tcpSocket, grpc and exec; this one has 2: httpGet and tcpSocket",
        ),
        (
            "httpGet: { path: /ready, port: web }, ",
            "",
            "line 14, column 9: a probe must have one of httpGet, tcpSocket, grpc and exec; this one has 0",
        ),
        (
            "tcpSocket: { port: 8080 }",
            "tcpSocket: { port: 808080 }",
            "line 15, column 45: `port` must be a number from 1 to 65535, or the name of a port, not 808080",
        ),
        (
            "tcpSocket: { port: 8080 }",
            "tcpSocket: { port: \"8080\" }",
            "line 15, column 45: `port` must not be a string here: write 8080 without quotes",
        ),
        ("tcpSocket: { port: 8080 }", "tcpSocket: {}", "line 15, column 26: a `tcpSocket` needs a `port`"),
        ("tcpSocket: { port: 8080 }", "exec: { command: [] }", "line 15, column 34: the command is empty"),
        (
            "tcpSocket: { port: 8080 }",
            "exec: { command: cat }",
            "line 15, column 43: `command` must be a list, not \"cat\"",
        ),
        (
            "tcpSocket: { port: 8080 }",
            "successThreshold: 2, tcpSocket: { port: 80 }",
            "line 15, column 44: `successThreshold` of a liveness probe must be 1, not 2",
        ),
        (
            "path: /ready, port",
            "scheme: http, path: /ready, port",
            "line 14, column 46: `scheme` must be one of HTTP, HTTPS, not \"http\"; did you mean `HTTP`?",
        ),
        ("- name: beside", "- name: app", "line 16, column 15: two containers are called `app`"),
        ("- name: beside", "- name: App", "line 16, column 15: `App` is not a valid container name"),
        (
            "- name: beside",
            "- nme: beside",
            "line 16, column 9: a container has no field `nme`; did you mean `name`?",
        ),
        ("- name: beside", "- image: nginx", "line 16, column 9: a container needs a `name`"),
        (
            "    containers:",
            "    contaners:",
            "line 8, column 5: a pod's spec has no field `contaners`; did you mean `containers`?",
        ),
        ("  spec:\n", "  spce:\n", "line 4, column 3: a pod has no field `spce`; did you mean `spec`?"),
        (
            "terminationGracePeriodSeconds: 5",
            "restartPolicy: Sometimes",
            "line 5, column 20: `restartPolicy` must be one of Always, OnFailure, Never, not \"Sometimes\"",
        ),
        (
            "terminationGracePeriodSeconds: 5",
            "restartPolicy: always",
            "line 5, column 20: `restartPolicy` must be one of Always, OnFailure, Never, not \"always\"; did you mean `Always`?",
        ),
        (
            "terminationGracePeriodSeconds: 5",
            "terminationGracePeriodSeconds: 2",
            "line 13, column 51: the hook sleeps for 3 s, but the pod's grace period is 2 s",
        ),
        (
            "terminationGracePeriodSeconds: 5",
            "hostNetwork: \"true\"",
            "line 5, column 18: `hostNetwork` must be true or false, not \"true\"",
        ),
        (
            "name: data, mountPath",
            "name: date, mountPath",
            "line 12, column 32: the pod has no volume `date`; under `volumes` it has data; did you mean `data`?",
        ),
        ("value: one", "value: 1", "line 11, column 33: `value` must be a string, but 1 is not: write \"1\""),
        (
            "{ name: first }",
            "{ name: first, startupProbe: { tcpSocket: { port: 1 } } }",
            "line 7, column 37: a regular init container has no `startupProbe`",
        ),
        (
            "containerPort: 8080",
            "containerPort: web",
            "line 10, column 45: `containerPort` must be a number from 1 to 65535, not \"web\"",
        ),
        ("containerPort: 8080", "port: 8080", "line 10, column 30: a port has no field `port`"),
    ] {
        let told = refused(from, to);
        assert!(told.starts_with(&format!("f, {said}")), "{from} -> {to}\n  wanted {said}\n  got    {told}");
    }
}

#[test]
fn the_template_of_a_workload_is_read_as_strictly() {
    let text = "\
case: mine/one
story: x
workloads:
  web:
    workload:
      spec:
        replicas: 1
        template: { spec: { containers: [{ name: c, livenesProbe: {} }] } }
";
    let told = |from: &str, to: &str| {
        Case::read("f", &text.replace(from, to)).map(|_| ()).map_err(|problem| problem.line())
    };
    assert_eq!(
        told("", ""),
        Err("f, line 8, column 53: a container has no field `livenesProbe`; did you mean `livenessProbe`?"
            .to_owned())
    );
    let said = told("replicas", "replica").unwrap_err();
    assert!(
        said.starts_with("f, line 7, column 9: a Deployment's spec has no field `replica`; did you mean"),
        "{said}"
    );
}
