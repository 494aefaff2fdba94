# Uses a release as a user would: downloads it into an empty folder, checks it, unpacks it, and uses everything in it. The
# release is the one in target/release-files, or that of --release FOLDER.
# shellcheck shell=bash
# shellcheck disable=SC2154  # the parts share variables

test_unpacked() {
    local found
    found=$(compgen -G "$RELEASED/probity-*-linux-$(release_architecture).tar.gz" | head -n 1) || true
    if [[ -z $found ]]; then
        skip "there is no release in $RELEASED; ci/release makes one"
        return
    fi
    need man man-db && need skopeo skopeo
    PLACE=$WORK/unpacked-release HERE=$WORK/unpacked-release/$(basename "$found" .tar.gz)
    mkdir -p "$PLACE"
    cp "$RELEASED"/* "$PLACE"
    expect "the sums of the download are right" at "$PLACE" sha256sum --check --strict --quiet SHA256SUMS
    expect "it unpacks" at "$PLACE" tar -xzf "$(basename "$found")"
    expect "both programs are static" both_are_static
    expect "no program names a folder of the machine that built it" names_no_folder
    expect "probity --help lists the subcommands" help_lists_the_subcommands
    expect "probity says its version" at "$HERE" ./probity --version
    expect "agnhost-rs runs alone" at "$HERE" ./agnhost-rs --help
    expect "it knows the clause book without any other file" at "$HERE" ./probity explain probe.startup.gates-liveness
    expect "the image is found beside it, in a dry load" dry_load
    expect "skopeo reads each image of the archive" skopeo_reads
    expect "each subcommand has a manual page" a_page_for_each_subcommand
    expect "man shows each page without a warning" man_shows_each_page
    expect "bash completes a subcommand" bash_completes im "image"
    expect "bash completes a flag" bash_completes_a_flag
    kubectl_plugin
    expect "the bill of materials names every crate with its digest" bill_of_materials
    expect "it is the same beside the archive" cmp "$HERE/sbom.cdx.json" "$PLACE/$(basename "$HERE").cdx.json"
    expect "CycloneDX's own schema accepts it" cyclonedx_accepts "$HERE/sbom.cdx.json"
}

release_architecture() { case $(uname -m) in x86_64) echo amd64 ;; aarch64) echo arm64 ;; esac; }

# at FOLDER COMMAND...: runs the command in the environment of a user who has only the download.
at() {
    local folder=$1
    shift
    (cd "$folder" && env -i PATH=/usr/bin:/bin HOME="$PLACE" "$@")
}

both_are_static() {
    local program
    for program in probity agnhost-rs; do
        ! readelf --program-headers --wide "$HERE/$program" | grep -E '^ *INTERP ' || return 1
    done
}

names_no_folder() {
    local name
    for name in "$ROOT" "${CARGO_HOME:-$HOME/.cargo}"; do
        ! grep -aFq -- "$name/" "$HERE/probity" "$HERE/agnhost-rs" || { echo "found $name"; return 1; }
    done
}

help_lists_the_subcommands() {
    local subcommand said
    said=$(at "$HERE" ./probity --help) || return 1
    for subcommand in run try list judge image manual; do contains "$said" "  $subcommand" || return 1; done
}

dry_load() {
    same "$(at "$HERE" ./probity image load --kind x --print)" "kind load image-archive $HERE/agnhost-rs.tar --name x"
}

skopeo_reads() {
    local tag
    for tag in dev dev-2 dev-sigusr1; do
        skopeo inspect "oci-archive:$HERE/agnhost-rs.tar:$tag" >/dev/null || return 1
    done
}

a_page_for_each_subcommand() {
    local subcommand
    for subcommand in $(at "$HERE" ./probity --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -vx help); do
        [[ -s $HERE/man/man1/probity-$subcommand.1 ]] || { echo "there is no page for $subcommand"; return 1; }
    done
}

man_shows_each_page() {
    local page shown warnings
    for page in "$HERE"/man/man1/*.1; do
        shown=$(MANWIDTH=100 man --warnings -E UTF-8 -l "$page" 2>"$PLACE/warnings" | col -b) || return 1
        warnings=$(<"$PLACE/warnings")
        same "$warnings" '' && contains "$shown" "NAME" && contains "$shown" "$(basename "$page" .1 | cut -d- -f1)" || return 1
    done
}

# bash_completes TYPED WANTED: what bash offers for the last word of a command line.
bash_completes() {
    local said
    said=$(at "$HERE" bash --norc -c '
        source completions/probity.bash
        COMP_WORDS=(probity '"$1"'); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="probity '"$1"'"; COMP_POINT=${#COMP_LINE}
        _probity probity "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[*]}"') || return 1
    contains " $said " " $2 "
}

bash_completes_a_flag() { bash_completes "run --con" "--context"; }

# kubectl finds plugins in PATH by their names; krew creates the same link.
kubectl_plugin() {
    local kubectl
    kubectl=$(compgen -G "$CACHE/kubernetes/*/kubectl" | tail -n 1 || command -v kubectl || true)
    if [[ -z $kubectl ]]; then
        skip "there is no kubectl to try the plugin with"
        return
    fi
    mkdir -p "$PLACE/bin"
    ln -sf "$kubectl" "$PLACE/bin/kubectl"
    ln -sf "$HERE/probity" "$PLACE/bin/kubectl-probity"
    expect "kubectl lists the plugin" contains "$(with_plugin plugin list 2>&1)" "$PLACE/bin/kubectl-probity"
    expect "kubectl probity shows its help under that name" contains "$(with_plugin probity run --help 2>&1)" "Usage: kubectl probity run "
    expect "kubectl probity finds the image beside the program" contains "$(with_plugin probity image load --k3s --print 2>&1)" "$HERE/agnhost-rs.tar"
}

with_plugin() { env -i PATH="$PLACE/bin:/usr/bin:/bin" HOME="$PLACE" "$PLACE/bin/kubectl" "$@"; }

bill_of_materials() {
    jq -e '.bomFormat == "CycloneDX"
        and ([.components[].name] | contains(["probity-cli", "agnhost-rs", "tokio", "ring", "rust-std"]))
        and ([.components[] | select(.purl) | select(.hashes[0].content | test("^[0-9a-f]{64}$") | not)] == [])
        and ([.components[] | select(.licenses == null)] == [])
        and ((([.dependencies[].dependsOn // [] | .[]]) - [.components[]["bom-ref"]]) == [])' "$HERE/sbom.cdx.json" >/dev/null
}

cyclonedx_accepts() {
    install_cyclonedx
    "$CYCLONEDX_PYTHON" - "$1" <<'PYTHON'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(problem) if problem else 0)
PYTHON
}
