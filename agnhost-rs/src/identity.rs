//! The identity of this process: the names that the downward API usually provides, and a random name.

use std::collections::BTreeMap;
use std::env;
use std::fs;

/// The environment variables that identify where a process runs.
const NAMES: [&str; 8] = [
    "POD_NAME",
    "POD_NAMESPACE",
    "POD_UID",
    "POD_IP",
    "NODE_NAME",
    "NODE_IP",
    "CONTAINER_NAME",
    "PROBITY_CASE",
];

/// The usual variables that are set.
#[must_use]
pub fn from_environment() -> BTreeMap<String, String> {
    NAMES.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect()
}

/// The host name, which is the pod's name unless the pod sets another.
#[must_use]
pub fn host() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A random name, from the system's random source.
#[must_use]
pub fn random_name() -> String {
    let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let name: String = uuid.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    if name.is_empty() { format!("{:016x}", std::process::id()) } else { name }
}
