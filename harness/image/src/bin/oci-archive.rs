//! Writes the archive of the target's image from a static program, and reads such archives back.
//!
//! `ci/image` is the usual caller. This program opens the files, and the library defines their contents.
#![expect(clippy::disallowed_methods, reason = "files and the terminal are its task")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use probity_image::{Archive, EntryKind, Facts, Image, Program, Variant, agnhost};

#[derive(Parser)]
#[command(about = "Writes and reads the target's container image as an OCI archive", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write an archive around a static program
    Write(WriteArgs),
    /// Check an archive completely, and print its contents
    Read(ReadArgs),
}

#[derive(Args)]
struct WriteArgs {
    /// The static program
    #[arg(long)]
    program: PathBuf,
    /// Where to write the archive
    #[arg(long)]
    out: PathBuf,
    /// Registry and repository of the image's names
    #[arg(long, default_value = agnhost::REPOSITORY)]
    repository: String,
    /// Tag of the plain image; the other variants append to it
    #[arg(long, default_value = agnhost::TAG)]
    tag: String,
    /// The variants in the archive
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["plain", "second", "sigusr1"])]
    variants: Vec<Variant>,
    /// Version label
    #[arg(long)]
    version: String,
    /// Revision label: the commit, with the suffix -dirty if the sources differed from it
    #[arg(long)]
    revision: String,
    /// Time of the commit in seconds since 1970
    #[arg(long, env = "SOURCE_DATE_EPOCH")]
    created: i64,
    /// Source label: the address of the published sources
    #[arg(long)]
    source: Option<String>,
}

#[derive(Args)]
struct ReadArgs {
    /// The archive
    archive: PathBuf,
    /// Fail if the archive is larger than this many bytes
    #[arg(long)]
    max_size: Option<u64>,
    /// What to print
    #[arg(long, value_enum, default_value = "summary")]
    print: Print,
}

#[derive(Clone, Copy, ValueEnum)]
enum Print {
    /// A few lines for people
    Summary,
    /// One line for each name: name, digest, digest of the configuration, stop signal (or -), separated by tabs
    Images,
    /// One line for each file of the first image: type, mode, owner, size, path, link target, as `find -printf` has them
    Files,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Write(args) => write(&args),
        Command::Read(args) => read(&args),
    };
    let (mut stream, text, code): (Box<dyn std::io::Write>, _, _) = match done {
        Ok(text) => (Box::new(std::io::stdout().lock()), text, ExitCode::SUCCESS),
        Err(problem) => {
            (Box::new(std::io::stderr().lock()), format!("oci-archive: {problem}\n"), ExitCode::FAILURE)
        }
    };
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn write(args: &WriteArgs) -> Result<String, String> {
    let program =
        Program::new(load(&args.program)?).map_err(|error| format!("{}: {error}", args.program.display()))?;
    let facts = Facts {
        version: args.version.clone(),
        revision: args.revision.clone(),
        created: args.created,
        source: args.source.clone(),
    };
    let tar = agnhost::archive(&program, &facts, &args.variants, &args.repository, &args.tag)
        .and_then(|archive| archive.to_tar())
        .map_err(|error| error.to_string())?;
    store(&args.out, &tar)?;
    Ok(String::new())
}

fn read(args: &ReadArgs) -> Result<String, String> {
    let tar = load(&args.archive)?;
    let archive = Archive::from_tar(&tar).map_err(|error| format!("{}: {error}", args.archive.display()))?;
    if let Some(most) = args.max_size.filter(|most| tar.len() as u64 > *most) {
        return Err(format!("{} has {} bytes; the maximum is {most}", args.archive.display(), tar.len()));
    }
    match args.print {
        Print::Summary => summary(&archive),
        Print::Images => images(&archive),
        Print::Files => archive.images().first().map_or(Ok(String::new()), files),
    }
}

fn summary(archive: &Archive) -> Result<String, String> {
    let mut text = String::new();
    for image in archive.images() {
        let names: Vec<String> = image.names().iter().map(ToString::to_string).collect();
        let size: usize = image.blobs().map(|blob| blob.bytes().len()).sum();
        let _ = writeln!(text, "{}\n  digest {}", names.join(", "), image.manifest().digest());
        let _ = writeln!(text, "  config {}\n  bytes  {size}", image.config().digest());
        for layer in image.layers() {
            let _ = writeln!(text, "  layer  {} ({} bytes)", layer.digest(), layer.bytes().len());
        }
        if let Some(signal) = stop_signal(image)? {
            let _ = writeln!(text, "  stop   {signal}");
        }
    }
    Ok(text)
}

fn images(archive: &Archive) -> Result<String, String> {
    let mut text = String::new();
    for image in archive.images() {
        let signal = stop_signal(image)?.unwrap_or_else(|| "-".to_owned());
        for name in image.names() {
            let (digest, config) = (image.manifest().digest(), image.config().digest());
            let _ = writeln!(text, "{name}\t{digest}\t{config}\t{signal}");
        }
    }
    Ok(text)
}

fn files(image: &Image) -> Result<String, String> {
    let mut text = String::new();
    for (path, entry) in image.files().map_err(|error| error.to_string())?.iter() {
        let (kind, size, target) = match &entry.kind {
            EntryKind::Directory => ('d', 0, ""),
            EntryKind::File(content) => ('f', content.len(), ""),
            EntryKind::Link(target) => ('l', target.len(), target.as_str()),
        };
        let (user, group) = entry.owner;
        let _ = writeln!(text, "{kind} {:o} {user}:{group} {size} {path} {target}", entry.mode);
    }
    Ok(text)
}

fn stop_signal(image: &Image) -> Result<Option<String>, String> {
    let configuration = image.configuration().map_err(|error| error.to_string())?;
    Ok(configuration.config().as_ref().and_then(|config| config.stop_signal().clone()))
}

fn load(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes under a temporary name and renames the file, so that nobody can import an incomplete archive.
fn store(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|error| format!("{}: {error}", path.display()))
}
