//! A table of cases with unknown names and their errors.

use crate::case::Case;

const GOOD: &str = "\
case: mine/one
story: A container that is asked for its health.
pod:
  spec: { containers: [{ name: app, livenessProbe: { httpGet: { path: /live, port: 8080 } } }, { name: beside }] }
target:
  app:
    listeners: { web: { port: 8080, paths: { /live: 200, /ready: [{ answer: 503, when: { since: { broken: 0s.. } } }, { answer: 200 }] } } }
steps:
  - wait: { container: app, asked: { at: \"web:/live\", times: 2 }, phase: Running }
  - mark: { name: broken }
  - change: { to: { listeners: { web: { paths: { /live: 503 } } } } }
  - wait: { signal: SIGTERM }
  - node: { verb: restart-kubelet }
expect:
  - never: { failure-of: \"web:/ready\" }
  - times: { of: { only: { what: restart, container: app, since: { mark: broken } } }, most: 1 }
  - never: { phase: Failed }
  - within: { of: { signal: SIGTERM }, after: { failure-of: \"web:/live\" }, span: 9s }
needs: [node-verbs]
";

fn refused(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    Case::read("f", &GOOD.replacen(from, to, 1)).err().map(|problem| problem.line()).unwrap_or_default()
}

#[test]
fn a_good_case_is_good() {
    assert_eq!(refused("", ""), "");
}

#[test]
fn a_name_that_nothing_has_is_refused_at_its_place_with_the_near_ones() {
    for (from, to, said) in [
        (
            "failure-of: \"web:/ready\"",
            "failure-of: \"web:/redy\"",
            "line 15, column 26: no target of the case has an endpoint `web:/redy`; there is web:/live, web:/ready, web@connections; did you mean `web:/ready`?",
        ),
        (
            "at: \"web:/live\"",
            "at: \"wbe:/live\"",
            "line 9, column 42: target `app` has no endpoint `wbe:/live`; there is web:/live, web:/ready, web@connections; did you mean `web:/live`?",
        ),
        (
            "container: app, asked",
            "container: ap, asked",
            "line 9, column 24: pod `pod` has no container `ap`; there is app, beside; did you mean `app`?",
        ),
        (
            "container: app, asked",
            "container: beside, asked",
            "line 9, column 24: only a container with a plan under `target` records this; there is app",
        ),
        (
            "container: app, asked",
            "pod: x, asked",
            "line 9, column 18: there is no pod `x`: the case has one pod, so leave `pod` out",
        ),
        (
            "phase: Running",
            "dumped: { file: /x }",
            "line 9, column 67: `dumped` needs either `says` with a part of the file's content, or `missing: true`",
        ),
        (
            "phase: Running",
            "dumped: { file: /x, says: y, missing: true }",
            "line 9, column 67: `dumped` needs either `says` with a part of the file's content, or `missing: true`",
        ),
        (
            "phase: Running",
            "phase: Runing",
            "line 9, column 74: `Runing` is not a pod phase (Pending, Running, Succeeded, Failed, Unknown); did you \
             mean `Running`?",
        ),
        (
            "since: { broken: 0s.. }",
            "since: { brokn: 0s.. }",
            "line 6, column 3: neither a step nor an answer sets the mark `brokn`; there is broken, sigterm; did you \
             mean `broken`?",
        ),
        (
            "paths: { /live: 503 }",
            "paths: { /lives: 503 }",
            "line 11, column 58: the plan has no `web:/lives` to change; did you mean `web:/live`?",
        ),
        (
            "to: { listeners: { web:",
            "to: { listeners: { wbe:",
            "line 11, column 34: there is no listener `wbe` (the plan has: web); did you mean `web`?",
        ),
        (
            "wait: { signal: SIGTERM }",
            "wait: { signal: SIGTREM }",
            "line 12, column 21: `SIGTREM` is not a signal; did you mean `SIGTERM`?",
        ),
        (
            "verb: restart-kubelet",
            "verb: restart-kublet",
            "line 13, column 19: `restart-kublet` is not a verb for nodes (restart-kubelet, remove-sandbox, stop, kill, cut, freeze, start, heal, thaw, configure-kubelet, restore-kubelet, remove-static-pods, describe-pod, configure-controllers, restore-controllers, announce-shutdown, cancel-shutdown); did you mean `restart-kubelet`?",
        ),
        (
            "container: app, since",
            "container: apps, since",
            "line 16, column 54: no pod has a container `apps`; there is app, beside; did you mean `app`?",
        ),
        (
            "since: { mark: broken }",
            "since: { mark: broke }",
            "line 16, column 74: no step sets the mark `broke`; there is broken; did you mean `broken`?",
        ),
        (
            "since: { mark: broken }",
            "since: { step: delete }",
            "line 16, column 74: the case has no such step",
        ),
        ("phase: Failed", "phase: Faild", "line 17, column 21: `Faild` is not a pod phase"),
        ("of: { signal: SIGTERM }", "of: { signal: TERM }", "line 18, column 29: `TERM` is not a signal"),
    ] {
        let told = refused(from, to);
        assert!(told.starts_with(&format!("f, {said}")), "{from} -> {to}\n  wanted {said}\n  got    {told}");
    }
}

#[test]
fn a_mark_that_nothing_waits_for_is_refused() {
    let text = "case: a/b\nstory: x\npod: { spec: { containers: [{ name: c }] } }\ntarget: { c: {} }\nsteps:\n  - mark: { name: broken }\n";
    let said = Case::read("f", text).err().map(|problem| problem.line()).unwrap_or_default();
    assert!(
        said.starts_with("f, line 6, column 19: neither a plan nor an expectation uses the mark `broken`"),
        "{said}"
    );
}

#[test]
fn limits_that_mean_nothing_are_refused() {
    for (only, why) in [
        ("what: restart", "`only` needs a `pod`"),
        ("what: { phase: Running }, container: app", "a phase, an event"),
        ("what: ready, attempt: 1", "omit `attempt`"),
        ("what: { only: { what: ready, container: app } }, attempt: 1", "`only` must not be nested"),
    ] {
        let told = refused("never: { phase: Failed }", &format!("never: {{ only: {{ {only} }} }}"));
        assert!(told.contains(why), "{only}: {told}");
    }
}

#[test]
fn a_name_of_a_case_has_a_form_and_what_is_no_case_says_what_it_is() {
    let said = refused("case: mine/one", "case: My Case!");
    assert!(
        said.starts_with("f, line 1, column 7: `My Case!` is not a valid case name; write `chapter/"),
        "{said}"
    );
    let told = |text: &str| Case::read("f", text).err().map(|problem| problem.line()).unwrap_or_default();
    let pod = "apiVersion: v1\nkind: Pod\nspec: { containers: [{ name: c }] }\n";
    assert!(
        told(pod).starts_with("f, line 2, column 7: this is a Pod and not a case: put a pod under `pod:`"),
        "{}",
        told(pod)
    );
    assert_eq!(told(""), "f: the case is empty");
    assert!(
        told(&format!("{GOOD}---\ncase: a/c\n"))
            .contains("a second document begins here; a file contains one case")
    );
    let said = refused("/live: 200", "/live: \"200\"");
    assert!(said.contains("this must be a number, but \"200\" is a string: remove the quotes"), "{said}");
}

#[test]
fn a_status_a_subresource_and_an_image_that_do_not_exist_are_refused() {
    let told = refused("wait: { signal: SIGTERM }", "wait: { condition: { type: Ready, status: \"Yes\" } }");
    assert!(told.contains("`Yes` is not a condition status (True, False, Unknown)"), "{told}");
    let told = refused("node: { verb: restart-kubelet }", "patch: { subresource: statuses, patch: {} }");
    assert!(told.contains("`statuses` is not a subresource that can be patched"), "{told}");
    assert!(told.contains("did you mean `status`?"), "{told}");
    let patch = "patch: { patch: { spec: { containers: [{ name: target, image: \"{image:three}\" }] } } }";
    let told = refused("node: { verb: restart-kubelet }", patch);
    assert!(told.contains("the target's image has no variant `three`"), "{told}");
}
