//! The drop-ins as processes: signals, process 1, exit statuses, output.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use probity_tests::program::{Program, Stream, binary, free_port};

fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Program {
    Program::start(&binary("agnhost-rs"), arguments, environment)
}

/// Runs a shell script as the parent of process 1 of a new process namespace.
fn in_namespace(script: &str) -> Program {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "/bin/sh", "-c", script]);
    command.env("TARGET", binary("agnhost-rs")).env("TERMINATION_MESSAGE_PATH", "/dev/null");
    Program::spawn(&mut command)
}

#[test]
fn pause_says_which_signal_ended_it() {
    for (signal, status, name) in [(Signal::SIGTERM, 2, "terminated"), (Signal::SIGINT, 1, "interrupt")] {
        let folder = tempfile::tempdir().unwrap();
        let message = folder.path().join("message");
        let mut program = start(&["pause"], &[("TERMINATION_MESSAGE_PATH", message.to_str().unwrap())]);
        program.wait_for_line("Signals registered");
        program.signal(signal);
        assert_eq!(program.wait().code(), Some(status));
        let words = format!("exiting because of signal \"{name}\"\n");
        assert_eq!(program.text(Stream::Out), format!("Paused\nSignals registered\n{words}"));
        assert_eq!(std::fs::read_to_string(message).unwrap(), words);
    }
}

#[test]
fn no_command_means_pause_and_klog_flags_are_put_up_with() {
    for flags in [
        &[][..],
        &["-v=4", "--logtostderr"],
        &["pause", "--v=2", "--alsologtostderr=false"],
        &["--v", "9", "pause"],
    ] {
        let mut program = start(flags, &[("TERMINATION_MESSAGE_PATH", "/dev/null")]);
        program.wait_for_line("Signals registered");
        program.signal(Signal::SIGTERM);
        assert_eq!(program.wait().code(), Some(2), "{flags:?}");
    }
}

#[test]
fn pause_as_process_1_reaps_orphans_and_ends_on_sigterm() {
    // The shell leaves an orphan behind, then becomes the program, which inherits it.
    let script = r#"(sleep 0.2 & exec sleep 0.1) & sleep 0.05
        (sleep 1.5; ps -e -o stat= | grep -c '^Z' | sed 's/^/zombies: /'; kill -TERM 1) &
        exec "$TARGET" pause"#;
    let mut program = in_namespace(script);
    program.wait_for_line("Signals registered");
    program.wait_for_line("zombies: 0");
    assert_eq!(program.wait().code(), Some(2));
}

#[test]
fn a_server_as_process_1_ends_with_2_on_sigterm() {
    let port = free_port();
    let script = format!(r#"(sleep 0.5; kill -TERM 1) & exec "$TARGET" test-webserver --port {port}"#);
    assert_eq!(in_namespace(&script).wait().code(), Some(2));
}

#[test]
fn a_server_elsewhere_dies_of_sigterm() {
    use std::os::unix::process::ExitStatusExt;
    let port = free_port();
    let mut program = start(&["test-webserver", "--port", &port.to_string()], &[]);
    program.wait_for_port(port);
    program.signal(Signal::SIGTERM);
    assert_eq!(program.wait().signal(), Some(15));
}

#[test]
fn entrypoint_tester_prints_its_whole_command_line() {
    let mut program = start(&["entrypoint-tester", "override", "--any", "-x"], &[]);
    assert_eq!(program.wait().code(), Some(0));
    let expected = format!("[{} entrypoint-tester override --any -x]\n", binary("agnhost-rs").display());
    assert_eq!(program.text(Stream::Out), expected);
}

#[test]
fn connect_names_what_went_wrong() {
    let closed = format!("127.0.0.1:{}", free_port());
    let cases = [
        (vec!["connect", "foo"], "UNKNOWN: address foo: missing port in address\n"),
        (vec!["connect", closed.as_str(), "--timeout=1s"], "REFUSED\n"),
        (vec!["connect", "--protocol", "bogus", closed.as_str()], "Unsupported protocol\nbogus\n"),
        (vec!["connect", "host.invalid:80"], "DNS: lookup host.invalid: no such host\n"),
    ];
    for (arguments, words) in cases {
        let mut program = start(&arguments, &[]);
        assert_eq!(program.wait().code(), Some(1), "{arguments:?}");
        assert_eq!(program.text(Stream::Err), words);
    }
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = silent.local_addr().unwrap().to_string();
    let mut program = start(&["connect", "--protocol=udp", "--timeout=100ms", &target], &[]);
    assert_eq!(program.wait().code(), Some(1));
    assert!(program.text(Stream::Err).starts_with("TIMEOUT: read udp 127.0.0.1:"));
    let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    assert_eq!(start(&["connect", &open.local_addr().unwrap().to_string()], &[]).wait().code(), Some(0));
}

#[test]
fn mounttest_writes_with_the_mode_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let path = path.to_str().unwrap();
    let flags =
        [format!("--new_file_0666={path}"), format!("--file-perm={path}"), format!("--file_owner={path}")];
    let mut program = start(&["mounttest", &flags[2], &flags[1], &flags[0]], &[]);
    assert_eq!(program.wait().code(), Some(0));
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    let expected = format!(
        "content of file \"{path}\": mount-tester new file\n\nperms of file \"{path}\": -rw-rw-rw-\n\
         owner UID of \"{path}\": {uid}\nowner GID of \"{path}\": {gid}\n"
    );
    assert_eq!(program.text(Stream::Out), expected);
    assert_eq!(start(&["mounttest", "--file_mode=/no/such"], &[]).wait().code(), Some(1));
}

#[test]
fn log_lines_are_spread_over_the_time() {
    let at = Instant::now();
    let mut program = start(&["logs-generator", "-t", "5", "--run-duration", "500ms"], &[]);
    assert_eq!(program.wait().code(), Some(0));
    assert!((Duration::from_millis(500)..Duration::from_millis(1500)).contains(&at.elapsed()));
    let lines = program.lines();
    let numbers: Vec<_> =
        lines.iter().filter_map(|line| line.text.split("] ").nth(1)?.split(' ').next()).collect();
    assert_eq!(numbers, ["0", "1", "2", "3", "4"]);
    let gap = lines[4].at - lines[3].at;
    assert!((Duration::from_millis(50)..Duration::from_millis(300)).contains(&gap), "{gap:?}");
    assert_eq!(start(&["logs-generator"], &[]).wait().code(), Some(255));
}

#[test]
fn a_taken_port_is_told_and_ends_with_1() {
    let taken = std::net::TcpListener::bind("[::]:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut program = start(&["netexec", "--udp-port=-1", "--http-port", &port.to_string()], &[]);
    assert_eq!(program.wait().code(), Some(1));
    program.wait_for_line(&format!("] listen tcp :{port}: bind: address already in use"));
}
