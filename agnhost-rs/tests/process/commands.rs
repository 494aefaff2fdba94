//! `agnhost-rs exec`: what probes and hooks run.

use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use probity_script::Fact;
use probity_script::witness::{ExecEnded, ExecSeen};

use crate::serving::{PROGRAM, Serving, socket};

fn began(serving: &mut Serving) -> ExecSeen {
    let line = serving.wait_for(|fact| matches!(fact, Fact::Exec(_)));
    let Fact::Exec(seen) = line.fact else { unreachable!() };
    seen
}

fn ended(serving: &mut Serving) -> ExecEnded {
    let line = serving.wait_for(|fact| matches!(fact, Fact::ExecEnded(_)));
    let Fact::ExecEnded(seen) = line.fact else { unreachable!() };
    seen
}

#[test]
fn the_plan_decides_about_commands_and_the_witness_has_both() {
    let plan = "exec: { live: [{ answer: 3, times: 2 }, { answer: succeed, mark: warm }], \
                other: [{ answer: 7, when: { since: { warm: 0s.. } } }, { answer: fail }] }";
    let mut serving = Serving::ready(plan);
    assert_eq!(serving.command(&["other"]).status.code(), Some(1));
    let statuses: Vec<_> = (0..3).map(|_| serving.command(&["live"]).status.code().unwrap()).collect();
    assert_eq!(statuses, [3, 3, 0]);
    assert_eq!(serving.command(&["other"]).status.code(), Some(7), "the mark has been set by then");
    let told: Vec<_> = (0..5)
        .map(|_| {
            let seen = began(&mut serving);
            let end = ended(&mut serving);
            assert_eq!(end.exec, seen.exec);
            (seen.endpoint.to_string(), seen.probe, seen.step, end.exit)
        })
        .collect();
    let line = |name: &str, probe, step, exit| (name.to_owned(), probe, step, Some(exit));
    assert_eq!(
        told,
        [
            line("exec other", 1, 1, 1),
            line("exec live", 1, 0, 3),
            line("exec live", 2, 0, 3),
            line("exec live", 3, 1, 0),
            line("exec other", 2, 0, 7),
        ]
    );
}

#[test]
fn a_command_says_where_it_runs() {
    let mut serving = Serving::ready("exec: { live: succeed }");
    let mut command = serving.prepare(&["live", "--note", "a", "--b"]);
    let status = command.env("FOR_THE_RECORD", "yes").current_dir("/usr").status().unwrap();
    assert!(status.success());
    let told = began(&mut serving).command;
    assert_eq!(told.args[1..], ["exec", "live", "--note", "a", "--b"]);
    assert_eq!((told.cwd.as_str(), told.env["FOR_THE_RECORD"].as_str()), ("/usr", "yes"));
    assert_eq!(told.parent, std::process::id());
    assert!(told.pid > 0 && told.namespaces["mnt"] > 0 && told.namespaces["pid"] > 0);
    let lived = ended(&mut serving).lived_us;
    assert!(lived > 0 && lived < 1_000_000, "{lived}");
}

#[test]
fn flags_win_over_the_plan_and_need_no_entry() {
    let mut serving = Serving::ready("exec: { live: { exit: 3, print: planned } }");
    let planned = serving.command(&["live"]);
    assert_eq!((planned.status.code(), planned.stdout.as_slice()), (Some(3), b"planned\n".as_slice()));
    let flagged = serving.command(&["live", "--exit", "0", "--print-bytes", "10241"]);
    assert_eq!((flagged.status.code(), flagged.stdout.len()), (Some(0), "planned\n".len() + 10241));
    for status in ["0", "1", "2", "127", "255"] {
        let alone = serving.command(&["--exit", status]);
        assert_eq!(alone.status.code().unwrap().to_string(), status);
    }
    assert_eq!(serving.command(&["new", "--exit", "9"]).status.code(), Some(9));
    let answers: Vec<_> = (0..2).map(|_| began(&mut serving).answer).collect();
    assert_eq!(answers, ["exit 3, prints 7 bytes of text", "exit 0, prints 7 bytes of text, prints 10241"]);
}

#[test]
fn a_command_can_print_to_standard_error() {
    let mut serving = Serving::ready("exec: { live: { exit: 1, print: out, print-error: not well } }");
    let ran = serving.command(&["live"]);
    assert_eq!(
        (ran.stdout.as_slice(), ran.stderr.as_slice()),
        (b"out\n".as_slice(), b"not well\n".as_slice())
    );
    assert_eq!(
        began(&mut serving).answer,
        "exit 1, prints 3 bytes of text, prints 8 bytes of text to standard error"
    );
}

