# A separate Docker daemon in separate namespaces: its networks, rules and mounts are invisible to the machine, and its processes
# end with the first process of the namespaces. Only cgroups remain, and `leave` removes them.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

ENGINE_CGROUP=probity-kind-$$

# enter COMMAND...: runs the command in new namespaces with a running Docker daemon. When the command ends, everything ends.
enter() {
    local status=0
    # kind mounts this folder into its nodes. If it did not exist, Docker would create it on the machine.
    if [[ ! -d /lib/modules ]]; then
        mkdir -p /lib/modules
        MADE_MODULES=yes
    fi
    make_cgroup "$ENGINE_CGROUP"
    ENGINE_CGROUP=$ENGINE_CGROUP unshare --fork --kill-child --pid --mount --mount-proc --net --uts --propagation private \
        "$BASH" "$KIND_PARTS/inside" "$@" &
    INSIDE=$!
    wait "$INSIDE" || status=$?
    INSIDE=
    return "$status"
}

# Ends what `enter` started, and removes what it leaves.
leave() {
    if [[ -n ${INSIDE:-} ]]; then
        kill -KILL "$INSIDE" 2>/dev/null || true
        wait "$INSIDE" 2>/dev/null || true
    fi
    remove_cgroup "$ENGINE_CGROUP"
    [[ -z ${MADE_MODULES:-} ]] || rmdir /lib/modules 2>/dev/null || true
}
