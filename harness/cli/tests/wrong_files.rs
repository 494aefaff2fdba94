//! Invalid case files: each is rejected with file, line and column, and the exit status is 2.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use std::fs::File;
use std::process::Command;

use probity::{ProgramOutput, lint_text, probity, write};

const GOOD: &str = "\
case: mine/one
story: A container that is asked for its health.
judges: [probe.liveness.failure-restarts-container]
pod:
  spec:
    containers:
      - name: target
        livenessProbe: { httpGet: { path: /live, port: 8080 } }
target:
  target: { listeners: { web: { port: 8080, paths: { /live: 200 } } } }
";

/// Lints the good case with a part of it replaced.
fn lint(from: &str, to: &str) -> ProgramOutput {
    assert!(GOOD.contains(from), "{from}");
    lint_text(&GOOD.replacen(from, to, 1))
}

/// Asserts that the message on standard error begins like this.
fn refused(said: &ProgramOutput, beginning: &str) {
    assert_eq!(said.status, 2, "{}", said.err);
    assert!(said.err.starts_with(beginning), "wanted {beginning}, got {}", said.err);
}

#[test]
fn the_good_case_is_good() {
    let said = lint("", "");
    assert_eq!((said.status, said.err.as_str()), (0, ""));
    assert!(said.out.ends_with("case.yaml: 1 case\n"), "{}", said.out);
}

#[test]
fn an_unknown_field_has_a_place_and_a_suggestion() {
    let said = lint("story:", "storey:");
    refused(&said, "case.yaml, line 2, column 1: there is no setting `storey` here; did you mean `story`?");
}

#[test]
fn a_wrong_type_has_a_place() {
    refused(
        &lint("judges: [probe.liveness.failure-restarts-container]", "judges: 7"),
        "case.yaml, line 3, column 9: ",
    );
    refused(&lint("port: 8080, paths", "port: eighty, paths"), "case.yaml, line 10, column 39: ");
}

#[test]
fn an_unknown_clause_has_a_place_and_the_nearest_one() {
    let said = lint("restarts-container]", "restarts-containr]");
    refused(
        &said,
        "case.yaml, line 3, column 10: there is no clause `probe.liveness.failure-restarts-containr`; did you mean \
         `probe.liveness.failure-restarts-container`?",
    );
}

#[test]
fn a_clause_that_is_like_no_other_gets_the_command_that_lists_all() {
    let said = lint("probe.liveness.failure-restarts-container", "zzz.zzz");
    refused(
        &said,
        "case.yaml, line 3, column 10: there is no clause `zzz.zzz`; `probity list --clauses` shows all clauses",
    );
}

#[test]
fn an_answer_that_is_no_word_gets_every_form_that_an_answer_can_have() {
    let said = lint("/live: 200", "/live: foo");
    let allowed = "\nallowed here: hang, close, reset, garbage, a status number, settings such as { status: 503, delay: 2s }";
    assert!(said.status == 2 && said.err.contains(allowed), "{}", said.err);
}

#[test]
fn an_unknown_field_is_underlined_itself_and_not_its_value() {
    let said = lint("port: 8080 } }\ntarget", "port: 8080 }, periodSecond: 1 }\ntarget");
    refused(&said, "case.yaml, line 8, column 64: a probe has no field `periodSecond`; did you mean");
    assert!(said.err.contains(&format!(" {}\n", "^".repeat("periodSecond".len()))), "{}", said.err);
}

#[test]
fn a_template_that_was_not_rendered_is_recognized() {
    let said = lint("- name: target\n", "- name: {{ .Values.name }}\n");
    refused(&said, "case.yaml, line 7, column ");
    assert!(said.err.contains("this looks like a template: render it first"), "{}", said.err);
}

#[test]
fn a_misspelt_axis_has_a_place_and_a_suggestion() {
    let text = GOOD.replace("port: 8080 }", "port: 8080, scheme: '${shceme}' }")
        + "matrix: { scheme: [HTTP, HTTPS] } # fills ${scheme}\n";
    let said = lint_text(&text);
    refused(&said, "case.yaml, line 8, column 71: the matrix has no axis `shceme`; did you mean `scheme`?");
}

#[test]
fn an_axis_that_fills_nothing_has_a_place() {
    let said = lint("story:", "matrix: { scheme: [HTTP] }\nstory:");
    refused(&said, "case.yaml, line 2, column 11: `${scheme}` does not occur in the case");
}

#[test]
fn a_plan_for_a_container_that_does_not_exist_has_a_place() {
    let said = lint("target:\n  target:", "target:\n  taget:");
    refused(&said, "case.yaml, line 10, column 3: the pod has no container `taget`; did you mean `target`?");
}

#[test]
fn a_step_for_a_pod_that_does_not_exist_has_a_place() {
    let said = lint_text(&format!("{GOOD}steps:\n  - wait: {{ pod: other, ready: true }}\n"));
    refused(&said, "case.yaml, line 12, column ");
}

