# Verbs that configure a component, place static pods, or report facts. They read their input from standard input, as
# JSON, and print their result on standard output, as one JSON object. Each verb that changes something has a verb that
# undoes it.
# shellcheck shell=bash

# The JSON object on standard input.
read_object() {
    local what=$1 text
    [[ ! -t 0 ]] || misuse "$what reads a JSON object from standard input"
    text=$(cat)
    [[ $text =~ ^[[:space:]]*\{(.*[^[:space:]].*)\}[[:space:]]*$ ]] || misuse "$what reads a JSON object from standard input, with at least one field"
    echo "$text"
}

# TEXT as a JSON string.
json_string() {
    local text
    text=$(tr -d '\000-\037' <<<"$1")
    text=${text//\\/\\\\}
    echo "\"${text//\"/\\\"}\""
}

# ---- the kubelet's configuration -------------------------------------------------------------------------------

# The drop-in of configure-kubelet. It comes after the one of --kubelet-config.
configured() { echo "$(disk_of "$1")/lib/kubelet/config.d/60-verb.conf"; }

# Applies settings on top of the configuration of NODE's kubelet, and restarts it. Prints whether the kubelet then runs and, if
# not, the last error in its log.
configure_kubelet() {
    local node=$1 settings log before end
    (($# == 1)) || misuse "node configure-kubelet takes nothing but the name of a node, and settings on standard input"
    require_on "$node"
    settings=$(read_object configure-kubelet)
    log=$(log_of "$node" kubelet)
    printf '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", %s\n' "${settings#*\{}" >"$(configured "$node")"
    stop_and_forget "$node"
    before=$(stat -c %s "$log" 2>/dev/null || echo 0)
    start_kubelet "$node"
    wait_until 60 kubelet_settled "$node" || true
    if kubelet_is_healthy "$node"; then
        say "the kubelet of $node runs with other settings"
        echo '{"running": true}'
        return
    fi
    end=$(machine_dir "$node")/kubelet-log-end
    tail -c "+$((before + 1))" "$log" >"$end"
    say "the kubelet of $node does not run with these settings"
    printf '{"running": false, "error": %s}\n' "$(json_string "$(telling_line "$end")")"
    rm -f "$end"
}

# True if the kubelet answers or has ended.
kubelet_settled() { kubelet_is_healthy "$1" || ! component_is_running "$1" kubelet; }

kubelet_is_healthy() { component_is_running "$1" kubelet && (kubelet_answers "$1") 2>/dev/null; }

restore_kubelet() {
    local node=$1
    (($# == 1)) || misuse "node restore-kubelet takes nothing but the name of a node"
    require_on "$node"
    stop_and_forget "$node"
    rm -f "$(configured "$node")"
    restart_kubelet "$node"
}

# Stops the kubelet. If configure-kubelet set the CPU manager policy, the kubelet's record of exclusive CPUs is removed too,
# because a kubelet does not start with the record of another policy. Call this before the settings are removed, so that it can
# be repeated after an interruption.
stop_and_forget() {
    stop_component "$1" kubelet 30
    ! grep -q cpuManagerPolicy "$(configured "$1")" 2>/dev/null || rm -f "$(disk_of "$1")/lib/kubelet/cpu_manager_state"
}

# ---- static pods -----------------------------------------------------------------------------------------------

# Places the manifest of a static pod, which the kubelet of NODE then runs by itself.
place_static_pod() {
    local node=$1 lib manifest name
    (($# == 1)) || misuse "node place-static-pod takes nothing but the name of a node, and a manifest on standard input"
    require_on "$node"
    manifest=$(read_object place-static-pod)
    lib=$(disk_of "$node")/lib
    name=probity-$(sha256sum <<<"$manifest" | cut -c1-16).json
    # The kubelet must not read a half-written file.
    echo "$manifest" >"$lib/probity/$name"
    mv "$lib/probity/$name" "$lib/kubelet/manifests/$name"
    say "the manifest of a static pod was placed on $node"
}

# Removes the manifests that place-static-pod placed; the kubelet of NODE then ends these pods.
remove_static_pods() {
    local node=$1
    (($# == 1)) || misuse "node remove-static-pods takes nothing but the name of a node"
    rm -f "$(disk_of "$node")"/lib/kubelet/manifests/probity-*.json
    say "the manifests of static pods were removed from $node"
}

# ---- the controller manager ------------------------------------------------------------------------------------

# Sets flags of the controller manager and restarts it. The node is not used.
configure_controllers() {
    local rest flags=() scalar='("([^"\\]*)"|[^][{},"[:space:]]+)'
    (($# == 1)) || misuse "node configure-controllers takes nothing but the name of a node, and flags on standard input"
    rest=$(read_object configure-controllers | tr '\n' ' ')
    rest=${rest#*\{}
    while [[ $rest =~ ^[[:space:]]*\"([a-z0-9-]+)\"[[:space:]]*:[[:space:]]*${scalar}[[:space:]]*,?(.*)$ ]]; do
        flags+=("--${BASH_REMATCH[1]}=${BASH_REMATCH[3]:-${BASH_REMATCH[2]}}")
        rest=${BASH_REMATCH[4]}
    done
    [[ $rest =~ ^[[:space:]]*\}[[:space:]]*$ ]] || misuse "configure-controllers reads flags and their values: {\"terminated-pod-gc-threshold\": 10}"
    printf '%s\n' "${flags[@]}" >"$(controller_flags_file)"
    restart_controller_manager
    say "the controller manager runs with ${flags[*]}"
    tell_arguments
}

# The command line of the running controller manager.
tell_arguments() {
    local pid argument arguments=''
    pid=$(<"$(machine_dir "$CONTROL")/components/kube-controller-manager")
    while IFS= read -r -d '' argument; do
        arguments+=${arguments:+, }$(json_string "$argument")
    done < <(inside "$CONTROL" cat "/proc/$pid/cmdline")
    echo "{\"arguments\": [$arguments]}"
}

restore_controllers() {
    (($# == 1)) || misuse "node restore-controllers takes nothing but the name of a node"
    rm -f "$(controller_flags_file)"
    restart_controller_manager
    say "the controller manager runs with its own flags again"
}

restart_controller_manager() {
    stop_component "$CONTROL" kube-controller-manager 30
    start_controller_manager
    wait_until 60 controller_manager_answers ||
        fail "the controller manager does not answer: $(telling_line "$(log_of "$CONTROL" kube-controller-manager)"); log: $(log_of "$CONTROL" kube-controller-manager)"
}

# Its port, which is bound to the loopback address of the machine.
controller_manager_answers() {
    require_running "$CONTROL" kube-controller-manager
    inside "$CONTROL" bash -c 'exec 3<>/dev/tcp/127.0.0.1/10257' 2>/dev/null
}

# ---- which parts of a pod exist on a node --------------------------------------------------------------------------

# Prints what the runtime and the cgroups of NODE contain for the pod with this UID.
describe_pod() {
    local node=$1 uid=${2:-} id state sandboxes='' containers='' name
    [[ $uid =~ ^[0-9a-f-]+$ && $# == 2 ]] || misuse "node describe-pod takes the name of a node and the UID of a pod"
    require_on "$node"
    declare -A RUNNING=()
    while read -r id _ state; do RUNNING[$id]=$state; done < <(inside "$node" ctr --namespace k8s.io tasks list)
    for id in $(records_of "$node" "$uid" sandbox); do
        sandboxes+=${sandboxes:+, }"{\"id\": \"$id\", \"state\": \"$(state_of "$id")\"}"
    done
    for id in $(records_of "$node" "$uid" container); do
        name=$(inside "$node" ctr --namespace k8s.io containers info "$id" | sed -n 's/.*"io.kubernetes.container.name": "\([^"]*\)".*/\1/p' | head -n 1)
        containers+=${containers:+, }"{\"id\": \"$id\", \"name\": \"$name\", \"state\": \"$(state_of "$id")\", \"cgroup\": $(cgroup_facts "$node" "$uid" "/$id")}"
    done
    echo "{\"sandboxes\": [$sandboxes], \"containers\": [$containers], \"cgroup\": $(cgroup_facts "$node" "$uid" '')}"
}

# The runtime's records of one kind (`sandbox` or `container`) for a pod.
records_of() {
    inside "$1" ctr --namespace k8s.io containers list --quiet "labels.\"io.kubernetes.pod.uid\"==$2,labels.\"io.cri-containerd.kind\"==$3"
}

# A record without a task has ended.
state_of() { if [[ ${RUNNING[$1]:-} == RUNNING ]]; then echo running; else echo exited; fi; }

# The values of a pod's cgroup, or of one below it; null if there is none. A limit that is not set is null.
cgroup_facts() {
    local node=$1 uid=$2 below=$3 cpu memory quota period limit
    cpu=$(cgroup_of_pod cpu "$node" "$uid")
    memory=$(cgroup_of_pod memory "$node" "$uid")
    [[ -n $cpu && -n $memory && -d $cpu$below && -d $memory$below ]] || { echo null; return; }
    cpu+=$below memory+=$below
    if [[ $(cgroup_layout) == v2 ]]; then
        read -r quota period <"$cpu/cpu.max"
        read -r limit <"$memory/memory.max"
        printf '{"version": 2, "cpuWeight": %s, "cpuQuota": %s, "cpuPeriod": %s, "memoryLimit": %s}\n' \
            "$(<"$cpu/cpu.weight")" "$(limit_or_null "$quota")" "$period" "$(limit_or_null "$limit")"
    else
        printf '{"version": 1, "cpuShares": %s, "cpuQuota": %s, "cpuPeriod": %s, "memoryLimit": %s}\n' \
            "$(<"$cpu/cpu.shares")" "$(limit_or_null "$(<"$cpu/cpu.cfs_quota_us")")" "$(<"$cpu/cpu.cfs_period_us")" \
            "$(limit_or_null "$(<"$memory/memory.limit_in_bytes")")"
    fi
}

# `max`, -1, and what v1 writes for the largest number of pages mean that there is no limit.
limit_or_null() { if [[ $1 =~ ^[0-9]+$ && $1 -lt 9223372036854000000 ]]; then echo "$1"; else echo null; fi; }

# The folder of a pod's cgroup with this controller; nothing if there is none.
cgroup_of_pod() {
    local controller=$1 node=$2 uid=$3 hierarchy class
    if [[ $(cgroup_layout) == v2 ]]; then
        hierarchy=/sys/fs/cgroup
    else
        hierarchy=$(awk -v controller="$controller" '{ for (i = 7; i < NF; i++) if ($i == "-" && $(i + 1) == "cgroup" && ("," $NF ",") ~ ("," controller ",")) { print $5; exit } }' /proc/self/mountinfo)
    fi
    for class in '' /burstable /besteffort; do
        if [[ -d $hierarchy/$CGROUP/$node/kubepods$class/pod$uid ]]; then
            echo "$hierarchy/$CGROUP/$node/kubepods$class/pod$uid"
            return
        fi
    done
}
