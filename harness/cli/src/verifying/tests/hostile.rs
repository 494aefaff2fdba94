//! Files that try to do harm, or that are not what their names suggest.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn hostile_files_are_refused_with_their_names() {
    let run = Tampered::new();
    fs::remove_file(run.path(CALM)).unwrap();
    symlink("/etc/hostname", run.path(CALM)).unwrap();
    run.is_noticed("a link", CALM, "is a link, which may lead outside the run's folder");

    let run = Tampered::new();
    fs::remove_dir_all(run.path("history/demo")).unwrap();
    symlink("/etc", run.path("history/demo")).unwrap();
    run.is_noticed("a linked folder", CALM, "is a link, which may lead outside the run's folder");

    let run = Tampered::new();
    run.replace(LOG, CALM, "history/../../../etc/hostname");
    run.is_noticed("a path outside", "history/../../../etc/hostname", "a path outside the run's folder");

    let run = Tampered::new();
    fs::File::create(run.path(CALM)).unwrap().set_len(1 << 40).unwrap();
    run.is_noticed("a giant file", CALM, "the file is larger than 256 MiB");

    let run = Tampered::new();
    let zeros = vec![0; 300 << 20];
    fs::write(run.path(CALM), zstd::encode_all(zeros.as_slice(), 1).unwrap()).unwrap();
    run.is_noticed("a bomb", CALM, "the file is larger than 256 MiB");

    let run = Tampered::new();
    fs::remove_file(run.path(CALM)).unwrap();
    fs::create_dir(run.path(CALM)).unwrap();
    run.is_noticed("a folder", CALM, "it is not a regular file");

    let run = Tampered::new();
    fs::write(run.path(CALM), zstd::encode_all([0xFF; 99].as_slice(), 1).unwrap()).unwrap();
    run.is_noticed("no text", CALM, "it is not text");
    fs::write(run.path(REPORT), "[".repeat(100_000)).unwrap();
    run.is_noticed("deep nesting", REPORT, "this is not a report of a known format");
}

#[test]
fn what_is_not_a_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.json");
    for bytes in [b"{}".as_slice(), b"\xFF\xFE", b"", b"\x28\xB5\x2F\xFDrest"] {
        fs::write(&path, bytes).unwrap();
        let Err(failure) = Given::open(&path) else { panic!("{bytes:?}") };
        assert!(failure.sentence.contains("other.json: "), "{failure}");
        assert_eq!(failure.exit, crate::exit_status::Exit::Usage);
    }
    let mut tar = vec![0_u8; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    let packed = zstd::encode_all([0_u8; 1024].as_slice(), 3).unwrap();
    for bytes in [b"\x1F\x8B".as_slice(), &tar, &packed] {
        fs::write(&path, bytes).unwrap();
        let Err(failure) = Given::open(&path) else { panic!("{bytes:?}") };
        assert!(failure.sentence.contains("unpack it and give the folder of the run"), "{failure}");
    }
    let report = fs::read_to_string(Tampered::new().path(REPORT)).unwrap();
    fs::write(&path, report.replacen("\"1.0.0\"", "\"2.0.0\"", 1)).unwrap();
    let Err(failure) = Given::open(&path) else { panic!("a report of another format") };
    assert!(failure.sentence.contains("this is a report of format 2.0.0"), "{failure}");
    for path in [folder.path(), Path::new("/no/such/run"), Path::new("/dev/zero")] {
        assert!(Given::open(path).is_err(), "{path:?}");
    }
}
