# Keys, certificates and kubeconfigs: created at every `up`, never kept. All components use TLS with each other.
# shellcheck shell=bash

pki() { echo "$STATE_DIR/pki"; }

# Creates NAME.key and a self-signed NAME.crt.
make_authority() {
    local name=$1
    openssl_quietly req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=$name" \
        -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature -keyout "$(pki)/$name.key" -out "$(pki)/$name.crt"
}

# Creates NAME.key and NAME.crt, signed by AUTHORITY. USES: serverAuth, clientAuth or both with a comma; ALT: subject
# alternative names.
issue() {
    local authority=$1 name=$2 subject=$3 uses=$4 alt=${5:-} folder
    folder=$(pki)
    {
        echo "keyUsage = critical,digitalSignature"
        echo "extendedKeyUsage = $uses"
        [[ -z $alt ]] || echo "subjectAltName = $alt"
    } >"$folder/$name.ext"
    openssl_quietly req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$subject" \
        -keyout "$folder/$name.key" -out "$folder/$name.csr"
    openssl_quietly x509 -req -in "$folder/$name.csr" -CA "$folder/$authority.crt" -CAkey "$folder/$authority.key" \
        -set_serial "0x$(openssl rand -hex 16)" -days 3650 -extfile "$folder/$name.ext" -out "$folder/$name.crt"
    rm -f "$folder/$name.csr" "$folder/$name.ext"
}

openssl_quietly() {
    local output
    output=$(openssl "$@" 2>&1) || fail "openssl can't make a certificate: $(tail -n 1 <<<"$output")"
}

make_certificates() {
    local node service_names
    (umask 077 && mkdir -p "$(pki)")
    make_authority cluster-ca
    make_authority etcd-ca
    make_authority front-proxy-ca
    openssl_quietly genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$(pki)/service-account.key"
    openssl_quietly pkey -in "$(pki)/service-account.key" -pubout -out "$(pki)/service-account.pub"

    issue etcd-ca etcd /CN=etcd serverAuth,clientAuth IP:127.0.0.1
    issue etcd-ca etcd-client /CN=kube-apiserver clientAuth
    service_names=DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local
    issue cluster-ca apiserver /CN=kube-apiserver serverAuth \
        "$service_names,DNS:localhost,IP:127.0.0.1,IP:$CONTROL_IP,IP:$API_SERVICE_IP"
    issue cluster-ca apiserver-kubelet-client /CN=kube-apiserver-kubelet-client clientAuth
    issue front-proxy-ca front-proxy-client /CN=front-proxy-client clientAuth
    issue cluster-ca admin /O=system:masters/CN=probity-admin clientAuth
    issue cluster-ca kube-controller-manager /CN=system:kube-controller-manager clientAuth
    issue cluster-ca kube-scheduler /CN=system:kube-scheduler clientAuth
    issue cluster-ca kube-proxy /CN=system:kube-proxy clientAuth
    for node in "${NODES[@]}"; do
        issue cluster-ca "kubelet-$node" "/O=system:nodes/CN=system:node:$node" clientAuth
        issue cluster-ca "kubelet-$node-serving" "/O=system:nodes/CN=system:node:$node" serverAuth "DNS:$node,IP:$(node_ip "$node")"
    done
}

# Writes a self-contained kubeconfig, which may be copied anywhere.
write_kubeconfig() {
    local file=$1 certificate=$2 server=$3
    (umask 077 && cat >"$file") <<END
apiVersion: v1
kind: Config
current-context: $CONTEXT
contexts:
- name: $CONTEXT
  context: {cluster: $CONTEXT, user: $CONTEXT}
clusters:
- name: $CONTEXT
  cluster:
    server: $server
    certificate-authority-data: $(base64 -w0 "$(pki)/cluster-ca.crt")
users:
- name: $CONTEXT
  user:
    client-certificate-data: $(base64 -w0 "$(pki)/$certificate.crt")
    client-key-data: $(base64 -w0 "$(pki)/$certificate.key")
END
}
