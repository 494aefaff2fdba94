# The cgroups of the machines: /probity/MACHINE in every hierarchy that is mounted, whatever the layout is
# (v2, v1, or v1 with an unused v2 beside it; with systemd or without). Every layout is accepted, and the one found is reported.
# They contain all processes of the cluster and no others, so everything inside can be killed.
# shellcheck shell=bash

# The mount points of all hierarchies, one per line.
cgroup_hierarchies() {
    awk '{ for (i = 7; i < NF; i++) if ($i == "-") { if ($(i + 1) ~ /^cgroup2?$/) print $5; break } }' /proc/self/mountinfo
}

# `v2`, `v1` or `hybrid`: what the kubelet and runc will find.
cgroup_layout() {
    if [[ $(stat -f -c %T /sys/fs/cgroup 2>/dev/null) == cgroup2fs ]]; then
        echo v2
    elif grep -q ' - cgroup2 ' /proc/self/mountinfo; then
        echo hybrid
    else
        echo v1
    fi
}

# Creates /PATH in every hierarchy, so that processes can join it and a kubelet can create its own cgroups below it.
make_cgroup() {
    local path=$1 hierarchy
    while read -r hierarchy; do
        make_cgroup_in "$hierarchy" "$path"
    done < <(cgroup_hierarchies)
}

make_cgroup_in() {
    local directory=$1 path=$2 part parts
    IFS=/ read -ra parts <<<"$path"
    for part in "${parts[@]}"; do
        hand_down_controllers "$directory"
        [[ -d $directory/$part ]] || mkdir "$directory/$part" || fail "cannot make the cgroup $directory/$part"
        copy_cpuset "$directory" "$directory/$part"
        directory+=/$part
    done
}

# v2: a controller is available in a child only if its parent enables it. Each is enabled separately, so that the failure of
# one does not affect the others.
hand_down_controllers() {
    local directory=$1 controller
    [[ -w $directory/cgroup.subtree_control ]] || return 0
    for controller in $(<"$directory/cgroup.controllers"); do
        # Some can't be enabled while the parent itself has processes; require_controllers checks the result.
        { echo "+$controller" >"$directory/cgroup.subtree_control"; } 2>/dev/null || true
    done
}

# v1: a new cpuset is empty, and a process can't join an empty one.
copy_cpuset() {
    local from=$1 to=$2 file
    for file in cpuset.cpus cpuset.mems; do
        if [[ -e $to/$file && -e $from/$file && -z $(tr -d '[:space:]' <"$to/$file") ]]; then
            cat "$from/$file" >"$to/$file" 2>/dev/null || true
        fi
    done
}

# A kubelet can't start without these controllers. Failing now saves the user from searching the kubelet's log.
require_controllers() {
    local controller have
    if [[ $(cgroup_layout) == v2 ]]; then
        have=" $(<"/sys/fs/cgroup/$CGROUP/cgroup.controllers") "
    else
        have=" $(awk '/ - cgroup / { print $NF }' /proc/self/mountinfo | tr ',\n' '  ') "
    fi
    for controller in cpu cpuset memory pids; do
        [[ $have == *" $controller "* ]] ||
            fail "the cgroup controller '$controller' is not available here (layout $(cgroup_layout)): a kubelet needs it"
    done
}

# Moves the calling process (a subshell about to exec) into MACHINE's cgroup. On v2 processes live only in leaves, hence
# `system`.
join_cgroup() {
    local machine=$1 hierarchy
    while read -r hierarchy; do
        echo "$BASHPID" >"$hierarchy/$CGROUP/$machine/system/cgroup.procs" || return 1
    done < <(cgroup_hierarchies)
}

# The pids, as the host sees them, of all processes below /PATH.
cgroup_processes() {
    local path=$1 hierarchy
    while read -r hierarchy; do
        [[ -d $hierarchy/$path ]] || continue
        find "$hierarchy/$path" -name cgroup.procs -exec cat {} + 2>/dev/null
    done < <(cgroup_hierarchies) | sort -un
}

# Kills the remaining processes below /PATH and removes the cgroups. Used after the namespaces are removed, and after a
# kill -9.
remove_cgroup() {
    local path=$1
    wait_until 10 try_to_remove_cgroup "$path" || fail "the cgroup /$path can't be emptied; still there: $(cgroup_processes "$path" | tr '\n' ' ')"
}

try_to_remove_cgroup() {
    local path=$1 hierarchy pid gone=true
    for pid in $(cgroup_processes "$path"); do
        # 0 stands for a process of another pid namespace. We can't address it; it ends with the init process of its namespace.
        ((pid == 0)) || kill -KILL "$pid" 2>/dev/null || true
    done
    while read -r hierarchy; do
        [[ -d $hierarchy/$path ]] || continue
        find "$hierarchy/$path" -depth -type d -exec rmdir {} + 2>/dev/null || gone=false
    done < <(cgroup_hierarchies)
    $gone
}
