# The node image of ci/kind, and the images in it. Published node images are not available everywhere, so this one is built from
# kind's own files in the way of kind's Dockerfile. It contains Debian with systemd and containerd, Kubernetes, and the images of
# the control plane in containerd's store. Nothing is pulled. The result is an archive for `docker load`, which is cached.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

DEBIAN=bookworm # its systemd still accepts cgroup v1
NODE_PACKAGES=(
    systemd dbus conntrack iptables nftables iproute2 ethtool util-linux mount kmod libseccomp2 pigz e2fsprogs bash
    ca-certificates curl jq procps containerd runc containernetworking-plugins
)
# The files that kube-proxy needs, apart from its own program.
PROXY_PACKAGES=(iptables libxtables12 libip4tc2 libip6tc2 libmnl0 libnfnetlink0 libnetfilter-conntrack3 libnftnl11 libc6 libgcc-s1)
REGISTRY=probity.local
PAUSE_IMAGE=$REGISTRY/pause:1

# Sets NODE_IMAGE and NODE_ARCHIVE.
ensure_node_image() {
    local identity work
    identity=$({ cat "$KIND_PARTS/node-image.bash" "$KIND_PARTS/node/pods.conflist"; basename "$TOOLS_DIR" "$PROGRAMS_DIR"; } | sha256sum | cut -c1-12)
    NODE_IMAGE=$REGISTRY/kind-node:$KUBERNETES_VERSION
    NODE_ARCHIVE=$CACHE_DIR/kind/node-$KUBERNETES_VERSION-$identity.tar
    [[ ! -f $NODE_ARCHIVE ]] || return 0
    require_free_space "$CACHE_DIR" 4096 "building the node image"
    work=$WORK/node
    mkdir -p "$work/images"
    ensure_debian "$work/root"
    say "building the node image (once)"
    add_kind_files "$work/root"
    add_kubernetes "$work/root"
    build_images "$work/root" "$work/images"
    import_into_store "$work/root" "$work/images"
    write_archive "$work/root" "$NODE_IMAGE" "$NODE_ARCHIVE.new" \
        '"Entrypoint": ["/usr/local/bin/entrypoint", "/sbin/init"], "Env": ["container=docker", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], "StopSignal": "SIGRTMIN+3"'
    mv "$NODE_ARCHIVE.new" "$NODE_ARCHIVE"
    rm -rf "$work"
    say "built the node image $NODE_IMAGE ($(du -m "$NODE_ARCHIVE" | cut -f1) MiB)"
}

