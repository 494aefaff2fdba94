//! The test output of a run. It looks like the output of a Rust test program with one test for each case, so tools for
//! that output can read it.
//!
//! This module only shows results. A test waits for the result of its case. The report is generated from the verdicts,
//! never from this output.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal, PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use clap::{Args, ValueEnum};
use libtest_mimic::{Arguments, ColorSetting, Completion, FormatSetting, Trial};

use super::progress::console::Console;
use crate::exit_status::{Exit, Failure};
use crate::output;

/// The maximum number of threads that wait for results. The system may limit the threads of a process.
const MOST_THREADS: usize = 256;

/// The flags of Rust's test programs that have a meaning here, or are harmless.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LibtestArgs {
    /// List the cases that would run, as Rust's test programs do, and stop; needs no cluster
    #[arg(long)]
    pub(crate) list: bool,
    /// Show only the cases that cannot run because a flag is missing
    #[arg(long)]
    pub(crate) ignored: bool,
    /// Also show cases that cannot run because a flag is missing; each gives the reason
    #[arg(long, hide = true)]
    pub(crate) include_ignored: bool,
    /// Print one character for each case
    #[arg(short, long, conflicts_with = "format")]
    pub(crate) quiet: bool,
    /// Set the format of the output
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<TestFormat>,
    /// Set when to use colors
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<Colors>,
    /// Write the output to a file instead of standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) logfile: Option<String>,
    /// Accepted for compatibility; has no effect
    #[arg(long, hide = true)]
    nocapture: bool,
    /// Accepted for compatibility; has no effect
    #[arg(long, hide = true)]
    show_output: bool,
    /// Accepted for compatibility; has no effect
    #[arg(long = "test", hide = true)]
    test: bool,
    /// Accepted for compatibility; has no effect
    #[arg(short = 'Z', hide = true, value_name = "FLAG")]
    unstable: Option<String>,
}

/// The format of the test output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestFormat {
    /// One line for each case (default)
    Pretty,
    /// One character for each case
    Terse,
    /// JSON, one object for each event
    Json,
}

impl From<TestFormat> for FormatSetting {
    fn from(format: TestFormat) -> Self {
        match format {
            TestFormat::Pretty => Self::Pretty,
            TestFormat::Terse => Self::Terse,
            TestFormat::Json => Self::Json,
        }
    }
}

/// When the test output has colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colors {
    /// Use colors if standard output is a terminal (default)
    Auto,
    /// Always use colors
    Always,
    /// Never use colors
    Never,
}

impl From<Colors> for ColorSetting {
    fn from(colors: Colors) -> Self {
        match colors {
            Colors::Auto => Self::Auto,
            Colors::Always => Self::Always,
            Colors::Never => Self::Never,
        }
    }
}

/// The result of a case, as a test program reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TestResult {
    /// It passed.
    Passed,
    /// It failed for this reason.
    Failed(String),
    /// It did not run for this reason.
    Ignored(String),
}

/// One test of the output.
pub(crate) struct TestLine {
    /// The case.
    pub(crate) name: String,
    /// Whether the user's filters select it.
    pub(crate) chosen: bool,
    /// Why it cannot run with the flags that were given.
    pub(crate) lacks: Option<String>,
    result: Receiver<TestResult>,
}

impl TestLine {
    /// A test, and the sender of its result.
    pub(crate) fn new(name: String, chosen: bool, lacks: Option<String>) -> (Self, Sender<TestResult>) {
        let (send, result) = channel();
        (Self { name, chosen, lacks, result }, send)
    }

    fn trial(self) -> Trial {
        let Self { name, lacks, result, .. } = self;
        let ignored = lacks.is_some();
        let wait = move || match lacks.map_or_else(|| result.recv(), |why| Ok(TestResult::Ignored(why))) {
            Ok(TestResult::Passed) => Ok(Completion::Completed),
            Ok(TestResult::Failed(text)) => Err(output::visible(&text).into_owned().into()),
            Ok(TestResult::Ignored(why)) => Ok(Completion::ignored_with(output::visible(&why).into_owned())),
            Err(_) => Err("the run ended before this case did".into()),
        };
        Trial::ignorable_test(name, wait).with_ignored_flag(ignored)
    }
}

impl LibtestArgs {
    /// Whether the output is for people and shows failures in full.
    pub(crate) fn shows_failures(&self) -> bool {
        self.format != Some(TestFormat::Json)
    }

