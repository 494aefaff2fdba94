# Names, addresses and paths of the cluster, each defined once. Changes nothing on the machine.
# Sourced by ci/cluster before every other part; a user may override what is read from the environment.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the other parts use these

# ---- where things are kept -------------------------------------------------------------------------------

# Disks of the nodes, certificates, logs. `down` removes it.
STATE_DIR=${PROBITY_CLUSTER_STATE:-/var/lib/probity-cluster}
# The disks of the machines, in memory if at least this amount is available (MiB).
DISKS=$STATE_DIR/machines
MIN_MEMORY_FOR_DISKS=${PROBITY_CLUSTER_MEMORY_FOR_DISKS:-8192}
# Built programs, one folder per version and set of flags. `down` keeps it: a warm start needs it.
CACHE_DIR=${PROBITY_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/probity}
# With less free space than this (MiB), a start fails before anything is changed.
MIN_FREE_STATE=${PROBITY_CLUSTER_MIN_FREE:-1024}
MIN_FREE_CACHE=6144

# ---- images ----------------------------------------------------------------------------------------------

# The sandbox of every pod is the target itself, whose default sub-command is `pause`.
SANDBOX_IMAGE=probity.local/agnhost-rs:dev
SANDBOX_ARCHIVE=$REPOSITORY/target/image/agnhost-rs.tar
# What `check` runs in its pods: a shell and a small web server, so that the check does not depend on our programs.
CHECK_IMAGE=probity.local/cluster-check:1
CHECK_ARCHIVE=$CACHE_DIR/cluster-check-1.tar

# ---- the program that starts containers ------------------------------------------------------------------------

# crun needs much less processor time than runc to start a container or to run a command in it.
CONTAINER_RUNTIME=${PROBITY_CLUSTER_RUNTIME:-crun}

# Components that are not under test collect garbage less often: memory is plentiful, and processor time is not. The kubelet
# keeps its default.
RARE_COLLECTION=(env GOGC=400)

# ---- versions --------------------------------------------------------------------------------------------

DEFAULT_VERSION=1.36
CONTROL_PLANE_COMPONENTS=(kube-apiserver kube-controller-manager kube-scheduler)
# The components that are built for every version. The kubelet is also built, unless the user provides one for each node.
BASE_COMPONENTS=("${CONTROL_PLANE_COMPONENTS[@]}" kube-proxy kubectl)

# ---- addresses: none of them is visible in the host's own network namespace ----------------------------------

NETWORK=10.197.0                 # of machines: .1 is the control plane, .11 the first node
POD_NETWORK=10.128.0.0/10        # of all pods; 10.(128+N).0.0/16 is the range of node N, so large that no pod gets the
                                 # address of another one that ended a moment ago: the node still knows its old one
SERVICE_RANGE=10.96.0.0/16
API_SERVICE_IP=10.96.0.1
DNS_SERVICE_IP=10.96.0.10        # reserved, unanswered: a lookup fails at once
CONTROL_IP=$NETWORK.1
API_PORT=6443                    # inside; outside it is 127.0.0.1 and --port
DEFAULT_HOST_PORT=16443
BRIDGE=cluster0
MAX_NODES=20

# ---- names -----------------------------------------------------------------------------------------------

CONTEXT=probity-cluster          # context, cluster and user in the kubeconfig
CGROUP=${PROBITY_CLUSTER_CGROUP:-probity}  # /probity/MACHINE in every hierarchy; another for a second cluster beside it
CONTROL=control                  # the machine that holds the control plane and the bridge

# Where a machine finds the programs: bound there by machine-init, since /var/lib is the machine's own.
TOOLS_INSIDE=/var/lib/probity/bin
RUNTIME_INSIDE=/var/lib/probity/runtime
PATH_INSIDE=$TOOLS_INSIDE:$RUNTIME_INSIDE:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

KUBECONFIG_FILE=$STATE_DIR/kubeconfig
LOG_DIR=$STATE_DIR/logs