# A small Debian in FOLDER, from a copy in the cache.
ensure_debian() {
    local folder=$1 log=$WORK/debootstrap.log copy mirror include
    copy=$CACHE_DIR/kind/debian-$DEBIAN-$(sha256sum <<<"${NODE_PACKAGES[*]}" | cut -c1-8).tar
    if [[ ! -f $copy ]]; then
        # The Debian mirror that this machine uses.
        mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $DEBIAN" 2>/dev/null | grep -v security | head -n 1)
        include=$(IFS=,; echo "${NODE_PACKAGES[*]}")
        say "installing a Debian for the nodes (once)"
        with_progress "installing Debian" "$log" debootstrap --variant=minbase "--include=$include" "$DEBIAN" "$folder.new" ${mirror:+"$mirror"} ||
            fail "debootstrap failed: $(tail -n 1 "$log"); log: $log"
        rm -rf "$folder.new"/var/cache/apt/* "$folder.new"/var/lib/apt/lists/* "$folder.new"/usr/share/{doc,locale,man}/* "$folder.new"/var/log/*
        tar -C "$folder.new" --numeric-owner -cf "$copy.new" .
        mv "$copy.new" "$copy"
        rm -rf "$folder.new"
    fi
    mkdir -p "$folder"
    tar -C "$folder" --numeric-owner -xpf "$copy"
}

# The steps of the Dockerfile of kind's base image.
add_kind_files() {
    local root=$1 files program
    files=$(cd "$KIND_PARTS/programs" && GOTOOLCHAIN=$GO_TOOLCHAIN GOWORK=off GOFLAGS=-mod=readonly "$GO" list -m -f '{{.Dir}}' sigs.k8s.io/kind)/images/base/files
    [[ -f $files/usr/local/bin/entrypoint ]] || fail "kind's module does not contain the files of its base image"
    cp -r --no-preserve=mode,ownership "$files"/{kind,usr,etc} "$root/"
    chmod 0755 "$root"/usr/local/bin/* "$root/kind" "$root"/kind/bin/*
    rm -f "$root"/lib/systemd/system/{multi-user,local-fs,basic}.target.wants/* "$root"/etc/systemd/system/*.wants/* \
        "$root"/lib/systemd/system/sockets.target.wants/*{udev,initctl}* "$root"/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service
    echo ReadKMsg=no >>"$root/etc/systemd/journald.conf"
    ln -sf /usr/lib/systemd/systemd "$root/sbin/init"
    # kind's units expect the runtime where its own build puts it.
    for program in containerd ctr containerd-shim-runc-v2; do ln -sf "/usr/bin/$program" "$root/usr/local/bin/$program"; done
    ln -sf /usr/sbin/runc "$root/usr/local/sbin/runc"
    # `kind export logs` lists the images with crictl, which Debian does not have.
    printf '#!/bin/sh\n[ "$1" = images ] && exec ctr --namespace k8s.io images list\nexit 1\n' >"$root/usr/local/bin/crictl"
    chmod 0755 "$root/usr/local/bin/crictl"
    chroot "$root" systemctl --quiet enable kubelet.service containerd.service undo-mount-hacks.service
    chroot "$root" systemctl --quiet mask systemd-binfmt.service
    mkdir -p "$root/etc/kubernetes/manifests" "$root/opt/cni" "$root/etc/cni/net.d"
    sed -i "s|^\( *sandbox_image = \).*|\1\"$PAUSE_IMAGE\"|" "$root/etc/containerd/config.toml"
    chroot "$root" ctr oci spec |
        jq '.hooks.createContainer[.hooks.createContainer | length] |= . + { path: "/kind/bin/mount-product-files.sh" } | del(.process.rlimits)' \
            >"$root/etc/containerd/cri-base.json"
    ln -sfn /usr/lib/cni "$root/opt/cni/bin"
    # In place of kindnetd.
    cp "$KIND_PARTS/node/pods.conflist" "$root/etc/cni/net.d/10-pods.conflist"
}

add_kubernetes() {
    local root=$1
    install -m 0755 "$TOOLS_DIR"/{kubeadm,kubelet,kubectl} "$root/usr/bin/"
    printf %s "$KUBERNETES_VERSION" >"$root/kind/version"
}

# The images of the control plane. Each contains only a program; kube-proxy also contains iptables from the Debian of the node.
build_images() {
    local root=$1 images=$2 component etcd_tag
    etcd_tag=$("$TOOLS_DIR/kubeadm" config images list --kubernetes-version "$KUBERNETES_VERSION" 2>/dev/null | sed -n 's|.*/etcd:||p')
    [[ -n $etcd_tag ]] || fail "kubeadm does not say which etcd it wants"
    for component in "${CONTROL_PLANE_COMPONENTS[@]}"; do
        mkdir -p "$images/$component/usr/local/bin" "$images/$component/tmp"
        cp "$TOOLS_DIR/$component" "$images/$component/usr/local/bin/"
        write_archive "$images/$component" "$REGISTRY/$component:$KUBERNETES_VERSION" "$images/$component.tar" '"Env": ["PATH=/usr/local/bin"]'
    done
    mkdir -p "$images/etcd/usr/local/bin" "$images/pause"
    cp "$PROGRAMS_DIR/etcd" "$images/etcd/usr/local/bin/"
    write_archive "$images/etcd" "$REGISTRY/etcd:$etcd_tag" "$images/etcd.tar" '"Env": ["PATH=/usr/local/bin"]'
    cp "$PROGRAMS_DIR/pause" "$images/pause/"
    write_archive "$images/pause" "$PAUSE_IMAGE" "$images/pause.tar" '"Entrypoint": ["/pause"], "User": "65535:65535"'
    proxy_root "$root" "$images/kube-proxy"
    write_archive "$images/kube-proxy" "$REGISTRY/kube-proxy:$KUBERNETES_VERSION" "$images/kube-proxy.tar" '"Env": ["PATH=/usr/local/bin:/usr/sbin:/usr/bin"]'
}

