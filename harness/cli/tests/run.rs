//! `probity run` without a cluster: lists, and errors that are reported before anything is contacted.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use probity::{ProgramOutput, probity, write};

const CASE: &str = "\
case: mine/one
story: A pod that needs nothing.
pod: { spec: { containers: [{ name: target, livenessProbe: { httpGet: { path: /, port: 8080 } } }] } }
target: { target: { listeners: { web: { port: 8080, paths: { /: 200 } } } } }
";

/// A kubeconfig whose contexts point to a closed port.
fn kubeconfig(contexts: &[&str]) -> String {
    let named =
        |name: &&str| format!("- {{ name: {name}, context: {{ cluster: nowhere, user: nobody }} }}\n");
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {}\ncontexts:\n{}clusters:\n\
         - {{ name: nowhere, cluster: {{ server: \"https://127.0.0.1:9\" }} }}\n\
         users:\n- {{ name: nobody, user: {{ token: x }} }}\n",
        contexts[0],
        contexts.iter().map(named).collect::<String>()
    )
}

struct Place {
    folder: tempfile::TempDir,
    config: PathBuf,
}

fn place(contexts: &[&str]) -> Place {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "case.yaml", CASE);
    let config = write(folder.path(), "kubeconfig", &kubeconfig(contexts));
    Place { folder, config }
}

impl Place {
    fn run(&self, more: &[&str]) -> ProgramOutput {
        let case = self.folder.path().join("case.yaml").display().to_string();
        let out = self.folder.path().join("out").display().to_string();
        let config = self.config.display().to_string();
        let mut arguments =
            vec!["run", "--suite", &case, "--only-suite", "--kubeconfig", &config, "--out", &out];
        arguments.extend(more);
        let said = probity(&arguments);
        assert!(!self.folder.path().join("out").exists(), "nothing is written before all is in order");
        said
    }
}

#[test]
fn a_list_is_that_of_a_test_program_and_asks_no_cluster() {
    let (first, second) = (probity(&["run", "--list"]), probity(&["run", "--list", "--format", "terse"]));
    assert_eq!((first.status, &first.out), (0, &second.out));
    assert!(first.out.contains("probe_types/startup-gates-others: test\n"), "{}", first.out);
    let one = probity(&["run", "--list", "--exact", "probe_types/startup-gates-others"]);
    assert_eq!(one.out, "probe_types/startup-gates-others: test\n");
    let without = probity(&["run", "--list", "--skip", "startup-gates-others"]);
    assert!(!without.out.contains("startup-gates-others"), "{}", without.out);
    assert_eq!(probity(&["run", "--list", "--ignored"]).status, 0);
}

#[test]
fn a_list_that_cannot_be_written_is_an_error_and_no_panic() {
    let said = probity(&["run", "--list", "--logfile", "/no/such/file"]);
    assert_eq!((said.status, said.out.as_str()), (2, ""));
    assert!(said.err.starts_with("probity run: /no/such/file: "), "{}", said.err);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_probity"));
    assert_eq!(command.args(["run", "--list"]).stdout(full).status().unwrap().code(), Some(4));
}

#[test]
fn a_context_must_be_named_and_the_ones_that_there_are_are_listed() {
    let place = place(&["kind-one", "kind-two"]);
    let said = place.run(&[]);
    assert_eq!(said.status, 2, "{}", said.err);
    assert!(said.err.contains("--context") && said.err.contains("kind-one, kind-two"), "{}", said.err);
    let said = place.run(&["--context", "kind-three"]);
    assert!(said.status == 2 && said.err.contains("no context `kind-three`"), "{}", said.err);
}

#[test]
fn a_cluster_that_is_away_is_an_error_and_no_verdict() {
    let began = Instant::now();
    let said = place(&["kind-one"]).run(&[]);
    assert_eq!(said.status, 4, "{}", said.err);
    let named = "failed to connect to the API server at https://127.0.0.1:9 (context `kind-one` of ";
    assert!(said.err.contains(named) && said.err.contains("--context kind-one version`"), "{}", said.err);
    assert!(!said.err.contains("ServiceError"), "{}", said.err);
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_filter_that_leaves_nothing_is_wrong_use() {
    let said = place(&["kind-one"]).run(&["--exact", "mine/on"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("did you mean `mine/one`?"), "{}", said.err);
    assert_eq!(place(&["kind-one"]).run(&["--profile", "slow"]).status, 2);
}

#[test]
fn a_case_that_lacks_something_on_the_command_line_says_what_and_nothing_ran() {
    let place = place(&["kind-one"]);
    write(place.folder.path(), "case.yaml", &CASE.replace("story:", "needs: [node-verbs]\nstory:"));
    let listed = place.run(&["--list", "--ignored"]);
    assert_eq!(listed.out, "mine/one: test\n");
    let said = place.run(&[]);
    assert_eq!(said.status, 3, "{}", said.err);
    assert!(said.out.contains("mine/one ... ignored"), "{}", said.out);
    assert!(said.err.contains("--node-command"), "{}", said.err);
}

#[test]
fn a_wrong_case_file_is_refused_before_the_cluster_is_asked() {
    let place = place(&["kind-one"]);
    write(
        place.folder.path(),
        "case.yaml",
        &CASE.replace("livenessProbe", "livenessProbe: x, livenessProbe"),
    );
    let said = place.run(&["--context", "kind-three"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("case.yaml, line 3, column "), "{}", said.err);
}

#[test]
fn rights_are_printed_as_manifests_for_the_cluster_or_for_one_namespace() {
    let wide = probity(&["rbac"]);
    assert!(wide.status == 0 && wide.out.contains("kind: ClusterRole\n"), "{}", wide.out);
    let narrow = probity(&["rbac", "--namespace", "mine"]);
    assert!(narrow.status == 0 && narrow.out.contains("kind: Role\n"), "{}", narrow.out);
    assert!(narrow.out.contains("namespace: mine"), "{}", narrow.out);
}

#[test]
fn a_name_that_no_namespace_can_have_is_wrong_use() {
    for verb in [vec!["rbac"], vec!["run", "--list"], vec!["gc"]] {
        let said = probity(&[verb, vec!["--namespace", "A_b"]].concat());
        assert_eq!((said.status, said.out.as_str()), (2, ""), "{}", said.err);
        assert!(said.err.contains("at most 63 lowercase letters"), "{}", said.err);
    }
}

#[test]
fn an_archive_that_is_none_is_refused_before_any_tool_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let archive = write(folder.path(), "agnhost-rs.tar", "this is no archive");
    let said = probity(&["image", "load", "--kind", "x", "--archive", archive.to_str().unwrap(), "--print"]);
    assert_eq!((said.status, said.out.as_str()), (2, ""), "{}", said.err);
    assert_eq!(
        probity(&["image", "load", "--archive", archive.to_str().unwrap()]).status,
        2,
        "where to is missing"
    );
}

#[test]
fn the_shards_of_a_list_have_each_case_once() {
    let names = |more: &[&str]| -> Vec<String> {
        let said = probity(&[&["run", "--list", "--profile", "core"], more].concat());
        assert_eq!(said.status, 0, "{}", said.err);
        said.out.lines().filter(|line| line.ends_with(": test")).map(str::to_owned).collect()
    };
    let mut shards = [names(&["--shard", "0/2"]), names(&["--shard", "1/2"])].concat();
    let mut all = names(&[]);
    shards.sort();
    all.sort();
    assert!(all.len() > 10 && shards == all, "{shards:?}");
}

#[test]
fn a_shard_beyond_the_last_is_wrong_use() {
    let said = probity(&["run", "--list", "--shard", "4/4"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("0/4 to 3/4"), "{}", said.err);
}

#[test]
fn outside_of_a_pod_there_is_no_service_account() {
    let said = probity(&["run", "--in-cluster", "--exact", "probe_types/startup-gates-others"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("is not running in a pod") && said.err.contains("--context"), "{}", said.err);
    let said = probity(&["run", "--in-cluster", "--context", "x"]);
    assert_eq!(said.status, 2, "{}", said.err);
}
