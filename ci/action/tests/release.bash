# The scripts of a release, without building: packing, joining, versions.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

test_release() {
    local other
    expect "two packings of the same programs give the same bytes" the_same_again
    expect "the archive has the programs, the image, completions, license and README" lists_all
    expect "all files belong to root, and programs can be run by all" owned_by_root
    expect "the sums are right" env -C "$WORK/packed" sha256sum --check --quiet SHA256SUMS
    expect "a program that is not static is refused" not_static
    expect "the program finds the image beside itself" finds_its_image
    # The other architecture, as its runner would hand it over.
    other=$WORK/joined
    mkdir -p "$other"
    cp "$ARCHIVE" "$other/probity-1.2.3-linux-amd64.tar.gz"
    { cat "$ARCHIVE"; echo; } >"$other/probity-1.2.3-linux-arm64.tar.gz"
    expect "archives of two architectures are joined" env PROBITY_HOMEPAGE=https://example.invalid/p PROBITY_DOWNLOADS=https://example.invalid/d "$CI/release" --join "$other"
    expect "the sums name both and the manifest" same "$(awk '{ print $2 }' "$other/SHA256SUMS" | tr '\n' ' ')" \
        "probity-1.2.3-linux-amd64.tar.gz probity-1.2.3-linux-arm64.tar.gz probity.yaml "
    expect "the krew manifest is whole" krew_manifest "$other"
    expect "release.json has what the action needs" same "$(jq -c '[.version, (.sha256 | keys[])]' "$other/release.json")" '["v1.2.3","amd64","arm64"]'
    cp "$ARCHIVE" "$other/probity-1.2.4-linux-amd64.tar.gz"
    expect "archives of two versions are not joined" refuses 1 "archives of two versions" -- "$CI/release" --join "$other"
    expect "a folder without archives is refused" refuses 1 "has no archive" -- "$CI/release" --join "$WORK/release"
    expect "without a tag, the version names the commit" version_is '^0\.0\.0-dev\+[0-9a-f]{12}$' true
    expect "a changed tree says so" version_is '^0\.0\.0-dev\+[0-9a-f]{12}-dirty$' bash -c 'echo x >>Cargo.toml'
    expect "a tag gives the version" version_is '^0\.1\.0$' git tag v0.1.0
    expect "a tag that is not a version does not" version_is '^0\.0\.0-dev' git tag nightly
    expect "the highest of several tags counts" version_is '^0\.1\.0$' bash -c 'git tag v0.1.0-rc.1; git tag v0.1.0'
    expect "a tag that Cargo.toml contradicts is refused" wrong_tag
    krew_validates
}

the_same_again() {
    PROBITY_RELEASE_OUT=$WORK/packed-again PROBITY_RELEASE_DYNAMIC=1 bash -c 'umask 077; sleep 1; touch "$2"/*; "$1" --pack "$2"' _ "$CI/release" "$WORK/release" &&
        cmp "$ARCHIVE" "$WORK/packed-again/${ARCHIVE##*/}"
}

lists_all() {
    same "$(tar -tzf "$ARCHIVE" | cut -d/ -f2- | tr '\n' ' ')" \
        " LICENSE README.md agnhost-rs agnhost-rs.tar completions/ completions/_probity completions/probity.bash completions/probity.fish probity "
}

owned_by_root() {
    ! tar --numeric-owner -tvzf "$ARCHIVE" | grep -v ' 0/0 ' && tar -tvzf "$ARCHIVE" | grep -q '^-rwxr-xr-x .*/probity$'
}

not_static() {
    mkdir -p "$WORK/dynamic"
    cp "$PROBITY" "$WORK/release/agnhost-rs" "$IMAGE" "$WORK/dynamic"
    PROBITY_RELEASE_OUT=$WORK/packed-dynamic refuses 1 "is not static" -- "$CI/release" --pack "$WORK/dynamic"
}

finds_its_image() {
    mkdir -p "$WORK/unpacked"
    ln -f "$PROBITY" "$WORK/unpacked/probity" 2>/dev/null || cp "$PROBITY" "$WORK/unpacked/probity"
    cp "$IMAGE" "$WORK/unpacked/agnhost-rs.tar"
    same "$(cd "$WORK/unpacked" && ./probity image load --kind x --print)" "kind load image-archive $WORK/unpacked/agnhost-rs.tar --name x"
}

krew_manifest() {
    "$PYTHON" - "$1" <<'PYTHON'
import hashlib, pathlib, sys
from ruamel.yaml import YAML
folder = pathlib.Path(sys.argv[1])
plugin = YAML(typ="safe").load(folder / "probity.yaml")
assert plugin["metadata"]["name"] == "probity", plugin
assert plugin["spec"]["version"] == "v1.2.3", plugin
assert plugin["spec"]["homepage"] == "https://example.invalid/p", plugin
platforms = plugin["spec"]["platforms"]
assert [platform["selector"]["matchLabels"]["arch"] for platform in platforms] == ["amd64", "arm64"], platforms
for platform in platforms:
    archive = folder / platform["uri"].removeprefix("https://example.invalid/d/")
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest(), platform
    assert platform["bin"] == "probity" and len(platform["files"]) == 3, platform
assert "@" not in (folder / "probity.yaml").read_text()
PYTHON
}

# version_is PATTERN COMMAND...: what `ci/release --version` says in a small repository after the command.
version_is() {
    local place=$WORK/repository pattern=$1 said
    shift
    small_repository "$place"
    (cd "$place" && "$@") || return 1
    said=$("$place/ci/release" --version) || return 1
    [[ $said =~ $pattern ]] || { echo "said $said"; return 1; }
}

wrong_tag() {
    small_repository "$WORK/repository"
    git -C "$WORK/repository" tag v9.9.9
    refuses 1 "the tag is v9.9.9, and Cargo.toml has the version 0.1.0" -- "$WORK/repository/ci/release" --version
}

small_repository() {
    rm -rf "$1"
    mkdir -p "$1/ci/lib"
    cp "$CI/release" "$1/ci"
    cp "$CI/lib/static" "$1/ci/lib"
    printf '[workspace.package]\nversion = "0.1.0"\n' >"$1/Cargo.toml"
    git -C "$1" init --quiet
    git -C "$1" add .
    git -C "$1" -c user.name=test -c user.email=test@example.invalid commit --quiet --message first
}

# krew's own checker, if it is there; it is a Go module and takes a minute to build.
krew_validates() {
    if command -v validate-krew-manifest >/dev/null; then
        rm -f "$WORK/joined/probity-1.2.4-linux-amd64.tar.gz"
        expect "krew's own checker accepts the manifest" validate-krew-manifest -manifest "$WORK/joined/probity.yaml" -skip-install
    else
        skip "krew's own checker is not installed: go install sigs.k8s.io/krew/cmd/validate-krew-manifest@latest"
    fi
}
