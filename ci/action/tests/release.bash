# The scripts of a release, without building: packing, joining, versions.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

test_release() {
    local other
    need skopeo skopeo
    case $(uname -m) in aarch64) HOST_ARCH=arm64 OTHER_ARCH=amd64 ;; *) HOST_ARCH=amd64 OTHER_ARCH=arm64 ;; esac
    expect "two packings of the same programs give the same bytes" the_same_again
    expect "the archive has the programs, the image, completions, manual pages, the bill of materials, license and README" lists_all
    expect "all files belong to root, and programs can be run by all" owned_by_root
    expect "the sums are right" env -C "$WORK/packed" sha256sum --check --quiet SHA256SUMS
    expect "a program that is not static is refused" not_static
    expect "the program finds the image beside itself" finds_its_image
    # The other architecture, as its runner would provide it.
    other=$WORK/joined
    mkdir -p "$other"
    cp "$ARCHIVE" "$other/probity-1.2.3-linux-$HOST_ARCH.tar.gz"
    stand_in_architecture "$other/probity-1.2.3-linux-$OTHER_ARCH.tar.gz"
    expect "archives of two architectures are joined" env PROBITY_HOMEPAGE=https://example.invalid/p PROBITY_DOWNLOADS=https://example.invalid/d "$CI/release" --join "$other"
    expect "the sums name the joined image, both archives and the manifest" same "$(awk '{ print $2 }' "$other/SHA256SUMS" | tr '\n' ' ')" \
        "agnhost-rs-1.2.3.tar probity-1.2.3-linux-amd64.tar.gz probity-1.2.3-linux-arm64.tar.gz probity.yaml "
    joined_images "$other/agnhost-rs-1.2.3.tar"
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
    expect "the notes are the section of the version, without the next one and the links" notes_are 1.2.3 $'### Added\n\n- One.\n\n### Fixed\n\n- Two.'
    expect "a heading without brackets and date is one, too" notes_are 1.2.2 '- Old.'
    expect "a version that the changelog does not have is refused" refuses 1 "has no section" -- "$WORK/repository/ci/release" --notes 9.9.9
    krew_validates
}

the_same_again() {
    PROBITY_RELEASE_OUT=$WORK/packed-again PROBITY_RELEASE_DYNAMIC=1 bash -c 'umask 077; sleep 1; touch "$2"/*; "$1" --pack "$2"' _ "$CI/release" "$WORK/release" &&
        cmp "$ARCHIVE" "$WORK/packed-again/${ARCHIVE##*/}"
}

lists_all() {
    same "$(tar -tzf "$ARCHIVE" | cut -d/ -f2- | tr '\n' ' ')" \
        " LICENSE README.md agnhost-rs agnhost-rs.tar completions/ completions/_probity completions/probity.bash completions/probity.fish $(pages)probity sbom.cdx.json "
}

# The manual pages as the archive lists them, after their folders.
pages() {
    printf 'man/ man/man1/ '
    "$PROBITY" manual "$WORK/pages" | sed 's|.*/|man/man1/|' | LC_ALL=C sort | tr '\n' ' '
}

# A release of the other architecture, as its runner would provide it: the same programs, except for one byte that states that
# they are for another machine. Nothing here runs them.
stand_in_architecture() {
    local work=$WORK/other number='\267\000'
    [[ $OTHER_ARCH == arm64 ]] || number='\076\000'
    mkdir -p "$work/release"
    tar -xzf "$ARCHIVE" -C "$work/release" --strip-components 1
    rm -rf "$work/layout" && mkdir "$work/layout"
    skopeo copy --quiet --insecure-policy "oci-archive:$work/release/agnhost-rs.tar:dev" "dir:$work/layout"
    tar -xzf "$work/layout/$(jq -r '.layers[0].digest | ltrimstr("sha256:")' "$work/layout/manifest.json")" -C "$work/layout" agnhost-rs
    # shellcheck disable=SC2059  # bytes
    printf "$number" | dd of="$work/layout/agnhost-rs" bs=1 seek=18 conv=notrunc status=none
    "$OCI_ARCHIVE" write --program "$work/layout/agnhost-rs" --out "$work/release/agnhost-rs.tar" --version 1.2.3 --revision c0ffee --created 0
    mv "$work/release" "$work/probity-1.2.3-linux-$OTHER_ARCH"
    tar -czf "$1" -C "$work" "probity-1.2.3-linux-$OTHER_ARCH"
}

