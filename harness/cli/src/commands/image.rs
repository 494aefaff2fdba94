//! `probity image`: loads the target's image into a cluster, or pushes it to a registry.
//!
//! Every digest of the archive is checked first. The cluster's own tool loads the image, and skopeo pushes it. The
//! command that does this is printed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use probity_image::{Archive, Error, Facts, Image, ImageName, Joined, Program, agnhost, harness, is_joined};

use crate::arguments::image::{ArchiveArgs, ImageArgs, ImageVerb, LoadArgs};
use crate::exit_status::{Exit, Failure};
use crate::input_files::FileArgument;
use crate::{output, provenance, run_folder};

/// Where `ci/image` writes the archive.
const BUILT: &str = "target/image/agnhost-rs.tar";

/// What an archive is, for errors about arguments.
const AN_ARCHIVE: &str = "the agnhost-rs.tar of a release, or the archive that ci/image builds";

/// The flag that names the archive.
const ARCHIVE: FileArgument = FileArgument { name: "--archive", takes: AN_ARCHIVE };

/// The flag that names the program of an image.
const PROGRAM: FileArgument = FileArgument { name: "--program", takes: "a statically linked program" };

/// Saves, loads or pushes the image.
pub(crate) fn run(args: &ImageArgs) -> Result<Exit, Failure> {
    match &args.verb {
        ImageVerb::Save { file, from } => save(file, from),
        ImageVerb::Load { into, from, print } => {
            let path = find(from)?;
            read(&path, ARCHIVE)?;
            carry_out(&[load(into, &path)], *print)
        }
        ImageVerb::Own { file, program } => own(file, program.as_deref()),
        ImageVerb::Join { file, archives } => join(file, archives),
        ImageVerb::Push { repository, from, print } => {
            let path = find(from)?;
            let (_, content) = read(&path, ARCHIVE)?;
            let all = matches!(content, Content::Several(_));
            let commands: Vec<ToolCall> =
                content.names().map(|name| push(&path, name.tag(), repository, all)).collect();
            carry_out(&commands, *print)
        }
    }
}

/// The archive to use.
fn find(from: &ArchiveArgs) -> Result<PathBuf, Failure> {
    if let Some(path) = &from.archive {
        return Ok(path.clone());
    }
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join("agnhost-rs.tar")));
    // A release uses its own image even if it is started in a checkout of the project.
    let places: Vec<PathBuf> = [beside, Some(PathBuf::from(BUILT))].into_iter().flatten().collect();
    places.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let tried: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        Failure::wrong_use(format!(
            "no archive of the image at {}; build it with ci/image, or name it with --archive",
            tried.join(" or ")
        ))
    })
}

/// What a file can contain.
enum Content {
    One(Archive),
    /// Images for several architectures.
    Several(Joined),
}

impl Content {
    fn names(&self) -> Box<dyn Iterator<Item = &ImageName> + '_> {
        match self {
            Self::One(archive) => Box::new(archive.images().iter().flat_map(Image::names)),
            Self::Several(joined) => Box::new(joined.names().into_iter()),
        }
    }

    /// A line for each image.
    fn lines(&self) -> String {
        let lines = |archive: &Archive, place: &str| -> String {
            let line = |image: &Image| {
                let names: Vec<String> = image.names().iter().map(ToString::to_string).collect();
                format!("{}  {}{place}\n", names.join(", "), image.manifest().digest())
            };
            archive.images().iter().map(line).collect()
        };
        match self {
            Self::One(archive) => lines(archive, ""),
            Self::Several(joined) => {
                joined.archives().map(|(arch, archive)| lines(archive, &format!("  {arch}"))).collect()
            }
        }
    }
}

/// Reads the archive that an argument names, and checks every digest in it.
fn read(path: &Path, argument: FileArgument) -> Result<(Vec<u8>, Content), Failure> {
    let bytes = std::fs::read(path).map_err(|error| argument.unreadable(path, &error))?;
    let content = match is_joined(&bytes) {
        Ok(true) => Joined::from_tar(&bytes).map(Content::Several),
        _ => Archive::from_tar(&bytes).map(Content::One),
    };
    let content = content.map_err(|error| match error {
        Error::Tar(why) => {
            argument.wrong(path, format!("this is not the archive of an image, or it is cut off ({why})"))
        }
        other => Failure::wrong_file(path, other),
    })?;
    Ok((bytes, content))
}

fn save(file: &Path, from: &ArchiveArgs) -> Result<Exit, Failure> {
    let (bytes, content) = read(&find(from)?, ARCHIVE)?;
    if file == Path::new("-") {
        return output::bytes(&bytes);
    }
    run_folder::store(file, &bytes).map_err(|error| Failure::file_failed(file, error))?;
    output::out(&content.lines())
}

/// Writes the archive of an image of this program.
fn own(file: &Path, program: Option<&Path>) -> Result<Exit, Failure> {
    let this = std::env::current_exe().map_err(|error| Failure::failed(error.to_string()))?;
    let path = program.unwrap_or(&this);
    let bytes = std::fs::read(path).map_err(|error| PROGRAM.unreadable(path, &error))?;
    let program = Program::new(bytes).map_err(|error| Failure::wrong_file(path, error))?;
    let tool = provenance::tool();
    let modified = if tool.modified { "-dirty" } else { "" };
    let revision = format!("{}{modified}", if tool.commit.is_empty() { "unknown" } else { &tool.commit });
    // Only the bytes of the program are known, so the image has no creation time. The same program gives the same image.
    let facts = Facts { version: tool.version, revision, created: 0, source: None };
    let archive = harness::archive(&program, &facts, harness::REPOSITORY, agnhost::TAG);
    let bytes =
        archive.and_then(|archive| archive.to_tar()).map_err(|error| Failure::failed(error.to_string()))?;
    run_folder::store(file, &bytes).map_err(|error| Failure::file_failed(file, error))?;
    output::out(&format!("{}:{}\n", harness::REPOSITORY, agnhost::TAG))
}

