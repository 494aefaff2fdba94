#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn some_tree() -> Tree {
    let mut tree = Tree::new();
    tree.insert("etc", Entry::directory(0o755)).unwrap();
    tree.insert("etc/passwd", Entry::file(0o644, b"root")).unwrap();
    tree.insert("tmp", Entry::directory(0o1777)).unwrap();
    tree.insert("also", Entry::link("etc/passwd")).unwrap();
    tree
}

#[test]
fn a_tree_survives_the_way_through_a_tar() {
    let tree = some_tree();
    assert_eq!(Tree::from_tar(&tree.to_tar().unwrap(), "here").unwrap(), tree);
    assert_eq!(tree.file("etc/passwd"), Some(&b"root"[..]));
    assert_eq!(tree.file("also"), None);
}

#[test]
fn the_order_of_adding_leaves_no_trace() {
    let mut other = Tree::new();
    for path in ["tmp", "also", "etc", "etc/passwd"] {
        other.insert(path, some_tree().get(path).unwrap().clone()).unwrap();
    }
    assert_eq!(other.to_tar().unwrap(), some_tree().to_tar().unwrap());
}

#[test]
fn paths_that_leave_the_root_or_hang_in_the_air_are_refused() {
    for (path, word) in [
        ("/etc", "below the root"),
        ("../x", "below the root"),
        ("etc/./x", "below the root"),
        ("", "below the root"),
        ("var/x", "added first"),
        ("also/x", "added first"),
        ("etc", "twice"),
    ] {
        let said = some_tree().insert(path, Entry::file(0o644, b"")).unwrap_err().to_string();
        assert!(said.contains(word), "{path}: {said}");
    }
}

#[test]
fn a_tar_with_a_device_or_a_time_is_refused() {
    for (entry_type, mtime, word) in [(EntryType::Char, 0, "Char"), (EntryType::Regular, 7, "time (7)")] {
        let mut header = Header::new_ustar();
        header.set_path("x").unwrap();
        header.set_entry_type(entry_type);
        header.set_mtime(mtime);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(0);
        header.set_cksum();
        let mut builder = Builder::new(Vec::new());
        builder.append(&header, &b""[..]).unwrap();
        let said = Tree::from_tar(&builder.into_inner().unwrap(), "layer").unwrap_err().to_string();
        assert!(said.starts_with("archive: layer: ") && said.contains(word), "{said}");
    }
}