#[test]
fn two_cases_of_one_name_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.yaml", GOOD);
    write(folder.path(), "b.yaml", GOOD);
    let path = folder.path().to_str().unwrap();
    let linted = probity(&["lint", path]);
    assert!(linted.status == 2 && linted.err.contains("`mine/one` already exists"), "{}", linted.err);
    let listed = probity(&["list", "--suite", path]);
    assert!(listed.status == 2 && listed.err.contains("b.yaml, line 1, column 7: "), "{}", listed.err);
}

#[test]
fn a_file_that_does_not_exist_and_an_empty_folder_are_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(probity(&["lint", "/no/such/file.yaml"]).status, 2);
    let said = probity(&["lint", folder.path().to_str().unwrap()]);
    assert!(said.status == 2 && said.err.contains("no file that ends in .yaml"), "{}", said.err);
}

#[test]
fn a_broken_link_is_named_and_the_other_files_are_still_checked() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/no/such/file", folder.path().join("a.yaml")).unwrap();
    std::os::unix::fs::symlink("/no/such/file", folder.path().join("notes")).unwrap();
    write(folder.path(), "b.yaml", GOOD);
    let path = folder.path().to_str().unwrap();
    let linted = probity(&["lint", "/no/such/file.yaml", path]);
    assert_eq!(linted.status, 2);
    for part in
        ["a.yaml: it cannot be read: ", "/no/such/file.yaml: there is no such file or folder", "2 problems"]
    {
        assert!(linted.err.contains(part), "{part} in {}", linted.err);
    }
    assert!(linted.out.ends_with("b.yaml: 1 case\n"), "{}", linted.out);
    let listed = probity(&["list", "--suite", path]);
    assert!(listed.status == 2 && listed.err.contains("a.yaml: it cannot be read: "), "{}", listed.err);
}

#[test]
fn standard_input_is_a_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "case.yaml", GOOD);
    let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
    let said = command.args(["lint", "-"]).stdin(File::open(path).unwrap()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "standard input: 1 case\n");
}

#[test]
fn hints_come_in_the_order_of_their_lines() {
    let text = GOOD
        .replace("path: /live, port", "path: /livez, port")
        .replace("- name: target", "- name: target\n        image: nginx");
    let said = lint_text(&text);
    let lines: Vec<usize> = said
        .err
        .lines()
        .filter_map(|line| line.strip_prefix("hint: case.yaml, line ")?.split(',').next()?.parse().ok())
        .collect();
    assert_eq!(lines, [8, 9], "{}", said.err);
}

#[test]
fn hints_have_places_and_fail_only_when_asked() {
    for (from, to, hint) in [
        ("path: /live, port", "path: /livez, port", "line 8, column 9: listener `web` has no path /livez"),
        (
            "/live, port: 8080 }",
            "/live, port: 8081 }",
            "line 8, column 9: the plan has no listener at port 8081",
        ),
        (
            "httpGet: { path: /live, port: 8080 }",
            "exec: { command: [cat, /x] }",
            "line 8, column 9: the image has only",
        ),
        (
            "httpGet: { path: /live, port: 8080 }",
            "exec: { command: [/agnhost-rs, exec, live] }",
            "line 8, column 9: the plan has no command `live`",
        ),
        ("- name: target", "- name: target\n        image: nginx", "line 8, column 16: `image` is replaced"),
        ("httpGet: { path: /live, port", "grpc: { port", "line 8, column 9: listener `web` speaks http"),
    ] {
        let said = lint(from, to);
        assert_eq!(said.status, 0, "{to}: {}", said.err);
        assert!(said.err.starts_with(&format!("hint: case.yaml, {hint}")), "{to}: {}", said.err);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "case.yaml", &GOOD.replace("path: /live", "path: /other"));
    assert_eq!(probity(&["lint", "--strict", path.to_str().unwrap()]).status, 2);
}

