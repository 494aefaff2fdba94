# Each verb for nodes takes effect, and the control plane reacts within the documented time. Uses the cluster of the part
# `cluster`, whose controllers have shorter timeouts: a node is lost after 12 s without a lease, and its pods are evicted
# 4 s later.
# shellcheck shell=bash

GRACE=12 TOLERATION=4 PERIOD=2
# A kubelet renews its lease every 10 s, so the last lease may be this old when the network is cut. The controller may see a lease
# one period late, and its absence another period late. Both times are rounded down to seconds, and both cores may be busy.
LEASE=10

test_nodes() {
    K=("$CLUSTER" kubectl)
    "$CLUSTER" status >/dev/null 2>&1 || expect "three nodes start" start_three
    restart_keeps_containers
    cut_evicts_and_heal_returns
    power_loss_and_start
    shutdown_and_start
    freeze_and_thaw
    settings_and_facts
    verbs_refuse_nonsense
}

# A pod that stays on NODE and answers SIGTERM. Use: run_pod NAME NODE
run_pod() {
    "${K[@]}" apply -f - <<END
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1"}, "spec": {"nodeName": "$2", "terminationGracePeriodSeconds": 1,
 "containers": [{"name": "main", "image": "probity.local/cluster-check:1", "imagePullPolicy": "Never",
   "command": ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.2; done"]}]}}
END
    "${K[@]}" wait --for=condition=Ready "pod/$1" --timeout=60s
}

ready_of() { node_field "$1" '{.status.conditions[?(@.type=="Ready")].status}'; }
is_ready() { same "$(ready_of "$1")" True; }
is_lost() { same "$(ready_of "$1")" Unknown; }
is_evicted() { [[ -n $(pod_field "$1" '{.metadata.deletionTimestamp}') ]]; }
is_gone() { same "$("${K[@]}" get pod "$1" --ignore-not-found --output=name)" ""; }
seconds_between() { echo $(($(date -d "$2" +%s) - $(date -d "$1" +%s))); }

restart_keeps_containers() {
    local before pid
    expect "a pod runs on node2" run_pod kept node2
    before=$(pod_field kept '{.status.containerStatuses[0].containerID} {.status.containerStatuses[0].state.running.startedAt} {.status.containerStatuses[0].restartCount}')
    pid=$(kubelet_pid node2)
    expect "restart-kubelet restarts the kubelet" "$CLUSTER" node restart-kubelet node2 --kubelet-env PROBITY_SECOND=1
    expect "it is another process" refuses 1 -- same "$(kubelet_pid node2)" "$pid"
    expect "it has the new variable and the old one" contains \
        "$(kubelet_variables node2)" "PROBITY_TEST=a=b PROBITY_SECOND=1"
    # If a container had been restarted, the first status after the start of the kubelet would show it.
    sleep 5
    expect "the container went on" same \
        "$(pod_field kept '{.status.containerStatuses[0].containerID} {.status.containerStatuses[0].state.running.startedAt} {.status.containerStatuses[0].restartCount}')" "$before"
    echo "maxPods: many" >"$WORK/bad.yaml"
    expect "a kubelet that does not come back is told in one line" refuses 1 "kubelet on node1 stopped" "maxPods" "log:" -- \
        "$CLUSTER" node restart-kubelet node1 --kubelet-config "$WORK/bad.yaml"
    echo "maxPods: 100" >"$WORK/good.yaml"
    expect "it comes back with a better configuration" "$CLUSTER" node restart-kubelet node1 --kubelet-config "$WORK/good.yaml"
}

cut_evicts_and_heal_returns() {
    local cut lost evicted
    cut=$(date -u +%FT%TZ)
    expect "node2 is cut off" "$CLUSTER" node cut node2
    expect "status tells that node2 is cut off" refuses 1 -- "$CLUSTER" status
    expect "a cut node becomes NotReady" eventually 60 is_lost node2
    lost=$(node_field node2 '{.status.conditions[?(@.type=="Ready")].lastTransitionTime}')
    echo "      NotReady $(seconds_between "$cut" "$lost") s after the cut"
    expect "in the documented time" between "$(seconds_between "$cut" "$lost")" $((GRACE - LEASE)) $((GRACE + 2 * PERIOD + 3))
    expect "its pods are evicted" eventually 60 is_evicted kept
    # deletionTimestamp is when the grace period of one second ends.
    evicted=$(pod_field kept '{.metadata.deletionTimestamp}')
    echo "      its pod was evicted $(($(seconds_between "$lost" "$evicted") - 1)) s after that"
    expect "in the documented time" between "$(($(seconds_between "$lost" "$evicted") - 1))" $((TOLERATION - 1)) $((TOLERATION + 2 * PERIOD))
    expect "the others stay Ready" is_ready node1
    expect "the container runs on, unheard" contains "$("$CLUSTER" node exec node2 ctr tasks ls)" RUNNING
    expect "heal brings node2 back" "$CLUSTER" node heal node2
    expect "it is Ready" is_ready node2
    expect "the evicted pod is gone at last" eventually 60 is_gone kept
}

power_loss_and_start() {
    local boot
    boot=$(node_field node3 '{.status.nodeInfo.bootID}')
    expect "a pod runs on node3" run_pod lost node3
    expect "node3 loses its power" "$CLUSTER" node kill node3
    expect "none of its processes is left" same "$(find /sys/fs/cgroup -path '*probity/node3*' -name cgroup.procs -exec cat {} +)" ""
    expect "commands for a node without power are refused" refuses 1 "switched off" -- "$CLUSTER" node exec node3 true
    expect "it becomes NotReady" eventually 60 is_lost node3
    expect "it starts again" "$CLUSTER" node start node3
    expect "as another boot" refuses 1 -- same "$(node_field node3 '{.status.nodeInfo.bootID}')" "$boot"
    expect "with the kubelet that it was given" same "$(kubelet_program node3)" /var/lib/probity/kubelet
    expect "and runs pods" run_pod again node3
}

shutdown_and_start() {
    expect "a pod runs on node1" run_pod told node1
    expect "node1 is shut down" "$CLUSTER" node stop node1
    expect "its containers were told, and went" same "$(find /sys/fs/cgroup -path '*probity/node1*' -name cgroup.procs -exec cat {} +)" ""
    expect "a second up brings it back" start_three
    expect "it is Ready" is_ready node1
    expect "its containers are started anew" eventually 60 restarted_once told
}

restarted_once() { same "$(pod_field "$1" '{.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].ready}')" "1 true"; }

freeze_and_thaw() {
    expect "node1 is frozen" "$CLUSTER" node freeze node1
    expect "it becomes NotReady" eventually 60 is_lost node1
    expect "it is thawed" "$CLUSTER" node thaw node1
    expect "it is Ready again" eventually 60 is_ready node1
}

# What a verb reads from standard input, and what it prints.
settings_and_facts() {
    local uid own
    # An earlier test has given this kubelet a configuration.
    own=$(node_field node1 '{.status.capacity.pods}')
    expect "a pod runs on node1" run_pod described node1
    uid=$(pod_field described '{.metadata.uid}')
    expect "describe-pod tells of its sandbox and its container" matches \
        "$("$CLUSTER" node describe-pod node1 "$uid")" '"sandboxes": \[\{"id": "[0-9a-f]+", "state": "running"\}\], "containers": \[\{.*"state": "running".*"memoryLimit"'
    expect "a kubelet runs with other settings" same "$(told_by '{"maxPods": 77}' configure-kubelet)" '{"running": true}'
    expect "they have their effect" eventually 30 same_capacity node1 77
    expect "that a kubelet refuses its settings is told" matches "$(told_by '{"maxPods": -1}' configure-kubelet)" '^\{"running": false, "error": ".+"\}$'
    expect "it gets its own settings back" "$CLUSTER" node restore-kubelet node1
    expect "they have their effect" eventually 30 same_capacity node1 "$own"
    expect "the controller manager gets a flag" contains "$(told_by '{"concurrent-gc-syncs": 7}' configure-controllers)" '"--concurrent-gc-syncs=7"'
    expect "it gets its own flags back" "$CLUSTER" node restore-controllers node1
    expect "what is not a JSON object is refused" refuses 2 "JSON object" -- "$CLUSTER" node configure-kubelet node1
}

told_by() { echo "$1" | "$CLUSTER" node "$2" node1; }
matches() { [[ $1 =~ $2 ]] || { echo "'$1' does not match $2"; return 1; }; }
same_capacity() { same "$(node_field "$1" '{.status.capacity.pods}')" "$2"; }

verbs_refuse_nonsense() {
    expect "an unknown node is refused" refuses 1 "no node node9" -- "$CLUSTER" node cut node9
    expect "an unknown verb is refused" refuses 2 "no verb" -- "$CLUSTER" node explode node1
}
