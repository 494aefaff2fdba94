//! `mounttest`: prints the file system type of a mount, and the mode, permissions, owner and content of files, and
//! writes new files.
//!
//! The order of the steps is fixed, whatever the order of the flags: one command can write a file and then print its
//! mode. A step that fails does not stop the others, and makes the exit status 1.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::stat::{Mode, umask};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};

use super::go::flags::{boolean, integer};
use super::go::{signals, text};

/// The content of a new file.
const NEW_CONTENT: &str = "mount-tester new file\n";
/// Time between two attempts to read a file.
const READ_AGAIN: Duration = Duration::from_secs(2);

/// The flags of `mounttest`.
#[derive(Args, Debug)]
pub struct MounttestFlags {
    /// Print the kind of file system of this path
    #[arg(long = "fs_type", alias = "fs-type")]
    fs_type: Option<String>,
    /// Print the mode of this file
    #[arg(long = "file_mode", alias = "file-mode")]
    file_mode: Option<String>,
    /// Print the permissions of this file
    #[arg(long = "file_perm", alias = "file-perm")]
    file_perm: Option<String>,
    /// Print the owner of this file, user and group
    #[arg(long = "file_owner", alias = "file-owner")]
    file_owner: Option<String>,
    /// Write this file with mode 0644 and print its content
    #[arg(long = "new_file_0644", alias = "new-file-0644")]
    new_file_0644: Option<String>,
    /// Write this file with mode 0666 and print its content
    #[arg(long = "new_file_0666", alias = "new-file-0666")]
    new_file_0666: Option<String>,
    /// Write this file with mode 0660 and print its content
    #[arg(long = "new_file_0660", alias = "new-file-0660")]
    new_file_0660: Option<String>,
    /// Write this file with mode 0777 and print its content
    #[arg(long = "new_file_0777", alias = "new-file-0777")]
    new_file_0777: Option<String>,
    /// Print the content of this file
    #[arg(long = "file_content", alias = "file-content")]
    file_content: Option<String>,
    /// Print the content of this file every two seconds
    #[arg(long = "file_content_in_loop", alias = "file-content-in-loop")]
    file_content_in_loop: Option<String>,
    /// Seconds after which the loop ends
    #[arg(long = "retry_time", alias = "retry-time", default_value = "180", value_parser = integer, allow_hyphen_values = true)]
    retry_time: i64,
    /// End the loop as soon as the content is that of a new file
    #[arg(long = "break_on_expected_content", alias = "break-on-expected-content", num_args = 0..=1, require_equals = true,
          default_value = "true", default_missing_value = "true", value_parser = boolean, action = clap::ArgAction::Set)]
    break_on_expected_content: bool,
}

/// A step failed and has printed why.
struct Failed;

type Step = Result<(), Failed>;

