# A machine: one set of namespaces (processes, mounts, network, host name, IPC) with a first process that holds it.
# The control plane is one machine, each node another. Only a machine's processes are visible in the host's own
# namespaces, so ending the first process ends everything: mounts, links, addresses, rules, containers.
# shellcheck shell=bash

machine_dir() { echo "$DISKS/$1"; }
disk_of() { echo "$DISKS/$1/disk"; }
log_of() { echo "$LOG_DIR/$1/$2.log"; }

# Powers MACHINE on. Its disk stays as it was.
start_machine() {
    local machine=$1 directory log starter
    directory=$(machine_dir "$machine")
    log=$(log_of "$machine" machine)
    mkdir -p "$directory/components" "$directory/disk/lib" "$directory/disk/log" "$LOG_DIR/$machine"
    rm -f "$directory/first-process" "$directory"/components/*
    make_cgroup "$CGROUP/$machine/system"
    (
        join_cgroup "$machine" || exit 1
        exec 9>&-
        # --kill-child: killing the waiting unshare switches the machine off, and leaves no orphans.
        exec setsid env -i PATH="$PATH_INSIDE:$PATH" HOME=/root \
            unshare --fork --kill-child --pid --mount --net --uts --ipc --propagation private \
            "$PARTS/machine-init" "$machine" "$directory/disk" "$(tools_dir)" "$RUNTIME_DIR"
    ) 3>"$directory/first-process.new" </dev/null >"$log" 2>&1 &
    starter=$!
    # Otherwise, bash would report its end after our own last line: `Killed` and the whole command.
    disown "$starter"
    wait_until 30 machine_spoke "$directory" "$starter" || fail "the machine $machine did not start: $(telling_line "$log"); log: $log"
    local pid
    pid=$(<"$directory/first-process.new")
    echo "$pid $(start_time_of "$pid")" >"$directory/first-process"
    rm -f "$directory/first-process.new"
}

machine_spoke() {
    local directory=$1 starter=$2
    [[ -s $directory/first-process.new ]] && return 0
    kill -0 "$starter" 2>/dev/null || fail "the machine ${directory##*/} did not start: $(telling_line "$(log_of "${directory##*/}" machine)")"
    return 1
}

# The start of the process PID, in clock ticks since boot: it identifies a process even if its pid is reused.
start_time_of() {
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    # The second field may hold blanks; it ends with the last parenthesis.
    read -ra stat <<<"${stat##*) }"
    echo "${stat[19]}"
}

# The pid of MACHINE's first process as the host sees it; fails if it is off.
machine_pid() {
    local pid started file
    file=$(machine_dir "$1")/first-process
    { read -r pid started <"$file"; } 2>/dev/null || return 1
    [[ $(start_time_of "$pid") == "$started" ]] || return 1
    echo "$pid"
}

machine_is_on() { machine_pid "$1" >/dev/null; }

require_on() {
    machine_is_on "$1" || fail "$1 is switched off; start it with: ci/cluster node start $1"
}

# Runs COMMAND in all of MACHINE's namespaces, as a child of the caller.
inside() {
    local machine=$1 pid
    shift
    pid=$(machine_pid "$machine") || fail "$machine is not running"
    # nsenter by itself would keep the caller's cgroup and environment.
    (
        join_cgroup "$machine" || exit 1
        exec 9>&-
        exec env -i PATH="$PATH_INSIDE" HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
            CONTAINERD_ADDRESS=/run/containerd/containerd.sock CONTAINERD_NAMESPACE=k8s.io \
            nsenter --target "$pid" --mount --net --pid --uts --ipc -- "$@"
    )
}

# Runs COMMAND in MACHINE's network only: for `ip`, which needs the host's pids.
inside_network() {
    local machine=$1 pid
    shift
    pid=$(machine_pid "$machine") || fail "$machine is not running"
    nsenter --target "$pid" --net -- "$@"
}

# Starts a long-running program on MACHINE. Its parent becomes the machine's first process, its output the component's
# log.
start_component() {
    local machine=$1 component=$2 log pid_file
    shift 2
    log=$(log_of "$machine" "$component")
    pid_file=$(machine_dir "$machine")/components/$component
    # The pid is the one inside; through /proc/FIRST/root/proc the host can look at it all the same.
    # shellcheck disable=SC2016  # for the inner shell
    inside "$machine" bash -c 'setsid "$@" </dev/null 3>&- & echo $! >&3' start "$@" 3>"$pid_file" >>"$log" 2>&1 ||
        fail "$component on $machine can't be started: $(telling_line "$log"); log: $log"
}

component_is_running() {
    local machine=$1 component=$2 first pid state
    first=$(machine_pid "$machine") || return 1
    { read -r pid <"$(machine_dir "$machine")/components/$component"; } 2>/dev/null || return 1
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$first/root/proc/$pid/status" 2>/dev/null)
    [[ -n $state && $state != Z ]]
}

# Ends the whole start with one line if a component has exited, instead of waiting for it.
require_running() {
    local machine=$1 component=$2 log
    component_is_running "$machine" "$component" && return 0
    log=$(log_of "$machine" "$component")
    fail "$component on $machine stopped: $(telling_line "$log"); log: $log"
}

# Asks a component to end, and kills it after SECONDS.
stop_component() {
    local machine=$1 component=$2 seconds=${3:-10} pid_file pid
    component_is_running "$machine" "$component" || return 0
    pid_file=$(machine_dir "$machine")/components/$component
    pid=$(<"$pid_file")
    inside "$machine" kill -TERM "$pid"
    wait_until "$seconds" component_has_ended "$machine" "$component" || inside "$machine" kill -KILL "$pid"
    wait_until 5 component_has_ended "$machine" "$component" || fail "$component on $machine does not end (pid $pid inside)"
    rm -f "$pid_file"
}

component_has_ended() { ! component_is_running "$1" "$2"; }

# Power loss: the kernel removes every process, mount and link of the machine.
power_off() {
    local machine=$1 pid
    if pid=$(machine_pid "$machine"); then
        kill -KILL "$pid" 2>/dev/null || true
        wait_until 10 machine_is_off "$machine" || fail "the first process of $machine (pid $pid) can't be killed"
    fi
    remove_cgroup "$CGROUP/$machine"
    rm -rf "$(machine_dir "$machine")"/{first-process,components}
}

machine_is_off() { ! machine_is_on "$1"; }
