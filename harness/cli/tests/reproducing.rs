//! `probity reproduce` without a cluster: the case that it writes from a manifest, and what it rejects.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use probity::{probity, write};

const SHOP: &str = "\
apiVersion: batch/v1
kind: Job
metadata: { name: shop }
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers:
        - name: web
          image: shop:1
          ports: [{ name: http, containerPort: 8080 }]
          startupProbe: { grpc: { port: 9090 } }
          livenessProbe: { httpGet: { path: /live, port: http } }
";

#[test]
fn the_case_is_printed_and_its_guesses_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "shop.yaml", SHOP);
    let said = probity(&["reproduce", path.to_str().unwrap(), "--plan"]);
    assert_eq!(said.status, 0, "{}", said.err);
    for part in [
        "case: reproduce/shop\n",
        "restartPolicy: OnFailure",
        "#   web: /live answers 200",
        "# The behavior of the application is a guess,",
    ] {
        assert!(said.out.contains(part), "{part} in {}", said.out);
    }
    for part in
        ["guessed\n", "containers[web].image: the target runs instead", "killed after 3 failures in a row"]
    {
        assert!(said.err.contains(part), "{part} in {}", said.err);
    }
}

#[test]
fn the_case_that_is_written_is_a_good_one_and_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "shop.yaml", SHOP);
    let case = folder.path().join("new/case.yaml");
    let arguments = ["reproduce", path.to_str().unwrap(), "--plan", "--case-out", case.to_str().unwrap()];
    let said = probity(&arguments);
    assert_eq!((said.status, said.out.as_str()), (0, ""), "{}", said.err);
    let linted = probity(&["lint", "--strict", case.to_str().unwrap()]);
    assert_eq!((linted.status, linted.err.as_str()), (0, ""));
    let again = probity(&["reproduce", case.to_str().unwrap(), "--plan"]);
    assert_eq!(again.out, std::fs::read_to_string(&case).unwrap());
    let said = probity(&arguments);
    assert!(said.status == 2 && said.err.contains("is not overwritten"), "{}", said.err);
}

#[test]
fn what_no_api_server_takes_is_refused_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        write(folder.path(), "shop.yaml", &SHOP.replace("port: http } }", "port: http }, periodSecond: 1 }"));
    let said = probity(&["reproduce", path.to_str().unwrap(), "--plan"]);
    assert_eq!(said.status, 2);
    let wanted = "line 13, column 66: a probe has no field `periodSecond`; did you mean `periodSeconds`?";
    assert!(said.err.contains(wanted), "{}", said.err);
}

#[test]
fn a_name_that_is_neither_a_file_nor_a_known_bug_is_wrong_use_with_the_nearest_bug() {
    for (name, says) in [
        ("exec-timeout-ignord", "did you mean `regressions/exec-timeout-ignored`? (`probity list --profile"),
        ("regressions/zzz", "no file and no known bug is called `regressions/zzz` (`probity list --profile"),
        ("probe_types/startup-gates-others", "use `probity run --exact probe_types/startup-gates-others`"),
    ] {
        let said = probity(&["reproduce", name, "--plan"]);
        assert_eq!(said.status, 2);
        assert!(said.err.contains(says), "{}", said.err);
    }
}

#[test]
fn a_case_has_no_workloads() {
    let folder = tempfile::tempdir().unwrap();
    let case = "case: mine/one\nstory: x\npod: { spec: { containers: [{ name: c }] } }\n";
    let path = write(folder.path(), "case.yaml", case);
    for file in [path.to_str().unwrap(), "regressions/exec-timeout-ignored"] {
        let said = probity(&["reproduce", file, "--workload", "x", "--plan"]);
        assert_eq!((said.status, said.out.as_str()), (2, ""));
        assert!(said.err.contains("omit --workload"), "{}", said.err);
    }
}
