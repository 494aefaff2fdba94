//! The program `oci-archive` as `ci/image` calls it.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use common::elf;

fn oci_archive(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oci-archive"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("SOURCE_DATE_EPOCH")
        .output()
        .unwrap()
}

fn write(folder: &Path, more: &[&str]) -> Output {
    let arguments = [
        "write",
        "--program",
        "program",
        "--out",
        "a.tar",
        "--version",
        "1",
        "--revision",
        "c0ffee",
        "--created",
        "7",
    ];
    oci_archive(&[&arguments[..], more].concat(), folder)
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn an_archive_is_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program"), elf(1)).unwrap();
    assert_eq!(printed(&write(folder.path(), &[])), "");
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "no half-written file stays: {left:?}");

    let images = printed(&oci_archive(&["read", "a.tar", "--print", "images"], folder.path()));
    let fields: Vec<Vec<&str>> = images.lines().map(|line| line.split('\t').collect()).collect();
    let names: Vec<_> = fields.iter().map(|line| (line[0], line[3])).collect();
    let expected = [
        ("probity.local/agnhost-rs:dev", "-"),
        ("probity.local/agnhost-rs:dev-2", "-"),
        ("probity.local/agnhost-rs:dev-sigusr1", "SIGUSR1"),
    ];
    assert_eq!(names, expected);
    let digests: BTreeSet<_> = fields.iter().flat_map(|line| [line[1], line[2]]).collect();
    assert_eq!(digests.len(), 6, "each image has a digest and a configuration of its own: {images}");

    let files = printed(&oci_archive(&["read", "a.tar", "--print", "files"], folder.path()));
    assert!(files.contains("l 777 0:0 10 agnhost agnhost-rs\n"), "{files}");
    assert!(files.contains("f 755 0:0 131 agnhost-rs \n"), "{files}");
    assert!(files.contains("d 1777 0:0 0 tmp \n"), "{files}");

    let summary = printed(&oci_archive(&["read", "a.tar"], folder.path()));
    assert!(summary.contains("probity.local/agnhost-rs:dev-2\n  digest sha256:"), "{summary}");
    assert!(summary.contains("  stop   SIGUSR1\n"), "{summary}");
}

#[test]
fn names_and_variants_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program"), elf(1)).unwrap();
    let more = ["--repository", "localhost:5000/target", "--tag", "v1", "--variants", "plain,sigusr1"];
    printed(&write(folder.path(), &more));
    let images = printed(&oci_archive(&["read", "a.tar", "--print", "images"], folder.path()));
    let names: Vec<_> = images.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names, ["localhost:5000/target:v1", "localhost:5000/target:v1-sigusr1"]);
}

#[test]
fn what_can_not_become_an_image_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    assert!(said(&write(folder.path(), &[])).starts_with("oci-archive: program: No such file"));
    std::fs::write(&program, elf(3)).unwrap();
    assert!(said(&write(folder.path(), &[])).contains("needs the loader /lib/ld.so"));
    std::fs::write(&program, elf(1)).unwrap();
    assert!(said(&write(folder.path(), &["--repository", "agnhost-rs"])).contains("the registry is missing"));
    assert!(
        said(&write(folder.path(), &["--variants", "plain,plain"]))
            .contains("two images of the archive are called")
    );
    assert!(!folder.path().join("a.tar").exists());
}

#[test]
fn an_archive_that_is_too_large_or_damaged_fails_the_check() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program"), elf(1)).unwrap();
    printed(&write(folder.path(), &[]));
    let archive = folder.path().join("a.tar");
    let size = std::fs::metadata(&archive).unwrap().len();
    let read = |most: u64| oci_archive(&["read", "a.tar", "--max-size", &most.to_string()], folder.path());
    assert!(read(size).status.success());
    assert!(said(&read(size - 1)).contains("the maximum is"));

    let mut bytes = std::fs::read(&archive).unwrap();
    let last = bytes.len() - 1;
    bytes.truncate(last / 2);
    std::fs::write(&archive, bytes).unwrap();
    assert!(said(&read(size)).starts_with("oci-archive: a.tar: "));
}
