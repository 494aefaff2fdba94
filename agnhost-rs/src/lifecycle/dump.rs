//! A view of the container from inside, as raw system texts with size limits.
//!
//! This module does not interpret anything: the reader decides what a cgroup file or an id map means. Unreadable files
//! are left out, because a container may hide any of them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use data_encoding::BASE64URL_NOPAD;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;
use nix::unistd::{getgid, getgroups, getuid};
use probity_script::witness::{Dump, ProcessSeen};

use crate::identity;

/// The maximum number of bytes that are read of one file.
const LARGEST: u64 = 64 * 1024;
/// The maximum number of files of the downward API volume, and their maximum depth.
const MOST_FILES: usize = 256;
const DEEPEST: usize = 4;
/// The maximum number of listed processes.
const MOST_PROCESSES: usize = 4096;
/// The default path of the downward API volume.
const PODINFO: &str = "/etc/podinfo";

/// Files of the system, separated by spaces.
const SYSTEM: &str = "/proc/self/cgroup /proc/self/cpuset /proc/self/gid_map /proc/self/limits /proc/self/loginuid \
    /proc/self/mountinfo /proc/self/oom_score_adj /proc/self/stat /proc/self/status /proc/self/uid_map \
    /proc/sys/fs/inotify/max_user_instances /etc/hostname /etc/hosts /etc/resolv.conf";

/// Files of a cgroup v2, separated by spaces.
const CGROUP_2: &str = "cgroup.controllers cpu.max cpu.stat cpu.weight cpuset.cpus cpuset.cpus.effective \
    cpuset.cpus.partition cpuset.mems.effective io.max memory.current memory.events memory.high memory.low memory.max \
    memory.min memory.oom.group memory.swap.max pids.current pids.max";

/// Controllers of cgroup v1, with their files separated by spaces.
const CGROUP_1: [(&str, &str); 4] = [
    ("memory", "memory.limit_in_bytes memory.usage_in_bytes memory.soft_limit_in_bytes memory.failcnt"),
    ("cpu", "cpu.cfs_period_us cpu.cfs_quota_us cpu.shares cpu.stat"),
    ("cpuset", "cpuset.cpus cpuset.effective_cpus cpuset.mems"),
    ("pids", "pids.current pids.max"),
];

/// Reads everything.
#[must_use]
pub fn take() -> Dump {
    let downward = std::env::var_os("AGNHOST_DOWNWARD_DIR").map_or_else(|| PODINFO.into(), PathBuf::from);
    let mut files: BTreeMap<String, String> =
        SYSTEM.split(' ').filter_map(|path| read(Path::new(path))).collect();
    files.extend(cgroup_files(files.get("/proc/self/cgroup").map_or("", String::as_str)));
    let mut found = Vec::new();
    list(&downward, DEEPEST, &mut found);
    let volume = found.iter().filter_map(|path| read(path));
    files.extend(volume.map(|(path, text)| (path, claims(&text).unwrap_or(text))));
    Dump {
        host: identity::host(),
        ids: ids(),
        env: environment(),
        interfaces: interfaces(),
        files,
        namespaces: namespaces(),
        processes: processes(),
    }
}

/// A file's path and text, truncated at the limit. Invalid UTF-8 is replaced.
#[must_use]
pub fn read(path: &Path) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()))
}

/// The claims of a token of a service account: the middle part of its text, a JSON object. They are recorded in place of the
/// token, which is a secret. `None` if the text is not a token.
fn claims(text: &str) -> Option<String> {
    let (_, rest) = text.trim().split_once('.')?;
    let (claims, _) = rest.split_once('.')?;
    let claims = BASE64URL_NOPAD.decode(claims.as_bytes()).ok()?;
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&claims).ok()?;
    String::from_utf8(claims).ok()
}

/// The environment. Invalid UTF-8 is replaced.
#[must_use]
pub fn environment() -> BTreeMap<String, String> {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// The namespaces of this process by kind, as inode numbers.
#[must_use]
pub fn namespaces() -> BTreeMap<String, u64> {
    let entries = fs::read_dir("/proc/self/ns").into_iter().flatten().flatten();
    let number = |entry: fs::DirEntry| {
        Some((entry.file_name().to_string_lossy().into_owned(), namespace(&entry.path())?))
    };
    entries.filter_map(number).collect()
}

/// The inode number of a namespace, from the link to it: `user:[4026531837]`.
fn namespace(link: &Path) -> Option<u64> {
    let target = fs::read_link(link).ok()?;
    target.to_str()?.split_once('[')?.1.strip_suffix(']')?.parse().ok()
}

fn ids() -> Vec<u32> {
    let supplementary = getgroups().unwrap_or_default();
    let first = [getuid().as_raw(), getgid().as_raw()];
    first.into_iter().chain(supplementary.iter().map(|group| group.as_raw())).collect()
}

fn interfaces() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for interface in getifaddrs().into_iter().flatten() {
        let addresses = found.entry(interface.interface_name).or_default();
        addresses.extend(interface.address.as_ref().and_then(address));
    }
    found
}

