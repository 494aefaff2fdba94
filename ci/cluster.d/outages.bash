# Outages of the control plane, for tests of programs that depend on it.
# shellcheck shell=bash

control_verb() {
    local verb=${1:-} component=${2:-} seconds=${3:-}
    if [[ $verb == slow ]]; then
        [[ $# -eq 3 && $seconds =~ ^[1-9][0-9]{0,3}$ ]] || misuse "control slow takes a component and a number of seconds"
    else
        (($# == 2)) || misuse "control takes a verb and a component"
    fi
    [[ " etcd ${CONTROL_PLANE_COMPONENTS[*]} " == *" $component "* ]] ||
        misuse "control takes one of: etcd ${CONTROL_PLANE_COMPONENTS[*]}; not '$component'"
    require_root
    take_lock
    load_cluster
    case $verb in
        pause) signal_component "$component" STOP ;;
        resume) signal_component "$component" CONT ;;
        kill)
            signal_component "$component" KILL
            wait_until 10 component_has_ended "$CONTROL" "$component" || fail "$component can't be killed"
            ;;
        start) start_again "$component" ;;
        slow) slow_down "$component" "$seconds" ;;
        sever) sever_connections "$component" ;;
        compact) compact "$component" ;;
        *) misuse "there is no verb '$verb' for the control plane" ;;
    esac
}

signal_component() {
    local component=$1 signal=$2
    component_is_running "$CONTROL" "$component" || fail "$component does not run"
    inside "$CONTROL" kill "-$signal" "$(<"$(machine_dir "$CONTROL")/components/$component")"
}

# Stops the process four times a second, for 0.2 s each, as if its disk or its processor were slow.
slow_down() {
    local component=$1 seconds=$2
    component_is_running "$CONTROL" "$component" || fail "$component does not run"
    # Release the lock, so that other commands do not wait.
    exec 9>&-
    # shellcheck disable=SC2016  # for the inner shell
    inside "$CONTROL" bash -c 'for ((i = 0; i < 4 * $2; i++)); do
        kill -STOP "$1"; sleep 0.2; kill -CONT "$1"; sleep 0.05
    done' slow "$(<"$(machine_dir "$CONTROL")/components/$component")" "$seconds"
}

start_again() {
    ! component_is_running "$CONTROL" "$1" || { say "$1 runs already"; return; }
    case $1 in
        etcd) start_etcd ;;
        kube-apiserver) start_api_server ;;
        kube-controller-manager) start_controller_manager ;;
        kube-scheduler) start_scheduler ;;
    esac
    wait_for_api_server
    say "$1 runs again"
}

# Resets every connection to the API server, as happens when a load balancer is replaced.
sever_connections() {
    [[ $1 == kube-apiserver ]] || misuse "control sever is for the connections of kube-apiserver"
    inside_network "$CONTROL" ss --kill --tcp state established "( sport = :$API_PORT )" >/dev/null ||
        fail "the kernel can't reset connections (CONFIG_INET_DIAG_DESTROY)"
}

# Makes etcd discard all revisions before the current one, so that no watch can continue from one of them. The API server also
# keeps the newest revisions in memory; it loses them when it restarts.
compact() {
    local revision
    [[ $1 == etcd ]] || misuse "control compact is for etcd"
    revision=$(ask_etcd range '{"key": "AA=="}' | grep -oE '"revision":"[0-9]+"' | grep -oE '[0-9]+') || fail "etcd does not answer"
    ask_etcd compaction "{\"revision\": \"$revision\", \"physical\": true}" >/dev/null || fail "etcd can't compact revision $revision"
}

ask_etcd() {
    local pki=/var/lib/kubernetes/pki
    inside "$CONTROL" curl --silent --show-error --fail --max-time 30 --cacert $pki/etcd-ca.crt --cert $pki/etcd-client.crt \
        --key $pki/etcd-client.key --data "$2" "https://127.0.0.1:2379/v3/kv/$1"
}
