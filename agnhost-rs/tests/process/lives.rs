//! Child processes, and what the process waits for, consumes and requests.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use probity_script::Fact;
use probity_script::witness::{Call, ChildSeen, Consumed, Exiting, Waited};

use crate::serving::Serving;

fn child(serving: &mut Serving, name: &str, event: &str) -> ChildSeen {
    let line = serving
        .wait_for(|fact| matches!(fact, Fact::Child(seen) if seen.name == name && seen.event == event));
    let Fact::Child(seen) = line.fact else { unreachable!() };
    seen
}

/// The end of a child. It may have been recorded already, while the test waited for the end of another one.
fn end_of(serving: &mut Serving, name: &str) -> ChildSeen {
    let recorded = serving.seen.iter().find_map(|line| match &line.fact {
        Fact::Child(seen) if seen.name == name && seen.event == "ended" => Some(seen.clone()),
        _ => None,
    });
    recorded.unwrap_or_else(|| child(serving, name, "ended"))
}

fn pid_of(seen: &ChildSeen) -> Pid {
    Pid::from_raw(i32::try_from(seen.pid).unwrap())
}

#[test]
fn children_note_their_signals_and_end_as_planned() {
    let mut serving = Serving::start(
        "process: { children: [{ name: short, lives: 300ms }, { name: plain }, { name: stubborn, ignore-term: true }] }",
    );
    child(&mut serving, "short", "started");
    let plain = child(&mut serving, "plain", "started");
    let stubborn = child(&mut serving, "stubborn", "started");
    let short = child(&mut serving, "short", "ended");
    assert_eq!(short.status.as_deref(), Some("exit 0"));
    let mut told = |seen: &ChildSeen| {
        kill(pid_of(seen), Signal::SIGTERM).unwrap();
        let line = serving.wait_for(
            |fact| matches!(fact, Fact::Signal(signal) if signal.child.as_ref() == Some(&seen.name)),
        );
        let Fact::Signal(signal) = line.fact else { unreachable!() };
        (signal.signal, signal.answer)
    };
    assert_eq!(told(&plain), ("SIGTERM".to_owned(), "ends".to_owned()));
    assert_eq!(told(&stubborn), ("SIGTERM".to_owned(), "noted".to_owned()));
    kill(pid_of(&stubborn), Signal::SIGKILL).unwrap();
    assert_eq!(end_of(&mut serving, "plain").status.as_deref(), Some("SIGTERM"));
    assert_eq!(end_of(&mut serving, "stubborn").status.as_deref(), Some("SIGKILL"));
}

#[test]
fn a_child_outlives_a_process_that_ends_by_plan() {
    let mut serving =
        Serving::start("process: { children: [{ name: lingering, lives: 1m }], exit: [{ after: 400ms }] }");
    let lingering = child(&mut serving, "lingering", "started");
    // The child keeps the pipe of the output open, so the test waits for the process and not for the end of the pipe.
    assert!(serving.child.wait().unwrap().success());
    thread::sleep(Duration::from_millis(50));
    kill(pid_of(&lingering), None).unwrap();
    kill(pid_of(&lingering), Signal::SIGKILL).unwrap();
}

#[test]
fn a_missing_variable_ends_the_process_with_words() {
    let mut serving = Serving::start("process: { require-env: [PATH, NOT_SET_A, NOT_SET_B] }");
    let status = serving.end();
    assert_eq!((status.code(), status.signal()), (Some(78), None));
    assert_eq!(serving.last_words(), [(78, "not set in the environment: NOT_SET_A, NOT_SET_B")]);
}

/// Answers every request with a body, after a pause.
fn answering(body: &'static str, pause: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut lines = BufReader::new(&stream).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                thread::sleep(pause);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                let _ = (&stream).write_all(head.as_bytes());
            });
        }
    });
    port
}

#[test]
fn an_end_can_wait_for_things_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("there");
    let plan = format!(
        "process: {{ wait-for: [{{ file: {file:?} }}], exit: [{{ after: 100ms, from: waited, code: 3 }}] }}"
    );
    let mut serving = Serving::ready(&plan);
    thread::sleep(Duration::from_millis(400));
    assert!(!serving.facts().iter().any(|fact| matches!(fact, Fact::Exiting(_))));
    std::fs::write(&file, "").unwrap();
    let waited = serving.wait_for(|fact| matches!(fact, Fact::Waited(_) | Fact::Exiting(_)));
    assert!(matches!(waited.fact, Fact::Waited(_)), "{waited:?}");
    let end = serving.wait_for(|fact| matches!(fact, Fact::Exiting(_)));
    assert!(matches!(end.fact, Fact::Exiting(Exiting { code: 3, .. })), "{end:?}");
    assert!(end.mono_us - waited.mono_us >= 100_000);
}

