# Each failure is reported in one line that names the component and its log, and leaves nothing running.
# shellcheck shell=bash

test_failures() {
    local before=$WORK/traces-before-failures
    "$CLUSTER" down 2>/dev/null
    # The first start builds what is missing, so that the tests below do not include a build.
    expect "a first start succeeds" up_quietly
    "$CLUSTER" down 2>/dev/null
    remember_traces "$before"

    expect "a wrong option is refused with status 2" refuses 2 "--frobnicate" -- "$CLUSTER" up --frobnicate 1
    expect "a wrong number of nodes is refused with status 2" refuses 2 "--nodes takes" -- "$CLUSTER" up --nodes none
    expect "an unknown version names the known ones" refuses 1 "1.12" "1.36" -- "$CLUSTER" up --version 1.12
    expect "a kubelet that is not there is named" refuses 1 "/no/such/kubelet" -- "$CLUSTER" up --kubelet node1=/no/such/kubelet
    expect "a setting for a node that is not there is refused" refuses 1 "no node node7" -- "$CLUSTER" up --kubelet-env node7=A=B
    expect "verbs without a cluster say so" refuses 1 "no cluster" -- "$CLUSTER" node cut node1
    expect "not being root is said at once" refuses 1 "root is required" -- as_nobody up

    failing_start "a missing right" "control did not start" "unshare" -- without_sys_admin "$CLUSTER" up "${IMAGE_OPTION[@]}"
    failing_start "a busy port" "port 16444" "in use" -- with_busy_port 16444
    failing_start "a full disk, seen at once" "too full" "MiB free" -- on_small_disk "$CLUSTER" up "${IMAGE_OPTION[@]}"
    failing_start "a disk that fills up" "error" -- on_small_disk env PROBITY_CLUSTER_MIN_FREE=1 PROBITY_CLUSTER_MEMORY_FOR_DISKS=999999999 \
        "$CLUSTER" up "${IMAGE_OPTION[@]}"
    failing_start "a kubelet that does not start" "kubelet on node1" "log: $PROBITY_CLUSTER_STATE/logs/node1/kubelet.log" -- \
        "$CLUSTER" up "${IMAGE_OPTION[@]}" --kubelet node1=/bin/false
    echo "maxPods: many" >"$WORK/bad.yaml"
    failing_start "a kubelet that refuses its configuration" "kubelet on node1" "maxPods" "log:" -- \
        "$CLUSTER" up "${IMAGE_OPTION[@]}" --kubelet-config "node1=$WORK/bad.yaml"
    failing_start "an API server that refuses a flag" "kube-apiserver on control" "no-such-flag" "log:" -- \
        "$CLUSTER" up "${IMAGE_OPTION[@]}" --flag kube-apiserver=--no-such-flag=1
    failing_start "an archive that is no image" "load the image archive" "log:" -- "$CLUSTER" up --image /etc/hostname
    "$CLUSTER" down 2>/dev/null
}

up_quietly() { "$CLUSTER" up "${IMAGE_OPTION[@]}" "$@"; }

# Two tests in one: the last line of COMMAND contains WORDS, and afterwards only the log exists.
failing_start() {
    local what=$1 words=()
    shift
    while [[ $1 != -- ]]; do words+=("$1"); shift; done
    shift
    expect "$what is told in one line" refuses 1 "cluster: error:" "${words[@]}" -- "$@"
    rm -rf "$PROBITY_CLUSTER_STATE"
    expect "$what leaves nothing running" no_traces_since "$WORK/traces-before-failures"
}

# Only root may be able to enter the folder of the checkout, so the user `nobody` gets a copy.
as_nobody() {
    local copy=$WORK/copy
    mkdir -p "$copy/ci"
    cp -r "$CI/cluster" "$CI/cluster.d" "$CI/lib" "$copy/ci/"
    chmod -R a+rX "$copy"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$copy/ci/cluster" "$@"
}

without_sys_admin() { setpriv --bounding-set=-sys_admin "$@"; }

with_busy_port() {
    local port=$1 holder status=0
    socat TCP-LISTEN:"$port",bind=127.0.0.1,fork,reuseaddr EXEC:/bin/true 2>/dev/null &
    holder=$!
    sleep 0.3
    "$CLUSTER" up "${IMAGE_OPTION[@]}" --port "$port" || status=$?
    kill "$holder"
    wait "$holder" 2>/dev/null || true
    return "$status"
}

# COMMAND with its state on a disk of 24 MiB.
on_small_disk() {
    local status=0
    mkdir -p "$WORK/small"
    mount -t tmpfs -o size=24m tmpfs "$WORK/small"
    PROBITY_CLUSTER_STATE=$WORK/small "$@" || status=$?
    umount "$WORK/small" || { echo "something still uses the small disk"; status=99; }
    return "$status"
}