/// Performs the steps. The status is 1 if a step failed.
pub(super) fn run(flags: &MounttestFlags) -> ExitCode {
    signals::end_by_default();
    umask(Mode::empty());
    let steps = [
        given(flags.fs_type.as_ref(), fs_type),
        given(flags.new_file_0644.as_ref(), |path| new_file(path, 0o644)),
        given(flags.new_file_0666.as_ref(), |path| new_file(path, 0o666)),
        given(flags.new_file_0660.as_ref(), |path| new_file(path, 0o660)),
        given(flags.new_file_0777.as_ref(), |path| new_file(path, 0o777)),
        given(flags.file_mode.as_ref(), |path| mode(path, "mode", true)),
        given(flags.file_perm.as_ref(), |path| mode(path, "perms", false)),
        given(flags.file_owner.as_ref(), owner),
        given(flags.file_content.as_ref(), content),
        given(flags.file_content_in_loop.as_ref(), |path| content_in_loop(path, flags)),
    ];
    if steps.iter().all(Result::is_ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Performs the step if the flag names a path.
fn given(path: Option<&String>, step: impl FnOnce(&str) -> Step) -> Step {
    path.filter(|path| !path.is_empty()).map_or(Ok(()), |path| step(path))
}

fn fs_type(path: &str) -> Step {
    match statfs(path) {
        Ok(found) if found.filesystem_type() == TMPFS_MAGIC => {
            say(&format!("mount type of {}: tmpfs", quoted(path)))
        }
        Ok(found) => say(&format!("mount type of {}: {}", quoted(path), found.filesystem_type().0)),
        Err(error) => fail(&format!("error from statfs({}): {}", quoted(path), system(error.into()))),
    }
}

fn new_file(path: &str, mode: u32) -> Step {
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path);
    match opened.and_then(|mut file| file.write_all(NEW_CONTENT.as_bytes())) {
        Ok(()) => content(path),
        Err(error) => {
            fail(&format!("error writing new file {}: open {path}: {}", quoted(path), system(error)))
        }
    }
}

fn mode(path: &str, what: &str, whole: bool) -> Step {
    match fs::metadata(path) {
        Ok(found) => say(&format!("{what} of file {}: {}", quoted(path), mode_text(&found, whole))),
        Err(error) => fail(&format!("error from Stat({}): stat {path}: {}", quoted(path), system(error))),
    }
}

/// The mode as Go writes it: letters for the kind and the special bits, or a dash if there are none, and then three
/// times `rwx`.
fn mode_text(found: &fs::Metadata, whole: bool) -> String {
    let mut text = if whole { kind_letters(found) } else { String::new() };
    if text.is_empty() {
        text.push('-');
    }
    for bit in (0..9).rev() {
        let letter = ['x', 'w', 'r'][bit % 3];
        text.push(if found.mode() >> bit & 1 == 1 { letter } else { '-' });
    }
    text
}

fn kind_letters(found: &fs::Metadata) -> String {
    let (kind, mode) = (found.file_type(), found.mode());
    let letters = [
        ('d', kind.is_dir()),
        ('D', kind.is_block_device() || kind.is_char_device()),
        ('p', kind.is_fifo()),
        ('S', kind.is_socket()),
        ('u', mode & 0o4000 != 0),
        ('g', mode & 0o2000 != 0),
        ('c', kind.is_char_device()),
        ('t', mode & 0o1000 != 0),
    ];
    letters.into_iter().filter_map(|(letter, set)| set.then_some(letter)).collect()
}

fn owner(path: &str) -> Step {
    match fs::metadata(path) {
        Ok(found) => {
            say(&format!("owner UID of {}: {}", quoted(path), found.uid()))?;
            say(&format!("owner GID of {}: {}", quoted(path), found.gid()))
        }
        Err(error) => fail(&format!("error from stat({}): {}", quoted(path), system(error))),
    }
}

fn content(path: &str) -> Step {
    match read(path) {
        Ok(bytes) => show(path, &bytes),
        Err(error) => fail(&format!("error reading file content for {}: {error}", quoted(path))),
    }
}

/// Reads until the time is over or the content is that of a new file. The last attempt decides.
fn content_in_loop(path: &str, flags: &MounttestFlags) -> Step {
    let limit = Duration::from_secs(u64::try_from(flags.retry_time).unwrap_or(0));
    let start = Instant::now();
    let mut last = Ok(());
    while start.elapsed() < limit {
        last = match read(path) {
            Err(error) => fail(&format!("Error reading file {path}: {error}, retrying")),
            Ok(bytes) => {
                show(path, &bytes)?;
                if flags.break_on_expected_content && bytes == NEW_CONTENT.as_bytes() {
                    return Ok(());
                }
                if flags.break_on_expected_content {
                    say(&format!("Unexpected content. Expected: {NEW_CONTENT}. Retrying"))?;
                }
                Ok(())
            }
        };
        std::thread::sleep(READ_AGAIN);
    }
    last
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| {
        let step = if error.kind() == io::ErrorKind::IsADirectory { "read" } else { "open" };
        format!("{step} {path}: {}", system(error))
    })
}

fn show(path: &str, bytes: &[u8]) -> Step {
    let line = [format!("content of file {}: ", quoted(path)).as_bytes(), bytes, b"\n"].concat();
    io::stdout().lock().write_all(&line).map_err(|_| Failed)
}

fn quoted(path: &str) -> String {
    text::quoted(path.as_bytes())
}

#[expect(clippy::needless_pass_by_value, reason = "the error ends here")]
fn system(error: io::Error) -> String {
    text::errno(&error)
}

fn say(line: &str) -> Step {
    writeln!(io::stdout().lock(), "{line}").map_err(|_| Failed)
}

fn fail(line: &str) -> Step {
    say(line).and(Err(Failed))
}
