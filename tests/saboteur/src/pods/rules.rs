//! The rules of the node's packet filter that show the proxy each connection which the node itself opens to a pod. Made
//! and removed by running `iptables`; IPv4 only. If the proxy is gone, the packets pass in spite of the rules.

use std::io;
use std::process::Command;

/// The proxy's own connections: never looked at again.
pub(super) const OWN: u32 = 0x0010_0000;
/// A connection that is taken over.
pub(super) const TAKEN: u32 = 0x0020_0000;
/// A connection that is refused.
pub(super) const REFUSED: u32 = 0x0040_0000;

const CHAIN: &str = "SABOTEUR";
/// The tables that get a chain of ours, called first from `OUTPUT`.
const TABLES: [&str; 3] = ["mangle", "nat", "filter"];

/// The rules as long as they are in force. They go with this value.
pub(super) struct Rules(());

/// The arguments for `iptables`, line by line.
fn lines(ranges: &[String], queue: u16, port: u16) -> Vec<String> {
    let mut lines = Vec::new();
    for table in TABLES {
        lines.push(format!("-t {table} -N {CHAIN}"));
    }
    lines.push(format!("-t mangle -A {CHAIN} -m mark --mark {OWN:#x}/{OWN:#x} -j RETURN"));
    for range in ranges {
        lines.push(format!(
            "-t mangle -A {CHAIN} -p tcp --syn -d {range} -j NFQUEUE --queue-num {queue} --queue-bypass"
        ));
    }
    lines.push(format!(
        "-t nat -A {CHAIN} -p tcp -m mark --mark {TAKEN:#x}/{TAKEN:#x} -j REDIRECT --to-ports {port}"
    ));
    lines.push(format!(
        "-t filter -A {CHAIN} -p tcp -m mark --mark {REFUSED:#x}/{REFUSED:#x} -j REJECT --reject-with tcp-reset"
    ));
    for table in TABLES {
        // First, since a Service's rules may decide before ours.
        lines.push(format!("-t {table} -I OUTPUT 1 -j {CHAIN}"));
    }
    lines
}

impl Rules {
    /// Creates the rules, in place of any that an earlier process left.
    ///
    /// # Errors
    ///
    /// When `iptables` is missing or refuses one of them.
    pub(super) fn make(ranges: &[String], queue: u16, port: u16) -> io::Result<Self> {
        remove();
        let rules = Self(());
        for line in lines(ranges, queue, port) {
            iptables(&line)?;
        }
        Ok(rules)
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        remove();
    }
}

fn remove() {
    for table in TABLES {
        for line in ["-D OUTPUT -j", "-F", "-X"] {
            // What is not there can't be removed, and that is as well.
            iptables(&format!("-t {table} {line} {CHAIN}")).ok();
        }
    }
}

fn iptables(line: &str) -> io::Result<()> {
    let output = Command::new("iptables").arg("-w").args(line.split(' ')).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("iptables {line}: {}", said.trim())))
}
