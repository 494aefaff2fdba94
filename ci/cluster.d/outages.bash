# What can happen to the control plane: for tests of those who depend on it.
# shellcheck shell=bash

control_verb() {
    local verb=${1:-} component=${2:-}
    (($# == 2)) || misuse "control takes a verb and a component"
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
        sever) sever_connections "$component" ;;
        *) misuse "there is no verb '$verb' for the control plane" ;;
    esac
}

signal_component() {
    local component=$1 signal=$2
    component_is_running "$CONTROL" "$component" || fail "$component does not run"
    inside "$CONTROL" kill "-$signal" "$(<"$(machine_dir "$CONTROL")/components/$component")"
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

# Resets every connection to the API server, as a load balancer does that is replaced.
sever_connections() {
    [[ $1 == kube-apiserver ]] || misuse "control sever is for the connections of kube-apiserver"
    inside_network "$CONTROL" ss --kill --tcp state established "( sport = :$API_PORT )" >/dev/null ||
        fail "the kernel can't reset connections (CONFIG_INET_DIAG_DESTROY)"
}
