//! Histories about what exec probes leave behind.

use probity_script::witness::{Dump, ProcessSeen};

use super::*;

const CLAUSE: &str = "scenario.exec.zombies";

/// A command each second leaves a child behind; the last dump shows this number of zombies.
fn left(reap: bool, commands: u32, zombies: u32) -> Composer {
    let plan = json!({ "exec": { "leave": { "fork": "300ms" } }, "process": { "reap": reap } });
    let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "leave"] }, "periodSeconds": 1 });
    let mut run = pod(CLAUSE, &target(&json!({ "readinessProbe": probe }), &plan));
    for at in 2..2 + commands {
        run.exec(f64::from(at), "leave", Some(0));
    }
    let process = |pid, state: &str| {
        let (state, name) = (state.to_owned(), "agnhost-rs".to_owned());
        ProcessSeen { pid, parent: 1, state, name, ..ProcessSeen::default() }
    };
    let mut processes = vec![process(1, "S")];
    processes.extend((0..zombies).map(|at| process(100 + at, "Z")));
    run.fact(20.0, Fact::Dump(Dump { processes, ..Dump::default() }));
    run
}

#[test]
fn zombies_under_a_process_that_does_not_reap_hold() {
    assert_eq!(verdict(&left(false, 10, 10).done(), CLAUSE), "holds");
}

#[test]
fn none_under_one_that_does_hold() {
    assert_eq!(verdict(&left(true, 10, 0).done(), CLAUSE), "holds");
}

#[test]
fn zombies_under_one_that_reaps_are_a_violation() {
    assert_eq!(verdict(&left(true, 10, 6).done(), CLAUSE), "violated");
}

#[test]
fn too_few_commands_are_doubt() {
    assert_eq!(verdict(&left(false, 2, 2).done(), CLAUSE), "inconclusive");
}
