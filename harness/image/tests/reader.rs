//! The reader trusts nothing: each kind of damage is planted once, and must be found at its place.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{archive, facts, program};
use probity_image::{Archive, Blob, Entry, Tree, Variant, agnhost};

fn tree() -> Tree {
    Tree::from_tar(&archive().to_tar().unwrap(), "test").unwrap()
}

/// The archive with some changed files. The closure gets the path and the content, and returns the new content, or `None`
/// to drop the file.
fn changed(change: impl Fn(&str, &[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let (honest, mut damaged) = (tree(), Tree::new());
    for (path, entry) in honest.iter() {
        match honest.file(path) {
            None => damaged.insert(path, entry.clone()).unwrap(),
            Some(content) => {
                if let Some(content) = change(path, content) {
                    damaged.insert(path, Entry::file(entry.mode, &content)).unwrap();
                }
            }
        }
    }
    damaged.to_tar().unwrap()
}

/// The archive with one text replaced by another in one file.
fn replaced(file: &str, old: &str, new: &str) -> Vec<u8> {
    let changed = changed(|path, content| {
        if path != file {
            return Some(content.to_vec());
        }
        let text = String::from_utf8(content.to_vec()).unwrap();
        assert!(text.contains(old), "{file} has no {old:?}: {text}");
        Some(text.replacen(old, new, 1).into_bytes())
    });
    assert_ne!(changed, archive().to_tar().unwrap());
    changed
}

fn complaint(tar: &[u8]) -> String {
    Archive::from_tar(tar).unwrap_err().to_string()
}

#[test]
fn what_was_written_comes_back() {
    let read = Archive::from_tar(&archive().to_tar().unwrap()).unwrap();
    assert_eq!(read, archive());
    let name = "probity.local/agnhost-rs:dev-sigusr1".parse().unwrap();
    let image = read.find(&name).unwrap();
    assert_eq!(
        image.configuration().unwrap().config().as_ref().unwrap().stop_signal().as_deref(),
        Some("SIGUSR1")
    );
    assert_eq!(image.files().unwrap(), agnhost::tree(&program()).unwrap());
    assert_eq!(image.blobs().last(), Some(image.manifest()), "a registry wants the manifest last");
    assert!(read.find(&"probity.local/agnhost-rs:other".parse().unwrap()).is_none());
}

#[test]
fn a_changed_byte_in_any_blob_is_found() {
    for blob in
        tree().iter().map(|(path, _)| path.to_owned()).filter(|path| path.len() > "blobs/sha256/".len())
    {
        if !blob.starts_with("blobs/sha256/") {
            continue;
        }
        let damaged = changed(|path, content| {
            let mut content = content.to_vec();
            if path == blob {
                *content.last_mut().unwrap() ^= 1;
            }
            Some(content)
        });
        let said = complaint(&damaged);
        assert!(said.contains(&blob) && said.contains("has the digest"), "{said}");
    }
}

#[test]
fn every_missing_file_is_named() {
    for missing in tree().iter().map(|(path, _)| path.to_owned()) {
        if tree().file(&missing).is_none() {
            continue;
        }
        let said = complaint(&changed(|path, content| (path != missing).then(|| content.to_vec())));
        assert_eq!(said, format!("archive: {missing}: is missing"));
    }
}

#[test]
fn a_file_that_nothing_refers_to_is_refused() {
    let stray = Blob::new(b"stray".to_vec());
    let mut with_stray = tree();
    with_stray.insert(&stray.path(), Entry::file(0o644, stray.bytes())).unwrap();
    let said = complaint(&with_stray.to_tar().unwrap());
    assert!(said.contains(stray.hex()) && said.contains("nothing in the archive refers to it"), "{said}");
}

#[test]
fn contradictions_between_the_documents_are_found() {
    let image = &archive().images()[0].clone();
    let size = image.manifest().bytes().len();
    for (tar, word) in [
        (replaced("oci-layout", "1.0.0", "2.0.0"), "1.0.0 was expected"),
        (replaced("index.json", &format!("\"size\":{size}"), "\"size\":7"), "its descriptor says 7"),
        (replaced("index.json", "image.manifest.v1", "image.index.v1"), "was expected"),
        (replaced("index.json", "agnhost-rs:dev", "agnhost-rs:other"), "ref.name is \"dev\""),
        (replaced("index.json", "probity.local/", ""), "registry is missing"),
        (
            replaced("index.json", "io.containerd.image.name", "image.name"),
            "annotation io.containerd.image.name is missing",
        ),
        (replaced("index.json", "amd64", "arm64"), "is for"),
        (replaced("index.json", "sha256:", "md5:"), "is not a SHA-256 digest"),
        (replaced("manifest.json", "agnhost-rs:dev", "agnhost-rs:other"), "leads to"),
        (replaced("manifest.json", image.config().hex(), image.manifest().hex()), "leads to"),
        (replaced("manifest.json", "[{", "[] // {"), "can't be understood"),
    ] {
        let said = complaint(&tar);
        assert!(said.contains(word), "expected {word:?}: {said}");
    }
}

#[test]
fn a_table_that_keeps_an_image_back_is_found() {
    let two = agnhost::archive(&program(), &facts(), &Variant::ALL[..2], agnhost::REPOSITORY, agnhost::TAG)
        .unwrap();
    let short = Tree::from_tar(&two.to_tar().unwrap(), "test").unwrap();
    let damaged = changed(|path, content| {
        Some(if path == "manifest.json" { short.file(path).unwrap().to_vec() } else { content.to_vec() })
    });
    assert_eq!(complaint(&damaged), "archive: manifest.json: lists 2 images, but index.json lists 3");
}

#[test]
fn a_layer_that_is_not_what_the_configuration_promises_is_found() {
    // The whole chain is built again, so that every digest is correct and only the configuration is wrong.
    let original = &archive().images()[0].clone();
    let configuration = original.configuration().unwrap();
    let promise = &configuration.rootfs().diff_ids()[0];
    let text = |blob: &Blob| String::from_utf8(blob.bytes().to_vec()).unwrap();
    let config = Blob::new(
        text(original.config()).replace(promise, &format!("sha256:{}", "0".repeat(64))).into_bytes(),
    );
    let manifest =
        Blob::new(text(original.manifest()).replace(original.config().hex(), config.hex()).into_bytes());
    let (honest, mut forged) = (tree(), Tree::new());
    for (path, entry) in honest.iter() {
        let Some(content) = honest.file(path) else {
            forged.insert(path, entry.clone()).unwrap();
            continue;
        };
        let (path, content) = if path == original.config().path() {
            (config.path(), config.bytes().to_vec())
        } else if path == original.manifest().path() {
            (manifest.path(), manifest.bytes().to_vec())
        } else if path.ends_with(".json") {
            let text = String::from_utf8(content.to_vec()).unwrap();
            let text = text.replace(original.config().hex(), config.hex());
            (path.to_owned(), text.replace(original.manifest().hex(), manifest.hex()).into_bytes())
        } else {
            (path.to_owned(), content.to_vec())
        };
        forged.insert(&path, Entry::file(entry.mode, &content)).unwrap();
    }
    let said = complaint(&forged.to_tar().unwrap());
    assert!(said.contains("the configuration says sha256:0000"), "{said}");
}

#[test]
fn bytes_that_are_no_tar_and_half_a_tar_are_refused() {
    let whole = archive().to_tar().unwrap();
    assert!(Archive::from_tar(b"").is_err());
    assert!(Archive::from_tar(&[7; 4096]).is_err());
    for length in (0..whole.len() - 1024).step_by(512) {
        assert!(Archive::from_tar(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
    }
}
