# The control plane: etcd, API server, controller manager and scheduler on the control machine. Nothing here depends on nodes.
# shellcheck shell=bash

# COMPONENT's extra flags from --flag COMPONENT=--name=value, one per line, and the feature gates.
extra_flags() {
    local component=$1 entry
    [[ -z $FEATURE_GATES ]] || echo "--feature-gates=$FEATURE_GATES"
    for entry in "${COMPONENT_FLAGS[@]}"; do
        [[ ${entry%%=*} != "$component" ]] || echo "${entry#*=}"
    done
    # The last one counts.
    [[ $component != kube-controller-manager || ! -f $(controller_flags_file) ]] || cat "$(controller_flags_file)"
}

# The flags that configure-controllers sets, one per line.
controller_flags_file() { echo "$(disk_of "$CONTROL")/lib/kubernetes/verb-flags"; }

prepare_control_plane() {
    local folder
    prepare_saboteur_of_controllers
    folder=$(disk_of "$CONTROL")/lib/kubernetes
    mkdir -p "$folder" "$(disk_of "$CONTROL")/lib/etcd-data"
    cp -r "$(pki)" "$folder/pki"
    write_kubeconfig "$folder/kube-controller-manager.kubeconfig" kube-controller-manager "$(api_endpoint)"
    write_kubeconfig "$folder/kube-scheduler.kubeconfig" kube-scheduler "https://$CONTROL_IP:$API_PORT"
}

start_etcd() {
    local pki=/var/lib/kubernetes/pki
    start_component "$CONTROL" etcd "${RARE_COLLECTION[@]}" etcd --name="$CONTROL" --data-dir=/var/lib/etcd-data \
        --listen-client-urls=https://127.0.0.1:2379 --advertise-client-urls=https://127.0.0.1:2379 \
        --listen-peer-urls=https://127.0.0.1:2380 --initial-advertise-peer-urls=https://127.0.0.1:2380 \
        --initial-cluster="$CONTROL=https://127.0.0.1:2380" \
        --client-cert-auth --trusted-ca-file=$pki/etcd-ca.crt --cert-file=$pki/etcd.crt --key-file=$pki/etcd.key \
        --peer-client-cert-auth --peer-trusted-ca-file=$pki/etcd-ca.crt --peer-cert-file=$pki/etcd.crt --peer-key-file=$pki/etcd.key
}

start_api_server() {
    local pki=/var/lib/kubernetes/pki flags
    mapfile -t flags < <(extra_flags kube-apiserver)
    start_component "$CONTROL" kube-apiserver "${RARE_COLLECTION[@]}" kube-apiserver \
        --advertise-address="$CONTROL_IP" --secure-port="$API_PORT" --allow-privileged=true --profiling=false \
        --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
        --client-ca-file=$pki/cluster-ca.crt --tls-cert-file=$pki/apiserver.crt --tls-private-key-file=$pki/apiserver.key \
        --etcd-servers=https://127.0.0.1:2379 --etcd-cafile=$pki/etcd-ca.crt \
        --etcd-certfile=$pki/etcd-client.crt --etcd-keyfile=$pki/etcd-client.key \
        --kubelet-certificate-authority=$pki/cluster-ca.crt --kubelet-client-certificate=$pki/apiserver-kubelet-client.crt \
        --kubelet-client-key=$pki/apiserver-kubelet-client.key --kubelet-preferred-address-types=InternalIP \
        --requestheader-client-ca-file=$pki/front-proxy-ca.crt --requestheader-allowed-names=front-proxy-client \
        --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
        --requestheader-extra-headers-prefix=X-Remote-Extra- \
        --proxy-client-cert-file=$pki/front-proxy-client.crt --proxy-client-key-file=$pki/front-proxy-client.key \
        --service-account-issuer=https://kubernetes.default.svc.cluster.local --service-cluster-ip-range="$SERVICE_RANGE" \
        --service-account-key-file=$pki/service-account.pub --service-account-signing-key-file=$pki/service-account.key \
        "${flags[@]}"
}

start_controllers() {
    start_saboteur_of_controllers
    start_controller_manager
    start_scheduler
}

start_controller_manager() {
    local pki=/var/lib/kubernetes/pki folder=/var/lib/kubernetes flags
    mapfile -t flags < <(saboteur_controllers_flags; extra_flags kube-controller-manager)
    start_component "$CONTROL" kube-controller-manager "${RARE_COLLECTION[@]}" kube-controller-manager \
        --kubeconfig=$folder/kube-controller-manager.kubeconfig \
        --authentication-kubeconfig=$folder/kube-controller-manager.kubeconfig \
        --authorization-kubeconfig=$folder/kube-controller-manager.kubeconfig \
        --bind-address=127.0.0.1 --leader-elect=false --use-service-account-credentials=true \
        --cluster-signing-cert-file=$pki/cluster-ca.crt --cluster-signing-key-file=$pki/cluster-ca.key \
        --root-ca-file=$pki/cluster-ca.crt --service-account-private-key-file=$pki/service-account.key \
        --requestheader-client-ca-file=$pki/front-proxy-ca.crt "${flags[@]}"
}

start_scheduler() {
    local folder=/var/lib/kubernetes flags
    mapfile -t flags < <(extra_flags kube-scheduler)
    start_component "$CONTROL" kube-scheduler "${RARE_COLLECTION[@]}" kube-scheduler \
        --kubeconfig=$folder/kube-scheduler.kubeconfig --authentication-kubeconfig=$folder/kube-scheduler.kubeconfig \
        --authorization-kubeconfig=$folder/kube-scheduler.kubeconfig --bind-address=127.0.0.1 --leader-elect=false "${flags[@]}"
}

# Runs kubectl as the administrator, over the same connection that any user has.
kubectl() { "$TOOLS_DIR/kubectl" --kubeconfig="$KUBECONFIG_FILE" "$@"; }

api_server_is_ready() {
    require_running "$CONTROL" etcd
    require_running "$CONTROL" kube-apiserver
    relay_is_running || fail "the relay of 127.0.0.1:$HOST_PORT stopped: $(telling_line "$(log_of "$CONTROL" relay)"); log: $(log_of "$CONTROL" relay)"
    [[ $(kubectl --request-timeout=5s get --raw=/readyz 2>/dev/null) == ok ]]
}

wait_for_api_server() {
    wait_until 120 api_server_is_ready ||
        fail "the API server is not ready after 120 s: $(telling_line "$(log_of "$CONTROL" kube-apiserver)"); log: $(log_of "$CONTROL" kube-apiserver)"
}

# Lets the API server use the kubelets' own API (logs, exec, port-forward); everything else it needs is bound by default.
allow_kubelet_api() {
    kubectl apply -f - >/dev/null <<'END' || fail "the API server refused the permissions for the kubelets' API"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kube-apiserver-kubelet-api
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:kubelet-api-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: kube-apiserver-kubelet-client}]
END
}

default_account_exists() {
    require_running "$CONTROL" kube-controller-manager
    require_running "$CONTROL" kube-scheduler
    kubectl --namespace=default get serviceaccount default >/dev/null 2>&1
}
