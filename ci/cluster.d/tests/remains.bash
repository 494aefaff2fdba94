# `down` leaves nothing behind, even if every process of the cluster was killed.
# shellcheck shell=bash

test_remains() {
    local before=$WORK/traces-before started took
    "$CLUSTER" down 2>/dev/null
    remember_traces "$before"

    started=$(date +%s)
    expect "one node starts" up_quietly
    took=$(($(date +%s) - started))
    echo "      one node was up after $took s"
    expect "one node is up within 30 s" between "$took" 1 30
    expect "no link, address, route, rule or mount is added to the host's own" same "$(network_and_mounts traces)" "$(network_and_mounts cat "$before")"
    expect "check passes" "$CLUSTER" check
    expect "down" "$CLUSTER" down
    expect "down leaves nothing behind" no_traces_since "$before"
    expect "a second down is no error" "$CLUSTER" down

    expect "one node starts" up_quietly
    kill_everything
    expect "kill -9 of everything ends it" refuses 1 -- "$CLUSTER" status
    expect "down after kill -9 of everything" "$CLUSTER" down
    expect "it leaves nothing behind" no_traces_since "$before"

    expect "one node starts" up_quietly
    kill_everything
    expect "up after kill -9 of everything" up_quietly
    expect "it works" "$CLUSTER" check
    expect "down after that" "$CLUSTER" down
    expect "it leaves nothing behind" no_traces_since "$before"

    expect "a start that is interrupted ends with status 130" interrupted_start
    rm -rf "$PROBITY_CLUSTER_STATE"
    expect "it leaves nothing behind" no_traces_since "$before"

    expect "one node starts" up_quietly
    # The folder of the machines may be a mount point.
    rm -rf "$PROBITY_CLUSTER_STATE"/machines/* "$PROBITY_CLUSTER_STATE"/{cluster,relay,ready}
    expect "down of a cluster whose records are lost" "$CLUSTER" down
    # The record of kernel settings still exists, and the processes are found by their cgroups.
    expect "it leaves nothing behind" no_traces_since "$before"
    mkdir -p "$PROBITY_CLUSTER_STATE" && touch "$PROBITY_CLUSTER_STATE/thesis.txt"
    expect "a folder that is not ours is left alone" refuses 1 "left alone" -- "$CLUSTER" down
    rm -rf "$PROBITY_CLUSTER_STATE"
}

# The only new mount that is allowed is the one for the disks in memory.
network_and_mounts() { "$@" | grep -vxF "$PROBITY_CLUSTER_STATE/machines tmpfs" | sed -n '/^# mounts/,/^# cgroups/p; /^# rules/,/^# kernel/p'; }

kill_everything() {
    local pid
    for pid in $(cluster_processes); do
        kill -KILL "$pid" 2>/dev/null || true
    done
    sleep 1
}

# Interrupts a start, as Ctrl-C does.
interrupted_start() {
    local starter status=0
    "$CLUSTER" up "${IMAGE_OPTION[@]}" &
    starter=$!
    sleep 3
    kill -TERM "$starter"
    wait "$starter" || status=$?
    same "$status" 130
}
