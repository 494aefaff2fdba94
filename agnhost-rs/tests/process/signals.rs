//! Signals, stop signals and planned ends.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use probity_script::{Fact, WitnessLine};

use crate::serving::{PROGRAM, Serving};

fn of_signal(name: &'static str) -> impl Fn(&Fact) -> bool {
    move |fact| matches!(fact, Fact::Signal(seen) if seen.signal == name && seen.child.is_none())
}

fn ending(serving: &Serving) -> &WitnessLine {
    serving.seen.iter().find(|line| matches!(line.fact, Fact::Exiting(_))).unwrap()
}

#[test]
fn every_signal_is_noted_and_is_an_event() {
    let mut serving =
        Serving::ready("exec: { live: [{ answer: 9, when: { since: { sigusr1: 0s.. } } }, { answer: 1 }] }");
    assert_eq!(serving.command(&["live"]).status.code(), Some(1));
    use Signal::{SIGCONT, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH};
    for signal in [SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT] {
        serving.signal(signal);
        serving.wait_for(of_signal(signal.as_str()));
        let event = signal.as_str().to_ascii_lowercase();
        serving.wait_for(|fact| matches!(fact, Fact::Mark(mark) if mark.name == event));
    }
    let real_time = Command::new("kill").args(["-37", &serving.child.id().to_string()]).status().unwrap();
    assert!(real_time.success());
    serving.wait_for(of_signal("SIGRTMIN+3"));
    assert_eq!(serving.command(&["live"]).status.code(), Some(9));
}

#[test]
fn a_stop_signal_is_answered_by_the_plan() {
    for (plan, code, words) in [
        ("{}", 0, "stop"),
        ("process: { on-stop: 7 }", 7, "stop"),
        ("process: { on-stop: drain }", 0, "stop: drained"),
        ("process: { on-stop: { exit: 2, serving: stop } }", 2, "stop"),
    ] {
        let mut serving = Serving::ready(plan);
        serving.signal(Signal::SIGTERM);
        assert_eq!(serving.end().code(), Some(code), "{plan}");
        assert_eq!(serving.last_words(), [(u8::try_from(code).unwrap(), words)], "{plan}");
    }
}

#[test]
fn an_exit_may_come_some_time_after_the_signal() {
    let mut serving = Serving::ready("process: { on-stop: { exit: 4, after: 400ms } }");
    serving.signal(Signal::SIGINT);
    let told = serving.wait_for(of_signal("SIGINT"));
    assert_eq!(serving.command(&["--exit", "6"]).status.code(), Some(6), "it goes on serving");
    assert_eq!(serving.end().code(), Some(4));
    let took = ending(&serving).mono_us - told.mono_us;
    assert!((400_000..900_000).contains(&took), "{took}");
    assert!(serving.facts().iter().any(|fact| matches!(fact, Fact::Mark(mark) if mark.name == "sigterm")));
}

#[test]
fn a_script_counts_stop_signals() {
    let mut serving = Serving::ready("process: { on-stop: [{ answer: ignore, times: 2 }, { answer: 3 }] }");
    for _ in 0..2 {
        serving.signal(Signal::SIGTERM);
        let line = serving.wait_for(of_signal("SIGTERM"));
        assert!(matches!(line.fact, Fact::Signal(seen) if seen.answer == "ignore"));
    }
    serving.signal(Signal::SIGTERM);
    assert_eq!(serving.end().code(), Some(3));
}

#[test]
fn another_signal_may_mean_stop() {
    let mut serving =
        Serving::start_by(Command::new(PROGRAM), "process: { on-stop: 8 }", &["--stop-signal", "SIGQUIT"]);
    serving.wait_for(|fact| matches!(fact, Fact::Started(_)));
    serving.signal(Signal::SIGTERM);
    serving.wait_for(of_signal("SIGTERM"));
    serving.signal(Signal::SIGQUIT);
    assert_eq!(serving.end().code(), Some(8));
    assert!(serving.facts().iter().any(|fact| matches!(fact, Fact::Mark(mark) if mark.name == "sigterm")));
}

#[test]
fn the_process_ends_by_plan_in_each_way() {
    for (way, code, signal, said) in [
        ("exit", Some(5), None, 5),
        ("abort", None, Some(6), 134),
        ("segfault", None, Some(11), 139),
        ("kill", None, Some(9), 137),
    ] {
        let plan = format!(
            "process: {{ exit: [{{ after: 1h, attempt: 1- }}, {{ after: 150ms, code: 5, way: {way} }}] }}"
        );
        let mut serving = Serving::start(&plan);
        let status = serving.end();
        assert_eq!((status.code(), status.signal()), (code, signal), "{way}");
        assert_eq!(serving.last_words(), [(said, "plan")], "{way}");
        let Fact::Started(started) = &serving.seen[0].fact else { panic!("{:?}", serving.seen[0]) };
        let after = ending(&serving).mono_us - started.began_mono_us;
        assert!((150_000..650_000).contains(&after), "{way}: {after}");
    }
}

#[test]
fn a_stop_signal_in_the_first_moments_is_answered() {
    for delay in 0..20 {
        let mut serving = Serving::start("process: { on-stop: 3 }");
        // No signal may be lost from the first line on, while the plan is still being put into force.
        serving.wait_for(|fact| matches!(fact, Fact::Started(_)));
        thread::sleep(Duration::from_micros(50 * delay));
        serving.signal(Signal::SIGTERM);
        assert_eq!(serving.end().code(), Some(3));
    }
}
