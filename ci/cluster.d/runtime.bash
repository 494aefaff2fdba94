# The container runtime of the nodes: the distribution's containerd, or a newer one that is built from its Go module together
# with runc (runtimes/NAME/go.mod defines both releases). It is built once for each version and set of flags, into the cache.
# shellcheck shell=bash

# The distribution's containerd, which is not built.
PACKAGED=packaged

# The names that `--runtime` takes.
known_runtimes() {
    local folder
    echo "$PACKAGED"
    for folder in "$PARTS"/runtimes/*/; do
        basename "$folder"
    done
}

# Not through a pipe, because the writer would fail if the reader ended early.
is_known_runtime() { grep -qxF -- "$1" <<<"$(known_runtimes)"; }
is_built_runtime() { [[ $RUNTIME != "$PACKAGED" ]]; }

runtime_module() { echo "$PARTS/runtimes/$RUNTIME"; }

# Sets RUNTIME_DIR, the folder with the programs of the runtime, and builds them if they are missing. It is empty if the
# distribution's programs are used.
ensure_runtime() {
    local folder version runc
    RUNTIME_DIR=''
    is_built_runtime || return 0
    folder=$(runtime_module)
    version=$(module_version "$folder" github.com/containerd/containerd/v2)
    runc=$(module_version "$folder" github.com/opencontainers/runc)
    RUNTIME_DIR=$CACHE_DIR/containerd/$version-runc-$runc-$(cat "$folder/go.sum" <(flags_identity) | sha256sum | cut -c1-12)
    build_containerd "$folder" "$version"
    build_runc "$folder"
}

# Without the snapshotters that no cluster here uses.
build_containerd() {
    local folder=$1 version=$2 GO_CGO=0 GO_TAGS=no_btrfs,no_zfs,no_devmapper
    build_missing containerd "$folder" "$RUNTIME_DIR" "-X github.com/containerd/containerd/v2/version.Version=$version" \
        github.com/containerd/containerd/v2/cmd containerd containerd-shim-runc-v2 ctr
}

# runc enters namespaces in C, and pods of the restricted Pod Security Standard need its seccomp filters.
build_runc() {
    # shellcheck disable=SC2034  # go_build reads them
    local folder=$1 GO_CGO=1 GO_TAGS=seccomp
    [[ ! -x $RUNTIME_DIR/runc ]] || return 0
    ensure_runc_libraries
    build_missing runc "$folder" "$RUNTIME_DIR" "" github.com/opencontainers runc
}

ensure_runc_libraries() {
    local missing=()
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    pkg-config --exists libseccomp 2>/dev/null || missing+=(libseccomp-dev)
    ((${#missing[@]} == 0)) || install_packages "what runc is built with" "${missing[@]}"
}

# The program that starts containers: the runc of the same build, unless the user names another program.
container_starter() {
    if is_built_runtime && [[ -z ${PROBITY_CLUSTER_RUNTIME:-} ]]; then
        echo "$RUNTIME_INSIDE/runc"
    else
        echo "$CONTAINER_RUNTIME"
    fi
}

# One line about the runtime, for people.
runtime_versions() {
    local starter
    starter=$(container_starter)
    (
        # Outside a machine, the programs are still in the cache.
        PATH=${RUNTIME_DIR:+$RUNTIME_DIR:}$PATH
        echo "$(containerd --version | awk '{ print "containerd " $3 }'), $("${starter##*/}" --version | head -n 1)"
    )
}

write_containerd_config() {
    if is_built_runtime; then
        write_containerd_2_config "$1"
    else
        write_containerd_1_config "$1"
    fi
}

write_containerd_1_config() {
    cat >"$1" <<END
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$SANDBOX_IMAGE"
  disable_apparmor = true  # a profile would outlive the cluster in the host's kernel
  restrict_oom_score_adj = $(lacks_sys_resource)
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "$SNAPSHOTTER"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        BinaryName = "$(container_starter)"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$(cni_folder)"
    conf_dir = "/var/lib/containerd/net.d"
END
}

write_containerd_2_config() {
    cat >"$1" <<END
version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "$SNAPSHOTTER"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "$SANDBOX_IMAGE"

[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true  # a profile would outlive the cluster in the host's kernel
  restrict_oom_score_adj = $(lacks_sys_resource)
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        SystemdCgroup = false
        BinaryName = "$(container_starter)"
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["$(cni_folder)"]
    conf_dir = "/var/lib/containerd/net.d"
END
}

# Without CAP_SYS_RESOURCE (bit 24), no process may lower its OOM score, and runc would fail when it tries.
lacks_sys_resource() {
    local effective
    effective=$(awk '/^CapEff/ { print $2 }' /proc/self/status)
    ((16#$effective >> 24 & 1)) && echo false || echo true
}
