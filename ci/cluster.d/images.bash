# Images: all come from archives, and none is pulled. The sandbox image is the image of the target. `check` uses an image that
# is built here from a static busybox. Images are also loaded into nodes that start later.
# shellcheck shell=bash

# Makes sure that the sandbox image's archive exists; ci/image builds it.
ensure_sandbox_archive() {
    local archive=$1
    if [[ ! -f $archive && $archive == "$SANDBOX_ARCHIVE" ]]; then
        [[ -x $REPOSITORY/ci/image ]] || fail "there is no sandbox image at $archive, and no ci/image to make it; name one with --image"
        say "making the sandbox image with ci/image"
        "$REPOSITORY/ci/image" >&2 9>&- || fail "ci/image could not make the sandbox image $archive"
    fi
    [[ -f $archive ]] || fail "the image archive $archive does not exist"
}

# Builds an image with one static program under several names.
ensure_check_archive() {
    local work program
    [[ ! -f $CHECK_ARCHIVE ]] || return 0
    work=$(mktemp -d)
    mkdir -p "$work"/{bin,www,tmp} "$CACHE_DIR"
    cp "$(static_busybox)" "$work/bin/busybox"
    for program in sh httpd wget sleep echo cat hostname; do ln -s busybox "$work/bin/$program"; done
    write_image "$work" "$CHECK_ARCHIVE" '{"Cmd": ["/bin/sleep", "infinity"], "Env": ["PATH=/bin"]}' "$CHECK_IMAGE"
    rm -rf "$work"
}

# write_image FOLDER ARCHIVE CONFIG NAME...: an image with the files of FOLDER, in the format that `docker save` writes.
write_image() {
    local folder=$1 archive=$2 config=$3 work layer_sum names
    shift 3
    work=$(mktemp -d)
    tar -C "$folder" --owner=0 --group=0 --mtime=@0 --sort=name -cf "$work/layer.tar" .
    layer_sum=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
    cat >"$work/config.json" <<END
{"architecture": "$(image_architecture)", "os": "linux", "config": $config,
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer_sum"]}}
END
    names=$(printf '"%s", ' "$@")
    echo "[{\"Config\": \"config.json\", \"RepoTags\": [${names%, }], \"Layers\": [\"layer.tar\"]}]" >"$work/manifest.json"
    tar -C "$work" -cf "$archive.new" manifest.json config.json layer.tar
    mv "$archive.new" "$archive"
    rm -rf "$work"
}

static_busybox() {
    local program
    program=$(command -v busybox)
    if ldd "$program" >/dev/null 2>&1; then
        install_packages "a static busybox" busybox-static
        program=$(command -v busybox)
    fi
    echo "$program"
}

image_architecture() {
    case $(uname -m) in
        x86_64) echo amd64 ;;
        aarch64) echo arm64 ;;
        *) uname -m ;;
    esac
}

# Loads ARCHIVE into NODE's containerd.
import_image() {
    local node=$1 archive=$2 log
    log=$(log_of "$node" images)
    inside "$node" ctr --namespace k8s.io images import - <"$archive" >>"$log" 2>&1 ||
        fail "$node can't load the image archive $archive: $(telling_line "$log"); log: $log"
}

# All images that nodes must have, oldest first.
import_images() {
    local node=$1 archive
    for archive in "$STATE_DIR"/images/*.tar; do
        import_image "$node" "$archive"
    done
}

# Keeps a copy of ARCHIVE for nodes that start later. The same content is kept once.
keep_image() {
    local archive=$1 kept number target
    mkdir -p "$STATE_DIR/images"
    for kept in "$STATE_DIR"/images/*.tar; do
        [[ -f $kept ]] && cmp -s "$kept" "$archive" && return 0
    done
    number=$(find "$STATE_DIR/images" -name '*.tar' | wc -l)
    target=$STATE_DIR/images/$(printf '%03d' "$number")-$(basename "$archive" .tar).tar
    if ! cp "$archive" "$target.new" || ! mv "$target.new" "$target"; then
        fail "can't copy $archive to $STATE_DIR/images"
    fi
}
