# Stand-ins for the tests of the action: programs, a release, a runner.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

make_stand_ins() {
    local name
    export STAND_IN_PROBITY=$PROBITY STAND_IN_RUN=$RECORDED
    # The stand-ins come first in PATH, except for the one of probity, which is only in the release.
    BIN=$WORK/bin
    mkdir -p "$BIN" "$WORK/downloads" "$WORK/release"
    cp "$TESTS/programs/kind" "$TESTS/programs/curl" "$BIN"
    for name in k3s kubectl ssh skopeo; do cp "$TESTS/programs/note" "$BIN/$name"; done
    cp "$TESTS/programs/probity" "$WORK/release"
    cp "$IMAGE" "$WORK/release"
    printf 'not a program\n' >"$WORK/release/agnhost-rs"
    PROBITY_RELEASE_OUT=$WORK/packed PROBITY_RELEASE_DYNAMIC=1 "$CI/release" --pack "$WORK/release" >"$WORK/pack.log" 2>&1 ||
        { cat "$WORK/pack.log"; exit 1; }
    ARCHIVE=$(echo "$WORK"/packed/probity-*.tar.gz)
    DIGEST=$(sha256sum <"$ARCHIVE" | cut -d' ' -f1)
}

# new_place NAME: creates a folder for one run of the action, with the records of the programs.
new_place() {
    PLACE=$WORK/$1
    rm -rf "$PLACE"
    mkdir -p "$PLACE/notes"
    touch "$PLACE/notes/calls"
    export STAND_IN_NOTES=$PLACE/notes STAND_IN_DOWNLOADS=$WORK/downloads
}

# act NAME [INPUT=VALUE...]: runs the action in a new place, with the packed archive unless another is given. STATUS is
# the status of the stand-in runner.
act() {
    local name=$1 input given=(archive="$ARCHIVE")
    shift
    for input in "$@"; do
        case $input in archive=* | version=*) given=() ;; esac
    done
    new_place "$name"
    STATUS=0
    PATH=$BIN:$PATH "$PYTHON" "$TESTS/runner" "$PLACE" "${given[@]}" "$@" >"$PLACE/runner.log" 2>&1 || STATUS=$?
}

# The output of a run of the action.
log() { cat "$PLACE/log"; }
calls() { cat "$PLACE/notes/calls"; }
summary() { cat "$PLACE/summary.md"; }
an_output() { jq -r --arg name "$1" '.[$name]' "$PLACE/outputs.json"; }
outcome_of() { jq -r --arg name "$1" '.[$name]' "$PLACE/steps.json"; }
annotations() { grep "^::$1 " "$PLACE/log" | grep -v '^::error title=hostile' || true; }

# Fails with the log unless the action ended with this result: passed or failed.
ended() {
    local wanted=1
    [[ $1 == failed ]] || wanted=0
    same "$STATUS" "$wanted" && same "$(an_output result)" "$1" || { cat "$PLACE/runner.log" "$PLACE/log"; return 1; }
}

# Fails unless the action failed with these words before any program was called.
was_refused() {
    same "$STATUS" 1 && same "$(calls)" '' && contains "$(annotations error)" "$1" || { cat "$PLACE/runner.log" "$PLACE/log"; return 1; }
}

# recorded NAME [FILTER]: a recorded run whose report is changed by a jq filter; the counts are updated to match. The next `act`
# uses this run.
recorded() {
    local folder=$WORK/recorded/$1
    mkdir -p "$folder"
    cp "$RECORDED/summary.md" "$folder"
    jq "${2:-.}"' | def counts: reduce .[] as $v ({ total: 0, holds: 0, diverges: 0, violated: 0, inconclusive: 0, error: 0, skipped: 0 };
            .total += 1 | .[$v] = (.[$v] // 0) + 1);
        .result.clauses = ([.clauses[].verdict] | counts) | .result.cases = ([.cases[].verdict] | counts)' \
        "$RECORDED/report.json" >"$folder/report.json"
    export STAND_IN_RUN=$folder
}
