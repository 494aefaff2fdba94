# A Docker of its own, in namespaces of its own: its networks, rules and mounts are invisible to the machine, and its processes
# end with the first process of the namespaces. Only cgroups remain, and `leave` removes them.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

ENGINE_CGROUP=probity-kind-$$

# enter COMMAND...: runs it in new namespaces with a running Docker. Its last process takes everything with it.
enter() {
    local status=0
    # Docker would create this folder of the machine, which kind mounts into its nodes.
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
