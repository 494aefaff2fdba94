# What ci/outages does to a run: the kinds of outage, and how each is caused.
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # work, kubeconfig and probity are of ci/outages and ci/lib/cluster; ci/outages reads the lists

# After these, the run continues.
PASSING=(api-paused api-killed api-slow etcd-paused etcd-killed etcd-slow severed compacted half-open black-holed saturated
    harness-paused clock-moved scheduler-paused)
# These take something away from the run permanently, so each run has at most one of them, after at least ten outages.
FINAL=(recorder-deleted recorder-evicted disk-full memory-low node-killed)
# Only with --only: a kubelet without a network reports nothing, like a defective one, so clauses may be reported as
# violated.
ACCUSING=(node-cut)

control() { bash ci/cluster control "$@"; }
node() { bash ci/cluster node "$@"; }
relay() { echo "$*" >&"$relay_input"; }

# Causes OUTAGE for SECONDS. RUN is the process of the harness, and CHANCE is a number up to 32767. `set -e` has no
# effect where it is called, so the commands of an outage are chained.
disturb() {
    local outage=$1 seconds=$2 run=$3 chance=$4
    case $outage in
        api-paused) control pause kube-apiserver && sleep "$seconds" && control resume kube-apiserver ;;
        api-killed) control kill kube-apiserver && sleep "$seconds" && control start kube-apiserver ;;
        api-slow) relay "delay $((50 + chance % 1950))" && sleep "$seconds" && relay go ;;
        etcd-paused) control pause etcd && sleep "$seconds" && control resume etcd ;;
        etcd-killed) control kill etcd && sleep "$seconds" && control start etcd ;;
        etcd-slow) control slow etcd "$seconds" ;;
        severed) sever "$seconds" ;;
        compacted) compact_unseen "$seconds" ;;
        half-open) relay hold && sleep "$seconds" && relay go ;;
        black-holed) relay forget && sleep "$seconds" ;;
        saturated) saturate "$seconds" ;;
        harness-paused) kill -STOP "$run" && sleep "$seconds" && kill -CONT "$run" ;;
        clock-moved) move_clock "$seconds" "$chance" ;;
        scheduler-paused) control pause kube-scheduler && sleep "$seconds" && control resume kube-scheduler ;;
        node-cut) node cut "$(node_of_recorder)" && sleep "$seconds" && node heal "$(node_of_recorder)" ;;
        node-killed) lose_node "$(node_of_recorder)" "$seconds" ;;
        recorder-deleted)
            kubectl delete pods --all-namespaces --field-selector metadata.name=probity-recorder --wait=false ;;
        recorder-evicted) evict_recorder ;;
        disk-full) fill_disk "$seconds" ;;
        memory-low) limit_memory "$seconds" ;;
    esac
}

# Resets all connections once a second.
sever() {
    local one
    for ((one = 0; one < $1; one++)); do
        control sever kube-apiserver
        sleep 1
    done
}

# The harness sees nothing while the API server starts again without its old revisions, so its watches can't continue.
compact_unseen() {
    relay hold &&
        control kill kube-apiserver && control compact etcd && control start kube-apiserver &&
        sleep "$1" &&
        control compact etcd &&
        relay forget && relay go
}

# Lists everything again and again, from many clients: more than API Priority and Fairness allows one user.
saturate() {
    local client pids=()
    for client in {1..40}; do
        timeout "$1" bash -c 'while :; do "$0" --kubeconfig "$1" get --raw "/api/v1/pods?limit=500&client=$2" >/dev/null 2>&1; done' \
            "$(bash ci/cluster kubectl-path)" "$kubeconfig" "$client" &
        pids+=($!)
    done
    wait "${pids[@]}" 2>/dev/null || true
}

# The wall clock of the harness only: forward by up to an hour, or back by up to 20 s (the certificates are minutes old).
move_clock() {
    local by=+$((1 + $2 % 3600))
    (($2 % 2 == 0)) || by=-$((1 + $2 % 20))
    echo "$by" >"$work/clock"
    sleep "$1"
    echo +0 >"$work/clock"
}

recorder_pod() { kubectl get pods --all-namespaces --field-selector metadata.name=probity-recorder --output=json; }

node_of_recorder() { recorder_pod | jq -r '.items[0].spec.nodeName // "node1"'; }

evict_recorder() {
    local namespace
    namespace=$(recorder_pod | jq -er '.items[0].metadata.namespace') || return 1
    kubectl create --filename=- --raw="/api/v1/namespaces/$namespace/pods/probity-recorder/eviction" \
        <<<'{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "probity-recorder"}}'
}

# The node loses power, and starts again.
lose_node() {
    node kill "$1" && sleep "$2" && node start "$1"
}

# The folder of the run is on a disk of its own.
fill_disk() {
    local free
    free=$(df --output=avail --block-size=1 "$work/disk" | tail -n 1)
    fallocate --length "$free" "$work/disk/filler"
    sleep "$1"
    rm -f "$work/disk/filler"
}

# Limits the memory of the harness to a little more than it uses at the moment, without swap.
limit_memory() {
    local used tries=0
    used=$(awk '$1 == "rss" { print $2 }' "$memory_cgroup/memory.stat")
    # The kernel rejects a limit that it can't enforce immediately.
    until echo $((used + (8 << 20))) 2>/dev/null >"$memory_cgroup/memory.limit_in_bytes"; do
        ((tries++ < 10)) || return 1
        sleep 1
    done
    sleep "$1"
    echo -1 >"$memory_cgroup/memory.limit_in_bytes"
}
