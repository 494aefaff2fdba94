//! Files and folders on the command line that do not exist or are of another kind: the error names the argument and the path
//! and says what to give, and the exit status is 2.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use probity::{probity, write};

/// The manifest of a pod, in place of whatever a command expects.
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: { name: x }\n\
                   spec: { containers: [{ name: c, livenessProbe: { httpGet: { port: 80 }, periodSeconds: 1 } }] }\n";

/// Asserts that the command fails with a message that begins like this, and prints nothing else.
fn refused(arguments: &[&str], beginning: &str) {
    let said = probity(arguments);
    assert_eq!((said.status, said.out.as_str()), (2, ""), "{arguments:?}: {}", said.err);
    let beginning = format!("probity {}: {beginning}", arguments[0]);
    assert!(said.err.starts_with(&beginning), "wanted {beginning}, got {}", said.err);
    assert!(!said.err.contains("os error"), "{}", said.err);
}

#[test]
fn a_path_that_does_not_exist_is_named_with_its_argument_and_what_to_give() {
    let missing = "/no/such/place.yaml";
    let case_file = "a case file, or a folder of case files";
    for (arguments, flag, takes) in [
        (&["list", "--suite", missing][..], "--suite ", format!("give {case_file}")),
        (&["run", "--suite", missing], "--suite ", format!("give {case_file}")),
        (&["explain", missing], "", format!("ID must be {case_file}")),
        (&["judge", missing], "", "HISTORY must be a history (.jsonl".to_owned()),
        (&["verify", missing], "", "RUN must be the folder of a run".to_owned()),
        (&["merge", missing, "--out", "/no/such/out"], "", "DIR must be the folder of a run".to_owned()),
        (&["diff", missing, missing], "", "give a report.json, or the folder of a run".to_owned()),
        (&["image", "push", "x", "--archive", missing], "--archive ", "give the agnhost-rs.tar".to_owned()),
    ] {
        refused(arguments, &format!("{flag}{missing}: there is no such file or folder; {takes}"));
    }
    refused(&["try", missing, "--plan"], &format!("{missing}: it cannot be read: there is no such file"));
}

#[test]
fn a_file_of_another_kind_is_named_with_what_to_give() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "pod.yaml", POD);
    let pod = file.to_str().unwrap();
    for (arguments, why) in [
        (
            &["diff", pod, pod][..],
            "this is not a report of a known format, because it is not JSON; give a report",
        ),
        (&["judge", pod], "the first line is not the header of a history, because it is not JSON"),
        (&["merge", pod, pod, "--out", "/no/such/out"], "this is a file and not a folder; DIR must be"),
        (&["manual", pod], "this is not a folder; choose another DIR"),
    ] {
        refused(arguments, &format!("{pod}: {why}"));
    }
    refused(
        &["image", "push", "x", "--archive", pod],
        &format!("--archive {pod}: this is not the archive of an image, or it is cut off ("),
    );
}

#[test]
fn a_folder_for_results_that_cannot_be_one_is_refused_before_the_cluster_is_contacted() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "out", "");
    let pod = write(folder.path(), "pod.yaml", POD);
    let (out, pod) = (file.to_str().unwrap(), pod.to_str().unwrap());
    let below = format!("{out}/run");
    let exact = "probe_types/startup-gates-others";
    // If the cluster was contacted first, the error would be about the kubeconfig.
    let access = ["--kubeconfig", "/no/such/kubeconfig", "--out"];
    for (arguments, path, why) in [
        (&["run", "--exact", exact][..], out, "this is not a folder".to_owned()),
        (&["run", "--exact", exact], &below, format!("{out} is not a folder")),
        (&["try", pod], out, "this is not a folder".to_owned()),
        (&["reproduce", pod], out, "this is not a folder".to_owned()),
    ] {
        let arguments = [arguments, &access, &[path]].concat();
        refused(&arguments, &format!("--out {path}: {why}; choose another --out"));
    }
}