#[test]
fn things_are_waited_for_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("there");
    let port = answering("ok", Duration::ZERO);
    let plan = format!(
        "process: {{ wait-for: [{{ file: {file:?} }}, {{ tcp: '127.0.0.1:{port}' }}, {{ http: 'http://127.0.0.1:{port}/' }}, {{ dns: localhost }}], \
         children: [{{ name: afterwards, lives: 1ms }}] }}"
    );
    let mut serving = Serving::ready(&plan);
    thread::sleep(Duration::from_millis(350));
    assert!(!serving.facts().iter().any(|fact| matches!(fact, Fact::Waited(_))));
    std::fs::write(&file, "").unwrap();
    let mut waited = || {
        let line = serving.wait_for(|fact| matches!(fact, Fact::Waited(_) | Fact::Child(_)));
        let Fact::Waited(waited) = line.fact else { panic!("too early: {line:?}") };
        waited
    };
    let first: Waited = waited();
    assert!(first.what.starts_with("file ") && first.tries >= 4 && first.took_us >= 300_000, "{first:?}");
    let rest: Vec<_> = (0..3).map(|_| waited().what).collect();
    assert_eq!(
        rest,
        [
            format!("tcp 127.0.0.1:{port}"),
            format!("http http://127.0.0.1:{port}/"),
            "dns localhost".to_owned()
        ]
    );
    child(&mut serving, "afterwards", "started");
}

#[test]
fn a_stop_signal_is_answered_while_something_is_waited_for() {
    let mut serving = Serving::ready("process: { wait-for: [{ file: /not/there }], on-stop: 6 }");
    serving.signal(Signal::SIGTERM);
    assert_eq!(serving.end().code(), Some(6));
}

fn consumed(serving: &mut Serving, wanted: &str) -> Consumed {
    let line = serving.wait_for(|fact| matches!(fact, Fact::Consumed(seen) if seen.resource == wanted));
    let Fact::Consumed(seen) = line.fact else { unreachable!() };
    seen
}

#[test]
fn memory_is_really_taken_step_by_step() {
    let mut serving =
        Serving::start("process: { consume: [{ memory: { bytes: 48MiB, step: 16MiB, every: 50ms } }] }");
    let amounts: Vec<_> = (0..3).map(|_| consumed(&mut serving, "memory").amount >> 20).collect();
    assert_eq!(amounts, [16, 32, 48]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.child.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let resident: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(resident >= 48 * 1024, "{resident} kB");
}

#[test]
fn a_disk_is_filled_up_to_the_bound_or_as_far_as_it_goes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("large");
    let plan = format!(
        "process: {{ consume: [{{ disk: {{ path: {file:?}, bytes: 2500KiB }} }}, {{ disk: {{ path: /dev/full, bytes: 1MiB, after: 500ms }} }}] }}"
    );
    let mut serving = Serving::start(&plan);
    let first = consumed(&mut serving, "disk");
    assert_eq!((first.amount, first.error), (2500 << 10, None));
    let written = std::fs::read(&file).unwrap();
    assert_eq!(written.len(), 2500 << 10);
    assert!(written.iter().all(u8::is_ascii_graphic), "it is text");
    let mut parts: Vec<&[u8]> = written[..1 << 16].chunks(1 << 5).collect();
    parts.sort_unstable();
    parts.dedup();
    assert_eq!(parts.len(), 1 << 11, "no part is like another one, so it cannot be compressed well");
    let full = consumed(&mut serving, "disk");
    assert!(full.amount == 0 && full.error.unwrap().contains("/dev/full"), "{}", full.amount);
    assert!(serving.child.try_wait().unwrap().is_none(), "it lives on");
}

#[test]
fn processor_time_is_burnt_for_a_while() {
    let mut serving = Serving::start("process: { consume: [{ cpu: { threads: 1, for: 1s, after: 50ms } }] }");
    assert_eq!(consumed(&mut serving, "cpu").amount, 1);
    assert_eq!(consumed(&mut serving, "cpu").amount, 0);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", serving.child.id())).unwrap();
    let ticks: u64 =
        stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(11).unwrap().parse().unwrap();
    // In hundredths of a second. The minimum is low because other tests also need the processor.
    assert!(ticks >= 5, "{ticks}");
}

fn calls(serving: &mut Serving, count: usize) -> Vec<Call> {
    let mut call = || {
        let line = serving.wait_for(|fact| matches!(fact, Fact::Call(_)));
        let Fact::Call(call) = line.fact else { unreachable!() };
        call
    };
    (0..count).map(|_| call()).collect()
}

#[test]
fn traffic_is_bounded_and_names_who_answered() {
    let port = answering(r#"{"host":"pod-7"}"#, Duration::ZERO);
    let plan = format!(
        "process: {{ clients: [{{ name: load, url: 'http://127.0.0.1:{port}/', every: 50ms, for: 250ms }}] }}"
    );
    let mut serving = Serving::start(&plan);
    for call in calls(&mut serving, 5) {
        assert_eq!(
            (call.by.as_str(), call.status, call.answered_by.as_deref()),
            ("load", Some(200), Some("pod-7"))
        );
    }
    thread::sleep(Duration::from_millis(200));
    serving.signal(Signal::SIGTERM);
    serving.end();
    let all = serving.facts().iter().filter(|fact| matches!(fact, Fact::Call(_))).count();
    assert_eq!(all, 5);
}

#[test]
fn a_request_that_would_be_one_too_many_is_noted_as_skipped() {
    let port = answering("late", Duration::from_secs(5));
    let plan = format!(
        "process: {{ clients: [{{ name: load, url: 'http://127.0.0.1:{port}/', every: 60ms, for: 180ms, at-once: 1, timeout: 400ms }}] }}"
    );
    let mut serving = Serving::start(&plan);
    let seen = calls(&mut serving, 3);
    let errors: Vec<_> = seen.iter().map(|call| call.error.as_deref().unwrap()).collect();
    assert!(errors[..2].iter().all(|error| error.starts_with("skipped")), "{errors:?}");
    assert!(errors[2].contains("no answer within 400ms"), "{errors:?}");
}