# What skopeo, a program of another project, finds in the joined archive.
joined_images() {
    local tag archive=$1
    for tag in dev dev-2 dev-sigusr1; do
        expect "skopeo finds both architectures of $tag" same \
            "$(skopeo inspect --raw "oci-archive:$archive:$tag" | jq -c '[.mediaType, [.manifests[].platform | .os + "/" + .architecture]]')" \
            '["application/vnd.oci.image.index.v1+json",["linux/amd64","linux/arm64"]]'
    done
    expect "skopeo copies the index with every blob of both" skopeo copy --quiet --insecure-policy --all "oci-archive:$archive:dev" "dir:$WORK/copied-index"
    expect "this architecture's image is that of its archive" same \
        "$(skopeo inspect --override-arch "$HOST_ARCH" --format '{{.Digest}} {{.Architecture}}' "oci-archive:$archive:dev-2" | sed 's/^[^ ]* //')" "$HOST_ARCH"
    expect "... to the byte" same "$(skopeo inspect --raw "oci-archive:$archive:dev" | jq -r --arg arch "$HOST_ARCH" '.manifests[] | select(.platform.architecture == $arch).digest')" \
        "$(skopeo inspect --format '{{.Digest}}' "oci-archive:$IMAGE:dev")"
    expect "probity checks the joined archive" contains "$("$PROBITY" image save "$WORK/saved.tar" --archive "$archive" 2>&1)" "$OTHER_ARCH"
    expect "probity pushes all architectures" contains "$("$PROBITY" image push registry.example.com/x --archive "$archive" --print 2>&1)" \
        "skopeo copy --all oci-archive:$archive:dev-2 docker://registry.example.com/x:dev-2"
}

owned_by_root() {
    local listing
    listing=$(tar --numeric-owner -tvzf "$ARCHIVE") || return 1
    ! grep -v ' 0/0 ' <<<"$listing" && grep '^-rwxr-xr-x .*/probity$' <<<"$listing"
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

notes_are() {
    small_repository "$WORK/repository"
    cat >"$WORK/repository/CHANGELOG.md" <<'TEXT'
# Changelog

## [Unreleased]

- Not yet.

## [1.2.3] - 2026-11-23

### Added

- One.

### Fixed

- Two.

## 1.2.2

- Old.

[1.2.3]: https://example.invalid/compare/v1.2.2...v1.2.3
TEXT
    same "$("$WORK/repository/ci/release" --notes "$1")" "$2"
}

small_repository() {
    rm -rf "$1"
    mkdir -p "$1/ci/lib"
    cp "$CI/release" "$1/ci"
    cp "$CI/lib/help" "$CI/lib/static" "$CI/lib/progress" "$1/ci/lib"
    printf '[workspace.package]\nversion = "0.1.0"\n' >"$1/Cargo.toml"
    git -C "$1" init --quiet
    git -C "$1" add .
    git -C "$1" -c user.name=test -c user.email=test@example.invalid commit --quiet --message first
}

# krew's own checker, if it is installed; it is a Go module, and its build takes a minute.
krew_validates() {
    if command -v validate-krew-manifest >/dev/null; then
        rm -f "$WORK/joined/probity-1.2.4-linux-amd64.tar.gz"
        expect "krew's own checker accepts the manifest" validate-krew-manifest -manifest "$WORK/joined/probity.yaml" -skip-install
    else
        skip "krew's own checker is not installed: go install sigs.k8s.io/krew/cmd/validate-krew-manifest@latest"
    fi
}
