//! The four commands that `netexec` answers over UDP and SCTP: hostname, echo, clientip, serverport.
//!
//! As in agnhost, a command is first converted to lower case, so echo returns lower case.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::NetexecState;
use crate::go::text::{errno, host_name, host_port};
use crate::go::{klog, listen, sctp};

const UDP_ROOM: usize = 2048;
const SCTP_ROOM: usize = 1024;

/// Answers datagrams on one address, or on all.
pub(super) async fn over_udp(address: Option<(String, IpAddr)>, port: i64, state: Arc<NetexecState>) {
    let (text, ip) = address.map_or_else(|| (String::new(), None), |(text, ip)| (text, Some(ip)));
    let shown = host_port(&text, &port.to_string());
    let socket = listen::udp_async(ip, port).unwrap_or_else(|error| {
        klog::fatal(format!("Error occurred: failed to create listener for UDP address {shown}:{error}"))
    });
    klog::info(format!("Started UDP server on port {text} {port}"));
    state.ready.store(true, Ordering::SeqCst);
    let mut buffer = vec![0; UDP_ROOM];
    loop {
        let (count, peer) = socket.recv_from(&mut buffer).await.unwrap_or_else(|error| {
            klog::fatal(format!("Error occurred: failed accepting UDP connections:{}", errno(&error)))
        });
        let Some(response) = answer(&buffer[..count], listen::plain(peer), port, "UDP", "udp") else {
            continue;
        };
        if let Err(error) = socket.send_to(response.as_bytes(), peer).await {
            klog::fatal(format!(
                "Error occurred: failed to write to UDP client {}:{}",
                listen::plain(peer),
                errno(&error)
            ));
        }
    }
}

/// Answers one message of each SCTP association, one association at a time.
pub(super) fn over_sctp(port: i64, state: &NetexecState) {
    let number = u16::try_from(port).unwrap_or_else(|_| {
        klog::fatal(format!(
            "Error occurred: failed to resolve SCTP address for port {port}:address {port}: invalid port"
        ))
    });
    let listener = sctp::listen(sctp::SCTP, number).unwrap_or_else(|error| {
        klog::fatal(format!("Error occurred: failed to create listener for SCTP address :{port}:{error}"))
    });
    klog::info("Started SCTP server");
    state.ready.store(true, Ordering::SeqCst);
    let mut buffer = vec![0; SCTP_ROOM];
    loop {
        let (mut socket, peer) = sctp::accept(&listener).unwrap_or_else(|error| {
            klog::fatal(format!("Error occurred: failed accepting SCTP connections:{error}"))
        });
        // agnhost would exit here because a single client failed.
        let Ok(count) = socket.read(&mut buffer) else { continue };
        if let Some(response) = answer(&buffer[..count], peer, port, "SCTP", "SCTP") {
            let _ = socket.write_all(response.as_bytes());
        }
    }
}

fn answer(
    received: &[u8],
    peer: SocketAddr,
    port: i64,
    network: &str,
    hostname_network: &str,
) -> Option<String> {
    let text = String::from_utf8_lossy(received).trim().to_lowercase();
    match text.as_str() {
        "" => None,
        "hostname" => {
            klog::info(format!("Sending {hostname_network} hostName response"));
            Some(host_name())
        }
        "clientip" => {
            klog::info(format!("Sending clientip back to {network} client {peer}"));
            Some(peer.to_string())
        }
        "serverport" => {
            klog::info(format!("Sending server port to {network} client {port}"));
            Some(port.to_string())
        }
        other => match other.strip_prefix("echo ") {
            Some(words) => {
                klog::info(format!("Echoing {words} to {network} client {peer}"));
                Some(words.to_owned())
            }
            None => {
                klog::info(format!("Unknown {network} command received from {peer}: {other}"));
                None
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn commands_are_understood_in_any_case_and_unknown_ones_get_no_answer() {
        let peer = "127.0.0.1:99".parse().unwrap_or_else(|_| ([127, 0, 0, 1], 99).into());
        let ask = |text: &str| answer(text.as_bytes(), peer, 8081, "UDP", "udp");
        assert_eq!(ask("ECHO Hi There\n").as_deref(), Some("hi there"));
        assert_eq!(ask("ClientIP").as_deref(), Some("127.0.0.1:99"));
        assert_eq!(ask(" serverport ").as_deref(), Some("8081"));
        assert_eq!((ask("echo"), ask(""), ask("shell ls")), (None, None, None));
    }
}
