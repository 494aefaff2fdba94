# The stand-in for systemd's login manager (tests/logind), which runs on every node if it is built. It tells the kubelet about
# shutdowns that never happen. A kubelet talks to it only if its configuration sets a shutdownGracePeriod.
# shellcheck shell=bash

LOGIND_INSIDE=/var/lib/probity/logind
LOGIND_SOCKET=/run/logind/bus.sock

has_logind() { [[ -n ${LOGIND:-} ]]; }

prepare_logind() {
    has_logind || return 0
    # A copy: the original may lie where the machine can't see it, and may be rebuilt while it runs.
    cp "$LOGIND" "$(disk_of "$1")/lib/probity/logind" || fail "can't copy $LOGIND to $1"
    chmod 755 "$(disk_of "$1")/lib/probity/logind"
}

# Where NODE's kubelet finds the login manager, as a variable of its environment.
logind_environment() { ! has_logind || echo "DBUS_SYSTEM_BUS_ADDRESS=unix:path=$LOGIND_SOCKET"; }

# Starts it on NODE and waits until it listens; a kubelet that starts before this does not find it.
start_logind() {
    local node=$1
    has_logind || return 0
    ! component_is_running "$node" logind || return 0
    start_component "$node" logind "$LOGIND_INSIDE" serve --socket="$LOGIND_SOCKET"
    wait_until 30 logind_listens "$node" ||
        fail "logind on $node does not listen: $(telling_line "$(log_of "$node" logind)"); log: $(log_of "$node" logind)"
}

logind_listens() {
    require_running "$1" logind
    inside "$1" test -S "$LOGIND_SOCKET"
}

# Announces a shutdown of NODE to its kubelet. Prints whether the kubelet delays the shutdown, as JSON.
announce_shutdown() { ask_logind announce "$@"; }

# Cancels the shutdown of NODE that was announced, if there is one. Prints when the kubelet stopped delaying it, as JSON.
cancel_shutdown() { ask_logind cancel "$@"; }

ask_logind() {
    local command=$1 node=$2
    (($# == 2)) || misuse "node $command-shutdown takes nothing but the name of a node"
    has_logind || fail "this cluster has no login manager: build it (cargo build -p probity-logind) and start the cluster again"
    require_on "$node"
    inside "$node" "$LOGIND_INSIDE" "$command" --socket="$LOGIND_SOCKET"
    say "$node: $command-shutdown is done"
}