    /// Writes the list of the selected tests, one line for each.
    pub(crate) fn list(&self, lines: &[TestLine]) -> Result<Exit, Failure> {
        let listed = |line: &&TestLine| line.chosen && (line.lacks.is_some() || !self.ignored);
        let text: String = lines.iter().filter(listed).map(|line| format!("{}: test\n", line.name)).collect();
        let Some(path) = &self.logfile else { return output::out(&text) };
        fs::write(path, text).map_err(|error| Failure::wrong_file(Path::new(path), error))?;
        Ok(Exit::Success)
    }

    /// Opens the file given with `--logfile`, if any. A run calls this before it creates anything, because its output
    /// would otherwise be lost.
    pub(crate) fn open(&self) -> Result<Option<File>, Failure> {
        let open =
            |path: &String| File::create(path).map_err(|error| Failure::wrong_file(Path::new(path), error));
        self.logfile.as_ref().map(open).transpose()
    }

    /// Shows all tests until each has its result. `logfile` is the result of [`Self::open`].
    pub(crate) fn show(&self, lines: Vec<TestLine>, console: &Console, logfile: Option<File>) {
        let color =
            if logfile.is_some() { self.color.map(ColorSetting::from) } else { Some(colored(self.color)) };
        let pipe = OutputPipe::open(console, logfile).ok();
        let arguments = Arguments {
            ignored: self.ignored,
            include_ignored: self.include_ignored,
            quiet: self.quiet,
            format: self.format.map(FormatSetting::from),
            color,
            logfile: pipe.as_ref().map(OutputPipe::path).or_else(|| self.logfile.clone()),
            // The cases that the user's filters leave out are counted as filtered: they are skipped by their names.
            exact: true,
            skip: lines.iter().filter(|line| !line.chosen).map(|line| line.name.clone()).collect(),
            // Each thread waits for the result of one test. Further tests are shown when a thread is free.
            test_threads: Some(lines.iter().filter(|line| line.chosen).count().clamp(2, MOST_THREADS)),
            ..Arguments::default()
        };
        let trials = lines.into_iter().map(TestLine::trial).collect();
        let _ = libtest_mimic::run(&arguments, trials);
        pipe.into_iter().for_each(OutputPipe::close);
    }
}

/// The colors of standard output. The test output goes through a pipe, so libtest-mimic cannot see the terminal.
fn colored(color: Option<Colors>) -> ColorSetting {
    let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    match color {
        None | Some(Colors::Auto) if unwanted || dumb || !io::stdout().is_terminal() => ColorSetting::Never,
        None | Some(Colors::Auto) => ColorSetting::Always,
        Some(chosen) => chosen.into(),
    }
}

/// Carries the test output through a pipe to the console or a file, for two reasons: the console must keep this output
/// apart from the progress lines that it redraws on a terminal, and libtest-mimic panics if it cannot write, which
/// would end the run without a report.
struct OutputPipe {
    writer: PipeWriter,
    thread: JoinHandle<()>,
}

impl OutputPipe {
    fn open(console: &Console, file: Option<File>) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        fs::metadata(path_of(&writer))?;
        let console = console.clone();
        let thread = thread::spawn(move || carry(reader, &console, file));
        Ok(Self { writer, thread })
    }

    fn path(&self) -> String {
        path_of(&self.writer)
    }

    fn close(self) {
        drop(self.writer);
        let _ = self.thread.join();
    }
}

/// The path under which libtest-mimic opens a pipe.
fn path_of(writer: &PipeWriter) -> String {
    format!("/dev/fd/{}", writer.as_raw_fd())
}

/// Passes on whole lines, so that the screen does not split them. Reads to the end even if nothing can be written, so
/// that the run continues. The first error is reported.
fn carry(from: PipeReader, console: &Console, mut file: Option<File>) {
    let (mut from, mut line, mut failed) = (BufReader::new(from), Vec::new(), false);
    while let Ok(1..) = from.read_until(b'\n', &mut line) {
        let written = match &mut file {
            Some(file) => file.write_all(&line),
            None => console.out(&line),
        };
        line.clear();
        if let (Err(error), false) = (written, failed) {
            failed = true;
            console.err(&format!("probity: failed to write the test output: {error}; the run continues\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// A panic here would end a run without a report.
    #[test]
    fn output_that_cannot_be_written_does_not_end_the_run() {
        let (line, result) = TestLine::new("a/one".to_owned(), true, None);
        result.send(TestResult::Passed).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        LibtestArgs::default().show(vec![line], &Console::default(), Some(full));
    }

    #[test]
    fn a_logfile_that_cannot_be_written_is_refused_by_its_name() {
        let arguments = LibtestArgs { logfile: Some("/no/such/file".to_owned()), ..LibtestArgs::default() };
        for failure in [arguments.open().unwrap_err(), arguments.list(&[]).unwrap_err()] {
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.sentence.starts_with("/no/such/file: "), "{failure}");
        }
    }
}
