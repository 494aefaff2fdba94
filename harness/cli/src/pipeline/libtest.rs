//! The test output of a run. It looks like the output of a Rust test program with one test for each case, so tools for
//! that output can read it.
//!
//! This module only shows results. A test waits for the result of its case. The report is generated from the verdicts,
//! never from this output.

use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use clap::Args;
use libtest_mimic::{Arguments, ColorSetting, Completion, FormatSetting, Trial};

use super::progress::console::Console;
use super::progress::screen;
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
    pub(crate) format: Option<FormatSetting>,
    /// Set when to use colors
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<ColorSetting>,
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
        self.format != Some(FormatSetting::Json)
    }

    /// Shows all tests until each has its result.
    pub(crate) fn show(&self, lines: Vec<TestLine>, console: &Console) {
        let mut arguments = Arguments {
            list: self.list,
            ignored: self.ignored,
            include_ignored: self.include_ignored,
            quiet: self.quiet,
            format: self.format,
            color: self.color,
            logfile: self.logfile.clone(),
            // The cases that the user's filters leave out are counted as filtered: they are skipped by their names.
            exact: true,
            skip: lines.iter().filter(|line| !line.chosen).map(|line| line.name.clone()).collect(),
            // Each thread waits for the result of one test. Further tests are shown when a thread is free.
            test_threads: Some(lines.iter().filter(|line| line.chosen).count().clamp(2, MOST_THREADS)),
            ..Arguments::default()
        };
        let trials = lines.into_iter().map(TestLine::trial).collect();
        let shared = io::stdout().is_terminal() && screen::moves() && !self.list && self.logfile.is_none();
        let pipe = shared.then(|| ConsolePipe::open(console)).and_then(Result::ok);
        if let Some(pipe) = &pipe {
            arguments.logfile = Some(pipe.path());
            arguments.color = Some(colored(self.color.unwrap_or(ColorSetting::Auto)));
        }
        let _ = libtest_mimic::run(&arguments, trials);
        pipe.into_iter().for_each(ConsolePipe::close);
    }
}

/// The colors of a terminal.
fn colored(color: ColorSetting) -> ColorSetting {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match color {
        ColorSetting::Auto if unwanted => ColorSetting::Never,
        ColorSetting::Auto => ColorSetting::Always,
        chosen => chosen,
    }
}

/// Carries the test output through a pipe to the console, because other lines move on the terminal.
struct ConsolePipe {
    writer: PipeWriter,
    thread: JoinHandle<()>,
}

impl ConsolePipe {
    fn open(console: &Console) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let console = console.clone();
        let thread = thread::spawn(move || carry(reader, &console));
        Ok(Self { writer, thread })
    }

    fn path(&self) -> String {
        format!("/dev/fd/{}", self.writer.as_raw_fd())
    }

    fn close(self) {
        drop(self.writer);
        let _ = self.thread.join();
    }
}

/// Passes on whole lines, so that the screen does not split them.
fn carry(mut from: PipeReader, console: &Console) {
    let (mut held, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        held.extend_from_slice(&buffer[..read]);
        if let Some(end) = held.iter().rposition(|byte| *byte == b'\n') {
            console.out(&held[..=end]);
            held.drain(..=end);
        }
    }
    if !held.is_empty() {
        console.out(&held);
    }
}
