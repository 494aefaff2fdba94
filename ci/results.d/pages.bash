# The pages of docs/results, from the runs in target/results.
# shellcheck shell=bash
# shellcheck disable=SC2154  # the variables of ci/results

pages=docs/results

write_pages() {
    local version other shown=() with_bugs=() pairs=()
    for version in "${known_versions[@]}"; do
        if is_usable "$version"; then
            page_of "$version"
            shown+=("$version")
        fi
        for other in "${known_runtimes[@]}"; do
            if is_usable "$version-$other" && [[ " ${shown[*]} " == *" $version "* ]]; then
                pairs+=("$version $version-$other")
            fi
        done
        ! is_usable "$version-regressions" || with_bugs+=("$version-regressions")
    done
    matrix "${shown[@]}"
    known_bugs "${with_bugs[@]}"
    runtimes "${pairs[@]}"
}

# Whether there is a run NAME that `probity verify` accepts. Sets `checked` to what `probity verify` prints. If this call of
# ci/results made the run, it must be verified. An older run may be from another book: nothing may be wrong with it, and its page
# says that it could not be checked completely. `probity report` judges it again with this book.
is_usable() {
    local status=0
    [ -f "$runs/$1/report.json" ] || return
    checked=$("$probity" verify "$runs/$1") || status=$?
    [ "$status" -ne 0 ] || return 0
    [[ " ${made[*]} " != *" $1 "* ]] || fail "the run in $runs/$1 could not be verified:
$checked"
    [ "$status" -ne 3 ] || return 0
    say "the run in $runs/$1 is left out, because it could not be verified: run \`$(command_of "$1")\` again"
    return 1
}

# facts NAME FILTER: what a filter of jq, which may use the functions of facts.jq, says about the report of a run.
facts() { jq -r -L ci/results.d "include \"facts\"; $2" "$runs/$1/report.json"; }

# The call of ci/results that makes the run NAME.
command_of() { facts "$1" "command(\"$1\")"; }

# Puts a page in its place once it is complete.
publish() {
    mv "$pages/$1.new" "$pages/$1"
    say "wrote $pages/$1"
}

# The page of a version: what was run, what `probity verify` says, and the summary of the run without the paths of this machine.
page_of() {
    {
        printf '# Kubernetes %s\n\n' "$(facts "$1" kubelets)"
        printf '<!-- Written by ci/results; do not edit. -->\n\n'
        facts "$1" '"One run of the profiles \([.result.profiles[].profile] | join(", ")) on \(date) with \(program), on \(nodes) "
            + "with \(runtimes). The run reached the conformance level **\(.certificate.level)**."'
        # shellcheck disable=SC2016  # backquotes of Markdown
        printf '\nWhat `probity verify` says about its folder:\n\n```text\n'
        cat <<<"$checked"
        printf '```\n\n'
        sed -e '/^To run it again:$/,/^<\/pre>$/d' -e '/^To judge it again: /d' "$runs/$1/summary.md"
        # shellcheck disable=SC2016  # backquotes of Markdown
        printf '\nThe run was made with `%s` ([README.md](README.md)).\n' "$(command_of "$1")"
    } >"$pages/$1.md.new"
    publish "$1.md"
}

# The versions side by side. Whole runs are not stored here, so the matrix must not link to their pages: it gets copies of the
# reports without them.
matrix() {
    local version copies reports=()
    if [ $# -lt 2 ]; then
        say "no matrix: it needs runs of two versions"
        return
    fi
    copies=$(mktemp -d)
    for version in "$@"; do
        mkdir "$copies/$version"
        cp "$runs/$version/report.json" "$copies/$version/"
        reports+=("$version=$copies/$version")
    done
    "$probity" matrix "${reports[@]}" --out "$pages/matrix.md" >/dev/null
    "$probity" matrix "${reports[@]}" --out "$pages/matrix.html" >/dev/null
    rm -rf "$copies"
    say "wrote $pages/matrix.md and $pages/matrix.html"
}

# known_bugs NAME...: what each version does in the cases of known bugs.
known_bugs() {
    local name reports=()
    if [ $# -eq 0 ]; then
        say "no page of known bugs: it needs a run of the profile regressions"
        return
    fi
    for name in "$@"; do
        reports+=("$runs/$name/report.json")
    done
    jq -n -r -L ci/results.d --slurpfile cases <("$probity" list --profile regressions --format json) \
        -f ci/results.d/regressions.jq "${reports[@]}" >"$pages/regressions.md.new"
    publish regressions.md
}

# runtimes PAIR...: the two names of each pair are those of the same run on two container runtimes.
runtimes() {
    local pair name names
    if [ $# -eq 0 ]; then
        say "no comparison of container runtimes: it needs two runs of a version"
        return
    fi
    {
        printf '# Container runtimes\n\n'
        printf '<!-- Written by ci/results; do not edit. -->\n\n'
        cat <<'END'
This page compares two runs of the whole book on the same version of Kubernetes, with two container runtimes. *Before* is the
run with the distribution's containerd, which the other pages also show. *Now* is the run with another runtime, which
[`ci/cluster`](../cluster.md) builds.
END
        for pair in "$@"; do
            read -r -a names <<<"$pair"
            printf '\n## Kubernetes %s\n\n' "$(facts "${names[0]}" kubelets)"
            printf '| runtime | date | program | conformance level | command |\n|---|---|---|---|---|\n'
            for name in "${names[@]}"; do
                facts "$name" '"| \(runtimes) | \(date) | \(program) | \(.certificate.level) | `\(command("'"$name"'"))` |"'
            done
            # shellcheck disable=SC2016  # backquotes of Markdown
            printf '\nWhat `probity diff` finds: '
            differences "${names[@]}"
        done
    } >"$pages/runtimes.md.new"
    publish runtimes.md
}

# What `probity diff` says about two runs; the status 1 means that a clause is newly violated.
differences() {
    local found status=0
    found=$("$probity" diff "$runs/$1" "$runs/$2" --format markdown) || status=$?
    [ "$status" -le 1 ] || fail "\`probity diff $runs/$1 $runs/$2\` ended with status $status"
    sed '1s/^## Probity: \(.*\)$/\1./' <<<"$found"
}
