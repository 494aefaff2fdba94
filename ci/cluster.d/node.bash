# A node: containerd, kubelet and kube-proxy on their own machine, with the usual paths (/var/lib/kubelet,
# /run/containerd/containerd.sock, /var/log/pods), so that whatever works on an ordinary node works here. The code in
# this file sends nothing to the control plane.
# shellcheck shell=bash

# ---- files that are written once, before the first boot ----------------------------------------------------------------

prepare_node() {
    local node=$1 lib
    lib=$(disk_of "$node")/lib
    mkdir -p "$lib"/kubelet/{pki,config.d,manifests} "$lib"/containerd/net.d "$lib"/kube-proxy "$lib"/probity
    cp "$(pki)/cluster-ca.crt" "$lib/kubelet/pki/"
    cp "$(pki)/kubelet-$node-serving.crt" "$lib/kubelet/pki/kubelet.crt"
    cp "$(pki)/kubelet-$node-serving.key" "$lib/kubelet/pki/kubelet.key"
    write_kubeconfig "$lib/kubelet/kubeconfig" "kubelet-$node" "$(api_endpoint)"
    write_kubeconfig "$lib/kube-proxy/kubeconfig" kube-proxy "https://$CONTROL_IP:$API_PORT"
    write_containerd_config "$lib/containerd/config.toml"
    write_network_config "$lib/containerd/net.d/10-bridge.conflist" "$node"
    write_kubelet_config "$lib/kubelet/config.yaml" "$node"
    write_kube_proxy_config "$lib/kube-proxy/config.yaml" "$node"
    prepare_saboteur "$node" "kubelet-$node"
    prepare_logind "$node"
    # Pods must not get the host's name servers: they are out of reach. Lookups fail immediately instead of timing out.
    : >"$lib/kubelet/resolv.conf"
}

write_network_config() {
    cat >"$1" <<END
{"cniVersion": "0.4.0", "name": "probity", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "/run/cni-addresses", "ranges": [[{"subnet": "$(pod_range "$2")"}]],
            "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
END
}

write_kubelet_config() {
    local file=$1 node=$2
    cat >"$file" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: /var/lib/kubelet/pki/cluster-ca.crt}
authorization: {mode: Webhook}
tlsCertFile: /var/lib/kubelet/pki/kubelet.crt
tlsPrivateKeyFile: /var/lib/kubelet/pki/kubelet.key
containerRuntimeEndpoint: $(runtime_endpoint)
cgroupDriver: cgroupfs
cgroupRoot: /$CGROUP/$node
failSwapOn: false
clusterDomain: cluster.local
clusterDNS: [$DNS_SERVICE_IP]
resolvConf: /var/lib/kubelet/resolv.conf
staticPodPath: /var/lib/kubelet/manifests
# The disk is the host's: a full disk is not disk pressure of a node, and a removed image can't be pulled again.
imageGCHighThresholdPercent: 100
evictionHard: {nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
END
    # Older kubelets don't know the field, and v2 hosts don't need it.
    [[ $(cgroup_layout) == v2 ]] || echo "failCgroupV1: false" >>"$file"
    saboteur_kubelet_settings >>"$file"
    feature_gate_map >>"$file"
}

write_kube_proxy_config() {
    local file=$1 node=$2
    # The zeros keep it from writing connection-tracking limits, which are the host's.
    cat >"$file" <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: /var/lib/kube-proxy/kubeconfig}
hostnameOverride: $node
mode: iptables
clusterCIDR: $POD_NETWORK
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
END
    feature_gate_map >>"$file"
}

# A=true,B=false as the YAML of a component configuration.
feature_gate_map() {
    [[ -n $FEATURE_GATES ]] || return 0
    echo "featureGates:"
    tr ',' '\n' <<<"$FEATURE_GATES" | sed 's/^\(.*\)=\(.*\)$/  \1: \2/'
}

# ---- what a user may set for one kubelet: program, environment, configuration ------------------------------------------

