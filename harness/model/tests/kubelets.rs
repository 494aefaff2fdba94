//! Verdicts depend on the versions and the settings of the kubelets that ran the pods.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use probity_composer::Composer;
use probity_model::history::{Change, Did, Header, NodeFacts};
use probity_model::{Catalogue, Clause, Judge, Judgement, Registry, Seen, Timeline};
use serde_json::json;

/// A clause without its closing brace.
const CLAUSE: &str =
    "- { id: a.silence, level: must, says: s, source: { document: d, edition: e }, tested: t";

/// A cluster with an API server of version 1.36.
fn cluster(nodes: [(&str, NodeFacts); 2]) -> Composer {
    Composer::with_header(Header {
        server: "v1.36.3".to_owned(),
        judges: vec!["a.silence".parse().unwrap()],
        nodes: nodes.into_iter().map(|(name, facts)| (name.to_owned(), facts)).collect(),
        ..Header::default()
    })
}

fn kubelet(version: &str) -> NodeFacts {
    NodeFacts { kubelet: version.to_owned(), ..NodeFacts::default() }
}

/// The judgment on a pod of a node, for which one event is recorded. The clause has these additional fields.
fn judged(
    mut run: Composer,
    node: &str,
    more: &str,
    judge: fn(&Timeline<'_>, &Clause, &mut Seen),
) -> Judgement {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("test", &format!("{CLAUSE}, {more} }}")).unwrap();
    let registry = Registry::new(catalogue, [Judge { clause: "a.silence", judge }]).unwrap();
    let spec = json!({ "nodeName": node, "containers": [{ "name": "target" }] });
    run.pod_seen(1.0, &spec, &json!({ "phase": "Pending" }), Change::Added);
    let of = json!({ "kind": "Pod", "name": "pod", "uid": "uid-pod" });
    let event =
        json!({ "metadata": { "name": "e" }, "involvedObject": of, "source": { "host": "elsewhere" } });
    run.sighting(2.0, "Event", "e", Change::Added, event);
    run.deed(9.0, Did::Over { why: "done".to_owned() });
    registry.judge(&run.done()).remove(0)
}

/// Accuses every pod, with its first revision as the only evidence.
fn accuse(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let revisions = run.pods.iter().flat_map(|pod| pod.revisions.first());
    seen.violated("it never came", revisions.map(|first| first.id));
}

/// Accuses every pod, with its first event as the only evidence.
fn accuse_by_event(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let events = run.pods.iter().flat_map(|pod| pod.events.first());
    seen.violated("it never came", events.map(|first| first.id));
}

/// Reports a known deviation of every pod, with its first revision as the only evidence.
fn deviate(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let revisions = run.pods.iter().flat_map(|pod| pod.revisions.first());
    seen.diverges("it came late", revisions.map(|first| first.id));
}

/// The judgment on a pod of a node, if the kubelets of two nodes have these settings and the clause depends on
/// `syncFrequency`. `None` means that the settings were not read, and an empty text that they have their defaults.
fn configured(settings: [Option<&str>; 2]) -> Judgement {
    let changed = |name: &str| match name {
        "" => BTreeMap::new(),
        _ => BTreeMap::from([(name.to_owned(), "10m0s".to_owned())]),
    };
    let facts = |setting: Option<&str>| NodeFacts { settings: setting.map(changed), ..NodeFacts::default() };
    let run = cluster([("here", facts(settings[0])), ("elsewhere", facts(settings[1]))]);
    judged(run, "here", "unless-configured: [syncFrequency]", accuse)
}

#[test]
fn a_setting_on_which_a_promise_depends_makes_a_violation_inconclusive() {
    let word = |settings| configured(settings).verdict.word();
    assert_eq!(word([Some(""), Some("")]), "violated");
    assert_eq!(word([Some("syncFrequency"), Some("")]), "inconclusive");
    assert_eq!(word([Some("eventRecordQPS"), Some("")]), "violated", "it does not depend on this one");
    assert_eq!(word([Some(""), Some("syncFrequency")]), "violated", "the setting of another node");
}

#[test]
fn settings_that_were_not_read_change_no_verdict_but_the_finding_tells() {
    let finding = |settings| {
        let judged = configured(settings);
        assert_eq!(judged.verdict.word(), "violated");
        judged.verdict.sentence().to_owned()
    };
    assert_eq!(finding([Some(""), None]), "it never came");
    assert_eq!(
        finding([None, Some("")]),
        "it never came; the promise is about the default of syncFrequency, and the settings of the kubelet are not \
         known"
    );
    let run = cluster([("here", NodeFacts::default()), ("elsewhere", NodeFacts::default())]);
    let other = judged(run, "here", "stage: status", accuse);
    assert_eq!(other.verdict.sentence(), "it never came", "the clause depends on no setting");
}

#[test]
fn settings_are_stored_only_if_they_were_read() {
    let stored = |settings| serde_json::to_value(NodeFacts { settings, ..NodeFacts::default() }).unwrap();
    assert_eq!(stored(None).get("settings"), None);
    assert_eq!(stored(Some(BTreeMap::new())).get("settings"), Some(&json!({})));
    let read = |settings| serde_json::from_value::<NodeFacts>(stored(settings)).unwrap().settings;
    assert_eq!(read(None), None, "an older recording has no such field");
    assert_eq!(read(Some(BTreeMap::new())), Some(BTreeMap::new()));
}

/// The verdict on a pod of a node, in a cluster with a kubelet of version 1.34 and a kubelet of version 1.36.
fn on(node: &str, more: &str, judge: fn(&Timeline<'_>, &Clause, &mut Seen)) -> &'static str {
    let run = cluster([("old", kubelet("v1.34.2")), ("new", kubelet("v1.36.3"))]);
    judged(run, node, more, judge).verdict.word()
}

#[test]
fn the_kubelet_that_ran_the_pod_decides_about_a_known_deviation() {
    let known = "actual: late, actual-issue: 'https://example.com', actual-since: '1.35'";
    assert_eq!(on("new", known, deviate), "diverges");
    assert_eq!(on("old", known, deviate), "violated", "the newer kubelet of another node is no excuse");
}

#[test]
fn a_promise_that_is_younger_than_the_kubelet_does_not_bind_it() {
    let young = "since: '1.35', stage: status";
    for judge in [accuse, accuse_by_event, deviate] {
        assert_eq!(on("old", young, judge), "inconclusive");
    }
    assert_eq!(on("new", young, accuse), "violated");
    assert_eq!(
        on("new", young, accuse_by_event),
        "violated",
        "the event is about a pod of the newer kubelet"
    );
    assert_eq!(on("old", "since: '1.34', stage: status", accuse), "violated", "it is as old as the promise");
    assert_eq!(on("old", "since: '1.35', stage: spec", accuse), "violated", "this is about the API server");
}

#[test]
fn a_promise_that_is_younger_than_all_kubelets_is_not_judged() {
    let word = |more: &str| {
        let run = cluster([("old", kubelet("v1.33.9")), ("other", kubelet("v1.34.2"))]);
        judged(run, "old", more, accuse).verdict.word()
    };
    assert_eq!(word("since: '1.35', stage: status"), "skipped");
    assert_eq!(word("since: '1.35', stage: spec"), "violated");
    assert_eq!(word("since: '1.33', stage: status"), "violated");
}
