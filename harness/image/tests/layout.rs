//! The bytes as another program reads them. These tests use only tar, gzip, JSON and SHA-256, and not the reader of this
//! crate.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::io::Read;

use common::{archive, elf, facts, program};
use probity_image::{Variant, agnhost};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Path to (type, mode, owner, group, time, content), in the order of the tar.
type Listing = Vec<(String, (char, u32, u64, u64, u64, Vec<u8>))>;

fn list(tar: &[u8]) -> Listing {
    let mut listing = Listing::new();
    for entry in tar::Archive::new(tar).entries().unwrap() {
        let mut entry = entry.unwrap();
        let header = entry.header().clone();
        let kind = match header.entry_type() {
            tar::EntryType::Directory => 'd',
            tar::EntryType::Regular => 'f',
            tar::EntryType::Symlink => 'l',
            other => panic!("{other:?} in the tar"),
        };
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut content = entry.link_name_bytes().unwrap_or_default().to_vec();
        entry.read_to_end(&mut content).unwrap();
        let (uid, gid) = (header.uid().unwrap(), header.gid().unwrap());
        listing.push((path, (kind, header.mode().unwrap(), uid, gid, header.mtime().unwrap(), content)));
    }
    listing
}

/// All regular files of the archive by path.
fn open() -> BTreeMap<String, Vec<u8>> {
    let listing = list(&archive().to_tar().unwrap());
    listing.into_iter().filter(|(_, entry)| entry.0 == 'f').map(|(path, entry)| (path, entry.5)).collect()
}

fn document(files: &BTreeMap<String, Vec<u8>>, path: &str) -> Value {
    serde_json::from_slice(&files[path]).unwrap()
}

fn blob_path(descriptor: &Value) -> String {
    descriptor["digest"].as_str().unwrap().replace("sha256:", "blobs/sha256/")
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// Collects every object that has a digest and a size, wherever it is.
fn descriptors<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) => {
            if map.contains_key("digest") && map.contains_key("size") {
                found.push(value);
            }
            map.values().for_each(|value| descriptors(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| descriptors(value, found)),
        _ => {}
    }
}

#[test]
fn every_descriptor_tells_the_truth_and_every_blob_is_named_after_its_content() {
    let files = open();
    let index = document(&files, "index.json");
    let manifests: Vec<Value> = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| document(&files, &blob_path(entry)))
        .collect();
    let mut found = Vec::new();
    descriptors(&index, &mut found);
    manifests.iter().for_each(|manifest| descriptors(manifest, &mut found));
    assert_eq!(found.len(), 3 + 3 * 2, "three manifests, each with a configuration and a layer");
    for descriptor in found {
        let content = &files[&blob_path(descriptor)];
        assert_eq!(descriptor["size"], content.len(), "{descriptor}");
    }
    let blobs: Vec<_> = files
        .iter()
        .filter_map(|(path, content)| Some((path.strip_prefix("blobs/sha256/")?, content)))
        .collect();
    assert_eq!(blobs.len(), 3 + 3 + 1, "the layer is shared");
    for (name, content) in blobs {
        assert_eq!(name, hex(content));
    }
}

#[test]
fn the_layer_holds_exactly_these_files() {
    let files = open();
    let manifest = document(&files, &blob_path(&document(&files, "index.json")["manifests"][0]));
    let layer = &manifest["layers"][0];
    assert_eq!(layer["mediaType"], "application/vnd.oci.image.layer.v1.tar+gzip");
    let packed = &files[&blob_path(layer)];
    assert_eq!(
        packed[..10],
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255],
        "no flag, no time, best compression, no system"
    );
    let tar = gunzip(packed);
    let config = document(&files, &blob_path(&manifest["config"]));
    assert_eq!(config["rootfs"], json!({"type": "layers", "diff_ids": [format!("sha256:{}", hex(&tar))]}));

    let listing = list(&tar);
    assert!(listing.iter().all(|(_, entry)| (entry.2, entry.3, entry.4) == (0, 0, 0)), "root's, in 1970");
    let found: Vec<_> = listing
        .iter()
        .map(|(path, entry)| format!("{} {:04o} {}", entry.0, entry.1, path.trim_end_matches('/')))
        .collect();
    let expected = [
        "l 0777 agnhost",
        "l 0777 agnhost-2",
        "f 0755 agnhost-rs",
        "d 0755 etc",
        "f 0644 etc/group",
        "f 0644 etc/passwd",
        "f 0644 localhost.crt",
        "f 0644 localhost.key",
        "d 1777 tmp",
    ];
    assert_eq!(found, expected);
    let content = |path: &str| listing.iter().find(|(name, _)| name == path).unwrap().1.5.clone();
    assert_eq!(content("agnhost-rs"), elf(1));
    assert_eq!((content("agnhost"), content("agnhost-2")), (b"agnhost-rs".to_vec(), b"agnhost-rs".to_vec()));
    assert!(content("localhost.crt").starts_with(b"-----BEGIN CERTIFICATE-----"));
    assert!(content("localhost.key").starts_with(b"-----BEGIN PRIVATE KEY-----"));
    assert!(String::from_utf8(content("etc/passwd")).unwrap().contains("\nnonroot:x:65532:65532:"));
    assert!(String::from_utf8(content("etc/group")).unwrap().contains("\nnonroot:x:65532:"));
}

