# What ci/outages checks after each run. Each check prints one line for each problem.
# shellcheck shell=bash
# shellcheck disable=SC2154  # work, probity and access come from ci/outages and ci/lib/cluster

# The clauses that a run reports as violated, each with its evidence and the outage that is nearest to it.
check_verdicts() {
    local folder=$1 outages=$2
    [ -f "$folder/report.json" ] || return 0
    jq -r --slurpfile outages "$outages" --slurpfile log <(head -n 1 "$folder/events.ndjson") '
        def distance($at): if $at < .from then .from - $at elif $at > .to then $at - .to else 0 end;
        ($outages | map(.from -= $log[0].beganWallUs / 1e6 | .to -= $log[0].beganWallUs / 1e6)) as $outages
        | .clauses[] | select(.verdict == "violated") | . as $clause
        | (first(.evidence[].events[].what | capture("^\\+(?<at>[0-9.]+) s").at | tonumber) // 0) as $at
        | ($outages | min_by(distance($at))) as $near
        | "violated: \($clause.id) in \($clause.evidence[0].case) at +\($at) s (\($clause.finding)); nearest: \($near.outage) from +\($near.from | floor) s to +\($near.to | floor) s"
    ' "$folder/report.json" 2>&1
}

# Every history that the log names must exist, be complete, and have the digest that is in the log.
check_histories() {
    local folder=$1 history digest
    [ -f "$folder/events.ndjson" ] || return 0
    while read -r history digest; do
        [ "$(zstd --decompress --stdout --quiet "$folder/$history" 2>/dev/null | sha256sum | cut -d ' ' -f 1)" = "$digest" ] ||
            echo "$history is not the history that the log names"
    done < <(jq --raw-input --raw-output 'fromjson? | select(.event == "case-ended") | "\(.history) \(.sha256)"' "$folder/events.ndjson")
}

has_end() { [ -f "$1/events.ndjson" ] && [ "$(jq --raw-input --raw-output 'fromjson? | .event' "$1/events.ndjson" | tail -n 1)" = finished ]; }

# If the log of a run has an end, the report must follow from the histories. Otherwise, the run must not count as complete.
check_folder() {
    local folder=$1 status=0
    if [ ! -f "$folder/events.ndjson" ]; then
        return
    fi
    "$probity" verify "$folder" >"$work/verify.log" 2>&1 || status=$?
    if has_end "$folder"; then
        "$probity" report "$folder" --check >"$work/check.log" 2>&1 || echo "its report does not match its histories: $(tail -n 1 "$work/check.log")"
        [ "$status" -eq 0 ] || echo "verify ended with $status: $(grep -v '^ *$' "$work/verify.log" | head -n 3 | tr '\n' ' ')"
    else
        [ "$status" -eq 1 ] || echo "verify ended with $status, although the log has no end: $(tail -n 1 "$work/verify.log")"
        status=0
        "$probity" report "$folder" >"$work/check.log" 2>&1 || status=$?
        ((status == 4 || status == 1)) || echo "report ended with $status, although the log has no end"
    fi
}

# After `gc`, the cluster must be in its original state. Namespaces disappear when their pods have ended, and a node becomes Ready
# again when its kubelet reports this.
check_cluster() {
    local began=$SECONDS
    "$probity" gc "${access[@]}" --node-command "$PWD/ci/cluster node" >"$work/gc.log" 2>&1 || echo "gc: $(tail -n 1 "$work/gc.log")"
    until look_at_cluster >"$work/after" 2>/dev/null && cmp -s "$work/before" "$work/after"; do
        if ((SECONDS - began > 180)); then
            echo "the cluster is not as before: $(diff "$work/before" "$work/after" | grep '^[<>]' | head -n 3 | tr '\n' ' ')"
            return
        fi
        sleep 2
    done
}
