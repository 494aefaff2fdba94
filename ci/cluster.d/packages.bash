# What the machine needs: the distribution's packages, and a Go toolchain for building. Installs missing packages
# and prints them; on a system without apt it only names the missing programs. Never starts a service of an installed
# package.
# shellcheck shell=bash
# shellcheck disable=SC2034  # GO and GO_TOOLCHAIN are the answer of ensure_go

# Go for a machine that has none, or one too old to fetch a newer one by itself.
GO_TO_INSTALL=1.26.8

# program:package pairs for Debian and its derivatives.
NEEDED_PROGRAMS=(
    etcd:etcd-server containerd:containerd "$CONTAINER_RUNTIME:$CONTAINER_RUNTIME" iptables:iptables conntrack:conntrack socat:socat
    ip:iproute2 ss:iproute2 nsenter:util-linux openssl:openssl mount:mount busybox:busybox-static
)
CNI_FOLDERS=(/usr/lib/cni /opt/cni/bin /usr/libexec/cni /usr/lib/cni/bin)

ensure_packages() {
    local pair missing=() packages=()
    for pair in "${NEEDED_PROGRAMS[@]}"; do
        command -v "${pair%%:*}" >/dev/null || { missing+=("${pair%%:*}"); packages+=("${pair#*:}"); }
    done
    [[ -n $(cni_folder) ]] || { missing+=("the CNI plugins"); packages+=(containernetworking-plugins); }
    ((${#missing[@]} == 0)) || install_packages "${missing[*]}" "${packages[@]}"
    [[ -n $(cni_folder) ]] || fail "no CNI plugins in any of: ${CNI_FOLDERS[*]}"
}

# The folder in which the distribution keeps the CNI plugins; empty if there is none.
cni_folder() {
    local folder
    for folder in "${CNI_FOLDERS[@]}"; do
        [[ ! -x $folder/bridge ]] || { echo "$folder"; return; }
    done
}

install_packages() {
    local wanted=$1 log
    shift
    command -v apt-get >/dev/null || fail "not found: $wanted; install them with your distribution's package manager (Debian calls them: $*)"
    say "installing the packages $* (missing: $wanted)"
    log=$(mktemp)
    if ! (apt-get update && without_services apt-get install -y --no-install-recommends "$@") >"$log" 2>&1 </dev/null; then
        fail "apt-get could not install $*: $(grep -aE '^E:' "$log" | tail -n 1); log: $log"
    fi
    rm -f "$log"
}

# A host with systemd would start etcd and containerd on installation; that is not wanted.
without_services() {
    local policy=/usr/sbin/policy-rc.d status=0
    [[ ! -e $policy ]] || { "$@"; return; }
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    DEBIAN_FRONTEND=noninteractive "$@" || status=$?
    rm -f "$policy"
    return "$status"
}

# ---- Go ------------------------------------------------------------------------------------------------------

# Sets GO and GO_TOOLCHAIN so that `GOTOOLCHAIN=$GO_TOOLCHAIN $GO` is at least version WANTED.
ensure_go() {
    local wanted=$1
    find_go "$wanted" && return 0
    if ! command -v go >/dev/null; then
        say "no Go here, $wanted or newer is needed: installing the distribution's, to fetch that with it"
        install_packages go golang-go
        find_go "$wanted" && return 0
    fi
    fetch_go_as_module
}

find_go() {
    local wanted=$1 candidate version
    for candidate in "$(command -v go)" /usr/local/go/bin/go; do
        [[ -x $candidate ]] || continue
        version=$(GOTOOLCHAIN=local "$candidate" env GOVERSION 2>/dev/null) || continue
        GO=$candidate
        GO_TOOLCHAIN=local
        is_at_least "${version#go}" "$wanted" && return 0
        # Since 1.21, Go downloads another version of itself from the module proxy if GOTOOLCHAIN names it.
        GO_TOOLCHAIN=go$GO_TO_INSTALL
        is_at_least "${version#go}" 1.21 && return 0
    done
    return 1
}

is_at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# An older Go can still fetch modules, and every Go release is a module. Only the programs are not marked as executable.
fetch_go_as_module() {
    local module folder source old_go
    old_go=$(command -v go) || fail "no Go was found after installing it"
    folder=$CACHE_DIR/go$GO_TO_INSTALL
    if [[ ! -x $folder/bin/go ]]; then
        module=golang.org/toolchain@v0.0.1-go$GO_TO_INSTALL.linux-$("$old_go" env GOARCH)
        say "fetching Go $GO_TO_INSTALL through the module proxy"
        source=$(cd / && "$old_go" mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)",*/\1/p')
        [[ -d $source ]] || fail "Go $GO_TO_INSTALL can't be fetched through the module proxy"
        rm -rf "$folder.new"
        mkdir -p "$CACHE_DIR"
        cp -r "$source" "$folder.new"
        chmod -R u+w "$folder.new"
        chmod +x "$folder.new"/bin/* "$folder.new"/pkg/tool/*/*
        mv "$folder.new" "$folder"
    fi
    GO=$folder/bin/go
    GO_TOOLCHAIN=local
}
