//! Histories of commands beside a probe that hangs.

use probity_composer::Told;

use super::*;

const ALONE: &str = "prober.worker.one-per-kind";

/// The liveness probe hangs from 3 s to 8 s; readiness commands run at these seconds.
fn hanging_beside_commands(seconds: &[u16]) -> Composer {
    let mut live = http("/live", 8080, 1);
    live["timeoutSeconds"] = json!(5);
    let command = json!({ "command": ["/agnhost-rs", "exec", "ready"] });
    let ready = json!({ "exec": command, "periodSeconds": 1, "timeoutSeconds": 3 });
    let mut run = one(ALONE, &json!({ "livenessProbe": live, "readinessProbe": ready }));
    for second in 2..11 {
        if seconds.contains(&second) {
            run.exec(f64::from(second), "ready", Some(0));
        }
        if second == 3 {
            let hang = Told { took: 5.2, answer: "hang".to_owned(), written: 0, ..Told::get("/live", 200) };
            run.http(3.1, &hang);
        }
    }
    run
}

#[test]
fn a_probe_that_hangs_delays_no_command() {
    let judged = |seconds: &[u16]| verdict(&hanging_beside_commands(seconds).done(), ALONE);
    assert_eq!(judged(&[2, 3, 4, 5, 6, 7, 8, 9]), "holds");
    assert_eq!(judged(&[2, 3, 8, 9, 10]), "violated");
    let mut errored = hanging_beside_commands(&[2, 3, 8, 9, 10]);
    // A command that the runtime cannot start leaves no record.
    errored.event(11.0, "Warning", "Unhealthy", "Readiness probe errored and resulted in unknown state");
    assert_eq!(verdict(&errored.done(), ALONE), "inconclusive");
}
