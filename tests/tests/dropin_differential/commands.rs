//! The commands that end by themselves, compared with the original.

use super::*;

#[test]
#[ignore = "needs the Go agnhost: set AGNHOST_GO"]
fn commands_that_end_print_the_same_and_end_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().to_str().unwrap();
    let at = |flag: &str, name: &str| format!("--{flag}={base}/{name}");
    std::fs::write(folder.path().join("fresh"), "mount-tester new file\n").unwrap();
    let mount: Vec<Vec<String>> = vec![
        vec![
            at("fs_type", ""),
            at("new_file_0644", "a"),
            at("file_mode", "a"),
            at("file_perm", "a"),
            at("file_owner", "a"),
            at("file_content", "a"),
        ],
        vec!["--fs-type=/dev/shm".into(), "--file_mode=/tmp".into(), "--file-perm=/dev/null".into()],
        vec![
            at("new_file_0666", "b"),
            at("new_file_0660", "c"),
            at("new_file_0777", "d"),
            at("file_perm", "d"),
        ],
        vec!["--file_mode=/dev/null".into(), at("file_owner", "")],
        vec![
            at("fs_type", "no"),
            at("file_mode", "no"),
            at("file_perm", "no"),
            at("file_owner", "no"),
            at("file_content", "no"),
        ],
        vec![at("new_file_0644", "no/x"), at("file_content", "")],
        vec![at("file_content_in_loop", "fresh"), "--retry_time=3".into()],
        vec![at("file_content_in_loop", "no"), "--retry_time=1".into()],
        vec![
            "--file_content_in_loop=/dev/null".into(),
            "--retry_time=1".into(),
            "--break_on_expected_content=false".into(),
        ],
        vec!["--file_content_in_loop=/dev/null".into(), "--retry_time=1".into()],
    ];
    let mut calls: Vec<Vec<String>> =
        mount.into_iter().map(|flags| [vec!["mounttest".to_owned()], flags].concat()).collect();
    for call in [
        &["connect", "foo"][..],
        &["connect", "127.0.0.1:1"],
        &["connect", "--timeout=1s", "127.0.0.1:1"],
        &["connect", "127.0.0.1:abc"],
        &["connect", "::1:1"],
        &["connect", "127.0.0.1:1", "--protocol", "udp", "--timeout=500ms"],
        &["connect", "--protocol=bogus", "127.0.0.1:1"],
        &["connect", "--protocol=sctp", "--timeout=1s", "127.0.0.1:1"],
        &["entrypoint-tester", "override", "arguments"],
        &["entrypoint-tester"],
        &["serve-hostname", "--udp"],
        &["logs-generator"],
        &["logs-generator", "-t", "3"],
        &["grpc-health-checking", "--tls-cert-file=x"],
        &["netexec", "--http-port=99999", "--udp-port=-1"],
        &["netexec", "--udp-listen-addresses=x"],
        &["netexec", "--udp-port=-1", "--http-port=0", "--tls-cert-file=/no/such"],
        &["port-forward-tester"],
    ] {
        calls.push(owned(call));
    }
    let mut differences = Vec::new();
    for call in &calls {
        let seen: Vec<String> = both().iter().map(|path| called(path, call)).collect();
        if seen[0] != seen[1] {
            differences.push(format!("{call:?}\n-- agnhost: {}\n-- agnhost-rs: {}", seen[0], seen[1]));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn called(path: &std::path::Path, call: &[String]) -> String {
    let output = Command::new(path).args(call).env("BIND_PORT", "x").output().unwrap();
    let own = path.to_str().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).replace(own, "SELF");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    // Go's klog dumps its stacks after a fatal line.
    let err: Vec<String> = err
        .lines()
        .take_while(|line| !line.starts_with("goroutine"))
        .map(|line| mask(line.split_once("] ").map_or(line, |(_, text)| text), &[]))
        .collect();
    format!("{} out {out:?} err {err:?}", output.status)
}
