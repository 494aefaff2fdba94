# Kubernetes, built from its own Go modules: kubernetes/MINOR/go.mod defines the patch release, and go.sum its hashes.
# It is built once for each version and set of flags, into the cache. Existing programs are not built again, and no kubelet
# is built if every node has its own.
# shellcheck shell=bash

supported_versions() {
    local folder
    for folder in "$PARTS"/kubernetes/*/; do
        basename "$folder"
    done
}

# Converts 1.36, 1.36.3 or v1.36.3 to the minor version; fails if the modules here are for another release.
resolve_version() {
    local wanted=${1#v} minor patch
    minor=$(cut -d. -f1,2 <<<"$wanted")
    [[ -f $PARTS/kubernetes/$minor/go.mod ]] ||
        fail "Kubernetes $1 is not among the versions here: $(supported_versions | tr '\n' ' ')(others: ci/cluster.d/kubernetes-module MINOR PATCH)"
    patch=$(module_version "$PARTS/kubernetes/$minor" k8s.io/kubernetes)
    [[ $wanted == "$minor" || v$wanted == "$patch" ]] || fail "Kubernetes $1 is not available here: for $minor it is $patch"
    echo "$minor"
}

# The version of MODULE that the go.mod in FOLDER requires.
module_version() {
    awk -v module="$2" '{ sub(/^require /, "") } $1 == module && $2 ~ /^v/ { print $2; exit }' "$1/go.mod"
}

# Sets TOOLS_DIR, and makes sure that the folder has all COMPONENTS for MINOR.
ensure_kubernetes() {
    local minor=$1 folder
    shift
    folder=$PARTS/kubernetes/$minor
    KUBERNETES_VERSION=$(module_version "$folder" k8s.io/kubernetes)
    TOOLS_DIR=$CACHE_DIR/kubernetes/$KUBERNETES_VERSION-$(source_identity "$folder" k8s.io/kubernetes | cut -c1-12)-$(flags_identity)
    build_missing Kubernetes "$folder" "$TOOLS_DIR" "$(kubernetes_stamps "$folder" "$minor")" k8s.io/kubernetes/cmd "$@"
}

tools_dir() { echo "$TOOLS_DIR"; }

build_flags() { echo "-trimpath -ldflags=-s,-w CGO_ENABLED=0"; }
flags_identity() { { build_flags; uname -m; } | sha256sum | cut -c1-6; }

# The commit, if the module proxy reports it; otherwise the module's checksum, which also identifies the source.
source_identity() {
    local folder=$1 module=$2 version
    version=$(module_version "$folder" "$module")
    awk -v module="$module" -v version="$version" '$1 == module && $2 == version { print $3 }' "$folder/go.sum" |
        sed 's/^h1://' | base64 -d 2>/dev/null | od -An -v -tx1 | tr -d ' \n'
}

# The flags that make the node report its version.
kubernetes_stamps() {
    local folder=$1 minor=$2 package
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        printf -- '-X %s=%s ' "$package.gitVersion" "$KUBERNETES_VERSION" "$package.gitMajor" "${minor%%.*}" \
            "$package.gitMinor" "${minor#*.}" "$package.gitTreeState" clean \
            "$package.gitCommit" "$(source_identity "$folder" k8s.io/kubernetes)"
    done
}

# build_missing WHAT FOLDER TARGET STAMPS PREFIX COMPONENT...: builds those components of the module in FOLDER that are missing in
# TARGET. All in one call: they share most of their packages.
build_missing() {
    local what=$1 folder=$2 target=$3 stamps=$4 prefix=$5 component missing=() packages=() log started=$SECONDS
    shift 5
    for component in "$@"; do
        [[ -x $target/$component ]] || { missing+=("$component"); packages+=("$prefix/$component"); }
    done
    ((${#missing[@]} > 0)) || return 0
    require_free_space "$CACHE_DIR" "$MIN_FREE_CACHE" "building $what"
    ensure_go "$(awk '$1 == "go" { print $2 }' "$folder/go.mod")"
    log=$CACHE_DIR/build-${target##*/}.log
    say "building ${missing[*]} (once; minutes when nothing is cached), log: $log"
    rm -rf "$target/new"
    mkdir -p "$target/new"
    with_progress "building $what" "$log" go_build "$folder" "$target/new/" "$stamps" "${packages[@]}" ||
        fail "the build of ${missing[*]} failed: $(build_error "$log"); log: $log"
    mv "$target"/new/* "$target/"
    rmdir "$target/new"
    rm -f "$log"
    say "built ${missing[*]} in $((SECONDS - started)) s"
}

# The last line that reports neither a download nor a package.
build_error() { grep -avE '^(go: downloading .*|[A-Za-z0-9._~/-]+)$' "$1" | tail -n 1 | cut -c1-300; }

# Further arguments of `go build`. Programs that need C libraries set different ones.
GO_CGO=0 GO_TAGS=

# go_build FOLDER OUTPUT STAMPS PACKAGE...: prints the name of each package on standard error when its build begins. The linker
# removes the debugging information, so the compiler does not create it: this saves a fifth of the time.
go_build() {
    local folder=$1 output=$2 stamps=$3
    shift 3
    (
        cd "$folder" || exit
        GOTOOLCHAIN=$GO_TOOLCHAIN GOWORK=off GOFLAGS='-mod=readonly -buildvcs=false' CGO_ENABLED=$GO_CGO nice -n 10 "$GO" build \
            -v -trimpath -tags "$GO_TAGS" -gcflags=all=-dwarf=false -ldflags "-s -w $stamps" -o "$output" "$@"
    ) </dev/null 9>&-
}

# Fails if FOLDER (or the nearest parent that exists) has less than MIB of space.
require_free_space() {
    local folder=$1 mib=$2 purpose=$3 free
    while [[ ! -d $folder ]]; do folder=$(dirname "$folder"); done
    free=$(df --output=avail -m "$folder" | tail -n 1 | tr -d ' ')
    ((free >= mib)) || fail "the disk is too full for $purpose: $free MiB free in $folder, at least $mib MiB are needed"
}
