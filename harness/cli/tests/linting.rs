//! `probity lint`: how many problems it shows, and what it says about a case that may test nothing.

mod probity;

use probity::lint_text;

#[test]
fn a_case_that_tests_nothing_is_refused_and_one_that_may_test_nothing_gets_a_hint() {
    let said = lint_text("case: mine/one\nstory: x\n");
    let refusal = "case.yaml, line 1, column 7: this case tests nothing, because it has no pod, workload, object or step";
    assert!(said.status == 2 && said.err.starts_with(refusal), "{}", said.err);
    let case = "case: mine/one\nstory: x\npod: { spec: { containers: [{ name: app, image: nginx }] } }\n";
    let said = lint_text(case);
    assert_eq!(said.status, 0, "{}", said.err);
    let hint =
        "hint: case.yaml, line 3, column 1: no container of the case has a probe or a hook, and there are no";
    assert!(said.err.starts_with(hint) && said.err.contains("(nothing-probed)"), "{}", said.err);
    let said = lint_text(&format!("{case}steps: [watch: 5s]\n"));
    assert!(
        said.status == 0 && said.err.is_empty() && said.out.ends_with(": 1 case\n"),
        "{} {}",
        said.out,
        said.err
    );
}

#[test]
fn all_problems_of_a_file_that_do_not_follow_from_each_other_are_shown() {
    let said = lint_text(
        "\
case: mine/one
story: ''
judges: [probe.liveness.failure-restarts-containr, zzz.zzz]
pods:
  one: { pod: { spec: { containers: [{ name: app, livenesProbe: {} }, { nme: b }] } } }
  two: { pod: { spec: { containers: [{ name: App }] } } }
steps:
  - wait: { pod: one, container: b, ready: true }
",
    );
    let shown: Vec<&str> =
        said.err.lines().filter_map(|line| line.strip_prefix("case.yaml, line ")).collect();
    let wanted = [
        "2, column 1: the story is empty",
        "3, column 10: there is no clause `probe.liveness.failure-restarts-containr`",
        "3, column 52: there is no clause `zzz.zzz`",
        "5, column 51: a container has no field `livenesProbe`",
        "5, column 73: a container has no field `nme`",
        "6, column 46: `App` is not a valid container name",
    ];
    assert_eq!(shown.len(), wanted.len(), "{}", said.err);
    for (shown, wanted) in shown.iter().zip(wanted) {
        assert!(shown.starts_with(wanted), "{wanted} in {}", said.err);
    }
    assert!(said.err.ends_with("probity lint: 6 problems\n"), "{}", said.err);
}

#[test]
fn of_very_many_problems_of_a_file_the_first_are_shown() {
    let containers = ["{ name: App }"; 23].join(", ");
    let said =
        lint_text(&format!("case: mine/one\nstory: x\npod: {{ spec: {{ containers: [{containers}] }} }}\n"));
    assert_eq!(said.err.matches("is not a valid container name").count(), 20, "{}", said.err);
    assert!(
        said.err.ends_with("not shown: 3 more problems of this file\nprobity lint: 23 problems\n"),
        "{}",
        said.err
    );
}
