//! Hand-written histories in which a status loses what it showed before, and in which a container is stopped without a
//! reason.

use probity_composer::Composer;
use probity_script::witness::{Dump, Exiting, Fact};
use serde_json::{Value, json};

use super::{ENDED, FAILED, STARTED, STATES, command, ended, hungry, plain, pod, running, status, with_hook};
use crate::tests::verdict;

#[test]
fn an_ephemeral_container_stays_in_the_status() {
    let judged = |kept: bool| {
        let mut run = plain(STATES);
        let debugger = json!([{
            "name": "debug", "restartCount": 0, "ready": false, "containerID": "containerd://debug",
            "state": { "running": { "startedAt": "2026-11-01T00:00:02Z" } }, "lastState": {},
        }]);
        for (at, shown) in [(2.0, true), (3.0, kept)] {
            let mut now = status(0, running(1.0), json!({}));
            if shown {
                now["ephemeralContainerStatuses"] = debugger.clone();
            }
            run.status(at, &now);
        }
        verdict(&run.done(), STATES)
    };
    assert_eq!(judged(true), "holds");
    assert_eq!(judged(false), "violated");
}

/// A container takes 64 MiB of memory, which is more than its limit, and is killed and started again. Its last state
/// first has the reason for a lack of memory, and then this reason.
fn killed_for_memory(then: &str) -> &'static str {
    let mut run = pod(ENDED, hungry());
    run.status(1.5, &status(0, running(1.0), json!({}))).left(3.0);
    run.status(3.5, &status(0, ended(137, "OOMKilled", 1.0, 3.0), json!({})));
    run.start(4.0, 1);
    run.status(4.5, &status(1, running(4.0), ended(137, then, 1.0, 3.0))).reading(9.0);
    verdict(&run.done(), ENDED)
}

#[test]
fn a_lack_of_memory_stays_the_reason_of_the_last_state() {
    assert_eq!(killed_for_memory("OOMKilled"), "holds");
    assert_eq!(killed_for_memory("Error"), "violated");
}

/// A container takes too much memory twice, and no status shows this reason. Its node has this version of cgroups, and allows
/// this number of inotify instances.
fn never_said(cgroup: u8, instances: u32) -> &'static str {
    let mut run = pod(ENDED, hungry());
    let of_cgroup = if cgroup == 2 { "memory.events" } else { "memory/memory.failcnt" };
    let files = [
        ("/proc/sys/fs/inotify/max_user_instances".to_owned(), format!("{instances}\n")),
        (format!("/sys/fs/cgroup/{of_cgroup}"), String::new()),
    ];
    run.fact(1.1, Fact::Dump(Dump { files: files.into(), ..Dump::default() }));
    run.status(1.5, &status(0, running(1.0), json!({}))).left(3.0);
    run.status(3.5, &status(0, ended(137, "Error", 1.0, 3.0), json!({})));
    run.start(4.0, 1);
    run.status(4.5, &status(1, running(4.0), ended(137, "Error", 1.0, 3.0))).left(6.0);
    run.status(6.5, &status(1, ended(137, "Error", 4.0, 6.0), ended(137, "Error", 1.0, 3.0))).reading(30.0);
    verdict(&run.done(), ENDED)
}

#[test]
fn a_runtime_that_may_watch_only_a_few_containers_does_not_know_the_reason() {
    assert_eq!(never_said(2, 1280), "violated");
    assert_eq!(never_said(1, 128), "violated", "with cgroup v1, it needs no inotify");
    assert_ne!(never_said(2, 128), "violated");
}

#[test]
fn a_deleted_pod_may_show_an_earlier_instance_for_a_moment() {
    let judged = |id: &str| {
        let mut run = plain(STARTED);
        run.status(1.5, &status(0, running(1.0), json!({}))).left(3.0).start(4.0, 1);
        run.status(4.5, &status(1, running(4.0), ended(0, "Completed", 1.0, 3.0)));
        let mut earlier = status(1, ended(0, "Completed", 1.0, 3.0), ended(0, "Completed", 4.0, 8.0));
        earlier["containerStatuses"][0]["containerID"] = json!(id);
        run.left(8.0).status(9.0, &earlier).reading(20.0);
        verdict(&run.done(), STARTED)
    };
    assert_ne!(judged("containerd://target-0"), "violated");
    assert_eq!(judged("containerd://target-1"), "violated", "it says that it is the same instance");
}

fn stops(run: &mut Composer, at: f64) {
    run.signal(at, "SIGTERM");
    run.fact(at + 0.1, Fact::Exiting(Exiting { code: 0, why: "stop".to_owned() }));
    run.left(at + 0.2).start(at + 1.0, 1).running(at + 1.5, true, true, 1).reading(at + 9.0);
}

#[test]
fn a_hook_that_does_not_fail_stops_nothing() {
    let judged = |hook: Value, exits: Option<u8>| {
        let mut run = with_hook(FAILED, hook);
        if let Some(code) = exits {
            run.exec(2.0, "prepare", Some(code));
        }
        stops(&mut run, 2.2);
        verdict(&run.done(), FAILED)
    };
    assert_eq!(judged(json!({ "sleep": { "seconds": 0 } }), None), "violated");
    assert_eq!(judged(command(), Some(0)), "violated");
    assert_ne!(judged(command(), Some(1)), "violated", "it failed");
}
