//! `agnhost-rs trial`: tries one action that needs a privilege or a shared resource, and reports whether it was allowed.
//!
//! Each trial undoes its effects as far as possible. It prints one line of JSON. The status is 0 if the action was
//! allowed, and 1 if not.

use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use nix::errno::Errno;
use nix::kmod::init_module;
use nix::mount::{MsFlags, mount, umount};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use probity_script::PlannedTrial;
use probity_script::witness::TrialSeen;
use serde::Serialize;

/// Tries something that may be forbidden.
#[derive(Args, Clone, Debug)]
pub struct TrialArgs {
    #[command(subcommand)]
    trial: Trial,
}

#[derive(Clone, Debug, Subcommand)]
enum Trial {
    /// Writes a text to shared memory
    ShmWrite {
        /// The name of the piece of memory
        key: String,
        /// The text
        text: String,
    },
    /// Reads a text from shared memory
    ShmRead {
        /// The name of the piece of memory
        key: String,
    },
    /// Gives a file to another user (CAP_CHOWN) and takes it back
    Chown {
        /// The file
        path: PathBuf,
        /// The other user's id
        #[arg(long, default_value_t = 12345)]
        to: u32,
    },
    /// Mounts an empty file system over a directory (CAP_SYS_ADMIN) and removes it
    Mount {
        /// The directory
        #[arg(default_value = "/tmp")]
        path: PathBuf,
    },
    /// Sets the host name (CAP_SYS_ADMIN) to its present value
    SetHostname,
    /// Binds a TCP port (CAP_NET_BIND_SERVICE below 1024)
    Bind {
        /// The port
        port: u16,
    },
    /// Opens a raw socket (CAP_NET_RAW)
    RawSocket,
    /// Raises its own limit for the scheduling priority, RLIMIT_NICE (CAP_SYS_RESOURCE)
    RaiseLimit,
    /// Makes itself less likely to be killed when memory runs out (CAP_SYS_RESOURCE)
    OomScore,
    /// Creates a device (CAP_MKNOD) and removes it
    MakeDevice {
        /// The name of the device
        #[arg(default_value = "/tmp/trial")]
        path: PathBuf,
    },
    /// Asks the kernel to load an empty module (CAP_SYS_MODULE); counts as allowed if the kernel checks the module before it refuses
    LoadModule,
    /// Looks up the owner of a file, as user:group
    Owner {
        /// The file
        path: PathBuf,
    },
    /// Opens or creates a file for writing, and writes nothing
    Write {
        /// The file
        path: PathBuf,
    },
}

