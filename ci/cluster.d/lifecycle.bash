# The subcommands `up` and `down`. If `up` fails, it leaves nothing running. Before it starts anything, it removes what a killed
# cluster left behind.
# shellcheck shell=bash

# ---- state between commands -------------------------------------------------------------------------

REMEMBERED=(NODES VERSION HOST_PORT TOOLS_DIR RUNTIME RUNTIME_DIR KUBERNETES_VERSION FEATURE_GATES COMPONENT_FLAGS SNAPSHOTTER SABOTEUR LOGIND ASKED_FOR)

remember_cluster() { declare -p "${REMEMBERED[@]}" | sed -E 's/^declare -(-|a|x)/declare -g\1/; s/^declare -g-/declare -g/' >"$STATE_DIR/cluster"; }

load_cluster() {
    [[ -f $STATE_DIR/cluster ]] || fail "there is no cluster here; start one with: ci/cluster up"
    # shellcheck disable=SC1091  # written by remember_cluster
    source "$STATE_DIR/cluster"
}

require_node() {
    local node
    for node in "${NODES[@]}"; do [[ $node != "$1" ]] || return 0; done
    fail "there is no node $1; the nodes are: ${NODES[*]}"
}

# Only one command at a time may change something on this machine, even if the commands come from different checkouts. The lock
# is the root of the cgroups, because this folder exists on every Linux machine and never has to be removed.
take_lock() {
    exec 9</sys/fs/cgroup
    flock --wait "${1:-300}" 9 || fail "another ci/cluster command has been at work for ${1:-300} s"
}

require_root() {
    ((EUID == 0)) || fail "root is required, for namespaces, cgroups and mounts; you are $(id -un). Try: sudo ci/cluster ..."
}

# ---- up ------------------------------------------------------------------------------------------------------

up() {
    parse_up "$@"
    require_root
    require_parts
    take_lock 3600
    if [[ -f $STATE_DIR/ready ]] && control_plane_is_whole; then
        complete_running_cluster
        return
    fi
    ensure_programs
    ensure_sandbox_archive "$IMAGE"
    require_free_space "$STATE_DIR" "$MIN_FREE_STATE" "the cluster"
    clear_remains
    require_free_port "$HOST_PORT"
    # If anything fails from here on, everything is removed again.
    trap 'give_up' EXIT
    trap 'exit 130' INT TERM HUP
    begin_state
    describe_host
    start_cluster
    touch "$STATE_DIR/ready"
    trap - EXIT INT TERM HUP
    say "the cluster is up: ${NODES[*]}; export KUBECONFIG=\$(ci/cluster kubeconfig)"
}

# The steps that take minutes on a new machine, so that something else can be built at the same time.
prepare() {
    parse_up "$@"
    require_root
    require_parts
    take_lock 3600
    ensure_programs
    say "everything that the cluster needs is here, except the sandbox image"
}

ensure_programs() {
    ensure_packages
    ensure_kubernetes "$VERSION" "${BASE_COMPONENTS[@]}" "${KUBELET_TO_BUILD[@]}"
    ensure_runtime
}

# Errors in the command line are reported before anything is built or changed.
require_parts() {
    local entry
    for entry in "${KUBELET_SETTINGS[@]}"; do
        IFS=$'\t' read -r node setting value <<<"$entry"
        [[ $node == all ]] || require_node "$node"
        case $setting in
            kubelet) [[ -f $value && -x $value ]] || fail "--kubelet $node=$value: there is no such program" ;;
            kubelet-config) [[ -f $value && -r $value ]] || fail "--kubelet-config $node=$value: there is no such file" ;;
        esac
    done
    [[ -z $SABOTEUR || -x $SABOTEUR ]] || fail "--saboteur $SABOTEUR: there is no such program; build it with: cargo build -p probity-saboteur"
    [[ -z $LOGIND || -x $LOGIND ]] || fail "--logind $LOGIND: there is no such program; build it with: cargo build -p probity-logind"
    VERSION=$(resolve_version "$VERSION") || exit 1
}

