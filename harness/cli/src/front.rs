//! The front end of a run: one test of Rust's test programs for each case, so that whatever reads those can read us.
//!
//! It only shows. A test waits for what became of its case, and the report is made of verdicts, never of this.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use clap::Args;
use libtest_mimic::{Arguments, ColorSetting, Completion, FormatSetting, Trial};

use crate::live::screen;
use crate::live::voice::Voice;

/// The flags of Rust's test programs that mean something here, or do no harm.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FrontArgs {
    /// Only list the cases that would run, as test programs do, without a cluster
    #[arg(long)]
    pub(crate) list: bool,
    /// Only cases that cannot run as called, for want of something on the command line
    #[arg(long)]
    pub(crate) ignored: bool,
    /// Also cases that cannot run as called; each says why
    #[arg(long, hide = true)]
    pub(crate) include_ignored: bool,
    /// One character for each case
    #[arg(short, long, conflicts_with = "format")]
    pub(crate) quiet: bool,
    /// How cases are shown
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<FormatSetting>,
    /// Whether the output has colours
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<ColorSetting>,
    /// Write what would go to standard output into a file
    #[arg(long, value_name = "PATH")]
    pub(crate) logfile: Option<String>,
    /// Nothing is ever captured
    #[arg(long, hide = true)]
    nocapture: bool,
    /// Nothing is ever captured
    #[arg(long, hide = true)]
    show_output: bool,
    /// There are no benchmarks
    #[arg(long = "test", hide = true)]
    test: bool,
    /// Nothing here is unstable
    #[arg(short = 'Z', hide = true, value_name = "FLAG")]
    unstable: Option<String>,
}

/// What became of a case, in the words that a test program has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is as it should be.
    Passed,
    /// It is not, and why.
    Failed(String),
    /// It did not run, and why.
    Ignored(String),
}

/// One line of the front end.
pub(crate) struct Line {
    /// The case.
    pub(crate) name: String,
    /// Whether the user's filters let it through.
    pub(crate) chosen: bool,
    /// Why it cannot run as the program was called.
    pub(crate) lacks: Option<String>,
    waits: Receiver<Outcome>,
}

impl Line {
    /// A line, and the way to tell what became of it.
    pub(crate) fn new(name: String, chosen: bool, lacks: Option<String>) -> (Self, Sender<Outcome>) {
        let (tell, waits) = channel();
        (Self { name, chosen, lacks, waits }, tell)
    }

    fn trial(self) -> Trial {
        let Self { name, lacks, waits, .. } = self;
        let ignored = lacks.is_some();
        let outcome = move || match lacks.map_or_else(|| waits.recv(), |why| Ok(Outcome::Ignored(why))) {
            Ok(Outcome::Passed) => Ok(Completion::Completed),
            Ok(Outcome::Failed(text)) => Err(text.into()),
            Ok(Outcome::Ignored(why)) => Ok(Completion::ignored_with(why)),
            Err(_) => Err("the run ended before this case did".into()),
        };
        Trial::ignorable_test(name, outcome).with_ignored_flag(ignored)
    }
}

impl FrontArgs {
    /// Whether what is shown is for people, and failures are told in full.
    pub(crate) fn tells_failures(&self) -> bool {
        self.format != Some(FormatSetting::Json)
    }

    /// Shows all lines until each has its outcome.
    pub(crate) fn show(&self, lines: Vec<Line>, voice: &Voice) {
        let left_out: BTreeSet<String> =
            lines.iter().filter(|line| !line.chosen).map(|line| line.name.clone()).collect();
        let threads = lines.iter().filter(|line| line.chosen).count().max(2);
        let arguments = Arguments {
            list: self.list,
            ignored: self.ignored,
            include_ignored: self.include_ignored,
            quiet: self.quiet,
            format: self.format,
            color: self.color,
            logfile: self.logfile.clone(),
            // What the user's filters leave out is counted by leaving it out by name.
            exact: true,
            skip: left_out.into_iter().collect(),
            test_threads: Some(threads),
            ..Arguments::default()
        };
        let trials = lines.into_iter().map(Line::trial).collect();
        let both = io::stdout().is_terminal() && screen::moves() && !self.list && self.logfile.is_none();
        match both.then(|| Detour::open(voice)).and_then(Result::ok) {
            Some(detour) => {
                let color = self.color.unwrap_or(ColorSetting::Auto);
                let arguments =
                    Arguments { logfile: Some(detour.path()), color: Some(colored(color)), ..arguments };
                let _ = libtest_mimic::run(&arguments, trials);
                detour.close();
            }
            None => {
                let _ = libtest_mimic::run(&arguments, trials);
            }
        }
    }
}

/// Whether there are colours, once it is known that a person looks at a terminal.
fn colored(color: ColorSetting) -> ColorSetting {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match color {
        ColorSetting::Auto if unwanted => ColorSetting::Never,
        ColorSetting::Auto => ColorSetting::Always,
        chosen => chosen,
    }
}

/// The way by which the front end's lines reach a terminal on which other lines move: through a pipe, to the voice.
struct Detour {
    sends: OwnedFd,
    thread: JoinHandle<()>,
}

impl Detour {
    fn open(voice: &Voice) -> io::Result<Self> {
        let (receives, sends) = nix::unistd::pipe()?;
        let voice = voice.clone();
        let thread = thread::spawn(move || carry(File::from(receives), &voice));
        Ok(Self { sends, thread })
    }

    fn path(&self) -> String {
        format!("/dev/fd/{}", self.sends.as_raw_fd())
    }

    fn close(self) {
        drop(self.sends);
        let _ = self.thread.join();
    }
}

/// Passes on whole lines, so that none is torn by the screen.
fn carry(mut from: File, voice: &Voice) {
    let (mut held, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        held.extend_from_slice(&buffer[..read]);
        if let Some(end) = held.iter().rposition(|byte| *byte == b'\n') {
            voice.out(&held[..=end]);
            held.drain(..=end);
        }
    }
    if !held.is_empty() {
        voice.out(&held);
    }
}