fn address(storage: &SockaddrStorage) -> Option<String> {
    let v4 = storage.as_sockaddr_in().map(|address| address.ip().to_string());
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| address.ip().to_string()))
}

/// The files of the cgroups of this process, for both versions of cgroups.
fn cgroup_files(memberships: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for line in memberships.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        if controllers.is_empty() {
            let root = cgroup_root(Path::new("/sys/fs/cgroup"), path);
            files.extend(CGROUP_2.split(' ').filter_map(|name| read(&root.join(name))));
        }
        for (controller, names) in CGROUP_1 {
            if controllers.split(',').any(|one| one == controller) {
                let root = cgroup_root(&Path::new("/sys/fs/cgroup").join(controller), path);
                files.extend(names.split(' ').filter_map(|name| read(&root.join(name))));
            }
        }
    }
    files
}

/// The folder of a cgroup. Inside a cgroup namespace, the path does not exist, and the mount itself is the cgroup.
fn cgroup_root(mount: &Path, path: &str) -> PathBuf {
    let full = mount.join(path.trim_start_matches('/'));
    if full.is_dir() { full } else { mount.to_owned() }
}

/// The files of a volume, without the links with which the kubelet replaces all of them at once.
fn list(directory: &Path, deepest: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if found.len() >= MOST_FILES || entry.file_name().to_string_lossy().starts_with("..") {
            continue;
        }
        match fs::metadata(&path) {
            Ok(data) if data.is_file() => found.push(path),
            Ok(data) if data.is_dir() && deepest > 1 => list(&path, deepest - 1, found),
            _ => {}
        }
    }
}

/// The visible processes, with their states.
#[must_use]
pub fn processes() -> Vec<ProcessSeen> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let seen = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let seen = process(pid, &fs::read_to_string(entry.path().join("stat")).ok()?)?;
        let uid = fs::metadata(entry.path()).ok().map(|of| of.uid());
        Some(ProcessSeen { uid, users: namespace(&entry.path().join("ns/user")), ..seen })
    };
    entries.filter_map(seen).take(MOST_PROCESSES).collect()
}

/// Reads a line of the form `7 (name) S 1 ...`. The name may contain anything, including parentheses.
fn process(pid: u32, stat: &str) -> Option<ProcessSeen> {
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let mut fields = after.split_ascii_whitespace();
    let state = fields.next()?.to_owned();
    let parent = fields.next()?.parse().ok()?;
    Some(ProcessSeen { pid, parent, state, name, uid: None, users: None })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        let seen = process(7, "7 (a) b) (c) Z 1 7 7 0").unwrap();
        assert_eq!((seen.name.as_str(), seen.state.as_str(), seen.parent), ("a) b) (c", "Z", 1));
        assert_eq!(process(7, "nonsense"), None);
    }

    #[test]
    fn only_the_claims_of_a_token_are_recorded() {
        let own = r#"{"aud":["one.example"],"exp":7}"#;
        let token = format!("e30.{}.c2ln", BASE64URL_NOPAD.encode(own.as_bytes()));
        assert_eq!(claims(&token).as_deref(), Some(own));
        for other in ["", "one.two.three", "a.b", "tier=\"front\"", "e30.MQ.e30"] {
            assert_eq!(claims(other), None, "{other}");
        }
    }

    #[test]
    fn a_dump_shows_ourselves() {
        let dump = take();
        let own = std::process::id();
        let seen = dump.processes.iter().find(|process| process.pid == own).unwrap();
        assert_eq!(seen.uid, Some(nix::unistd::geteuid().as_raw()));
        assert_eq!(seen.users, Some(dump.namespaces["user"]));
        assert!(dump.interfaces["lo"].contains(&"127.0.0.1".to_owned()), "{:?}", dump.interfaces);
        assert!(dump.files["/proc/self/status"].contains("Uid:"));
        assert_eq!(dump.ids[0], getuid().as_raw());
        assert!(dump.namespaces["mnt"] > 0 && dump.namespaces["net"] > 0);
        assert_eq!(dump.env["PATH"], std::env::var("PATH").unwrap());
    }

    #[test]
    fn a_volume_is_listed_without_the_links_that_swap_it_and_within_its_bounds() {
        let volume = tempfile::tempdir().unwrap();
        let data = volume.path().join("..data");
        fs::create_dir_all(data.join("deep")).unwrap();
        fs::write(data.join("labels"), "app=\"x\"\n").unwrap();
        fs::write(data.join("deep/cpu"), "2").unwrap();
        std::os::unix::fs::symlink("..data/labels", volume.path().join("labels")).unwrap();
        std::os::unix::fs::symlink("..data/deep", volume.path().join("deep")).unwrap();
        fs::write(volume.path().join("large"), vec![b'x'; 70_000]).unwrap();
        let mut found = Vec::new();
        list(volume.path(), DEEPEST, &mut found);
        let texts: BTreeMap<_, _> = found.iter().filter_map(|path| read(path)).collect();
        let text = |name: &str| texts[&volume.path().join(name).display().to_string()].as_str();
        assert_eq!((texts.len(), text("labels"), text("deep/cpu")), (3, "app=\"x\"\n", "2"));
        assert_eq!(text("large").len() as u64, LARGEST);
    }
}