proxy_root() {
    local root=$1 folder=$2
    mkdir -p "$folder/usr/local/bin" "$folder/tmp" "$folder/run" "$folder/var"
    # Packages still name their files in /lib, which is a link.
    (cd "$root" && for entry in bin sbin lib lib64; do [[ ! -L $entry ]] || echo "$entry"; done
        chroot . dpkg -L "${PROXY_PACKAGES[@]}" | sed -n 's|^/\(.\+\)|\1|p' | sed -E 's,^(bin|sbin|lib|lib64)/,usr/\1/,' | sort -u |
            while read -r entry; do [[ ! -f $entry && ! -L $entry ]] || echo "$entry"; done) >"$WORK/proxy-files"
    tar -C "$root" --no-recursion -cf - -T "$WORK/proxy-files" | tar -C "$folder" -xf -
    # The alternative that fits most kernels; kind's entrypoint makes the same choice for an empty rule set on the node.
    local program
    for program in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
        ln -sf xtables-legacy-multi "$folder/usr/sbin/$program"
    done
    cp "$TOOLS_DIR/kube-proxy" "$folder/usr/local/bin/"
    chroot "$folder" /usr/sbin/iptables --version >/dev/null || fail "iptables does not run in the image of kube-proxy"
}

# Loads the images into the store of the node's own containerd without unpacking them, as kind does.
import_into_store() {
    local root=$1 images=$2
    cp "$images"/*.tar "$root/tmp/"
    unshare --fork --kill-child --pid --mount --mount-proc="$root/proc" chroot "$root" /bin/bash -c '
        set -eu
        mount -t tmpfs tmpfs /run
        containerd >/dev/null 2>&1 &
        for _ in $(seq 100); do ctr version >/dev/null 2>&1 && break; sleep 0.1; done
        for archive in /tmp/*.tar; do
            ctr --namespace k8s.io images import --label io.cri-containerd.pinned=pinned --no-unpack --digests "$archive"
        done
        kill $!; wait $! || true' >"$WORK/import.log" 2>&1 ||
        fail "the images cannot be imported: $(tail -n 1 "$WORK/import.log")"
    rm -f "$root"/tmp/*.tar
}

# write_archive FOLDER NAME FILE CONFIG: an image of the folder, with these members of its configuration, in the format of
# `docker save`.
write_archive() {
    local folder=$1 name=$2 file=$3 config=$4 work sum
    work=$(mktemp -d "$WORK/archive.XXXXXX")
    tar -C "$folder" --numeric-owner --sort=name '--exclude=./proc/*' '--exclude=./sys/*' '--exclude=./dev/*' -cf "$work/layer.tar" .
    sum=$(sha256sum <"$work/layer.tar" | cut -d' ' -f1)
    printf '{"architecture": "%s", "os": "linux", "config": {%s}, "rootfs": {"type": "layers", "diff_ids": ["sha256:%s"]}}\n' \
        "$(image_architecture)" "$config" "$sum" >"$work/config.json"
    printf '[{"Config": "config.json", "RepoTags": ["%s"], "Layers": ["layer.tar"]}]\n' "$name" >"$work/manifest.json"
    tar -C "$work" -cf "$file" manifest.json config.json layer.tar
    rm -rf "$work"
}
