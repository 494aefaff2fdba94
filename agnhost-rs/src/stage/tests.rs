#![expect(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::clock::Clock;
use crate::witness::Identity;
use probity_script::answer::HttpAnswer;

fn stage(plan: &str) -> Stage {
    let identity = Identity { boot: "t".to_owned(), attempt: 0, counter: None };
    Stage::new(serde_saphyr::from_str(plan).unwrap(), Witness::new(Clock::start(), identity, 1 << 16))
}

fn ready(stage: &Stage) -> HttpAnswer {
    let plan = stage.plan();
    let script = &plan.listeners["http"].paths["/ready"];
    stage.choose(script, ProbedEndpoint { name: "http:/ready", probe: 1, host: None }).answer
}

const PLAN: &str = "listeners: { http: { port: 0, paths: { /ready: [{ answer: hang, when: { since: { gone: 0s.. } } }, { answer: close }] } } }";

#[test]
fn a_change_is_in_force_when_it_is_answered_and_a_reset_undoes_it() {
    let stage = stage(PLAN);
    assert_eq!(ready(&stage), HttpAnswer::Close);
    let change = serde_saphyr::from_str("listeners: { http: { paths: { /ready: reset } } }").unwrap();
    let changed = stage.change(change).unwrap();
    assert_eq!(ready(&stage), HttpAnswer::Reset);
    assert_eq!(changed.endpoints.iter().map(ToString::to_string).collect::<Vec<_>>(), ["http:/ready"]);
    stage.reset();
    assert_eq!(ready(&stage), HttpAnswer::Close);
}

#[test]
fn a_wrong_change_changes_nothing() {
    let stage = stage(PLAN);
    for (change, why) in [
        ("listeners: { web: { paths: { /ready: reset } } }", "no listener `web`"),
        ("listeners: { http: { services: { a: serving } } }", "services belong to protocol grpc"),
        ("{}", "is empty"),
    ] {
        let problem = stage.change(serde_saphyr::from_str(change).unwrap()).unwrap_err();
        assert!(problem.contains(why), "{problem}");
    }
    assert_eq!(ready(&stage), HttpAnswer::Close);
}

#[test]
fn events_lead_scripts() {
    let stage = stage(PLAN);
    stage.mark("gone", "test");
    assert_eq!(ready(&stage), HttpAnswer::Hang);
}

#[test]
fn probes_are_counted_for_each_endpoint() {
    let stage = stage(PLAN);
    let counts = [("http", "/a"), ("http", "/a"), ("grpc", "/a"), ("http", "/b"), ("http", "/a")];
    assert_eq!(counts.map(|(group, name)| stage.count(group, name)), [1, 2, 1, 1, 3]);
    assert_eq!(stage.counters()["http"]["/a"], 3);
}
