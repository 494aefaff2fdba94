# How cluster-test counts and reports. A test is a description and a command; the command's output explains a failure.
# shellcheck shell=bash
# shellcheck disable=SC2034  # counted here, printed by cluster-test

heading() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

# Use: expect WORDS COMMAND ARGUMENT...
expect() {
    local what=$1 output
    shift
    if output=$("$@" 2>&1); then
        PASSED=$((PASSED + 1))
        echo "ok    $what"
    else
        FAILED=$((FAILED + 1))
        echo "FAIL  $what"
        tail -n 30 <<<"${output:-(the command said nothing)}" | sed 's/^/        /'
    fi
}

skip() {
    SKIPPED=$((SKIPPED + 1))
    echo "skip  $1"
}

# Fails with both values unless they are equal.
same() { [[ $1 == "$2" ]] || { echo "got '$1', wanted '$2'"; return 1; }; }

# Fails unless LOW <= VALUE <= HIGH.
between() { (($1 >= $2 && $1 <= $3)) || { echo "got $1, wanted $2 to $3"; return 1; }; }

contains() { [[ $1 == *"$2"* ]] || { echo "'$2' is not in: $1"; return 1; }; }

# True if COMMAND fails with STATUS and its last line contains each of the WORDS. Use: refuses STATUS "WORDS" "WORDS" -- COMMAND
refuses() {
    local status=$1 wanted=() output got=0 word last
    shift
    while [[ $1 != -- ]]; do wanted+=("$1"); shift; done
    shift
    output=$("$@" 2>&1 </dev/null) || got=$?
    last=$(tail -n 1 <<<"$output")
    same "$got" "$status" || { echo "$output"; return 1; }
    for word in "${wanted[@]}"; do
        contains "$last" "$word" || { echo "$output"; return 1; }
    done
}

# Waits until COMMAND agrees, for at most SECONDS.
eventually() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < deadline)) || { echo "not within the time: $*"; "$@"; return 1; }
        sleep 0.2
    done
}