#[test]
fn a_clause_that_cannot_apply_and_other_slips_are_hints_that_can_be_acknowledged() {
    for (from, to, kind, hint) in [
        (
            "failure-restarts-container]",
            "failure-restarts-container, probe.startup.gates-liveness]",
            "cannot-apply",
            "line 3, column 53: the clause `probe.startup.gates-liveness` cannot apply to this case because no container has a \
             startup probe",
        ),
        (
            "port: 8080 } }\n",
            "port: wbe } }\n        ports: [{ name: web, containerPort: 8080 }]\n",
            "undeclared-port",
            "line 8, column 56: container `target` has no port `wbe`; it has web; did you mean `web`?",
        ),
        (
            "    containers:",
            "    initContainers: [{ name: first }]\n    containers:",
            "endless-init",
            "line 6, column 30: `first` has neither an image nor a plan",
        ),
        (
            "target:\n  target:",
            "expect: [{ never: { event: Unhealty } }]\ntarget:\n  target:",
            "unknown-reason",
            "line 9, column 10: `Unhealty` is not a known reason of a Kubernetes event; did you mean `Unhealthy`?",
        ),
        (
            "case: mine/one",
            "case: probe_types/startup-gates-others",
            "name-of-the-book",
            "line 1, column 7: the book already has a case `probe_types/startup-gates-others`",
        ),
    ] {
        let said = lint(from, to);
        assert_eq!(said.status, 0, "{to}: {}", said.err);
        assert!(said.err.starts_with(&format!("hint: case.yaml, {hint}")), "{to}: {}", said.err);
        assert!(said.err.contains(&format!("({kind})")), "{to}: {}", said.err);
        let meant = format!("{}acknowledged: {{ {kind}: it is meant }}\n", GOOD.replacen(from, to, 1));
        let said = lint_text(&meant);
        assert_eq!((said.status, said.err.as_str()), (0, ""), "{to}");
    }
    let said = lint_text(&format!("{GOOD}acknowledged: {{ endless-init: it is meant }}\n"));
    assert!(said.err.contains("there is no hint `endless-init` to acknowledge"), "{}", said.err);
    let said = lint_text(&format!("{GOOD}acknowledged: {{ endless-init: \"\" }}\n"));
    refused(&said, "case.yaml, line 11, column 17: explain why this is intended");
    let said = lint_text(&format!("{GOOD}acknowledged: {{ endles-init: x }}\n"));
    assert!(said.status == 2 && said.err.contains("did you mean `endless-init`?"), "{}", said.err);
}

#[test]
fn a_clause_without_a_judge_is_refused() {
    let said = lint("restarts-container]", "restarts-container, probe.readiness.vs-startup-advice]");
    refused(
        &said,
        "case.yaml, line 3, column 53: the clause `probe.readiness.vs-startup-advice` has no judge: ",
    );
}

#[test]
fn a_file_can_be_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        folder.path(),
        "case.yaml",
        &GOOD.replace("    containers", "    activeDeadlineSeconds: 9\n    containers"),
    );
    let said = probity(&["explain", path.to_str().unwrap()]);
    assert_eq!(said.status, 0, "{}", said.err);
    for part in [
        "mine/one  core, about ",
        "activeDeadlineSeconds 9",
        "GET /live over HTTP on port 8080 every 10 s",
        "defined in ",
    ] {
        assert!(said.out.contains(part), "{part} in {}", said.out);
    }
}

#[test]
fn hints_of_a_matrix_are_told_once_and_at_their_place() {
    let text = GOOD.replace("port: 8080 }", "port: 8081, scheme: '${scheme}' }")
        + "matrix: { scheme: [HTTP, HTTPS] }\n";
    let said = lint_text(&text);
    assert_eq!(said.err.matches("hint: ").count(), 1, "{}", said.err);
    assert!(said.err.contains("line 8, column 9") && said.err.contains("${scheme}"), "{}", said.err);
    assert!(said.out.ends_with("2 cases\n"), "{}", said.out);
}

#[test]
fn hints_of_a_sidecar_stand_where_its_container_is_written() {
    let text = GOOD.replace("port: 8080 }", "port: 8081 }") + "matrix: { container-kind: [main, sidecar] }\n";
    let said = lint_text(&text);
    assert_eq!(said.err.matches("hint: ").count(), 1, "{}", said.err);
    assert!(said.err.contains("line 8, column 9"), "{}", said.err);
    assert!(said.out.ends_with("2 cases\n"), "{}", said.out);
    refused(
        &lint_text(&text.replace("sidecar]", "init]")),
        "case.yaml, line 11, column 34: a kind of container",
    );
}

/// Every example of the documentation that is a whole case.
#[test]
fn a_folder_and_a_file_of_any_name_can_be_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "good.txt", GOOD);
    let said = probity(&["explain", file.to_str().unwrap()]);
    assert!(said.status == 0 && said.out.starts_with("mine/one  "), "{}{}", said.out, said.err);
    write(folder.path(), "good.yaml", GOOD);
    let said = probity(&["explain", folder.path().to_str().unwrap()]);
    assert!(said.status == 0 && said.out.starts_with("mine/one  "), "{}{}", said.out, said.err);
}

#[test]
fn every_case_in_the_documentation_is_a_good_one() {
    let folder = tempfile::tempdir().unwrap();
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut count = 0;
    for page in ["case.md", "reproduce.md"] {
        let text = std::fs::read_to_string(docs.join(page)).unwrap();
        for block in text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            count += 1;
            write(folder.path(), &format!("{count}.yaml"), block);
        }
    }
    assert!(count >= 5, "{count}");
    let said = probity(&["lint", "--strict", folder.path().to_str().unwrap()]);
    assert_eq!(said.status, 0, "{}", said.err);
}