/// Joins several archives into one, and prints what it contains.
fn join(file: &Path, archives: &[PathBuf]) -> Result<Exit, Failure> {
    let mut each = Vec::new();
    for path in archives {
        match read(path, FileArgument { name: "ARCHIVE", takes: AN_ARCHIVE })?.1 {
            Content::One(archive) => each.push(archive),
            Content::Several(_) => {
                return Err(Failure::wrong_file(path, "it already contains several architectures"));
            }
        }
    }
    let joined = Joined::new(each).map_err(|error| Failure::wrong_use(error.to_string()))?;
    let bytes = joined.to_tar().map_err(|error| Failure::failed(error.to_string()))?;
    run_folder::store(file, &bytes).map_err(|error| Failure::file_failed(file, error))?;
    output::out(&Content::Several(joined).lines())
}

/// A command line of a tool, and the file that it reads.
#[derive(Debug, PartialEq, Eq)]
struct ToolCall {
    words: Vec<String>,
    stdin: Option<PathBuf>,
}

impl ToolCall {
    fn of(words: &[&str]) -> Self {
        Self { words: words.iter().map(|word| (*word).to_owned()).collect(), stdin: None }
    }

    /// The command in the syntax of a shell.
    fn in_words(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+".contains(c);
        let word = |word: &str| match word.chars().all(plain) && !word.is_empty() {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        };
        let mut line: Vec<String> = self.words.iter().map(|text| word(text)).collect();
        line.extend(self.stdin.as_ref().map(|path| format!("< {}", word(&path.display().to_string()))));
        line.join(" ")
    }

    fn run(&self) -> Result<(), Failure> {
        let Some((program, arguments)) = self.words.split_first() else {
            return Err(Failure::wrong_use("the command is empty"));
        };
        let stdin = match &self.stdin {
            Some(path) => File::open(path).map(Stdio::from),
            None => Ok(Stdio::null()),
        };
        let failed = |why: &dyn std::fmt::Display| Failure::failed(format!("`{}`: {why}", self.in_words()));
        let stdin = stdin.map_err(|error| failed(&error))?;
        let status = Command::new(program).args(arguments).stdin(stdin).status();
        let status = status.map_err(|error| failed(&format!("{error}; is {program} installed?")))?;
        if status.success() { Ok(()) } else { Err(failed(&status)) }
    }
}

fn load(into: &LoadArgs, path: &Path) -> ToolCall {
    let archive = path.display().to_string();
    if let Some(name) = &into.kind {
        ToolCall::of(&["kind", "load", "image-archive", &archive, "--name", name])
    } else if let Some(profile) = &into.minikube {
        ToolCall::of(&["minikube", "--profile", profile, "image", "load", &archive])
    } else if into.k3s {
        ToolCall::of(&["k3s", "ctr", "images", "import", &archive])
    } else if into.docker {
        ToolCall::of(&["docker", "load", "--input", &archive])
    } else if into.podman {
        ToolCall::of(&["podman", "load", "--input", &archive])
    } else if let Some(command) = &into.command {
        let words = command.split_whitespace().map(str::to_owned).collect();
        ToolCall { words, stdin: Some(path.to_owned()) }
    } else {
        ToolCall::of(&["ctr", "--namespace", "k8s.io", "images", "import", &archive])
    }
}

/// Without `--all`, skopeo copies only the image for its own architecture.
fn push(path: &Path, tag: &str, repository: &str, all: bool) -> ToolCall {
    let from = format!("oci-archive:{}:{tag}", path.display());
    let to = format!("docker://{repository}:{tag}");
    let head: &[&str] = if all { &["skopeo", "copy", "--all"] } else { &["skopeo", "copy"] };
    ToolCall::of(&[head, &[&from, &to]].concat())
}

fn carry_out(calls: &[ToolCall], only_print: bool) -> Result<Exit, Failure> {
    if calls.iter().any(|call| call.words.is_empty()) {
        let why = "--command is empty: give a command that reads the archive from its standard input";
        return Err(Failure::wrong_use(why));
    }
    for call in calls {
        output::out(&format!("{}\n", call.in_words()))?;
        if !only_print {
            call.run()?;
        }
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_command_is_refused_before_anything_is_printed() {
        let call = ToolCall { words: Vec::new(), stdin: Some("a.tar".into()) };
        let said = carry_out(&[call], true).map_err(|failure| failure.to_string());
        assert!(said.is_err_and(|why| why.starts_with("--command is empty")));
    }

    #[test]
    fn a_command_is_printed_as_a_shell_would_take_it() {
        let call =
            ToolCall { words: vec!["ssh".to_owned(), "it's".to_owned()], stdin: Some("a b.tar".into()) };
        assert_eq!(call.in_words(), r"ssh 'it'\''s' < 'a b.tar'");
    }
}
