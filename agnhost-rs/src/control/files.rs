//! Reads, writes, removes and describes files as the container sees them, to test volumes.
//!
//! Requests with the token are executed with the permissions of the process. The size of each read and write is limited,
//! and nothing waits for the other end of a pipe.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use hyper::StatusCode;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use serde::Serialize;

use super::error::ControlError;
use probity_document::LARGEST;

/// The maximum number of names of a folder that are listed.
const MOST_ENTRIES: usize = 10_000;

/// The properties of a file that are known without opening it.
#[derive(Debug, Serialize)]
pub(super) struct FileStat {
    kind: &'static str,
    size: u64,
    /// The permission bits, with the same digits as in `chmod`.
    mode: String,
    uid: u32,
    gid: u32,
    modified_wall_us: u64,
    device: u64,
    inode: u64,
    links: u64,
    /// Where a symbolic link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The sorted contents of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<String>>,
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, ControlError> {
    let mut bytes = Vec::new();
    open(OpenOptions::new().read(true), path)
        .and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| failed("read", path, &error))?;
    if bytes.len() > LARGEST {
        let why = format!("{} is longer than {LARGEST} bytes; longer files are not read", path.display());
        return Err(ControlError::new(StatusCode::PAYLOAD_TOO_LARGE, why));
    }
    Ok(bytes)
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), ControlError> {
    open(OpenOptions::new().write(true).create(true).truncate(true), path)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all().or_else(unsyncable)))
        .map_err(|error| failed("write", path, &error))
}

pub(super) fn remove(path: &Path) -> Result<(), ControlError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir(path),
        _ => fs::remove_file(path),
    };
    removed.map_err(|error| failed("remove", path, &error))
}

pub(super) fn stat(path: &Path) -> Result<FileStat, ControlError> {
    let described = || -> io::Result<FileStat> {
        let data = fs::symlink_metadata(path)?;
        let since = data.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let target = if data.is_symlink() { Some(fs::read_link(path)?.display().to_string()) } else { None };
        let entries = if data.is_dir() { Some(entries(path)?) } else { None };
        Ok(FileStat {
            kind: kind(&data),
            size: data.len(),
            mode: format!("{:04o}", data.mode() & 0o7777),
            uid: data.uid(),
            gid: data.gid(),
            modified_wall_us: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
            device: data.dev(),
            inode: data.ino(),
            links: data.nlink(),
            target,
            entries,
        })
    };
    described().map_err(|error| failed("look at", path, &error))
}

/// Opens a file without waiting. A pipe without a reader is an error.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits()).open(path)
}

/// Ignores the error that pipes and kernel files cannot be synchronized, because they need no synchronization.
fn unsyncable(error: io::Error) -> io::Result<()> {
    match errno(&error) {
        Some(Errno::EINVAL | Errno::ENOTSUP | Errno::EROFS) => Ok(()),
        _ => Err(error),
    }
}

fn entries(path: &Path) -> io::Result<Vec<String>> {
    let name = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name().display().to_string());
    let mut names = fs::read_dir(path)?.take(MOST_ENTRIES).map(name).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn kind(data: &Metadata) -> &'static str {
    let kind = data.file_type();
    match () {
        () if kind.is_file() => "file",
        () if kind.is_dir() => "folder",
        () if kind.is_symlink() => "link",
        () if kind.is_fifo() => "pipe",
        () if kind.is_socket() => "socket",
        () if kind.is_char_device() || kind.is_block_device() => "device",
        () => "unknown",
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw)
}

/// The error of a file operation. It contains the system's name of the error, because cases compare this name.
fn failed(doing: &str, path: &Path, error: &io::Error) -> ControlError {
    let name = errno(error).map_or_else(|| format!("{:?}", error.kind()), |errno| format!("{errno:?}"));
    let status = match errno(error) {
        Some(Errno::ENOENT | Errno::ENOTDIR) => StatusCode::NOT_FOUND,
        Some(Errno::EACCES | Errno::EPERM | Errno::EROFS) => StatusCode::FORBIDDEN,
        Some(Errno::ENOSPC | Errno::EDQUOT) => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::CONFLICT,
    };
    ControlError::new(status, format!("failed to {doing} {}: {error}", path.display())).with("os", name)
}
