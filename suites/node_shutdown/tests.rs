//! Hand-written histories of a node that is about to shut down: a regular pod and a critical pod are on it. Both ignore their
//! stop signals. The kubelet may delay the shutdown for 20 s, of which 8 s are for critical pods.

use probity_composer::{Composer, NODE, us};
use probity_model::history::{
    ANNOUNCE_SHUTDOWN, CANCEL_SHUTDOWN, CONFIGURE_KUBELET, Did, KubeletSigns, NodeProof,
};
use probity_script::witness::{Exiting, Fact};
use serde_json::{Value, json};

use crate::tests::{verdict, verdict_of_all_facets};

/// When the shutdown is announced, and when it is cancelled.
const ANNOUNCED: f64 = 20.0;
const CANCELLED: f64 = 50.0;

/// What a kubelet does. All times count from the announcement.
struct Kubelet {
    /// How long before the announcement it was configured.
    configured: f64,
    delayed: bool,
    released: Option<f64>,
    /// When each of the two pods gets its stop signal, and when it is killed.
    regular: (Option<f64>, f64),
    critical: (Option<f64>, f64),
    /// How the status of a pod that is created after 2 s ends.
    late: Option<Value>,
    /// Whether a container of this pod runs.
    late_runs: bool,
    /// Whether a pod that is created after the cancellation runs.
    next_runs: bool,
    /// Whether the regular pod runs again after the cancellation.
    returns: bool,
}

/// A kubelet that behaves as documented. The grace period of both pods is a minute.
fn faithful() -> Kubelet {
    let rejected =
        json!({ "phase": "Failed", "reason": "NodeShutdown", "message": "the node is shutting down" });
    Kubelet {
        configured: 15.0,
        delayed: true,
        released: Some(20.5),
        regular: (Some(0.2), 12.2),
        critical: (Some(12.1), 20.2),
        late: Some(rejected),
        late_runs: false,
        next_runs: true,
        returns: false,
    }
}

fn verb(run: &mut Composer, at: f64, verb: &str, input: Option<Value>, output: Value, starts: u64) {
    let shown = |starts| KubeletSigns { starts: Some(starts), process_us: None };
    let proof = Some(NodeProof { ended_us: us(at), before: shown(1), after: shown(starts) });
    let (node, verb) = (NODE.to_owned(), verb.to_owned());
    run.deed(at, Did::NodeVerb { node, verb, uid: None, input, exit: Some(0), output: Some(output), proof });
}

fn failed() -> Value {
    json!({ "phase": "Failed", "reason": "Terminated", "conditions": [
        { "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet" },
    ] })
}

/// A pod that is stopped and killed.
fn ends(run: &mut Composer, pod: &str, (stop, kill): (Option<f64>, f64)) {
    if let Some(stop) = stop {
        run.of(pod, "target").signal(ANNOUNCED + stop, "SIGTERM");
        run.left(ANNOUNCED + kill).status(ANNOUNCED + kill + 0.5, &failed());
    }
}

/// The history of a case whose pods have this grace period, in seconds.
fn history(clause: &str, grace: u64, kubelet: &Kubelet) -> Composer {
    let mut run = Composer::new(&[clause]);
    let spec = |priority: i64| json!({ "nodeName": NODE, "priority": priority, "terminationGracePeriodSeconds": grace, "containers": [{ "name": "target" }] });
    for (pod, priority) in [("regular", 0), ("critical", 2_000_001_000)] {
        run.of(pod, "target").create(1.0, &spec(priority)).start(2.0, 0);
        run.status(3.0, &json!({ "phase": "Running" }));
    }
    let settings = json!({ "shutdownGracePeriod": "20s", "shutdownGracePeriodCriticalPods": "8s" });
    verb(
        &mut run,
        ANNOUNCED - kubelet.configured,
        CONFIGURE_KUBELET,
        Some(settings),
        json!({ "running": true }),
        2,
    );
    verb(&mut run, ANNOUNCED, ANNOUNCE_SHUTDOWN, None, json!({ "delayed": kubelet.delayed }), 1);
    ends(&mut run, "regular", kubelet.regular);
    ends(&mut run, "critical", kubelet.critical);
    run.of("late", "target").create(ANNOUNCED + 2.0, &spec(0));
    if kubelet.late_runs {
        run.start(ANNOUNCED + 3.0, 0);
    }
    if let Some(status) = &kubelet.late {
        run.status(ANNOUNCED + 4.0, status);
    }
    let released = kubelet.released.map(us);
    let told = json!({ "delayed": kubelet.delayed, "releasedAfterUs": released });
    verb(&mut run, CANCELLED, CANCEL_SHUTDOWN, None, told, 1);
    run.of("next", "target").create(CANCELLED + 1.0, &spec(0));
    if kubelet.next_runs {
        run.start(CANCELLED + 2.0, 0).status(CANCELLED + 3.0, &json!({ "phase": "Running" }));
    }
    if kubelet.returns {
        run.of("regular", "target").start(CANCELLED + 3.0, 1);
    }
    run.reading(100.0);
    run
}

