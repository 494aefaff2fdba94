//! Decides which defects strike a connection, from what is known about it: its address while its first packet waits,
//! and later its request.

use crate::board::{Active, Board, KnownPod};
use crate::defect::{Fault, Target};

use super::fault::{Does, PodsFault};
use super::probes::{Fits, PROBES, Probe, Seen};

/// What strikes a connection.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// The effects on the connection. Each of them was counted.
    pub(super) struck: Vec<Does>,
    /// The effects that the connection may have when more is known. None of them was counted.
    pub(super) open: Vec<Does>,
    /// The names of the defects that were already evaluated, and are not evaluated again.
    pub(super) decided: Vec<String>,
}

impl Choice {
    /// Whether it is left alone.
    #[must_use]
    pub(super) fn is_none(&self) -> bool {
        self.struck.is_empty() && self.open.is_empty()
    }
}

/// Chooses among the active defects for a connection to `pod`, except those that were `decided` before.
#[must_use]
pub(super) fn choose(board: &Board, pod: &KnownPod, seen: &Seen, decided: &[String]) -> Choice {
    let pick = |fault: &Fault| match fault {
        Fault::Pods(fault) => Some(fault.clone()),
        _ => None,
    };
    let mut active = board.all(pick);
    active.retain(|(active, _)| {
        active.defect().on.namespace == pod.namespace && decided.iter().all(|name| name != active.name())
    });
    if active.is_empty() {
        return Choice::default();
    }
    let candidates = PROBES.candidates(&pod.namespace, &pod.name, seen);
    choose_among(active, &Target::pod(&pod.namespace, &pod.name), &candidates, seen)
}

fn choose_among(active: Vec<(Active, PodsFault)>, pod: &Target, candidates: &[Probe], seen: &Seen) -> Choice {
    let mut choice = Choice::default();
    for (active, fault) in active {
        let (fits, target) = fit(&active, &fault, pod, candidates, seen);
        if fits != Fits::Maybe {
            choice.decided.push(active.name().to_owned());
        }
        match fits {
            Fits::No => {}
            Fits::Maybe => choice.open.push(fault.does),
            Fits::Yes if active.strikes(&target) => choice.struck.push(fault.does),
            Fits::Yes => {}
        }
    }
    choice
}

/// Whether one defect applies, and the target for which an occasion is counted.
fn fit(
    active: &Active,
    fault: &PodsFault,
    pod: &Target,
    candidates: &[Probe],
    seen: &Seen,
) -> (Fits, Target) {
    let scope = &active.defect().on;
    if candidates.is_empty() {
        let fits = if scope.covers(pod) { seen.fits(&fault.of, None) } else { Fits::No };
        return (fits, pod.clone());
    }
    let target = |probe: &Probe| Target {
        container: Some(probe.container.clone()),
        kind: Some(probe.kind),
        attempt: probe.attempt,
        ..pod.clone()
    };
    let is_struck =
        |probe: &&Probe| scope.covers(&target(probe)) && seen.fits(&fault.of, Some(probe)) == Fits::Yes;
    let struck: Vec<&Probe> = candidates.iter().filter(is_struck).collect();
    let Some(first) = struck.first() else { return (Fits::No, pod.clone()) };
    // Probes with the same request cannot be distinguished, so one match is enough when everything is read.
    let fits = if struck.len() == candidates.len() || seen.is_complete() { Fits::Yes } else { Fits::Maybe };
    (fits, Target { attempt: None, ..target(first) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Choice, choose};
    use crate::board::{Board, KnownPod};
    use crate::pods::fault::Does;
    use crate::pods::probes::{Mechanism, PROBES, Seen, probes_of};

    /// Tests share one list of probes, so each has its own pod.
    fn scene(pod: &str, defect: &str) -> (Board, KnownPod) {
        let board = Board::default();
        match serde_saphyr::from_str(defect) {
            Ok(defect) => board.put(defect),
            Err(error) => panic!("{error}"),
        }
        let spec = json!({
            "spec": {"containers": [
                {"name": "a", "livenessProbe": {"httpGet": {"path": "/live", "port": 80}},
                 "readinessProbe": {"httpGet": {"path": "/ready", "port": 80}}},
                {"name": "b", "livenessProbe": {"tcpSocket": {"port": 81}}},
            ]},
            "status": {"containerStatuses": [{"name": "a", "restartCount": 0}, {"name": "b", "restartCount": 2}]},
        });
        PROBES.learn("run-1", pod, probes_of(&spec));
        let pod = KnownPod {
            namespace: "run-1".into(),
            name: pod.into(),
            uid: "u".into(),
            ip: None,
            sandbox: "s".into(),
        };
        (board, pod)
    }

    fn seen(port: u16, path: Option<&str>) -> Seen {
        Seen { port, by: path.map(|_| Mechanism::Http), path: path.map(str::to_owned), service: None }
    }

    fn words(choice: &Choice) -> (usize, usize) {
        (choice.struck.len(), choice.open.len())
    }

    #[test]
    fn a_kind_of_probe_is_struck_once_the_path_is_known() {
        let (board, pod) = scene(
            "p1",
            "{ name: d, on: { namespace: run-1 }, fault: { pods: { of: { probe: liveness }, does: drop } } }",
        );
        assert_eq!(words(&choose(&board, &pod, &seen(80, None), &[])), (0, 1));
        assert_eq!(choose(&board, &pod, &seen(80, Some("/live")), &[]).struck, [Does::Drop]);
        assert!(choose(&board, &pod, &seen(80, Some("/ready")), &[]).is_none());
        assert_eq!(
            words(&choose(&board, &pod, &seen(81, None), &[])),
            (1, 0),
            "only one probe asks at this port"
        );
    }

    #[test]
    fn a_container_is_struck_at_its_own_port_only() {
        let (board, pod) = scene(
            "p2",
            "{ name: d, on: { namespace: run-1, container: b }, fault: { pods: { does: refuse } } }",
        );
        assert!(choose(&board, &pod, &seen(80, None), &[]).is_none());
        assert_eq!(words(&choose(&board, &pod, &seen(81, None), &[])), (1, 0));
    }

    #[test]
    fn only_a_restarted_container_is_struck() {
        let (board, pod) = scene(
            "p3",
            "{ name: d, on: { namespace: run-1, restarted: true }, fault: { pods: { does: refuse } } }",
        );
        assert!(choose(&board, &pod, &seen(80, None), &[]).is_none());
        assert_eq!(words(&choose(&board, &pod, &seen(81, None), &[])), (1, 0));
    }

    #[test]
    fn one_in_two_is_struck_and_each_is_counted_once() {
        let (board, pod) = scene(
            "p4",
            "{ name: d, on: { namespace: run-1 }, when: { every: 2 }, fault: { pods: { of: { path: /live }, does: drop } } }",
        );
        let struck: Vec<_> = (0..4)
            .map(|_| {
                assert_eq!(words(&choose(&board, &pod, &seen(80, None), &[])), (0, 1));
                choose(&board, &pod, &seen(80, Some("/live")), &[]).struck.len()
            })
            .collect();
        assert_eq!(struck, [0, 1, 0, 1]);
        assert_eq!(board.counts()[0].occasions, 4);
    }
}
