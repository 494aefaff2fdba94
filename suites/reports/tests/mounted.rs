//! The volumes that a process sees in its mount table.

use probity_script::witness::Dump;

use super::*;

const CLAUSE: &str = "report.status.volume-mounts";

/// The verdict on a volume in memory that has this line in the mount table of a process, beside a volume on the disk.
fn in_memory(line: &str) -> &'static str {
    let volumes = json!([
        { "name": "disk", "emptyDir": {} }, { "name": "ram", "emptyDir": { "medium": "Memory" } },
    ]);
    let mounts = json!([{ "name": "disk", "mountPath": "/disk" }, { "name": "ram", "mountPath": "/ram" }]);
    let spec = json!({ "volumes": volumes, "containers": [{ "name": "target", "volumeMounts": mounts }] });
    let mut run = pod(CLAUSE, &spec);
    let table = format!("1 1 8:1 / /disk rw - ext4 /dev/sda1 rw\n2 1 {line}");
    let files = [("/proc/self/mountinfo".to_owned(), table)].into();
    run.start(1.0, 0).fact(1.1, Fact::Dump(Dump { files, ..Dump::default() }));
    concluded(run, CLAUSE)
}

#[test]
fn a_volume_in_memory_is_not_on_the_disk() {
    assert_eq!(in_memory("0:9 / /ram rw - tmpfs tmpfs rw,size=4096k"), "holds");
    assert_eq!(in_memory("8:1 / /ram rw - ext4 /dev/sda1 rw"), "violated");
    assert_eq!(in_memory("8:1 / /ram rw - tmpfs tmpfs rw"), "violated", "the disk itself is in memory");
}