/// The result of a trial.
#[derive(Serialize)]
struct TrialResult {
    trial: &'static str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl TrialArgs {
    /// Tries, prints and exits.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let trial = self.trial.name();
        let verdict = match self.trial.attempt() {
            Ok(value) => TrialResult { trial, ok: true, value, error: None },
            Err(error) => TrialResult { trial, ok: false, value: None, error: Some(error.to_string()) },
        };
        let mut out = io::stdout().lock();
        let printed = serde_json::to_writer(&mut out, &verdict).map_err(io::Error::from);
        match printed.and_then(|()| writeln!(out)) {
            Ok(()) if verdict.ok => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

impl Trial {
    fn name(&self) -> &'static str {
        match self {
            Self::ShmWrite { .. } => "shm-write",
            Self::ShmRead { .. } => "shm-read",
            Self::Chown { .. } => "chown",
            Self::Mount { .. } => "mount",
            Self::SetHostname => "set-hostname",
            Self::Bind { .. } => "bind",
            Self::RawSocket => "raw-socket",
            Self::RaiseLimit => "raise-limit",
            Self::OomScore => "oom-score",
            Self::MakeDevice { .. } => "make-device",
            Self::LoadModule => "load-module",
            Self::Owner { .. } => "owner",
            Self::Write { .. } => "write",
        }
    }

    fn attempt(self) -> io::Result<Option<String>> {
        match self {
            Self::ShmWrite { key, text } => fs::write(shared(&key)?, text)?,
            Self::ShmRead { key } => return fs::read_to_string(shared(&key)?).map(Some),
            Self::Chown { path, to } => chown(&path, to)?,
            Self::Mount { path } => {
                mount(Some("trial"), &path, Some("tmpfs"), MsFlags::empty(), Some("size=64k"))?;
                umount(&path)?;
            }
            Self::SetHostname => nix::unistd::sethostname(nix::unistd::gethostname()?)?,
            Self::Bind { port } => {
                let bound = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
                return bound.local_addr().map(|address| Some(address.to_string()));
            }
            Self::RawSocket => drop(socket2::Socket::new(
                socket2::Domain::IPV4,
                socket2::Type::RAW,
                Some(socket2::Protocol::ICMPV4),
            )?),
            Self::RaiseLimit => {
                let (soft, hard) = getrlimit(Resource::RLIMIT_NICE)?;
                setrlimit(Resource::RLIMIT_NICE, soft, hard.saturating_add(1))?;
            }
            Self::OomScore => return lower_oom_score().map(Some),
            Self::MakeDevice { path } => make_device(&path)?,
            Self::LoadModule => load_nothing()?,
            Self::Owner { path } => {
                use std::os::unix::fs::MetadataExt;
                let of = fs::metadata(path)?;
                return Ok(Some(format!("{}:{}", of.uid(), of.gid())));
            }
            Self::Write { path } => write_nothing(&path)?,
        }
        Ok(None)
    }
}

/// The trial of a plan, with its result for the witness.
#[must_use]
pub(super) fn planned(trial: &PlannedTrial) -> TrialSeen {
    let attempted = match trial.clone() {
        PlannedTrial::Mount(path) => Trial::Mount { path: path.into() },
        PlannedTrial::SetHostname => Trial::SetHostname,
        PlannedTrial::MakeDevice(path) => Trial::MakeDevice { path: path.into() },
        PlannedTrial::LoadModule => Trial::LoadModule,
        PlannedTrial::Owner(path) => Trial::Owner { path: path.into() },
        PlannedTrial::Write(path) => Trial::Write { path: path.into() },
    }
    .attempt();
    let seen = TrialSeen {
        trial: trial.name().to_owned(),
        path: trial.path().map(str::to_owned),
        ..TrialSeen::default()
    };
    match attempted {
        Ok(value) => TrialSeen { ok: true, value, ..seen },
        Err(error) => {
            let denied = error.kind() == io::ErrorKind::PermissionDenied;
            TrialSeen { denied, error: Some(error.to_string()), ..seen }
        }
    }
}

/// Opens a file for writing. A file that did not exist before is removed again.
fn write_nothing(path: &Path) -> io::Result<()> {
    let existed = path.exists();
    drop(fs::OpenOptions::new().append(true).create(true).open(path)?);
    if existed { Ok(()) } else { fs::remove_file(path) }
}

/// Creates a null device. Using it needs no privilege, but creating it does.
fn make_device(path: &Path) -> io::Result<()> {
    mknod(path, SFlag::S_IFCHR, Mode::S_IRUSR, makedev(1, 3))?;
    fs::remove_file(path)
}

/// Requests to load an empty module. The kernel first checks the caller's privilege, and then rejects the empty module.
fn load_nothing() -> io::Result<()> {
    match init_module(&[], c"") {
        Ok(()) | Err(Errno::ENOEXEC | Errno::EINVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The file of a shared memory object. POSIX shared memory is a file system, and a key is a name in it.
fn shared(key: &str) -> io::Result<PathBuf> {
    if key.is_empty() || key.contains('/') || key.starts_with('.') {
        return Err(io::Error::other(format!(
            "`{key}` is not the name of a shared memory object: use no slash and no leading dot"
        )));
    }
    Ok(Path::new("/dev/shm").join(key))
}

fn chown(path: &Path, to: u32) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let owner = fs::metadata(path)?.uid();
    chown(path, Some(to), None)?;
    chown(path, Some(owner), None)
}

fn lower_oom_score() -> io::Result<String> {
    let path = "/proc/self/oom_score_adj";
    let now: i32 = fs::read_to_string(path)?.trim().parse().map_err(io::Error::other)?;
    let lower = (now - 1).max(-1000);
    fs::write(path, lower.to_string())?;
    Ok(lower.to_string())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn shared_memory_is_written_and_read_by_key() {
        let key = format!("agnhost-rs-trial-{}", std::process::id());
        Trial::ShmWrite { key: key.clone(), text: "here".to_owned() }.attempt().unwrap();
        assert_eq!(Trial::ShmRead { key: key.clone() }.attempt().unwrap().as_deref(), Some("here"));
        fs::remove_file(shared(&key).unwrap()).unwrap();
        assert!(Trial::ShmRead { key: "../../etc/passwd".to_owned() }.attempt().is_err());
    }

    #[test]
    fn a_planned_trial_tells_what_it_found_and_why_it_could_not() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "kept").unwrap();
        let path = file.display().to_string();
        let owner = planned(&PlannedTrial::Owner(path.clone()));
        let of = fs::metadata(&file).unwrap();
        assert_eq!(owner.value, Some(format!("{}:{}", of.uid(), of.gid())));
        assert!(planned(&PlannedTrial::Write(path.clone())).ok);
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept", "nothing was written");
        let fresh = folder.path().join("fresh");
        assert!(planned(&PlannedTrial::Write(fresh.display().to_string())).ok);
        assert!(!fresh.exists(), "what it made is gone");
        let missing = planned(&PlannedTrial::Write(format!("{path}/in-a-file")));
        assert!(!missing.ok && !missing.denied && missing.error.is_some(), "{missing:?}");
        assert_eq!(missing.trial, "write");
    }

    #[test]
    fn a_port_that_is_taken_is_an_error_with_its_reason() {
        let taken = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = Trial::Bind { port }.attempt().unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
        drop(taken);
        assert!(Trial::Bind { port: 0 }.attempt().unwrap().unwrap().starts_with("0.0.0.0:"));
    }
}
