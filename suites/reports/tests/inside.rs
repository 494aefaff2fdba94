//! What the processes of a container find: its volumes and its limits.

use probity_script::witness::Dump;

use super::*;

/// Judges a container with an emptyDir volume and this volume at `/words`, given the line of its mount table about the
/// latter.
fn words(volume: &Value, line: &str) -> &'static str {
    let mounts =
        json!([{ "name": "data", "mountPath": "/data" }, { "name": "words", "mountPath": "/words" }]);
    let mut words = volume.clone();
    words["name"] = json!("words");
    let spec = json!({
        "volumes": [{ "name": "data", "emptyDir": {} }, words],
        "containers": [{ "name": "target", "volumeMounts": mounts }],
    });
    let mut run = pod("report.status.volume-mounts", &spec);
    let table = format!("1 1 8:1 /data /data rw - ext4 /dev/sda1 rw\n2 1 {line} rw\n");
    let files = [("/proc/self/mountinfo".to_owned(), table)].into();
    run.start(1.0, 0).fact(1.1, Fact::Dump(Dump { files, ..Dump::default() }));
    concluded(run, "report.status.volume-mounts")
}

#[test]
fn nobody_writes_to_the_values_of_the_api_and_secrets_stay_in_memory() {
    let (map, secret) = (json!({ "configMap": { "name": "a" } }), json!({ "secret": { "secretName": "a" } }));
    assert_ne!(words(&map, "8:1 /map /words ro - ext4 /dev/sda1"), "violated");
    assert_eq!(words(&map, "8:1 /map /words rw - ext4 /dev/sda1"), "violated");
    assert_ne!(words(&secret, "0:9 / /words ro - tmpfs tmpfs"), "violated");
    assert_eq!(words(&secret, "8:1 /words /words ro - ext4 /dev/sda1"), "violated");
    assert_eq!(words(&secret, "8:1 /words /words ro - tmpfs disk"), "violated", "it is the disk of the node");
    let projected = json!({ "projected": { "sources": [{ "secret": { "name": "a" } }] } });
    assert_eq!(words(&projected, "8:1 /words /words ro - ext4 /dev/sda1"), "violated");
}

#[test]
fn init_containers_have_their_limits() {
    let clause = "report.status.resources";
    let of = |first: &str, target: &str| {
        let with = |name: &str, memory: &str| json!({ "name": name, "resources": { "limits": { "memory": memory } } });
        let spec = json!({
            "initContainers": [with("first", "32Mi")], "containers": [with("target", "64Mi")],
        });
        let mut run = pod(clause, &spec);
        for (at, name, bytes) in [(1.0, "first", first), (3.0, "target", target)] {
            let files = [("/sys/fs/cgroup/memory.max".to_owned(), bytes.to_owned())].into();
            run.of("pod", name).start(at, 0).fact(at + 0.1, Fact::Dump(Dump { files, ..Dump::default() }));
        }
        concluded(run, clause)
    };
    assert_ne!(of("33554432", "67108864"), "violated");
    assert_eq!(of("max", "67108864"), "violated");
    assert_ne!(of("max", "max"), "violated", "the runtime does not show limits");
}
