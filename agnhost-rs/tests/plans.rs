//! The example plans, and the program's output about plans: schema, check, rejection.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use probity_document as document;
use probity_script::{Change, Plan};
use serde_json::Value;

/// The shipped plans, by name.
fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "yaml"));
    paths.sort();
    assert!(paths.len() >= 8, "{paths:?}");
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(path).unwrap());
    paths.into_iter().map(read).collect()
}

fn program(args: &[&str], environment: &[(&str, &str)], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_agnhost-rs"))
        .args(args)
        .env_remove("AGNHOST_PLAN")
        .env_remove("AGNHOST_TOKEN")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may exit without reading anything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn printed_schema(document: &str) -> jsonschema::Validator {
    let output = program(&["schema", document], &[], "");
    assert!(output.status.success());
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// A document as generic JSON, as an editor's schema check sees it.
fn generic(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

fn complaints(schema: &jsonschema::Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn examples_are_plans_and_survive_a_round_trip() {
    for (name, text) in examples() {
        assert!(text.starts_with("# "), "{name} begins by saying what it is for");
        let plan: Plan = document::read(&name, "plan", &text).unwrap();
        let written = serde_json::to_string(&plan).unwrap();
        let again: Plan = document::read(&name, "plan", &written).unwrap();
        assert_eq!(again, plan, "{name}");
    }
}

#[test]
fn examples_fit_the_printed_schema_as_written_and_as_read() {
    let schema = printed_schema("plan");
    for (name, text) in examples() {
        assert_eq!(complaints(&schema, &generic(&text)), [""; 0], "{name}");
        let plan: Plan = document::read(&name, "plan", &text).unwrap();
        assert_eq!(complaints(&schema, &serde_json::to_value(plan).unwrap()), [""; 0], "{name}");
    }
}

#[test]
fn the_schema_refuses_what_the_program_refuses() {
    let schema = printed_schema("plan");
    for wrong in [
        "sed: 1",
        "listeners: { a: {} }",
        "listeners: { a: { port: -1 } }",
        "listeners: { a: { port: 1, paths: { /a: hnag } } }",
        "listeners: { a: { port: 1, paths: { /a: { statsu: 200 } } } }",
        "listeners: { a: { port: 1, paths: { /a: 600 } } }",
        "listeners: { a: { port: 1, paths: { /a: [] } } }",
        "listeners: { a: { port: 1, paths: { /a: [{ answer: 503, for: soon }, { answer: 200 }] } } }",
        "listeners: { a: { port: 1, paths: { /a: [{ answr: 503 }] } } }",
        "process: { on-stop: ignor }",
        "process: { exit: [{ code: 1 }] }",
        "exec: { live: { slep: 3s } }",
    ] {
        assert!(!schema.is_valid(&generic(wrong)), "the schema takes {wrong}");
        assert!(document::read::<Plan>("plan", "plan", wrong).is_err(), "the program takes {wrong}");
    }
}

#[test]
fn a_change_and_the_witness_have_schemas_too() {
    let change = "listeners: { web: { paths: { /readyz: 503 }, listen: closed } }";
    let read: Change = document::read("change", "change", change).unwrap();
    let schema = printed_schema("change");
    assert_eq!(complaints(&schema, &generic(change)), [""; 0]);
    assert_eq!(complaints(&schema, &serde_json::to_value(read).unwrap()), [""; 0]);
    assert!(!schema.is_valid(&generic("listeners: { web: { port: 1 } }")));
    let line = r#"{"v":1,"boot":"b","attempt":0,"seq":0,"mono_us":1,"wall_us":2,"fact":{"mark":{"name":"n","by":"control"}}}"#;
    let schema = printed_schema("witness");
    assert_eq!(complaints(&schema, &serde_json::from_str(line).unwrap()), [""; 0]);
    assert!(!schema.is_valid(&generic("{ v: 1 }")));
}

#[test]
fn every_example_passes_the_check() {
    for (name, plan) in examples() {
        let output = program(&["serve", "--check", "--plan", &name], &[], "");
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        let from_input = program(&["serve", "--check", "--plan", "-"], &[], &plan);
        assert_eq!(from_input.stdout, output.stdout, "{name}");
        let from_environment = program(&["serve", "--check"], &[("AGNHOST_PLAN", &plan)], "");
        assert_eq!(from_environment.stdout, output.stdout, "{name}");
        assert!(text(&output.stdout).lines().any(|line| line.starts_with("stop: ")), "{name}");
    }
}

#[test]
fn a_wrong_plan_ends_with_status_2_and_binds_nothing() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    // The first listener could not be bound, but the error in the plan is reported anyway.
    let plan = format!("listeners:\n  a: {{ port: {port} }}\n  b: {{ port: 1, protocol: htp }}\n");
    let output =
        program(&["serve", "--plan", "-", "--control", &port.to_string(), "--token", "t"], &[], &plan);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
    let expected = "agnhost-rs serve: standard input, line 3, column 27: `htp` is not one of the words allowed here; \
                    did you mean `http`?\n  |\n3 |   b: { port: 1, protocol: htp }\n  |                           ^^^\n\
                    allowed here: http, tcp, grpc\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn wrong_flags_end_with_status_2_and_words() {
    for (args, words) in [
        (&["serve"][..], "there is no plan"),
        (&["serve", "--plan", "/nowhere.yaml"], "/nowhere.yaml: No such file"),
        (&["serve", "--plan", "a", "--plan-inline", "{}"], "exclude each other"),
        (&["serve", "--plan-inline", "{}", "--control", "1"], "needs a token"),
        (&["serve", "--plan-inline", "{}", "--control", "x"], "[ADDRESS:]PORT"),
        (&["serve", "--plan-inline", "{}", "--stop-signal", "SIGKILL"], "not a signal that can be caught"),
        (&["serve", "--plan-inline", "{}", "--recorder", "x"], "HOST:PORT"),
        (&["serve", "--plan-inline", "{}", "--recorder", "r:1"], "the recorder needs a token"),
        (&["schema", "plans"], "plan"),
        (&["sreve"], "serve"),
    ] {
        let output = program(args, &[], "");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(words), "{args:?}: {}", text(&output.stderr));
    }
}