control_plane_is_whole() {
    local component
    for component in etcd "${CONTROL_PLANE_COMPONENTS[@]}" relay-inside; do
        component_is_running "$CONTROL" "$component" || return 1
    done
    ! has_saboteur || component_is_running "$CONTROL" saboteur || return 1
    relay_is_running
}

# `up` on a running cluster: starts nothing twice, and restores what a node verb has removed.
complete_running_cluster() {
    local asked_now=$ASKED_FOR node
    load_cluster
    [[ $ASKED_FOR == "$asked_now" ]] ||
        fail "a cluster with other options is up (${ASKED_FOR}, not ${asked_now}); run ci/cluster down first"
    for node in "${NODES[@]}"; do
        bring_back "$node"
    done
    wait_for_nodes 120 "${NODES[@]}"
    say "the cluster is already up: ${NODES[*]}"
}

begin_state() {
    local machine
    if ! mkdir -p "$STATE_DIR" || ! echo "state of ci/cluster" >"$STATE_DIR/.probity-cluster" || ! chmod 711 "$STATE_DIR"; then
        fail "can't write to $STATE_DIR"
    fi
    rm -rf "$LOG_DIR"
    keep_disks_in_memory
    for machine in "$CONTROL" "${NODES[@]}"; do
        mkdir -p "$(disk_of "$machine")/lib" "$(disk_of "$machine")/log" "$LOG_DIR/$machine"
    done
    save_kernel_settings
    make_cgroup "$CGROUP"
    require_controllers
    SNAPSHOTTER=$(choose_snapshotter)
    remember_cluster
}

# etcd and the container runtimes wait for the disk at every write. On a shared disk this can take seconds, and then a kubelet
# is late through no fault of its own. So the disks of the machines are kept in memory if enough memory is available.
keep_disks_in_memory() {
    local available
    available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
    ((available >= MIN_MEMORY_FOR_DISKS)) || return 0
    mkdir -p "$DISKS"
    mount -t tmpfs -o mode=711,size=25% probity-disks "$DISKS" 2>/dev/null ||
        say "the disks of the machines stay in $DISKS: no file system in memory can be mounted there"
}

describe_host() {
    local init
    init=$(</proc/1/comm)
    say "Kubernetes $KUBERNETES_VERSION, cgroup $(cgroup_layout) ($([[ $init == systemd ]] && echo "with" || echo without) systemd), cgroupfs driver," \
        "$(runtime_versions), snapshots by $SNAPSHOTTER"
}

# overlayfs does not work on top of itself, as in many CI containers; copying works everywhere.
choose_snapshotter() {
    local trial=$DISKS/overlay-trial
    mkdir -p "$trial"/{lower,upper,work,merged}
    # shellcheck disable=SC2016  # for the inner shell
    if unshare --mount sh -c 'cd "$1" && mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay merged' trial "$trial" 2>/dev/null; then
        echo overlayfs
    else
        echo native
    fi
    rm -rf "$trial"
}

# Nodes that boot in the background.
BOOTS=()

start_cluster() {
    local node boot
    make_certificates
    write_kubeconfig "$KUBECONFIG_FILE" admin "https://127.0.0.1:$HOST_PORT"
    keep_image "$IMAGE"
    ensure_check_archive
    keep_image "$CHECK_ARCHIVE"
    for node in "${NODES[@]}"; do
        prepare_node "$node"
    done
    apply_kubelet_settings
    prepare_control_plane
    start_machine "$CONTROL"
    make_bridge
    start_etcd
    start_api_server
    start_relay "$HOST_PORT"
    # While the API server starts, the nodes get as far as they can without it.
    for node in "${NODES[@]}"; do
        boot_node "$node" &
        BOOTS+=($!)
    done
    for boot in "${BOOTS[@]}"; do
        wait "$boot" || exit 1
    done
    wait_for_api_server
    say "the API server is ready"
    start_controllers
    for node in "${NODES[@]}"; do
        start_kubelet "$node"
        start_kube_proxy "$node"
    done
    allow_kubelet_api
    wait_for_nodes 120 "${NODES[@]}"
    # A node can be Ready before its kubelet has a lease. If its network were cut then, the node would seem never to recover.
    for node in "${NODES[@]}"; do
        wait_until 60 lease_was_renewed "$node" "" || fail "$node has no lease after 60 s; log: $(log_of "$node" kubelet)"
    done
    say "${#NODES[@]} nodes are Ready"
    wait_until 60 default_account_exists || fail "the controller manager made no service account; log: $(log_of "$CONTROL" kube-controller-manager)"
}

