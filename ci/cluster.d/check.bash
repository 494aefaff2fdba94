# `check`: tests the main functions of a cluster on every node, with plain busybox pods. Leaves nothing in the cluster.
# shellcheck shell=bash

CHECK_NAMESPACE=cluster-check

check() {
    CHECKS_PASSED=0 CHECKS_FAILED=0
    require_root
    load_cluster
    trap remove_check EXIT
    deploy_check
    try "every node is Ready" nodes_are_ready "${NODES[@]}"
    try "a pod runs on every node" kubectl_check wait --for=condition=Ready pod --all --timeout=60s
    for node in "${NODES[@]}"; do
        try "$node: the log of a pod can be read" log_says_hello "$node"
        try "$node: a command runs in a pod" exec_says_its_name "$node"
        try "$node: a port of a pod is forwarded" port_forward_answers "$node"
        try "$node: a ClusterIP Service reaches the pods of all nodes" service_reaches_all "$node"
    done
    try "a service account's token is accepted" token_is_accepted
    try "a service account may not read secrets" account_is_refused secrets
    try "a kubelet may not read the secrets of others" node_is_refused
    try "the API server asks for a certificate" anonymous_is_refused
    echo "$CHECKS_PASSED passed, $CHECKS_FAILED failed"
    ((CHECKS_FAILED == 0))
}

try() {
    local what=$1 output
    shift
    if output=$("$@" 2>&1); then
        CHECKS_PASSED=$((CHECKS_PASSED + 1))
        echo "ok    $what"
    else
        CHECKS_FAILED=$((CHECKS_FAILED + 1))
        echo "FAIL  $what: ${output:-no answer}"
    fi
}

kubectl_check() { kubectl --namespace="$CHECK_NAMESPACE" "$@"; }

deploy_check() {
    remove_check
    {
        echo '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "'$CHECK_NAMESPACE'"}}'
        for node in "${NODES[@]}"; do
            echo "---"
            check_pod "$node"
        done
        echo "---"
        echo '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "'$CHECK_NAMESPACE'"},
               "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}}'
    } | apply_with_patience || fail "the API server refused the pods of the check"
}

# The service account of a namespace is created a moment after the namespace; until then, pods are rejected.
apply_with_patience() {
    local manifest
    manifest=$(cat)
    wait_until 30 apply_quietly "$manifest"
}

apply_quietly() { kubectl apply -f - <<<"$1" >/dev/null 2>&1; }

# A web server that answers with the name of its pod.
check_pod() {
    cat <<END
apiVersion: v1
kind: Pod
metadata: {name: on-$1, namespace: $CHECK_NAMESPACE, labels: {app: web}}
spec:
  nodeName: $1
  terminationGracePeriodSeconds: 0
  containers:
  - name: web
    image: $CHECK_IMAGE
    imagePullPolicy: Never
    command: [sh, -c, 'echo hello from on-$1; echo on-$1 >/www/index.html; exec httpd -f -p 8080 -h /www']
    readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}
END
}

log_says_hello() { [[ $(kubectl_check logs "on-$1") == "hello from on-$1" ]]; }
exec_says_its_name() { [[ $(kubectl_check exec "on-$1" -- hostname) == "on-$1" ]]; }

port_forward_answers() {
    local node=$1 output port forwarder answer
    output=$(mktemp)
    # Not through a function: the pid must be kubectl's own, to end it.
    "$TOOLS_DIR/kubectl" --kubeconfig="$KUBECONFIG_FILE" --namespace="$CHECK_NAMESPACE" \
        port-forward --address=127.0.0.1 "pod/on-$node" :8080 >"$output" 2>&1 &
    forwarder=$!
    wait_until 10 grep -q '^Forwarding from 127' "$output" || true
    port=$(sed -nE 's/^Forwarding from 127.0.0.1:([0-9]+).*/\1/p' "$output")
    # Debian's busybox crashes in a download with a time limit, so bash sends the request.
    # shellcheck disable=SC2016  # for the inner shell
    answer=$(timeout 5 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "GET / HTTP/1.0\r\n\r\n" >&3 && cat <&3' get "$port" | tail -n 1) || true
    kill "$forwarder" 2>/dev/null || true
    rm -f "$output"
    [[ $answer == "on-$node" ]] || { echo "got '$answer'"; return 1; }
}

# Calls the Service from a pod of NODE until each node's pod has answered: these calls cross kube-proxy and the bridge.
service_reaches_all() {
    local node=$1 address seen
    address=$(kubectl_check get service web --output=jsonpath='{.spec.clusterIP}')
    seen=$(timeout 30 "$TOOLS_DIR/kubectl" --kubeconfig="$KUBECONFIG_FILE" --namespace="$CHECK_NAMESPACE" exec "on-$node" -- sh -c \
        "i=0; while [ \$i -lt 60 ]; do wget -q -O - http://$address/ || exit 1; i=\$((i+1)); done" | sort -u | tr '\n' ' ')
    [[ $(wc -w <<<"$seen") == "${#NODES[@]}" ]] || { echo "answers came from: $seen"; return 1; }
}

token_is_accepted() {
    local token
    token=$(kubectl_check create token default)
    [[ $(with_token "$token" auth whoami --output=jsonpath='{.status.userInfo.username}') == \
        "system:serviceaccount:$CHECK_NAMESPACE:default" ]]
}

# Not the administrator's kubeconfig: its certificate would win over the token.
with_token() {
    local token=$1
    shift
    "$TOOLS_DIR/kubectl" --kubeconfig=/dev/null --server="https://127.0.0.1:$HOST_PORT" \
        --certificate-authority="$(pki)/cluster-ca.crt" --token="$token" "$@"
}

account_is_refused() {
    local token
    token=$(kubectl_check create token default)
    refused with_token "$token" --namespace="$CHECK_NAMESPACE" get "$1"
}

node_is_refused() {
    refused inside "${NODES[0]}" kubectl --kubeconfig=/var/lib/kubelet/kubeconfig --namespace=kube-system get secrets
}

anonymous_is_refused() { refused with_token not-a-token get namespaces; }

# True if COMMAND fails because it is not allowed, not for any other reason.
refused() {
    local output
    ! output=$("$@" 2>&1) || { echo "it was allowed"; return 1; }
    grep -qE 'Forbidden|Unauthorized|must be logged in' <<<"$output" || { echo "$output"; return 1; }
}

remove_check() { kubectl delete namespace "$CHECK_NAMESPACE" --ignore-not-found --timeout=60s >/dev/null 2>&1 || true; }