# Applies --kubelet, --kubelet-env and --kubelet-config entries (NODE=VALUE, already split) to NODE.
set_kubelet() {
    local node=$1 setting=$2 value=$3 lib
    lib=$(disk_of "$node")/lib
    case $setting in
        kubelet)
            # A copy: the original may lie where the node can't see it, and may be rebuilt while it runs.
            cp "$value" "$lib/probity/kubelet.new" || fail "can't copy $value to $node"
            chmod 755 "$lib/probity/kubelet.new"
            mv "$lib/probity/kubelet.new" "$lib/probity/kubelet"
            ;;
        kubelet-env)
            echo "$value" >>"$lib/probity/kubelet.environment"
            ;;
        kubelet-config)
            # A drop-in needs its kind; a file that only lists settings gets it.
            {
                grep -q '^kind:' "$value" || printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n'
                cat "$value"
            } >"$lib/kubelet/config.d/50-user.conf"
            ;;
    esac
}

# ---- boot ----------------------------------------------------------------------------------------------------

# Everything below the kubelet: machine, network, container runtime, images. Needs no API server.
boot_node() {
    local node=$1
    start_machine "$node"
    plug_in "$node"
    start_component "$node" containerd "${RARE_COLLECTION[@]}" containerd --config=/var/lib/containerd/config.toml
    wait_until 60 containerd_answers "$node" ||
        fail "containerd on $node does not answer: $(telling_line "$(log_of "$node" containerd)"); log: $(log_of "$node" containerd)"
    import_images "$node"
}

containerd_answers() {
    require_running "$1" containerd
    inside "$1" ctr version >/dev/null 2>&1
}

start_kubelet() {
    local node=$1 lib program=kubelet environment=() options=() keeper
    lib=$(disk_of "$node")/lib
    [[ ! -x $lib/probity/kubelet ]] || program=/var/lib/probity/kubelet
    [[ ! -f $lib/probity/kubelet.environment ]] || mapfile -t environment <"$lib/probity/kubelet.environment"
    # Only if there is something in it: kubelets before 1.30 don't take the flag.
    [[ -z $(ls "$lib/kubelet/config.d") ]] || options+=(--config-dir=/var/lib/kubelet/config.d)
    start_saboteur "$node"
    start_logind "$node"
    mapfile -t -O "${#environment[@]}" environment < <(logind_environment)
    mapfile -t keeper < <(kubelet_keeper)
    start_component "$node" kubelet env "${environment[@]}" "${keeper[@]}" "$program" \
        --config=/var/lib/kubelet/config.yaml "${options[@]}" --kubeconfig=/var/lib/kubelet/kubeconfig \
        --hostname-override="$node" --node-ip="$(node_ip "$node")" --v=2
}

start_kube_proxy() {
    start_component "$1" kube-proxy kube-proxy --config=/var/lib/kube-proxy/config.yaml
}

# True if the API server reports all NODES as Ready in their current boot: its status of a machine that was just switched
# on may be from an earlier boot. A stopped kubelet ends the wait immediately.
nodes_are_ready() {
    local node ready
    for node in "$@"; do
        require_running "$node" containerd
        ! has_saboteur || require_running "$node" saboteur
        ! has_logind || require_running "$node" logind
        require_running "$node" kubelet
        require_running "$node" kube-proxy
    done
    ready=$(kubectl --request-timeout=5s get nodes --output=jsonpath="$READY_BY_NODE" 2>/dev/null)
    for node in "$@"; do
        grep -qx "$node True $(<"$(machine_dir "$node")/disk/boot-id")" <<<"$ready" || return 1
    done
}

# shellcheck disable=SC2016  # a jsonpath
READY_BY_NODE='{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.status.nodeInfo.bootID}{"\n"}{end}'

wait_for_nodes() {
    local seconds=$1 node
    shift
    wait_until "$seconds" nodes_are_ready "$@" && return 0
    for node in "$@"; do
        nodes_are_ready "$node" || fail "$node is not Ready after $seconds s: $(telling_line "$(log_of "$node" kubelet)"); log: $(log_of "$node" kubelet)"
    done
}
