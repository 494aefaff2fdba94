//! The generation of a pod, revision by revision.

use probity_composer::Composer;
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const CLAUSE: &str = "pod.update.generation";

/// A pod in one revision: its generation, a label, its deadline, and whether it is being deleted.
struct Shown(i64, &'static str, i64, bool);

fn judged(first: i64, revisions: &[Shown]) -> &'static str {
    let mut run = Composer::new(&[CLAUSE]);
    let manifest = json!({ "metadata": { "name": "pod", "generation": 7 }, "spec": { "containers": [] } });
    run.deed(0.0, Did::Created { kind: "Pod".to_owned(), name: "pod".to_owned(), manifest });
    let mut at = 1.0;
    let mut see = |run: &mut Composer, of: &Shown, change| {
        run.sighting(at, "Pod", "pod", change, object(of));
        at += 1.0;
    };
    see(&mut run, &Shown(first, "red", 600, false), Change::Added);
    for of in revisions {
        see(&mut run, of, Change::Modified);
    }
    run.reading(60.0);
    verdict(&run.done(), CLAUSE)
}

fn object(Shown(generation, color, deadline, goes): &Shown) -> Value {
    let mut object = json!({
        "metadata": { "name": "pod", "uid": "uid-pod", "generation": generation,
            "labels": { "probity.dev/pod": "pod", "color": color } },
        "spec": { "activeDeadlineSeconds": deadline, "containers": [] }, "status": { "phase": "Running" },
    });
    if *goes {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    object
}

#[test]
fn the_generation_counts_changes_of_the_spec() {
    assert_eq!(judged(7, &[]), "violated", "taken from the request");
    assert_eq!(judged(1, &[]), "holds");
    assert_eq!(judged(1, &[Shown(1, "blue", 600, false)]), "holds");
    assert_eq!(judged(1, &[Shown(2, "blue", 600, false)]), "violated", "a label");
    assert_eq!(judged(1, &[Shown(1, "red", 500, false)]), "violated", "it stays");
    assert_eq!(judged(1, &[Shown(3, "red", 500, false)]), "violated", "it jumps");
    assert_eq!(judged(1, &[Shown(1, "red", 600, true)]), "violated", "deleted");
    assert_eq!(judged(1, &[Shown(2, "red", 600, true)]), "holds");
}

#[test]
fn a_generation_that_a_client_asks_for_is_ignored() {
    let mut run = Composer::new(&[CLAUSE]);
    let create = |run: &mut Composer, name: &str, metadata: Value| {
        let manifest = json!({ "metadata": metadata, "spec": { "containers": [] } });
        run.deed(0.0, Did::Created { kind: "Pod".to_owned(), name: name.to_owned(), manifest });
    };
    create(&mut run, "pod", json!({ "name": "pod", "generation": 7 }));
    create(&mut run, "other", json!({ "name": "other" }));
    let other = json!({ "metadata": { "name": "other", "uid": "uid-other", "generation": 1 }, "spec": {} });
    run.sighting(0.5, "Pod", "other", Change::Added, other);
    run.sighting(1.0, "Pod", "pod", Change::Added, object(&Shown(1, "red", 600, false)));
    run.sighting(2.0, "Pod", "pod", Change::Modified, object(&Shown(1, "red", 600, false)));
    run.sighting(3.0, "Pod", "pod", Change::Modified, object(&Shown(1, "blue", 600, false)));
    let patch = json!({ "metadata": { "generation": 41 } });
    let (kind, name) = ("Pod".to_owned(), "pod".to_owned());
    run.deed(4.0, Did::Patched { kind, name, patch, subresource: String::new() });
    run.sighting(5.0, "Pod", "pod", Change::Modified, object(&Shown(2, "blue", 500, false)));
    run.sighting(6.0, "Pod", "pod", Change::Modified, object(&Shown(3, "blue", 500, true)));
    run.reading(60.0);
    assert_eq!(verdict(&run.done(), CLAUSE), "holds");
}
