# The saboteur (tests/saboteur): with `up --saboteur PATH` one runs on every node, between the kubelet and its container
# runtime, API server and pods. Without an active defect it changes nothing. It does not start anything by itself.
# shellcheck shell=bash

SABOTEUR_INSIDE=/var/lib/saboteur
SABOTEUR_CRI=/run/saboteur/cri.sock
SABOTEUR_API_PORT=6444           # on the node's loopback

has_saboteur() { [[ -n $SABOTEUR ]]; }

# Where NODE's kubelet finds the container runtime.
runtime_endpoint() { if has_saboteur; then echo "unix://$SABOTEUR_CRI"; else echo "unix:///run/containerd/containerd.sock"; fi; }

# Where NODE's kubelet finds the API server.
api_endpoint() { if has_saboteur; then echo "https://127.0.0.1:$SABOTEUR_API_PORT"; else echo "https://$CONTROL_IP:$API_PORT"; fi; }

# Puts the program and its certificates on NODE's disk: it speaks as the API server to the kubelet, and as the kubelet
# to the API server.
prepare_saboteur() {
    local node=$1 lib
    has_saboteur || return 0
    lib=$(disk_of "$node")/lib/saboteur
    mkdir -p "$lib"
    # A copy: the original may lie where the node can't see it, and may be rebuilt while it runs.
    cp "$SABOTEUR" "$lib/saboteur" || fail "can't copy $SABOTEUR to $node"
    chmod 755 "$lib/saboteur"
    issue cluster-ca "saboteur-$node" /CN=kube-apiserver serverAuth DNS:localhost,IP:127.0.0.1
    cp "$(pki)/cluster-ca.crt" "$lib/authority.crt"
    cp "$(pki)/saboteur-$node.crt" "$lib/server.crt"
    cp "$(pki)/saboteur-$node.key" "$lib/server.key"
    cp "$(pki)/kubelet-$node.crt" "$lib/client.crt"
    cp "$(pki)/kubelet-$node.key" "$lib/client.key"
}

# Kubelet settings that make its messages readable: JSON instead of protobuf for the API server.
saboteur_kubelet_settings() {
    ! has_saboteur || echo "contentType: application/json"
}

# The command that keeps NODE's kubelet running, one word per line: a defect may kill it.
kubelet_keeper() {
    ! has_saboteur || printf '%s\n' "$SABOTEUR_INSIDE/saboteur" keep --
}

# Starts it on NODE and waits until it answers; a kubelet that started earlier would find no runtime.
start_saboteur() {
    local node=$1
    has_saboteur || return 0
    ! component_is_running "$node" saboteur || return 0
    start_component "$node" saboteur "$SABOTEUR_INSIDE/saboteur" serve \
        --api-listen="127.0.0.1:$SABOTEUR_API_PORT" --api-forward="$CONTROL_IP:$API_PORT" \
        --api-authority="$SABOTEUR_INSIDE/authority.crt" \
        --api-certificate="$SABOTEUR_INSIDE/server.crt" --api-key="$SABOTEUR_INSIDE/server.key" \
        --api-client-certificate="$SABOTEUR_INSIDE/client.crt" --api-client-key="$SABOTEUR_INSIDE/client.key" \
        --pods-range="$(pod_range "$node")"
    wait_until 30 saboteur_answers "$node" ||
        fail "the saboteur of $node does not answer: $(telling_line "$(log_of "$node" saboteur)"); log: $(log_of "$node" saboteur)"
}

saboteur_answers() {
    require_running "$1" saboteur
    inside "$1" "$SABOTEUR_INSIDE/saboteur" list >/dev/null 2>&1
}

# Talks to NODE's saboteur: set, clear, list.
node_saboteur() {
    local node=$1
    shift
    has_saboteur || fail "this cluster was started without --saboteur"
    require_on "$node"
    inside "$node" "$SABOTEUR_INSIDE/saboteur" "$@"
}