#[test]
fn both_tables_of_contents_tell_of_the_same_three_images() {
    let files = open();
    let index = document(&files, "index.json");
    assert_eq!(document(&files, "oci-layout"), json!({"imageLayoutVersion": "1.0.0"}));
    let docker = document(&files, "manifest.json");
    let entries = index["manifests"].as_array().unwrap();
    assert_eq!((entries.len(), docker.as_array().unwrap().len()), (3, 3));
    for ((entry, docker), tag) in
        entries.iter().zip(docker.as_array().unwrap()).zip(["dev", "dev-2", "dev-sigusr1"])
    {
        assert_eq!(entry["mediaType"], "application/vnd.oci.image.manifest.v1+json");
        assert_eq!(entry["platform"], json!({"architecture": "amd64", "os": "linux"}));
        let name = format!("probity.local/agnhost-rs:{tag}");
        let annotations = json!({
            "io.containerd.image.name": name,
            "org.opencontainers.image.ref.name": tag,
            "org.opencontainers.image.created": "2023-11-14T22:13:20Z",
        });
        assert_eq!(entry["annotations"], annotations);
        let manifest = document(&files, &blob_path(entry));
        let expected = json!({
            "Config": blob_path(&manifest["config"]),
            "RepoTags": [name],
            "Layers": [blob_path(&manifest["layers"][0])],
        });
        assert_eq!(*docker, expected);
    }
}

#[test]
fn the_variants_differ_in_nothing_but_what_they_are_for() {
    let files = open();
    let configs: Vec<Value> = document(&files, "manifest.json")
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| document(&files, entry["Config"].as_str().unwrap()))
        .collect();
    let expected = json!({
        "User": "65532:65532",
        "Entrypoint": ["/agnhost-rs"],
        "Cmd": ["pause"],
        "WorkingDir": "/",
        "ExposedPorts": {
            "80/tcp": {}, "5000/tcp": {}, "8080/tcp": {}, "8081/tcp": {}, "8081/udp": {}, "9376/tcp": {}, "9376/udp": {},
        },
        "Labels": {
            "org.opencontainers.image.title": "agnhost-rs",
            "org.opencontainers.image.description":
                "A fault-injection target for Kubernetes probes and pod lifecycle",
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.version": "1.2.3",
            "org.opencontainers.image.revision": "c0ffee",
            "local.probity.variant": "plain",
        },
    });
    assert_eq!(configs[0]["config"], expected);
    assert_eq!(configs[0]["created"], "2023-11-14T22:13:20Z");
    assert_eq!(configs[0]["history"].as_array().unwrap().len(), 1);

    let mut second = configs[0].clone();
    second["config"]["Labels"]["local.probity.variant"] = json!("second");
    assert_eq!(configs[1], second);
    let mut sigusr1 = configs[0].clone();
    sigusr1["config"]["Labels"]["local.probity.variant"] = json!("sigusr1");
    sigusr1["config"]["StopSignal"] = json!("SIGUSR1");
    assert_eq!(configs[2], sigusr1);
}

#[test]
fn the_same_input_gives_the_same_bytes_and_every_fact_is_part_of_them() {
    // Labels are stored in hash maps, whose order differs from map to map even within one process.
    let first = archive().to_tar().unwrap();
    for _ in 0..20 {
        assert_eq!(archive().to_tar().unwrap(), first);
    }
    let paths: Vec<String> =
        list(&first).into_iter().map(|(path, _)| path.trim_end_matches('/').to_owned()).collect();
    assert!(paths.is_sorted(), "{paths:?}");
    assert!(list(&first).iter().all(|(_, entry)| (entry.2, entry.3, entry.4) == (0, 0, 0)));

    let mut others = vec![facts(); 4];
    others[0].version.push('0');
    others[1].revision.push_str("-dirty");
    others[2].created += 1;
    others[3].source = Some("git://probity.local".to_owned());
    for other in others {
        let tar = agnhost::archive(&program(), &other, &Variant::ALL, agnhost::REPOSITORY, agnhost::TAG);
        assert_ne!(tar.unwrap().to_tar().unwrap(), first, "{other:?}");
    }
}