fn judged(clause: &str, kubelet: &Kubelet) -> &'static str {
    verdict(&history(clause, 60, kubelet).done(), clause)
}

#[test]
fn the_shutdown_is_delayed_as_long_as_pods_need() {
    let clause = "shutdown.delayed";
    let released = |released| judged(clause, &Kubelet { released, ..faithful() });
    assert_eq!(judged(clause, &faithful()), "holds");
    assert_eq!(judged(clause, &Kubelet { delayed: false, ..faithful() }), "violated", "no lock");
    assert_eq!(released(Some(15.0)), "violated", "the critical pod was running");
    assert_eq!(released(Some(27.0)), "violated", "too long");
    assert_eq!(released(None), "violated", "for ever");
    let early =
        Kubelet { released: Some(4.0), regular: (Some(0.2), 2.2), critical: (Some(2.3), 3.5), ..faithful() };
    assert_eq!(judged(clause, &early), "holds", "all pods had ended");
    let young = Kubelet { configured: 2.0, delayed: false, ..faithful() };
    assert_eq!(judged(clause, &young), "inconclusive", "the kubelet may not have seen its pods yet");
}

#[test]
fn a_shutdown_after_a_cancelled_one_is_delayed_again() {
    let clause = "shutdown.delayed";
    let again = |delayed: bool| {
        let mut run = history(clause, 60, &faithful());
        verb(&mut run, CANCELLED + 10.0, ANNOUNCE_SHUTDOWN, None, json!({ "delayed": delayed }), 1);
        verdict(&run.done(), clause)
    };
    assert_eq!(again(true), "holds");
    assert_eq!(again(false), "diverges", "no lock");
}

#[test]
fn critical_pods_wait_for_the_others() {
    let clause = "shutdown.critical-pods-last";
    let critical = |stop| judged(clause, &Kubelet { critical: (Some(stop), stop + 8.0), ..faithful() });
    assert_eq!(judged(clause, &faithful()), "holds");
    assert_eq!(critical(12.5), "holds", "the other pod has ended");
    assert_eq!(critical(0.2), "violated", "at the same time");
    assert_eq!(critical(8.0), "violated", "the other pod has some seconds left");
    let soon = Kubelet { regular: (Some(0.2), 3.0), critical: (Some(3.2), 11.2), ..faithful() };
    assert_eq!(judged(clause, &soon), "holds", "the other pod had ended");
}

#[test]
fn the_shorter_of_two_grace_periods_counts() {
    let clause = "shutdown.grace-period";
    assert_eq!(judged(clause, &faithful()), "holds");
    let regular = |stop, kill| judged(clause, &Kubelet { regular: (stop, kill), ..faithful() });
    assert_eq!(regular(Some(0.2), 9.0), "violated", "too early");
    assert_eq!(regular(Some(0.2), 16.0), "violated", "too late");
    assert_eq!(regular(Some(7.0), 12.2), "violated", "the signal is late");
    assert_eq!(regular(None, 0.0), "violated", "no signal");
    assert_eq!(judged(clause, &Kubelet { critical: (None, 0.0), ..faithful() }), "violated", "no signal");
    let own = |kill: f64| {
        let (regular, critical) = ((Some(0.2), kill), (Some(kill + 0.3), 2.0 * kill + 0.1));
        verdict(&history(clause, 4, &Kubelet { regular, critical, ..faithful() }).done(), clause)
    };
    assert_eq!(own(4.3), "holds");
    assert_eq!(own(12.2), "violated", "its own grace period was over");
    let history = history(clause, 60, &faithful()).done();
    assert_eq!(verdict_of_all_facets(&history, clause), "inconclusive", "no pod has a shorter grace period");
}

