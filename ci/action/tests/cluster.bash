# The action on a real cluster: all steps with the real program, once with the kubeconfig of a user, and once with the same
# cluster in place of a kind cluster.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

# as_kind FROM TO: a kubeconfig with its context under the name that kind gives it.
as_kind() {
    "$PYTHON" - "$1" "$2" "$CONTEXT" <<'PYTHON'
import sys
from ruamel.yaml import YAML
source, target, context = sys.argv[1:]
config = YAML(typ="safe").load(open(source))
(chosen,) = [entry for entry in config["contexts"] if context in ("", entry["name"])]
config["contexts"] = [{**chosen, "name": "kind-probity"}]
YAML(typ="safe").dump(config, open(target, "w"))
PYTHON
}

test_cluster() {
    local case=probe_types/startup-slow-boot archive
    if [[ -z $KUBECONFIG_FILE ]]; then
        skip "no cluster is given: ci/action-test --kubeconfig FILE cluster"
        return
    fi
    mkdir -p "$WORK/real"
    cp "$PROBITY" "$IMAGE" "$WORK/release/agnhost-rs" "$WORK/real"
    # A debug build contains hundreds of megabytes of debugging information.
    strip "$WORK/real/probity"
    PROBITY_RELEASE_OUT=$WORK/packed-real PROBITY_RELEASE_DYNAMIC=1 "$CI/release" --pack "$WORK/real" >/dev/null
    archive=$(echo "$WORK"/packed-real/probity-*.tar.gz)

    act cluster archive="$archive" kubeconfig="$KUBECONFIG_FILE" context="$CONTEXT" filter="$case" pull-policy=Never profile=extended
    expect "the run on the cluster passes" ended passed
    expect "its report is of the case that was asked for" same "$(jq -r '.cases[] | select(.verdict != "skipped") | .case' "$PLACE/uploaded/report/report.json")" "$case"
    expect "its files can be judged again" "$(an_output probity)" report "$PLACE/uploaded/report" --check
    expect "the summary has the run" contains "$(summary)" "## Probity: "
    cp "$PLACE/uploaded/report/report.json" "$WORK/baseline.json"

    act cluster-again archive="$archive" kubeconfig="$KUBECONFIG_FILE" context="$CONTEXT" filter="$case" pull-policy=Never \
        baseline="$WORK/baseline.json" fail-on=regression
    # The result of the comparison depends on the noise of the machine; whether there was a comparison does not.
    expect "a second run is compared with the first" contains "$(summary)" "Compared with the baseline: 0 added, 0 dropped, "
    expect "... and only what is worse fails it" same "$(an_output result)" "$([[ $(an_output regressions) == 0 ]] && echo passed || echo failed)"

    # The same cluster in the place of kind's.
    mkdir -p "$WORK/kind"
    expect "the kubeconfig gets the name that kind would give" as_kind "$KUBECONFIG_FILE" "$WORK/kind/kubeconfig"
    STAND_IN_KUBECONFIG=$WORK/kind/kubeconfig act cluster-kind archive="$archive" filter="$case"
    expect "the run on the stand-in of kind passes" ended passed
    expect "... and its cluster is deleted" contains "$(calls)" "kind delete cluster --name probity"

    act cluster-wrong archive="$archive" kubeconfig="$KUBECONFIG_FILE" context=no-such-context filter="$case"
    expect "a context that does not exist fails the job" ended failed
    expect "... and the summary says where to look" contains "$(summary)" "refused before it created anything"
}