#[test]
fn a_name_that_nobody_knows_and_a_server_that_is_not_there_are_told_apart() {
    let mut serving = Serving::ready("exec: { live: succeed, ready: succeed }");
    let unknown = serving.command(&["lively"]);
    assert_eq!(unknown.status.code(), Some(126));
    let words = String::from_utf8(unknown.stderr).unwrap();
    assert!(words.contains("`lively`") && words.contains("live, ready"), "{words}");
    assert_eq!(began(&mut serving).answer, "unknown");

    let alone = |args: &[&str]| {
        Command::new(PROGRAM).arg("exec").args(args).env("AGNHOST_SOCKET", socket()).output().unwrap()
    };
    let named = alone(&["live", "--exit", "0"]);
    assert_eq!(named.status.code(), Some(125));
    assert!(
        String::from_utf8(named.stderr).unwrap().contains("needs `agnhost-rs serve` in the same container")
    );
    assert_eq!(alone(&["--exit", "4"]).status.code(), Some(4));
}

#[test]
fn a_command_that_is_cut_off_is_timed() {
    let mut serving = Serving::ready("exec: { slow: { sleep: 1h } }");
    let mut command = serving.prepare(&["slow"]).spawn().unwrap();
    let seen = began(&mut serving);
    assert_eq!(seen.answer, "exit 0 after 3600s");
    thread::sleep(Duration::from_millis(300));
    command.kill().unwrap();
    command.wait().unwrap();
    let end = ended(&mut serving);
    assert_eq!((end.exec, end.exit), (seen.exec, None));
    assert!((300_000..3_000_000).contains(&end.lived_us), "{}", end.lived_us);
}

#[test]
fn a_command_ends_by_sigterm_unless_it_ignores_it() {
    let mut serving =
        Serving::ready("exec: { stubborn: { sleep: 400ms, ignore-term: true, exit: 5 }, hung: hang }");
    let mut term = |name: &str| {
        let mut command = serving.prepare(&[name]).spawn().unwrap();
        began(&mut serving);
        kill(Pid::from_raw(i32::try_from(command.id()).unwrap()), Signal::SIGTERM).unwrap();
        let status = command.wait().unwrap();
        let end = ended(&mut serving);
        assert_eq!(end.signals, ["SIGTERM"]);
        (status.code(), status.signal(), end.exit)
    };
    assert_eq!(term("stubborn"), (Some(5), None, Some(5)));
    assert_eq!(term("hung"), (None, Some(15), None));
}

#[test]
fn a_command_may_leave_a_child_behind_with_or_without_its_output() {
    let mut serving = Serving::ready("exec: { forking: { fork: 700ms, exit: 1 } }");
    let mut run = |args: &[&str]| {
        let began = Instant::now();
        let mut command = serving.prepare(args).stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(command.wait().unwrap().code(), Some(1));
        let exited = began.elapsed();
        command.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
        let closed = began.elapsed();
        let mut of_the_child = |event: &str| {
            serving.wait_for(
                |fact| matches!(fact, Fact::Child(seen) if seen.name == "left by exec forking" && seen.event == event),
            )
        };
        let lived = of_the_child("started").mono_us.abs_diff(of_the_child("ended").mono_us);
        assert!(exited < Duration::from_millis(500), "{exited:?}");
        assert!((500_000..5_000_000).contains(&lived), "{lived}");
        closed
    };
    assert!(run(&["forking"]) < Duration::from_millis(500));
    assert!(run(&["forking", "--fork-keeps-output"]) >= Duration::from_millis(700));
}

#[test]
fn hostile_bytes_on_the_socket_harm_nobody() {
    let mut serving = Serving::ready("exec: { live: 3 }");
    let address = SocketAddr::from_abstract_name(&serving.socket).unwrap();
    let mut open = Vec::new();
    for bytes in [
        b"\0\xFF\xFE\n".to_vec(),
        b"{\"exec\":{}}\n".to_vec(),
        b"{\"child\":{\"name\":\"x\",\"pid\":-1}}\n".to_vec(),
        vec![b'['; 600 * 1024],
        b"no line break".to_vec(),
        Vec::new(),
    ] {
        let mut stream = UnixStream::connect_addr(&address).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        // The server may close the connection in the middle.
        let _ = stream.write_all(&bytes);
        open.push(stream);
    }
    // A very long name, in a line of permitted length, is not in the plan and is truncated in the witness.
    let long = serde_json::json!({ "exec": { "name": "n".repeat(400_000), "flags": {}, "command": {
        "args": [], "pid": 1, "parent": 1, "cwd": "", "host": "", "ids": [0, 0], "namespaces": {}, "env": {},
        "began_mono_us": u64::MAX } } });
    let mut stream = UnixStream::connect_addr(&address).unwrap();
    stream.write_all(format!("{long}\n").as_bytes()).unwrap();
    let seen = began(&mut serving);
    assert_eq!(seen.answer, "unknown");
    assert!(seen.endpoint.to_string().len() < 300);
    assert_eq!(ended(&mut serving).lived_us, 0);
    assert_eq!(serving.command(&["live"]).status.code(), Some(3));
    assert!(serving.facts().iter().any(|fact| matches!(fact, Fact::Trouble(_))));
}