/// Judges a pod with a sidecar. All times count from the announcement: the main container exits at `main`, and the sidecar
/// gets its stop signal at `stop`.
fn aided(main: f64, stop: Option<f64>) -> &'static str {
    let clause = "shutdown.grace-period";
    let mut run = Composer::new(&[clause]);
    let spec = json!({
        "nodeName": NODE, "priority": 0, "terminationGracePeriodSeconds": 60,
        "initContainers": [{ "name": "helper", "restartPolicy": "Always" }], "containers": [{ "name": "target" }],
    });
    run.of("aided", "helper").create(1.0, &spec).start(1.5, 0);
    run.of("aided", "target").start(2.0, 0).status(3.0, &json!({ "phase": "Running" }));
    let settings = json!({ "shutdownGracePeriod": "20s", "shutdownGracePeriodCriticalPods": "8s" });
    verb(&mut run, 5.0, CONFIGURE_KUBELET, Some(settings), json!({ "running": true }), 2);
    verb(&mut run, ANNOUNCED, ANNOUNCE_SHUTDOWN, None, json!({ "delayed": true }), 1);
    run.of("aided", "target").signal(ANNOUNCED + 0.2, "SIGTERM");
    let exits = |run: &mut Composer, container: &str, at: f64| {
        let fact = Fact::Exiting(Exiting { code: 3, why: "stop".to_owned() });
        run.of("aided", container).fact(ANNOUNCED + at, fact);
        run.left(ANNOUNCED + at + 0.01);
    };
    let stops = |run: &mut Composer, at: f64| {
        run.of("aided", "helper").signal(ANNOUNCED + at, "SIGTERM");
        exits(run, "helper", at + 0.1);
    };
    stop.filter(|stop| *stop < main).into_iter().for_each(|stop| stops(&mut run, stop));
    exits(&mut run, "target", main);
    stop.filter(|stop| *stop >= main).into_iter().for_each(|stop| stops(&mut run, stop));
    run.reading(100.0);
    verdict(&run.done(), clause)
}

#[test]
fn sidecars_wait_for_the_main_containers() {
    assert_eq!(aided(1.2, Some(1.5)), "holds");
    assert_eq!(aided(11.0, Some(11.3)), "holds", "the main container uses most of its time");
    assert_eq!(aided(6.0, Some(0.3)), "violated", "the main container is running");
    assert_eq!(aided(12.4, Some(12.1)), "holds", "the grace period is over");
    assert_eq!(aided(1.2, Some(30.0)), "violated", "the signal is late");
    assert_eq!(aided(1.2, None), "violated", "no signal");
}

#[test]
fn new_pods_are_rejected_until_the_shutdown_is_cancelled() {
    let clause = "shutdown.no-new-pods";
    assert_eq!(judged(clause, &faithful()), "holds");
    assert_eq!(judged(clause, &Kubelet { late_runs: true, ..faithful() }), "violated");
    assert_eq!(judged(clause, &Kubelet { late: None, ..faithful() }), "violated", "it stays Pending");
    let silent = Kubelet { late: Some(json!({ "phase": "Failed" })), ..faithful() };
    assert_eq!(judged(clause, &silent), "violated", "nothing says why");
    let clause = "shutdown.cancelled";
    assert_eq!(judged(clause, &faithful()), "holds");
    assert_eq!(judged(clause, &Kubelet { next_runs: false, ..faithful() }), "violated", "never again");
    assert_eq!(judged(clause, &Kubelet { returns: true, ..faithful() }), "violated", "it had ended");
}

#[test]
fn pods_say_that_the_shutdown_ended_them() {
    let clause = "disruptiontarget.node-shutdown";
    assert_eq!(judged(clause, &faithful()), "holds");
    let mut run = history(clause, 60, &Kubelet { critical: (None, 0.0), ..faithful() });
    run.of("critical", "target").signal(40.0, "SIGTERM");
    run.left(41.0).status(41.5, &json!({ "phase": "Failed", "reason": "Terminated" }));
    assert_eq!(verdict(&run.done(), clause), "violated", "no condition");
}
