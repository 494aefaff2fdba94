use std::net::{IpAddr, Ipv4Addr};

use super::Board;
use crate::defect::ContainerKind;

const IP: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 244, 1, 7));

fn board() -> Board {
    let board = Board::default();
    board.learn_pod("run-1", "probe", "uid-1", None, "sandbox-1");
    board.learn_address("sandbox-1", IP);
    board.learn_container("container-1", "sandbox-1", "target", 2);
    board
}

#[test]
fn a_pod_is_found_by_its_address_until_its_sandbox_is_removed() {
    let board = board();
    assert_eq!(board.pod_of_ip(IP).map(|pod| pod.name).as_deref(), Some("probe"));
    // The kubelet lists sandboxes without their addresses: a known address must not be lost.
    board.learn_pod("run-1", "probe", "uid-1", None, "sandbox-1");
    assert!(board.pod_of_ip(IP).is_some());
    board.forget_sandbox("sandbox-1");
    assert_eq!(board.pod_of_ip(IP), None);
}

#[test]
fn a_container_is_a_target_with_its_pod_kind_and_attempt() {
    let board = board();
    board.learn_kind("run-1", "probe", "target", ContainerKind::Sidecar);
    let target = board.target_of_container("container-1").unwrap_or_default();
    assert_eq!((target.namespace.as_str(), target.pod.as_str()), ("run-1", "probe"));
    assert_eq!((target.container.as_deref(), target.attempt), (Some("target"), Some(2)));
    assert_eq!(target.kind, Some(ContainerKind::Sidecar));
}
