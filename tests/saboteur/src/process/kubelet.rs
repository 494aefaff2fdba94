//! The kubelet of this node as a process: found by its name, signaled, and put into a cgroup with little CPU time.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// A running kubelet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kubelet(Pid);

impl Kubelet {
    /// The process with the kubelet's name; a node has one.
    pub(super) fn find() -> Option<Self> {
        let processes = fs::read_dir("/proc").ok()?;
        let mut pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let found = pids.find(|pid| name_of(*pid).as_deref() == Some("kubelet"))?;
        Some(Self(Pid::from_raw(found)))
    }

    pub(super) fn stop(self) -> Option<()> {
        kill(self.0, Signal::SIGSTOP).ok()
    }

    pub(super) fn go_on(self) -> Option<()> {
        kill(self.0, Signal::SIGCONT).ok()
    }

    pub(super) fn kill(self) -> Option<()> {
        kill(self.0, Signal::SIGKILL).ok()
    }

    pub(super) fn terminate(self) -> Option<()> {
        kill(self.0, Signal::SIGTERM).ok()
    }

    /// Moves it to a new cgroup next to its own, which gets this percentage of one core.
    pub(super) fn starve(self, percent: u32) -> io::Result<Starved> {
        let groups = fs::read_to_string(format!("/proc/{}/cgroup", self.0))?;
        let (hierarchy, home) =
            cpu_group(&groups).ok_or_else(|| io::Error::other("no cgroup for CPU time"))?;
        let poor = home.parent().unwrap_or(&home).join("starved");
        if home == poor {
            return Err(io::Error::other("another defect starves it already"));
        }
        match fs::create_dir(&poor) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let quota = percent.max(1) * 1000;
        match hierarchy {
            Hierarchy::One => {
                fs::write(poor.join("cpu.cfs_period_us"), "100000")?;
                fs::write(poor.join("cpu.cfs_quota_us"), quota.to_string())?;
            }
            Hierarchy::Two => fs::write(poor.join("cpu.max"), format!("{quota} 100000"))?,
        }
        fs::write(poor.join("cgroup.procs"), self.0.to_string())?;
        Ok(Starved { pid: self.0, home, poor })
    }
}

/// A kubelet with little CPU time.
#[derive(Debug)]
pub(super) struct Starved {
    pid: Pid,
    home: PathBuf,
    poor: PathBuf,
}

impl Starved {
    /// Gives the kubelet its CPU time back. If the kubelet has ended in the meantime, its empty cgroup is removed.
    pub(super) fn end(self) {
        fs::write(self.home.join("cgroup.procs"), self.pid.to_string()).ok();
        fs::remove_dir(self.poor).ok();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hierarchy {
    One,
    Two,
}

fn name_of(pid: i32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

/// The folder of the cgroup that controls a process's CPU time, from the text of `/proc/PID/cgroup`.
fn cpu_group(groups: &str) -> Option<(Hierarchy, PathBuf)> {
    let lines: Vec<[&str; 3]> =
        groups.lines().filter_map(|line| line.splitn(3, ':').collect::<Vec<_>>().try_into().ok()).collect();
    let within = |folder: &str, path: &str| {
        Path::new("/sys/fs/cgroup").join(folder).join(path.trim_start_matches('/'))
    };
    let one = lines.iter().find(|[_, controllers, _]| controllers.split(',').any(|name| name == "cpu"));
    if let Some([_, controllers, path]) = one {
        return Some((Hierarchy::One, within(controllers, path)));
    }
    let [_, _, path] = lines.iter().find(|[number, ..]| *number == "0")?;
    Some((Hierarchy::Two, within("", path)))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Hierarchy, cpu_group};

    #[test]
    fn the_cgroup_for_cpu_time_is_found_in_both_layouts() {
        let one = "9:cpu,cpuacct:/probity/node1/system\n8:memory:/x\n0::/y\n";
        let folder = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/probity/node1/system");
        assert_eq!(cpu_group(one), Some((Hierarchy::One, folder)));
        let two = PathBuf::from("/sys/fs/cgroup/probity/node1/system");
        assert_eq!(cpu_group("0::/probity/node1/system\n"), Some((Hierarchy::Two, two)));
        assert_eq!(cpu_group("3:memory:/x\n"), None);
    }
}
