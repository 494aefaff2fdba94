//! What the program reports about its container, and what it tries there.

use std::process::{Command, Output};

use probity_script::Fact;
use probity_script::witness::Dump;

use crate::serving::{PROGRAM, Serving};

fn run(args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).env("AGNHOST_DOWNWARD_DIR", "/not/there").output().unwrap()
}

#[test]
fn a_dump_is_printed_and_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let (file, volume) = (directory.path().join("secret"), directory.path().join("volume"));
    std::fs::create_dir(&volume).unwrap();
    std::fs::write(&file, "told").unwrap();
    std::fs::write(volume.join("labels"), "app=\"a\"").unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["dump", "--file"]).arg(&file).env("AGNHOST_DOWNWARD_DIR", &volume);
    let printed = command.output().unwrap();
    assert!(printed.status.success());
    let dump: Dump = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(dump.files[&file.display().to_string()], "told");
    assert_eq!(dump.files[&volume.join("labels").display().to_string()], "app=\"a\"");
    assert!(dump.files.contains_key("/proc/self/uid_map") && dump.files.contains_key("/proc/self/mountinfo"));
    let missing = run(&["dump", "--file", "/not/there"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8(missing.stderr).unwrap().contains("/not/there"));
}

#[test]
fn the_plan_may_want_a_dump_in_the_witness() {
    let mut serving = Serving::start("process: { dump: true }");
    let line = serving.wait_for(|fact| matches!(fact, Fact::Dump(_)));
    let Fact::Dump(dump) = line.fact else { unreachable!() };
    let own = serving.child.id();
    assert!(dump.processes.iter().any(|process| process.pid == own && process.name == "agnhost-rs"));
}

#[test]
fn a_trial_says_in_one_line_whether_it_was_allowed() {
    let allowed = run(&["trial", "bind", "0"]);
    assert_eq!(allowed.status.code(), Some(0));
    let words: serde_json::Value = serde_json::from_slice(&allowed.stdout).unwrap();
    assert_eq!((&words["trial"], &words["ok"]), (&"bind".into(), &true.into()));

    let refused = run(&["trial", "chown", "/not/there"]);
    assert_eq!(refused.status.code(), Some(1));
    let words: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!((&words["trial"], &words["ok"]), (&"chown".into(), &false.into()));
    assert!(words["error"].as_str().unwrap().contains("No such file"), "{words}");
}
