# A cluster with a container runtime that is built from source, and a pod with its own user namespace. Building a runtime takes
# minutes, so only runtimes that are already built are tested; CLUSTER_TEST_RUNTIMES="containerd-2" builds the ones that it names.
# shellcheck shell=bash

test_runtimes() {
    local folder runtime
    for folder in "$CI"/cluster.d/runtimes/*/; do
        runtime=$(basename "$folder")
        if [[ " ${CLUSTER_TEST_RUNTIMES:-} " != *" $runtime "* ]] && ! runtime_is_built; then
            skip "$runtime is not built; CLUSTER_TEST_RUNTIMES=$runtime builds it"
            continue
        fi
        "$CLUSTER" down 2>/dev/null
        K=("$CLUSTER" kubectl)
        expect "$runtime starts" up_quietly --runtime "$runtime"
        expect "its node reports it" contains "$(node_field node1 '{.status.nodeInfo.containerRuntimeVersion}')" "containerd://${runtime#*-}."
        expect "it has user namespaces" same "$(node_field node1 '{.status.runtimeHandlers[?(@.name=="")].features.userNamespaces}')" true
        expect "a pod gets one of its own" eventually 30 is_mapped
    done
    "$CLUSTER" down 2>/dev/null
}

runtime_is_built() { compgen -G "$CACHE/containerd/v2.*/runc" >/dev/null; }

# The user root of the pod is another user on the node.
is_mapped() {
    "${K[@]}" get pod mapped >/dev/null 2>&1 || "${K[@]}" create --filename=- <<'END' || return 1
apiVersion: v1
kind: Pod
metadata: {name: mapped}
spec:
  hostUsers: false
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: "probity.local/cluster-check:1", command: [/bin/sleep, "300"]}]
END
    [[ $("${K[@]}" exec mapped -- cat /proc/self/uid_map) =~ ^\ +0\ +[1-9][0-9]*\ +65536$ ]]
}
