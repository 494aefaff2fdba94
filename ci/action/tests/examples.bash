# The examples of docs/ci.md: each is taken from the page unchanged, checked by the tools for its format, and run with stand-ins.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

test_examples() {
    local name
    need shellcheck shellcheck
    install_actionlint
    EXAMPLES=$WORK/examples
    mkdir -p "$EXAMPLES"
    for name in github github-baseline github-kubelet github-kubeconfig kind prow gitlab jenkins k3s air-gapped proxy tainted-node; do
        example "$name" >"$EXAMPLES/$name"
        expect "the example $name is there" test -s "$EXAMPLES/$name"
    done
    expect "every example of the page is in this test" same "$(grep -c '^<!-- example: ' "$ROOT/docs/ci.md")" 12
    expect "every example says how it was checked" same "$(grep -c '^\*Checked: ' "$ROOT/docs/ci.md")" 14
    for name in github github-baseline github-kubelet github-kubeconfig; do
        expect "actionlint finds nothing in $name" workflow "$name"
        expect "its inputs are inputs of the action" inputs_exist "$name"
    done
    expect "the Prow job is one" prow_job
    expect "shellcheck finds nothing in the script of the Prow job" shellcheck --shell=bash "$EXAMPLES/prow.sh"
    expect "GitLab's schema accepts the job" gitlab_job
    recorded as-it-was
    publish_examples
    shell_example kind "kind create cluster --name probity --kubeconfig kubeconfig --wait 5m" "kind load image-archive" \
        "probity run --kubeconfig kubeconfig --context kind-probity --pull-policy Never" "kind delete cluster --name probity"
    shell_example k3s "k3s ctr images import" "probity run --kubeconfig /etc/rancher/k3s/k3s.yaml --pull-policy Never"
    sed -i "s/^digest=0\{64\}/digest=$DIGEST/" "$EXAMPLES/air-gapped"
    shell_example air-gapped "ssh node1 sudo ctr --namespace k8s.io images import -" "ssh node2 sudo ctr" "probity run --kubeconfig kubeconfig --context internal"
    shell_example proxy "probity run --kubeconfig kubeconfig --context test-cluster --image registry.example.com/probity/agnhost-rs:dev"
    expect "... with the variables of the proxy" grep -qx 'HTTPS_PROXY=http://proxy\.example\.com:3128' "$PLACE/notes/environment"
    shell_example tainted-node "ssh node2 sudo ctr" \
        "--node node2 --toleration vendor.example.com/kubelet=testing:NoSchedule --pull-policy Never --label product=my-kubelet"
    shell_example gitlab "curl https://github.com/OWNER/probity/releases/download/v1.2.3/probity-1.2.3-linux-amd64.tar.gz" "probity run --kubeconfig /secret/kubeconfig --context test-cluster --image registry.example.com/probity/agnhost-rs:dev --out report"
    shell_example jenkins "probity run --kubeconfig /secret/kubeconfig --context test-cluster --image registry.example.com/probity/agnhost-rs:dev --inconclusive pass --out report"
    expect "the flags of the examples are flags of probity" flags_exist
}

# example NAME: the text of a code block of the page.
example() {
    awk -v mark="<!-- example: $1 -->" '$0 == mark { found = 1; next } found && /^```/ { if (inside) exit; inside = 1; next } inside' "$ROOT/docs/ci.md"
}

# A workflow in its own repository, because actionlint looks for actions there.
workflow() {
    mkdir -p "$EXAMPLES/repository/.github/workflows"
    cp "$EXAMPLES/$1" "$EXAMPLES/repository/.github/workflows/$1.yaml"
    "$ACTIONLINT" -color=false "$EXAMPLES/repository/.github/workflows/$1.yaml" &&
        "$CHECK_JSONSCHEMA" --builtin-schema vendor.github-workflows "$EXAMPLES/repository/.github/workflows/$1.yaml"
}

inputs_exist() {
    "$PYTHON" - "$EXAMPLES/$1" "$ACTION/action.yml" <<'PYTHON'
import sys
from ruamel.yaml import YAML
read = lambda path: YAML(typ="safe").load(open(path))
inputs = set(read(sys.argv[2])["inputs"])
for job in read(sys.argv[1])["jobs"].values():
    for step in job["steps"]:
        if "probity/ci/action" in step.get("uses", ""):
            assert set(step.get("with", {})) <= inputs, step
PYTHON
}

