# What a cluster could leave behind on the host, as text that can be compared before and after.
# shellcheck shell=bash

traces() {
    echo "# programs"
    # Only the names of programs that a cluster runs: other users of the machine start and end theirs at any time.
    # shellcheck disable=SC2009  # pgrep can't print both
    ps -eo pid=,comm= | grep -E ' (etcd|kube.*|containerd.*|runc|crun|socat|unshare|machine-init|sandbox|httpd|kubectl)$' || true
    echo "# namespaces"
    lsns --noheadings --raw --output NS,TYPE | sort
    echo "# mounts"
    awk '{ print $5, $(NF - 2) }' /proc/self/mountinfo | sort
    echo "# links, addresses, routes"
    ip -oneline link | awk '{ print $2 }' | sort
    ip -oneline address | awk '{ print $2, $4 }' | sort
    ip route show table all | sort
    echo "# cgroups"
    find /sys/fs/cgroup -type d -path '*probity*' | sort
    echo "# rules"
    { iptables-save && ip6tables-save; } 2>/dev/null | grep -v '^#' | sed 's/\[[0-9:]*\]//' | sort || true
    echo "# kernel settings"
    grep -H . /proc/sys/net/ipv4/ip_forward /proc/sys/vm/{overcommit_memory,panic_on_oom} \
        /proc/sys/kernel/{panic,panic_on_oops} /proc/sys/kernel/keys/root_max{keys,bytes} 2>/dev/null || true
    echo "# files"
    ls -d "$PROBITY_CLUSTER_STATE" /run/netns /var/run/netns /var/lib/{kubelet,containerd,cni,etcd-data,kube-proxy,probity} \
        /var/log/{pods,containers} /run/{containerd,cni-addresses} /opt/{containerd,cni} /etc/kubernetes /etc/cni 2>/dev/null || true
}

# For a moment after `down`, the kernel still removes namespaces and processes; these must not be recorded.
remember_traces() {
    sleep 3
    traces >"$1"
}

# Compares the current traces with those in FILE. It tries for a while, because the kernel removes namespaces with a delay.
no_traces_since() {
    local before=$1
    eventually 15 same_traces "$before" || return 1
}

same_traces() { diff <(cat "$1") <(traces); }

# The pids, as the host sees them, of all processes in the cgroups of the cluster.
cluster_processes() {
    find /sys/fs/cgroup -path '*probity*' -name cgroup.procs -exec cat {} + 2>/dev/null | sort -un
}
