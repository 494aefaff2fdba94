# The saboteur (tests/saboteur): with `up --saboteur PATH` one runs on every node, between the kubelet and its container
# runtime, API server and pods, and one on the control machine, between the controller manager and the API server. Without
# an active defect they change nothing. They do not start anything by themselves.
# shellcheck shell=bash

SABOTEUR_INSIDE=/var/lib/saboteur
SABOTEUR_CRI=/run/saboteur/cri.sock
SABOTEUR_API_PORT=6444           # on the loopback of its machine

has_saboteur() { [[ -n $SABOTEUR ]]; }

# Where NODE's kubelet finds the container runtime.
runtime_endpoint() { if has_saboteur; then echo "unix://$SABOTEUR_CRI"; else echo "unix:///run/containerd/containerd.sock"; fi; }

# Where the kubelets, and the controller manager, find the API server.
api_endpoint() { if has_saboteur; then echo "https://127.0.0.1:$SABOTEUR_API_PORT"; else echo "https://$CONTROL_IP:$API_PORT"; fi; }

# Puts the program and its certificates on MACHINE's disk: it speaks as the API server to its client, and as CLIENT to the
# API server.
prepare_saboteur() {
    local machine=$1 client=$2 lib
    has_saboteur || return 0
    lib=$(disk_of "$machine")/lib/saboteur
    mkdir -p "$lib"
    # A copy: the original may lie where the machine can't see it, and may be rebuilt while it runs.
    cp "$SABOTEUR" "$lib/saboteur" || fail "can't copy $SABOTEUR to $machine"
    chmod 755 "$lib/saboteur"
    issue cluster-ca "saboteur-$machine" /CN=kube-apiserver serverAuth DNS:localhost,IP:127.0.0.1
    cp "$(pki)/cluster-ca.crt" "$lib/authority.crt"
    cp "$(pki)/saboteur-$machine.crt" "$lib/server.crt"
    cp "$(pki)/saboteur-$machine.key" "$lib/server.key"
    cp "$(pki)/$client.crt" "$lib/client.crt"
    cp "$(pki)/$client.key" "$lib/client.key"
}

# The same for the controllers. Each controller has its own token, but the API server prefers the certificate, which all of them
# share. Therefore, the certificate must have the permissions of all controllers.
prepare_saboteur_of_controllers() { prepare_saboteur "$CONTROL" admin; }

# Kubelet settings that make its messages readable: JSON instead of protobuf for the API server.
saboteur_kubelet_settings() {
    ! has_saboteur || echo "contentType: application/json"
}

# The same for the controller manager, one flag per line.
saboteur_controllers_flags() {
    ! has_saboteur || echo --kube-api-content-type=application/json
}

# The command that keeps NODE's kubelet running, one word per line: a defect may kill it.
kubelet_keeper() {
    ! has_saboteur || printf '%s\n' "$SABOTEUR_INSIDE/saboteur" keep --
}

# Starts it on NODE and waits until it answers; a kubelet that starts before this does not find the runtime.
start_saboteur() {
    local node=$1
    has_saboteur || return 0
    ! component_is_running "$node" saboteur || return 0
    start_saboteur_as serve "$node" --pods-range="$(pod_range "$node")"
}

# Starts the saboteur of the controllers.
start_saboteur_of_controllers() {
    ! has_saboteur || start_saboteur_as serve-controllers "$CONTROL"
}

start_saboteur_as() {
    local command=$1 machine=$2
    shift 2
    start_component "$machine" saboteur "$SABOTEUR_INSIDE/saboteur" "$command" \
        --api-listen="127.0.0.1:$SABOTEUR_API_PORT" --api-forward="$CONTROL_IP:$API_PORT" \
        --api-authority="$SABOTEUR_INSIDE/authority.crt" \
        --api-certificate="$SABOTEUR_INSIDE/server.crt" --api-key="$SABOTEUR_INSIDE/server.key" \
        --api-client-certificate="$SABOTEUR_INSIDE/client.crt" --api-client-key="$SABOTEUR_INSIDE/client.key" "$@"
    wait_until 30 saboteur_answers "$machine" ||
        fail "the saboteur of $machine does not answer: $(telling_line "$(log_of "$machine" saboteur)"); log: $(log_of "$machine" saboteur)"
}

saboteur_answers() {
    require_running "$1" saboteur
    inside "$1" "$SABOTEUR_INSIDE/saboteur" list >/dev/null 2>&1
}

# Talks to the saboteur of NODE, or of the controllers: set, clear, list.
node_saboteur() {
    local node=$1
    shift
    has_saboteur || fail "this cluster was started without --saboteur"
    [[ $node == "$CONTROL" ]] || require_on "$node"
    inside "$node" "$SABOTEUR_INSIDE/saboteur" "$@"
}
