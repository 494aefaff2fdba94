# The programs of ci/kind: kind itself and etcd from their Go modules (programs/go.mod), Kubernetes with kubeadm from those of
# ci/cluster, the sandbox's `pause` from the C file in the module of Kubernetes, and a kubelet with a defect. Each is built
# once, into the cache.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

# The kubelet of a fictitious vendor: one line of Kubernetes is changed while it is built, so that probes act one failure too
# early if failureThreshold is greater than 1.
DEFECTIVE_FILE=pkg/kubelet/prober/worker.go
DEFECT='s/w\.resultRun < int(w\.spec\.FailureThreshold)/&-1/'
DEFECTIVE_VERSION=+vendor.1

# Sets TOOLS_DIR (of Kubernetes) and PROGRAMS_DIR.
ensure_programs() {
    local folder=$KIND_PARTS/programs sums
    sums=$(sha256sum <"$folder/go.sum" | cut -c1-12)
    PROGRAMS_DIR=$CACHE_DIR/kind/programs-$sums-$(flags_identity)
    ensure_kubernetes "$DEFAULT_VERSION" "${BASE_COMPONENTS[@]}" kubelet kubeadm
    mkdir -p "$PROGRAMS_DIR"
    ensure_go "$(awk '$1 == "go" { print $2 }' "$folder/go.mod")"
    build_once kind "$folder" '' sigs.k8s.io/kind
    build_once etcd "$folder" '' go.etcd.io/etcd/server/v3
    ensure_pause
    ensure_defective_kubelet
}

# build_once NAME FOLDER STAMPS PACKAGE [COMMAND...]: builds PACKAGE into the cache; COMMAND is put in front of the build.
build_once() {
    local name=$1 folder=$2 stamps=$3 package=$4 log=$PROGRAMS_DIR/$1.log
    shift 4
    [[ ! -x $PROGRAMS_DIR/$name ]] || return 0
    say "building $name (once)"
    with_progress "building $name" "$log" "$@" go_build "$folder" "$PROGRAMS_DIR/$name.new" "$stamps" "$package" ||
        fail "the build of $name failed: $(build_error "$log"); log: $log"
    mv "$PROGRAMS_DIR/$name.new" "$PROGRAMS_DIR/$name"
    rm -f "$log"
}

# The folder of the module of Kubernetes.
kubernetes_source() {
    local source
    source=$(cd "$PARTS/kubernetes/$DEFAULT_VERSION" && GOTOOLCHAIN=$GO_TOOLCHAIN GOWORK=off GOFLAGS=-mod=readonly "$GO" list -m -f '{{.Dir}}' k8s.io/kubernetes)
    [[ -d $source ]] || fail "the sources of Kubernetes are not in the module cache"
    echo "$source"
}

ensure_pause() {
    local source
    [[ ! -x $PROGRAMS_DIR/pause ]] || return 0
    source=$(kubernetes_source)/build/pause/linux/pause.c
    gcc -Os -static -DVERSION=1 -o "$PROGRAMS_DIR/pause.new" "$source" || fail "gcc cannot build $source"
    strip "$PROGRAMS_DIR/pause.new"
    mv "$PROGRAMS_DIR/pause.new" "$PROGRAMS_DIR/pause"
}

ensure_defective_kubelet() {
    local name source work stamps
    name=kubelet-$KUBERNETES_VERSION$DEFECTIVE_VERSION-$(sha256sum <<<"$DEFECTIVE_FILE $DEFECT" | cut -c1-8)
    DEFECTIVE_KUBELET=$PROGRAMS_DIR/$name
    [[ ! -x $DEFECTIVE_KUBELET ]] || return 0
    source=$(kubernetes_source)/$DEFECTIVE_FILE
    work=$PROGRAMS_DIR/defect
    mkdir -p "$work"
    sed "$DEFECT" "$source" >"$work/changed.go"
    ! cmp -s "$source" "$work/changed.go" || fail "the line that makes the kubelet defective is not in $source"
    stamps=$(KUBERNETES_VERSION=$KUBERNETES_VERSION$DEFECTIVE_VERSION kubernetes_stamps "$PARTS/kubernetes/$DEFAULT_VERSION" "$DEFAULT_VERSION")
    build_once "$name" "$PARTS/kubernetes/$DEFAULT_VERSION" "$stamps" k8s.io/kubernetes/cmd/kubelet \
        with_file "$work/changed.go" "$source"
    rm -rf "$work"
}

# with_file CHANGED ORIGINAL FUNCTION...: only the function sees CHANGED in place of ORIGINAL. Go refuses to overlay a file of the
# module cache, and a copy of the module would have to be compiled completely.
with_file() {
    local changed=$1 original=$2
    shift 2
    export -f go_build
    export GO GO_TOOLCHAIN
    # shellcheck disable=SC2016  # for the shell inside
    unshare --mount --propagation private bash -c 'mount --bind "$1" "$2" && shift 2 && "$@"' _ "$changed" "$original" "$@"
}