apply_kubelet_settings() {
    local entry node setting value each
    for entry in "${KUBELET_SETTINGS[@]}"; do
        IFS=$'\t' read -r node setting value <<<"$entry"
        for each in "${NODES[@]}"; do
            [[ $node != all && $node != "$each" ]] || set_kubelet "$each" "$setting" "$value"
        done
    done
}

# ---- down ----------------------------------------------------------------------------------------------------

down() {
    (($# == 0)) || misuse "down takes no arguments"
    require_root
    take_lock
    clear_remains
    say "nothing of the cluster is left"
}

# Runs when a start fails or is interrupted: removes everything except the logs, which the error names.
give_up() {
    local status=$? boot
    trap - EXIT INT TERM HUP
    # Nodes that are still booting would keep starting processes.
    for boot in "${BOOTS[@]}"; do
        kill "$boot" 2>/dev/null || true
        wait "$boot" 2>/dev/null || true
    done
    clear_remains keep-logs
    exit "$status"
}

# Ends and removes whatever is left of a cluster, whether it is running, half-started or killed.
clear_remains() {
    local keep_logs=${1:-} directory pid started
    require_own_state
    for directory in "$DISKS"/*/; do
        [[ -d $directory ]] || continue
        if pid=$(machine_pid "$(basename "$directory")"); then
            kill -KILL "$pid" 2>/dev/null || true
        fi
    done
    if { read -r pid started <"$STATE_DIR/relay"; } 2>/dev/null && [[ $(start_time_of "$pid") == "$started" ]]; then
        kill -KILL "$pid" 2>/dev/null || true
    fi
    # All our processes are in our cgroups, so all of them are found even if the records are lost.
    remove_cgroup "$CGROUP"
    restore_kernel_settings
    [[ -d $STATE_DIR ]] || return 0
    if mountpoint --quiet "$DISKS"; then
        # A process that was just killed may keep it busy for a moment.
        wait_until 10 unmounted "$DISKS" || fail "$DISKS can't be unmounted; \`fuser -vm $DISKS\` names who uses it"
    fi
    if [[ $keep_logs ]]; then
        find "$STATE_DIR" -mindepth 1 -maxdepth 1 ! -name logs ! -name .probity-cluster -exec rm -rf {} +
    else
        find "$STATE_DIR" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
        rmdir "$STATE_DIR" 2>/dev/null || true # may be a mount point of the user's
    fi
}

unmounted() { umount "$1" 2>/dev/null; }

# The folder comes from the environment: it must not be emptied unless it contains our mark.
require_own_state() {
    [[ -d $STATE_DIR && -n $(ls -A "$STATE_DIR") ]] || return 0
    [[ -f $STATE_DIR/.probity-cluster || $(ls -A "$STATE_DIR") == lost+found ]] ||
        fail "$STATE_DIR holds files that are not of ci/cluster; it is left alone"
}

# ---- the kernel settings that every kubelet changes for the whole host ------------------------------------------------

KERNEL_SETTINGS=(vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes)

save_kernel_settings() {
    local setting
    for setting in "${KERNEL_SETTINGS[@]}"; do
        [[ ! -r /proc/sys/$setting ]] || echo "$setting $(<"/proc/sys/$setting")"
    done >"$STATE_DIR/kernel-settings"
}

restore_kernel_settings() {
    local setting value
    [[ -f $STATE_DIR/kernel-settings ]] || return 0
    while read -r setting value; do
        [[ $(<"/proc/sys/$setting") == "$value" ]] || echo "$value" >"/proc/sys/$setting"
    done <"$STATE_DIR/kernel-settings"
}
