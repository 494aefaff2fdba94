# Verbs for a running cluster: inspect it, load images, and act on one node.
# shellcheck shell=bash

status() {
    local node component line whole=true
    load_cluster
    require_root
    printf '%-8s %-10s %s\n' MACHINE STATE COMPONENTS
    for node in "$CONTROL" "${NODES[@]}"; do
        line=
        if ! machine_is_on "$node"; then
            whole=false
            printf '%-8s %-10s\n' "$node" off
            continue
        fi
        for component in $(components_of "$node"); do
            if component_is_running "$node" "$component"; then line+=" $component"; else line+=" $component(stopped)"; whole=false; fi
        done
        printf '%-8s %-10s%s\n' "$node" "$(machine_state "$node")" "$line"
        [[ $(machine_state "$node") == on ]] || whole=false
    done
    if control_plane_is_whole; then
        kubectl --request-timeout=10s get nodes --output=wide || whole=false
    else
        echo "the control plane is not whole; see: ci/cluster logs"
        whole=false
    fi
    $whole
}

components_of() {
    if [[ $1 == "$CONTROL" ]]; then
        echo etcd "${CONTROL_PLANE_COMPONENTS[@]}" relay-inside
    else
        echo containerd ${SABOTEUR:+saboteur} ${LOGIND:+logind} kubelet kube-proxy
    fi
}

machine_state() {
    if [[ $1 != "$CONTROL" ]] && is_cut_off "$1"; then echo "cut off"; elif is_frozen "$1"; then echo frozen; else echo on; fi
}

print_kubeconfig_path() {
    load_cluster
    echo "$KUBECONFIG_FILE"
}

# Loads ARCHIVE into every running node; the other nodes load it when they start.
load_image() {
    local archive=${1:-} node
    [[ -n $archive && $# == 1 ]] || misuse "load takes one image archive"
    [[ -f $archive ]] || fail "the image archive $archive does not exist"
    require_root
    take_lock
    load_cluster
    for node in "${NODES[@]}"; do
        ! machine_is_on "$node" || import_image "$node" "$archive"
    done
    # The archive is kept only now that a node could read it, so that a broken archive does not make later starts fail.
    keep_image "$archive"
    say "loaded $archive into: ${NODES[*]}"
}

# Without a name, lists the logs; with a name (kubelet, node1, node1/kubelet), prints their contents.
show_logs() {
    local wanted=${1:-} log name found=false
    [[ -d $LOG_DIR ]] || fail "there are no logs: no cluster has been started"
    for log in "$LOG_DIR"/*/*.log; do
        name=${log#"$LOG_DIR/"} name=${name%.log}
        if [[ -z $wanted ]]; then
            printf '%-34s %9d bytes  %s\n' "$name" "$(stat -c %s "$log")" "$log"
            found=true
        elif [[ $name == "$wanted" || ${name%/*} == "$wanted" || ${name#*/} == "$wanted" ]]; then
            echo "==> $name <=="
            cat "$log"
            found=true
        fi
    done
    $found || fail "no log is called $wanted; ci/cluster logs lists them"
}

# ---- node VERB NAME -------------------------------------------------------------------------------------------

node_verb() {
    local verb=${1:-} node=${2:-}
    [[ -n $verb && -n $node ]] || misuse "node takes a verb and the name of a node"
    shift 2
    require_root
    [[ $verb == exec || $verb == saboteur ]] || take_lock
    load_cluster
    [[ $verb:$node == "saboteur:$CONTROL" ]] || require_node "$node"
    case $verb in
        exec) node_exec "$node" "$@" ;;
        saboteur) node_saboteur "$node" "$@" ;;
        restart-kubelet) restart_kubelet "$node" "$@" ;;
        remove-sandbox | configure-kubelet | restore-kubelet | place-static-pod | remove-static-pods | describe-pod | \
            configure-controllers | restore-controllers | announce-shutdown | cancel-shutdown) "${verb//-/_}" "$node" "$@" ;;
        stop | start | kill | cut | heal | freeze | thaw)
            (($# == 0)) || misuse "node $verb takes nothing but the name of a node"
            "node_$verb" "$node"
            ;;
        *) misuse "there is no verb '$verb' for a node" ;;
    esac
}

# An orderly shutdown: stops the kubelet first, as a real machine does, and then gives every container time to end.
node_stop() {
    local node=$1
    machine_is_on "$node" || { say "$node is off already"; return; }
    ! is_frozen "$node" || node_thaw "$node"
    stop_component "$node" kubelet
    # The signal reaches all processes except the first one and the sender, so it reaches the containers, too.
    inside "$node" bash -c 'kill -TERM -1' || true
    wait_until 10 only_the_first_is_left "$node" || true
    power_off "$node"
    say "$node was shut down"
}

only_the_first_is_left() {
    local first
    first=$(machine_pid "$1") || return 0
    # The first process and its sleep.
    (($(find "/proc/$first/root/proc" -maxdepth 1 -name '[0-9]*' | wc -l) <= 2))
}

# Power loss.
node_kill() {
    power_off "$1"
    say "$1 lost its power"
}

node_start() {
    local node=$1
    if machine_is_on "$node"; then
        say "$node is on already"
    else
        boot_node "$node"
        start_kubelet "$node"
        start_kube_proxy "$node"
    fi
    wait_for_nodes 120 "$node"
    say "$node is Ready"
}

