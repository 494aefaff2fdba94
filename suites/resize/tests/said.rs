//! Limits that a container must have as soon as the kubelet has said that its resize is complete.

use probity_model::history::Listener;

use super::*;

const CLAUSE: &str = "resize.enacted";

/// At 11 s, a status shows the resize from 10 s, with this observed generation, this limit and these conditions.
struct Shown {
    observed: u64,
    memory: &'static str,
    conditions: Value,
}

/// The container reads this limit at this time.
fn read(shown: &Shown, (at, bytes): (f64, &str), more: impl FnOnce(&mut Composer)) -> &'static str {
    let mut run = grown(CLAUSE, "");
    let limits = json!({ "limits": { "cpu": "100m", "memory": shown.memory } });
    let mut status = status(&limits, 0, &shown.conditions);
    status["observedGeneration"] = json!(shown.observed);
    let metadata = json!({
        "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" }, "generation": 2,
    });
    let object = json!({ "metadata": metadata, "spec": spec("100m", "96Mi", ""), "status": status });
    run.sighting(11.0, "Pod", "pod", Change::Modified, object);
    more(&mut run);
    dump(&mut run, at, &[("/sys/fs/cgroup/memory.max", bytes)]);
    verdict(&end(run), CLAUSE)
}

const OLD: &str = "67108864";
const NEW: &str = "100663296";

fn complete() -> Shown {
    Shown { observed: 2, memory: "96Mi", conditions: json!([]) }
}

#[test]
fn a_resize_that_is_shown_as_complete_is_enacted() {
    assert_ne!(read(&complete(), (14.0, NEW), |_| {}), "violated");
    assert_eq!(read(&complete(), (14.0, OLD), |_| {}), "violated");
    assert_ne!(read(&complete(), (11.5, OLD), |_| {}), "violated", "it may have read the limit before");
    let going = json!([{ "type": "PodResizeInProgress", "status": "True" }]);
    for (why, shown) in [
        ("it is in progress", Shown { conditions: going, ..complete() }),
        ("this status is about the old spec", Shown { observed: 1, ..complete() }),
        ("the status shows the old limit", Shown { memory: "64Mi", ..complete() }),
    ] {
        assert_ne!(read(&shown, (14.0, OLD), |_| {}), "violated", "{why}");
    }
}

#[test]
fn a_busy_node_and_the_next_resize_excuse_an_old_limit() {
    let stalled = |run: &mut Composer| {
        run.noise_by(Listener::Target, 11.0, 14.0);
    };
    assert_ne!(read(&complete(), (14.0, OLD), stalled), "violated", "it may have recorded the limit late");
    assert_eq!(read(&complete(), (17.0, OLD), stalled), "violated");
    let resized = |run: &mut Composer| patched(run, 12.5, &json!({ "memory": "64Mi" }));
    assert_ne!(read(&complete(), (14.0, OLD), resized), "violated", "the limit was lowered again");
}
