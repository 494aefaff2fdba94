# Clusters of other Kubernetes versions start, too. Building a version takes minutes, so only built versions are tested;
# CLUSTER_TEST_VERSIONS="1.35 1.34" builds the versions that it names.
# shellcheck shell=bash

test_versions() {
    local folder version
    for folder in "$CI"/cluster.d/kubernetes/*/; do
        version=$(basename "$folder")
        [[ $version != 1.36 ]] || continue
        if [[ " ${CLUSTER_TEST_VERSIONS:-} " != *" $version "* ]] && ! is_built "$version"; then
            skip "Kubernetes $version is not built; CLUSTER_TEST_VERSIONS=$version builds it"
            continue
        fi
        "$CLUSTER" down 2>/dev/null
        K=("$CLUSTER" kubectl)
        expect "Kubernetes $version starts" up_quietly --version "$version"
        expect "its node reports it" contains "$(node_field node1 '{.status.nodeInfo.kubeletVersion}')" "v$version."
        expect "its API server reports it" contains "$("${K[@]}" get --raw=/version)" "\"v$version."
        expect "check passes on it" "$CLUSTER" check
    done
    "$CLUSTER" down 2>/dev/null
}

is_built() { compgen -G "$CACHE/kubernetes/v$1.*/kube-apiserver" >/dev/null; }