prow_job() {
    "$PYTHON" - "$EXAMPLES" <<'PYTHON'
import pathlib, sys
from ruamel.yaml import YAML
folder = pathlib.Path(sys.argv[1])
(job,) = YAML(typ="safe").load(folder / "prow")["periodics"]
assert job["decorate"] and job["interval"] and job["extra_refs"], job
(container,) = job["spec"]["containers"]
assert container["args"][:2] == ["bash", "-c"], container
(folder / "prow.sh").write_text(container["args"][2])
PYTHON
}

# The schema, and the lines of the script for a run.
gitlab_job() {
    cp "$EXAMPLES/gitlab" "$EXAMPLES/gitlab-ci.yml"
    "$CHECK_JSONSCHEMA" --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci "$EXAMPLES/gitlab-ci.yml" && "$PYTHON" - "$EXAMPLES" <<'PYTHON'
import pathlib, sys
from ruamel.yaml import YAML
folder = pathlib.Path(sys.argv[1])
job = YAML(typ="safe").load(folder / "gitlab-ci.yml")["probity"]
lines = ["set -eu"] + [f"{name}='{value}'" for name, value in job["variables"].items()] + ["KUBECONFIG_FILE=/secret/kubeconfig"]
# The image of the example has apt-get; here, stand-ins replace its packages.
lines += [line for line in job["before_script"] if not line.startswith("apt-get")] + job["script"]
(folder / "gitlab").write_text("\n".join(lines) + "\n")
groovy = (folder / "jenkins").read_text().split("'''")[1::2]
head = ["VERSION=1.2.3", "IMAGE=registry.example.com/probity/agnhost-rs:dev", "KUBECONFIG_FILE=/secret/kubeconfig"]
(folder / "jenkins").write_text("\n".join(head + groovy))
PYTHON
}

# The responses of the addresses in the examples.
publish_examples() {
    local name=probity-1.2.3-linux-amd64 unpacked=$WORK/example-release
    rm -rf "$WORK/downloads" "$unpacked"
    mkdir -p "$WORK/downloads" "$unpacked"
    tar -xzf "$ARCHIVE" -C "$unpacked" --strip-components 1
    mv "$unpacked" "$WORK/$name"
    tar -C "$WORK" -czf "$WORK/downloads/$name.tar.gz" "$name"
    (cd "$WORK/downloads" && sha256sum "$name.tar.gz" >SHA256SUMS)
    DIGEST=$(sha256sum <"$WORK/downloads/$name.tar.gz" | cut -d' ' -f1)
}

# shell_example NAME CALL...: runs the example next to the release. The stand-ins must have recorded each call, in this order.
shell_example() {
    local name=$1
    shift
    new_place "example-$name"
    cp "$WORK/downloads/probity-1.2.3-linux-amd64.tar.gz" "$PLACE"
    expect "shellcheck finds nothing in $name" shellcheck --shell=sh --exclude=SC1090 "$EXAMPLES/$name"
    # If a clause is violated, the script exits with 1 after it has cleaned up.
    expect "$name runs with stand-ins, and ends as the run did" ends_as_the_run "$EXAMPLES/$name"
    expect "... its calls are those that are meant" calls_in_order "$@"
    expect "... and it leaves a report" bash -c 'compgen -G "$1/*report/report.json" >/dev/null' _ "$PLACE"
}

ends_as_the_run() {
    local status=0
    (cd "$PLACE" && env -u ARTIFACTS PATH="$BIN:$WORK/probity-1.2.3-linux-amd64:$PATH" STAND_IN_STATUS=1 sh "$1") >"$PLACE/log" 2>&1 || status=$?
    same "$status" 1 || { cat "$PLACE/log"; return 1; }
}

calls_in_order() {
    local call line=0 found
    for call in "$@"; do
        found=$(tail -n "+$((line + 1))" "$PLACE/notes/calls" | grep -nF -- "$call" | head -n 1 | cut -d: -f1)
        [[ -n $found ]] || { echo "not called, or too early: $call"; calls; return 1; }
        line=$((line + found))
    done
}

# The real program reads the flags of each run, but only lists the cases.
flags_exist() {
    local line
    while IFS= read -r line; do
        line=${line#*probity run }
        line=${line//\"/}
        # shellcheck disable=SC2086  # words of an example
        "$PROBITY" run --list $line >/dev/null || { echo "$line"; return 1; }
    done < <(cat "$EXAMPLES"/{kind,k3s,air-gapped,proxy,tainted-node,gitlab,jenkins} | grep 'probity run')
}