node_cut() {
    require_on "$1"
    cut_off "$1"
    say "$1 is cut off from all other machines"
}

node_heal() {
    local before
    require_on "$1"
    before=$(lease_of "$1")
    heal "$1"
    # That the node is Ready proves nothing: the API server may not have noticed a short outage.
    wait_until 180 lease_was_renewed "$1" "$before" || fail "$1 has not come back in 180 s; log: $(log_of "$1" kubelet)"
    wait_for_nodes 60 "$1"
    say "$1 is connected and Ready"
}

# When the kubelet of NODE last renewed its lease at the API server. Nothing if it has none yet.
lease_of() { kubectl --request-timeout=5s --namespace=kube-node-lease get lease "$1" --ignore-not-found --output=jsonpath='{.spec.renewTime}'; }

lease_was_renewed() { [[ $(lease_of "$1" 2>/dev/null) > $2 ]]; }

# Stops the node as a hypervisor would: all processes still exist, but none of them runs.
node_freeze() {
    require_on "$1"
    # -1 reaches all processes except the first one, which does nothing anyway, and the sender.
    inside "$1" bash -c 'kill -STOP -1'
    say "$1 is frozen"
}

node_thaw() {
    require_on "$1"
    inside "$1" bash -c 'kill -CONT -1'
    say "$1 goes on"
}

is_frozen() {
    local first pid
    first=$(machine_pid "$1") || return 1
    pid=$(cat "$(machine_dir "$1")"/components/{containerd,etcd} 2>/dev/null | head -n 1)
    grep -q '^State:[[:space:]]*T' "/proc/$first/root/proc/$pid/status" 2>/dev/null
}

# Undoes whatever verbs did to NODE. `up` calls it on a cluster that is already running.
bring_back() {
    local node=$1 component
    if ! machine_is_on "$node"; then
        boot_node "$node"
    fi
    ! is_frozen "$node" || node_thaw "$node"
    ! is_cut_off "$node" || heal "$node"
    component_is_running "$node" containerd ||
        start_component "$node" containerd containerd --config=/var/lib/containerd/config.toml
    start_saboteur "$node"
    start_logind "$node"
    ! has_logind || cancel_shutdown "$node" >/dev/null
    rm -f "$(disk_of "$node")"/lib/kubelet/manifests/probity-*.json
    if [[ -e $(configured "$node") ]]; then
        stop_and_forget "$node"
        rm -f "$(configured "$node")"
    fi
    component_is_running "$node" kubelet || start_kubelet "$node"
    component_is_running "$node" kube-proxy || start_kube_proxy "$node"
}

# Restarts the kubelet alone; containers keep running. Options set another program, environment or configuration.
restart_kubelet() {
    local node=$1
    shift
    require_on "$node"
    stop_component "$node" kubelet 30
    while (($# > 0)); do
        (($# > 1)) || misuse "$1 needs a value"
        case $1 in
            --kubelet) [[ -x $2 ]] || fail "--kubelet $2: there is no such program"; set_kubelet "$node" kubelet "$2" ;;
            --kubelet-env) [[ $2 == *=* ]] || misuse "--kubelet-env takes KEY=VALUE"; set_kubelet "$node" kubelet-env "$2" ;;
            --kubelet-config) [[ -r $2 ]] || fail "--kubelet-config $2: there is no such file"; set_kubelet "$node" kubelet-config "$2" ;;
            *) misuse "restart-kubelet knows no option $1" ;;
        esac
        shift 2
    done
    start_kubelet "$node"
    wait_until 60 kubelet_answers "$node" ||
        fail "the kubelet of $node is not healthy after 60 s: $(telling_line "$(log_of "$node" kubelet)"); log: $(log_of "$node" kubelet)"
    say "the kubelet of $node was restarted"
}

# Kills the sandbox of a pod, and with it the pod's network. The kubelet notices this and creates another sandbox.
remove_sandbox() {
    local node=$1 uid=${2:-} sandbox killed=false
    [[ $uid =~ ^[0-9a-f-]+$ && $# == 2 ]] || misuse "node remove-sandbox takes the name of a node and the UID of a pod"
    require_on "$node"
    sandbox=$(inside "$node" ctr --namespace k8s.io containers list --quiet \
        "labels.\"io.kubernetes.pod.uid\"==$uid,labels.\"io.cri-containerd.kind\"==sandbox")
    [[ -n $sandbox ]] || fail "$node has no sandbox of the pod $uid"
    # Sandboxes that were killed before are still listed.
    for sandbox in $sandbox; do
        inside "$node" ctr --namespace k8s.io tasks kill --signal SIGKILL "$sandbox" 2>/dev/null && killed=true
    done
    $killed || fail "no sandbox of the pod $uid runs on $node"
    say "the sandbox of the pod $uid on $node was removed"
}

# The kubelet's own health endpoint, which is bound to the machine's loopback.
kubelet_answers() {
    require_running "$1" kubelet
    inside "$1" timeout 2 bash -c 'exec 3<>/dev/tcp/127.0.0.1/10248 && printf "GET /healthz HTTP/1.0\r\n\r\n" >&3 && grep -q "200 OK" <&3' 2>/dev/null
}

node_exec() {
    local node=$1
    shift
    (($# > 0)) || set -- bash
    require_on "$node"
    inside "$node" "$@"
}
