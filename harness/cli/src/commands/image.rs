//! `probity image`: brings the target's image to where a cluster finds it.
//!
//! The archive is checked through and through before anything is done with it. Loading and pushing are left to the tool
//! that each cluster comes with; what is called is printed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, Subcommand};
use probity_image::{Archive, Image};

use crate::exit::{Exit, Failure};
use crate::say;
use crate::stored;

/// Where `ci/image` writes the archive.
const BUILT: &str = "target/image/agnhost-rs.tar";

/// Brings the image
#[derive(Args, Debug)]
pub(crate) struct ImageArgs {
    #[command(subcommand)]
    pub(crate) verb: ImageVerb,
}

/// What is done with the image.
#[derive(Debug, Subcommand)]
pub(crate) enum ImageVerb {
    /// Checks the archive and writes it to a file
    Save {
        /// The file; - is standard output
        file: PathBuf,
        #[command(flatten)]
        from: ArchiveArgs,
    },
    /// Loads the archive where a cluster finds it, by the tool of that cluster
    Load {
        #[command(flatten)]
        into: LoadArgs,
        #[command(flatten)]
        from: ArchiveArgs,
        /// Only print the command
        #[arg(long)]
        print: bool,
    },
    /// Pushes the images of the archive to a registry, by skopeo
    Push {
        /// Registry and repository, such as registry.example.com/probity/agnhost-rs; each image keeps its tag
        repository: String,
        #[command(flatten)]
        from: ArchiveArgs,
        /// Only print the commands
        #[arg(long)]
        print: bool,
    },
}

/// Where the archive is.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ArchiveArgs {
    /// The archive; else target/image/agnhost-rs.tar, or agnhost-rs.tar beside this program
    #[arg(long, value_name = "FILE")]
    pub(crate) archive: Option<PathBuf>,
}

/// Where the images are loaded.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct LoadArgs {
    /// A kind cluster of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) kind: Option<String>,
    /// The containerd of this machine
    #[arg(long)]
    pub(crate) containerd: bool,
    /// The k3s of this machine
    #[arg(long)]
    pub(crate) k3s: bool,
    /// A minikube profile
    #[arg(long, value_name = "PROFILE")]
    pub(crate) minikube: Option<String>,
    /// The docker of this machine
    #[arg(long)]
    pub(crate) docker: bool,
    /// The podman of this machine
    #[arg(long)]
    pub(crate) podman: bool,
    /// Any command that reads the archive from its standard input, such as "ssh NODE ctr -n k8s.io images import -"
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

/// Does what was asked.
pub(crate) fn run(args: &ImageArgs) -> Result<Exit, Failure> {
    match &args.verb {
        ImageVerb::Save { file, from } => save(file, from),
        ImageVerb::Load { into, from, print } => {
            let path = find(from)?;
            read(&path)?;
            carry_out(&[load(into, &path)], *print)
        }
        ImageVerb::Push { repository, from, print } => {
            let path = find(from)?;
            let (_, archive) = read(&path)?;
            let names = archive.images().iter().flat_map(Image::names);
            let commands: Vec<Call> = names.map(|name| push(&path, name.tag(), repository)).collect();
            carry_out(&commands, *print)
        }
    }
}

/// The archive that is meant.
fn find(from: &ArchiveArgs) -> Result<PathBuf, Failure> {
    if let Some(path) = &from.archive {
        return Ok(path.clone());
    }
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join("agnhost-rs.tar")));
    let places: Vec<PathBuf> = [Some(PathBuf::from(BUILT)), beside].into_iter().flatten().collect();
    places.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let tried: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        Failure::wrong_use(format!(
            "there is no archive of the image at {}; build it with ci/image, or name it with --archive",
            tried.join(" or ")
        ))
    })
}

/// Reads an archive and checks every digest in it.
fn read(path: &Path) -> Result<(Vec<u8>, Archive), Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::wrong_use(format!("{}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| wrong(&error))?;
    let archive = Archive::from_tar(&bytes).map_err(|error| wrong(&error))?;
    Ok((bytes, archive))
}

fn save(file: &Path, from: &ArchiveArgs) -> Result<Exit, Failure> {
    let (bytes, archive) = read(&find(from)?)?;
    if file == Path::new("-") {
        return say::bytes(&bytes);
    }
    stored::store(file, &bytes).map_err(|error| Failure::failed(format!("{}: {error}", file.display())))?;
    let line = |image: &Image| {
        let names: Vec<String> = image.names().iter().map(ToString::to_string).collect();
        format!("{}  {}\n", names.join(", "), image.manifest().digest())
    };
    say::out(&archive.images().iter().map(line).collect::<String>())
}

/// A command and what it reads.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    words: Vec<String>,
    stdin: Option<PathBuf>,
}

impl Call {
    fn of(words: &[&str]) -> Self {
        Self { words: words.iter().map(|word| (*word).to_owned()).collect(), stdin: None }
    }

    /// The command as a shell would take it.
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

fn load(into: &LoadArgs, path: &Path) -> Call {
    let archive = path.display().to_string();
    if let Some(name) = &into.kind {
        Call::of(&["kind", "load", "image-archive", &archive, "--name", name])
    } else if let Some(profile) = &into.minikube {
        Call::of(&["minikube", "--profile", profile, "image", "load", &archive])
    } else if into.k3s {
        Call::of(&["k3s", "ctr", "images", "import", &archive])
    } else if into.docker {
        Call::of(&["docker", "load", "--input", &archive])
    } else if into.podman {
        Call::of(&["podman", "load", "--input", &archive])
    } else if let Some(command) = &into.command {
        let words = command.split_whitespace().map(str::to_owned).collect();
        Call { words, stdin: Some(path.to_owned()) }
    } else {
        Call::of(&["ctr", "--namespace", "k8s.io", "images", "import", &archive])
    }
}

fn push(path: &Path, tag: &str, repository: &str) -> Call {
    let from = format!("oci-archive:{}:{tag}", path.display());
    Call::of(&["skopeo", "copy", &from, &format!("docker://{repository}:{tag}")])
}

fn carry_out(calls: &[Call], only_print: bool) -> Result<Exit, Failure> {
    for call in calls {
        say::out(&format!("{}\n", call.in_words()))?;
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
    fn a_command_is_printed_as_a_shell_would_take_it() {
        let call = Call { words: vec!["ssh".to_owned(), "it's".to_owned()], stdin: Some("a b.tar".into()) };
        assert_eq!(call.in_words(), r"ssh 'it'\''s' < 'a b.tar'");
    }
}
