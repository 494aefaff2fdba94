# The network between the machines: a bridge on the control machine, one veth pair to each node, and routes between
# the nodes' pod ranges. The host's own namespace gets no link, address, route or rule; `relay` is the only connection.
# shellcheck shell=bash

node_index() { echo "${1#node}"; }
node_ip() { echo "$NETWORK.$((10 + $(node_index "$1")))"; }
pod_range() { echo "10.$((128 + $(node_index "$1"))).0.0/16"; }

make_bridge() {
    inside_network "$CONTROL" ip -batch - <<END
link add $BRIDGE type bridge
address add $CONTROL_IP/24 dev $BRIDGE
link set $BRIDGE up
END
    # The nodes' own rules apply to traffic across the bridge; here there are none.
    # shellcheck disable=SC2016  # for the inner shell
    inside "$CONTROL" bash -c 'f=/proc/sys/net/bridge/bridge-nf-call-iptables; [[ ! -e $f ]] || echo 0 >$f'
}

# Connects NODE. The cable is created inside the control machine, with its other end on the node.
plug_in() {
    local node=$1 node_pid other
    node_pid=$(machine_pid "$node")
    # The kernel may not have removed the cable of a node that lost power yet.
    inside_network "$CONTROL" ip link delete "$node" 2>/dev/null || true
    inside_network "$CONTROL" ip -batch - <<END
link add $node type veth peer name eth0 netns $node_pid
link set $node master $BRIDGE
link set $node up
route replace $(pod_range "$node") via $(node_ip "$node")
END
    {
        echo "address add $(node_ip "$node")/24 dev eth0"
        echo "link set eth0 up"
        for other in "${NODES[@]}"; do
            [[ $other == "$node" ]] || echo "route add $(pod_range "$other") via $(node_ip "$other")"
        done
    } | inside_network "$node" ip -batch -
}

# Cuts NODE off silently: its link stays up but its packets are lost, as with a broken switch.
cut_off() { inside_network "$CONTROL" ip link set "$1" nomaster; }

heal() {
    inside_network "$CONTROL" ip link set "$1" master "$BRIDGE"
}

is_cut_off() {
    local connected
    connected=$(inside_network "$CONTROL" ip -brief link show master "$BRIDGE" 2>/dev/null)
    ! grep -q "^$1@" <<<"$connected"
}

# ---- the relay: 127.0.0.1:PORT of the host to the API server ----------------------------------------------------
# A unix socket crosses network namespaces, so two socats replace any link between them.

start_relay() {
    local port=$1 folder log
    folder=$(disk_of "$CONTROL")/lib/probity
    log=$(log_of "$CONTROL" relay)
    rm -f "$folder/api.sock"
    start_component "$CONTROL" relay-inside \
        socat UNIX-LISTEN:/var/lib/probity/api.sock,fork,backlog=128,mode=600 TCP:"$CONTROL_IP:$API_PORT",nodelay
    (
        join_cgroup "$CONTROL" || exit 1
        exec 9>&-
        cd "$folder" || exit # a unix socket's path may have 107 characters; this one has eight
        exec setsid socat TCP-LISTEN:"$port",bind=127.0.0.1,reuseaddr,nodelay,fork,backlog=128 UNIX-CONNECT:api.sock
    ) </dev/null >>"$log" 2>&1 &
    disown $!
    echo "$! $(start_time_of $!)" >"$STATE_DIR/relay"
}

relay_is_running() {
    local pid started
    { read -r pid started <"$STATE_DIR/relay"; } 2>/dev/null || return 1
    [[ $(start_time_of "$pid") == "$started" ]]
}

require_free_port() {
    local port=$1 holder
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 0
    holder=$(ss -Hltnp "sport = :$port" 2>/dev/null | grep -oE 'users:.*' | head -n 1)
    fail "port $port of 127.0.0.1 is in use ${holder:+by $holder }(the API server's door): end its user, or choose another with --port"
}
