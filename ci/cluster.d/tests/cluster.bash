# A cluster of three nodes works, its options take effect, and a second `up` changes nothing.
# shellcheck shell=bash

test_cluster() {
    local started took pids
    "$CLUSTER" down 2>/dev/null
    started=$(date +%s)
    expect "three nodes start" start_three
    took=$(($(date +%s) - started))
    echo "      three nodes were up after $took s"
    expect "three nodes are up within 60 s" between "$took" 1 60
    K=("$CLUSTER" kubectl)
    expect "status calls all well" "$CLUSTER" status
    expect "check passes" "$CLUSTER" check
    pids=$(cluster_processes | wc -l)
    expect "a second start is the same cluster" start_three
    expect "a second start starts nothing" eventually 20 same_process_count "$pids"
    expect "a start with other options is refused" refuses 1 "other options" -- "$CLUSTER" up --nodes 2
    options_have_effect
    commands_work
}

# The settings that the tests of this part and of `nodes` rely on.
start_three() {
    echo "maxPods: 42" >"$WORK/kubelet.yaml"
    cp "$(cached_kubelet)" "$WORK/vendor-kubelet"
    "$CLUSTER" up "${IMAGE_OPTION[@]}" --nodes 3 --feature-gates InPlacePodVerticalScalingExclusiveCPUs=true \
        --flag kube-controller-manager=--node-monitor-grace-period=12s --flag kube-controller-manager=--node-monitor-period=2s \
        --flag kube-apiserver=--default-unreachable-toleration-seconds=4 --flag kube-apiserver=--default-not-ready-toleration-seconds=4 \
        --kubelet "node3=$WORK/vendor-kubelet" --kubelet-env node2=PROBITY_TEST=a=b --kubelet-config "node2=$WORK/kubelet.yaml"
}

cached_kubelet() { compgen -G "$CACHE/kubernetes/v1.36.*/kubelet" | tail -n 1; }

same_process_count() { between "$(cluster_processes | wc -l)" $(($1 - 4)) $(($1 + 4)); }

node_field() { "${K[@]}" get node "$1" --output=jsonpath="$2"; }
pod_field() { "${K[@]}" get pod "$1" --output=jsonpath="$2"; }

# The kubelet of a node, as that node sees it.
kubelet_pid() { "$CLUSTER" node exec "$1" pidof kubelet; }
kubelet_program() { "$CLUSTER" node exec "$1" readlink "/proc/$(kubelet_pid "$1")/exe"; }
kubelet_variables() { "$CLUSTER" node exec "$1" cat "/proc/$(kubelet_pid "$1")/environ" | tr '\0' ' '; }

options_have_effect() {
    expect "the node reports the version that was built" contains "$(node_field node1 '{.status.nodeInfo.kubeletVersion}')" v1.36
    expect "--kubelet runs another program" same \
        "$(kubelet_program node3)" /var/lib/probity/kubelet
    expect "--kubelet-env reaches the kubelet" contains \
        "$(kubelet_variables node2)" PROBITY_TEST=a=b
    expect "--kubelet-env reaches no other kubelet" refuses 1 -- contains "$(kubelet_variables node1)" PROBITY_TEST
    expect "--kubelet-config has its effect" same "$(node_field node2 '{.status.capacity.pods}')" 42
    expect "--kubelet-config touches no other node" same "$(node_field node1 '{.status.capacity.pods}')" 110
    expect "--feature-gates reaches the API server" gate_is_on /metrics
    expect "--feature-gates reaches the kubelets" gate_is_on /api/v1/nodes/node1/proxy/metrics
}

gate_is_on() {
    local metrics
    metrics=$("${K[@]}" get --raw="$1")
    grep -q 'kubernetes_feature_enabled{name="InPlacePodVerticalScalingExclusiveCPUs".*} 1' <<<"$metrics" ||
        { grep InPlacePodVerticalScalingExclusive <<<"$metrics"; return 1; }
}

commands_work() {
    local archive
    expect "kubeconfig names a file that works" kubeconfig_works
    expect "logs lists every component" lists_logs
    expect "logs prints the log of one component" contains "$("$CLUSTER" logs node1/kubelet 2>&1 | head -n 1)" "node1/kubelet"
    expect "logs of nothing is refused" refuses 1 "no log is called" -- "$CLUSTER" logs nothing
    expect "node exec runs on the node" same "$("$CLUSTER" node exec node2 hostname)" node2
    expect "node exec hands on standard input and status" hands_on
    archive=$(make_image probity.local/loaded:1)
    expect "load takes an image archive" "$CLUSTER" load "$archive"
    for node in node1 node2 node3; do
        expect "load reaches $node" contains "$("$CLUSTER" node exec "$node" ctr images ls -q)" probity.local/loaded:1
    done
}

kubeconfig_works() { same "$("${K[@]}" --kubeconfig="$("$CLUSTER" kubeconfig)" config current-context)" probity-cluster; }

lists_logs() {
    local list component
    list=$("$CLUSTER" logs)
    for component in control/etcd control/kube-apiserver control/kube-controller-manager control/kube-scheduler node3/kubelet \
        node3/containerd node3/kube-proxy; do
        contains "$list" "$component" || return 1
    done
}

hands_on() {
    local status=0
    same "$(echo words | "$CLUSTER" node exec node1 cat)" words || return 1
    "$CLUSTER" node exec node1 sh -c 'exit 7' || status=$?
    same "$status" 7
}

# The check image under another name.
make_image() {
    local folder=$WORK/image-$RANDOM
    mkdir -p "$folder"
    tar -C "$folder" -xf "$CACHE/cluster-check-1.tar"
    sed -i "s|\"RepoTags\": \[[^]]*\]|\"RepoTags\": [\"$1\"]|" "$folder/manifest.json"
    tar -C "$folder" -cf "$folder.tar" manifest.json config.json layer.tar
    echo "$folder.tar"
}
