# The output of the script: progress on standard error, one clear line for a failure. Decides nothing.
# shellcheck shell=bash

# The script that speaks: ci/cluster, or another one that uses its parts.
SPEAKER=${SPEAKER:-cluster}

# A step that was taken, with the seconds since the command began.
say() {
    printf '%s: %3d s  %s\n' "$SPEAKER" "$SECONDS" "$*" >&2
}

# The end: one line, and a nonzero status. The EXIT trap of the code that started something does the cleanup.
fail() {
    printf '%s: error: %s\n' "$SPEAKER" "$*" >&2
    exit 1
}

# A wrong command line; its status differs from that of a failure.
misuse() {
    printf '%s: %s (see ci/%s --help)\n' "$SPEAKER" "$*" "$SPEAKER" >&2
    exit 2
}

# The most informative line of a log about why its writer stopped: the last one that looks like an error, or else the
# last one.
telling_line() {
    local log=$1 line
    [[ -s $log ]] || { echo "its log is empty"; return; }
    # klog's E and F lines, zap's and logrus's levels, Go's panic; plain `error:` last of all.
    line=$(grep -aE '^[EF][0-9]{4} |"level":"(fatal|error)"|level=(fatal|error)|^panic:|[Ee]rror:|command failed' "$log" | tail -n 1)
    [[ -n $line ]] || line=$(grep -a . "$log" | tail -n 1)
    # Drop klog's prefix and keep it one readable line.
    sed -E 's/^[EF][0-9]{4} [0-9:.]+ +[0-9]+ [^]]*\] ?//' <<<"$line" | cut -c1-400
}

# Runs COMMAND repeatedly for at most SECONDS; false if it never succeeded.
# Use: wait_until SECONDS COMMAND ARGUMENT...
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.1
    done
}
