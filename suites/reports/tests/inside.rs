//! What the processes of a container find: its volumes and its limits.

use probity_composer::running_status;
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

/// Judges a pod with one container that has limits and a request of 100m CPU, and that finds these files.
fn alone(context: &Value, files: &[(&str, &str)]) -> &'static str {
    let clause = "report.status.resources";
    let amounts = json!({ "requests": { "cpu": "100m" }, "limits": { "cpu": "200m", "memory": "64Mi" } });
    let container = json!({ "name": "target", "resources": amounts.clone(), "securityContext": context });
    let mut run = pod(clause, &one(container));
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    run.start(1.0, 0).fact(1.1, Fact::Dump(Dump { files, ..Dump::default() }));
    let mut status = running_status("target", 1.0, true, true, 0);
    status["containerStatuses"][0]["resources"] = amounts;
    run.status(2.0, &status);
    concluded(run, clause)
}

#[test]
fn a_limit_in_a_cgroup_is_that_of_the_container_itself() {
    let of = |path: &str, text: &str| alone(&json!({}), &[(path, text)]);
    let (memory, old_memory) = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes");
    assert_ne!(of(memory, "67108864"), "violated");
    assert_eq!(of(memory, "134217728"), "violated");
    assert_eq!(of(old_memory, "134217728"), "violated");
    assert_ne!(of(memory, "max"), "violated", "it may be the cgroup of somebody else");
    assert_ne!(of(old_memory, "9223372036854771712"), "violated", "this is no limit, too");
    assert_ne!(of("/sys/fs/cgroup/cpu.max", "20000 100000"), "violated");
    assert_eq!(of("/sys/fs/cgroup/cpu.max", "40000 100000"), "violated");
    assert_ne!(of("/sys/fs/cgroup/cpu.max", "max 100000"), "violated", "a node may have no CPU limits");
    assert_ne!(of("/sys/fs/cgroup/cpu.max", "1000 2000"), "violated", "no quota is shorter");
    let privileged = alone(&json!({ "privileged": true }), &[(memory, "134217728")]);
    assert_ne!(privileged, "violated", "it may see the cgroup of its node");
}

#[test]
fn the_path_of_a_cgroup_shows_whose_it_is() {
    let with = |path: &str, file: &str, text: &str| {
        let own = format!("3:cpu,cpuacct:/kubepods/pod1/{path}\n2:memory:/kubepods/pod1/{path}\n");
        alone(&json!({}), &[("/proc/self/cgroup", &own), (file, text)])
    };
    let (shares, memory) = ("/sys/fs/cgroup/cpu/cpu.shares", "/sys/fs/cgroup/memory/memory.limit_in_bytes");
    assert_ne!(with("target-0", shares, "102"), "violated");
    assert_eq!(with("target-0", shares, "204"), "violated");
    assert_eq!(with("target-0", memory, "9223372036854771712"), "violated");
    for file in [(shares, "204"), (memory, "9223372036854771712")] {
        assert_ne!(with("other-0", file.0, file.1), "violated", "it is the cgroup of another container");
    }
}
