//! The rules of the node's packet filter that show the proxy each connection that the node itself opens to a pod. They
//! are created and removed with `iptables`, and cover only IPv4. If the proxy does not run, the packets pass in spite
//! of the rules.

use std::io;
use std::process::Command;

/// The mark of the proxy's own connections, which the rules ignore.
pub(super) const OWN: u32 = 0x0010_0000;
/// The mark of a connection that is taken over.
pub(super) const TAKEN: u32 = 0x0020_0000;
/// The mark of a connection that is refused.
pub(super) const REFUSED: u32 = 0x0040_0000;

const CHAIN: &str = "SABOTEUR";
/// The tables that get a chain of the saboteur, called first from `OUTPUT`.
const TABLES: [&str; 3] = ["mangle", "nat", "filter"];

/// The active rules. They are removed when this value is dropped.
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
        // This rule comes first, because otherwise a Service's rules might decide earlier.
        lines.push(format!("-t {table} -I OUTPUT 1 -j {CHAIN}"));
    }
    lines
}

impl Rules {
    /// Creates the rules, and replaces any rules that an earlier process left.
    ///
    /// # Errors
    ///
    /// When `iptables` is missing or rejects one of them.
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
            // An error means that the rule does not exist, which is fine.
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
