# The steps of the action, run as in action.yml, with a recorded run instead of a cluster.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154  # the parts share variables; jq and not the shell reads the filters

test_steps() {
    steps_on_kind
    steps_decide
    steps_compare
    steps_publish
    steps_check_inputs
    steps_get_programs
    steps_with_a_cluster_of_the_user
    steps_when_kind_fails
    steps_when_cancelled
}

# A report in which everything holds.
HOLDS='.clauses[].verdict |= (if . == "skipped" then . else "holds" end) | .cases[].verdict = "holds" | .result.profiles[].result = "success"'

steps_on_kind() {
    recorded as-it-was
    act kind-as-it-is
    expect "a violated clause fails the job" ended failed
    expect "kind makes the cluster and waits" contains "$(calls)" "kind create cluster --name probity --kubeconfig $PLACE/temp/probity."
    expect "the image of the release is loaded into it" contains "$(calls)" "kind load image-archive $PLACE/temp/probity."
    expect "the run names its context and never pulls" contains "$(calls)" "--context kind-probity --pull-policy Never"
    expect "the cluster is deleted" contains "$(calls)" "kind delete cluster --name probity"
    expect "the logs of kind are kept" test -f "$PLACE/uploaded/kind-logs/kubelet.log"
    expect "the report is uploaded" test -f "$PLACE/uploaded/report/report.json"
    expect "the counts are an output" same "$(an_output counts | jq .violated)" 1
    expect "the exit status is an output" same "$(an_output exit-status)" 1
    expect "the summary begins with the decision" same "$(summary | head -n 1)" "## Probity action: failed (fail-on: violated)"
    expect "the summary goes on with that of the run" contains "$(summary)" "## Probity: violated (1 violated"
    expect "a violated clause is an error" contains "$(annotations error)" "title=prober.kubelet-restart.status-kept%3A violated::"
    expect "inconclusive clauses are warnings" same "$(annotations warning | wc -l)" 2
    expect "the run writes no annotation of its own" bash -c '! grep -qE "^GITHUB_(ACTIONS|STEP_SUMMARY|OUTPUT|ENV|PATH)=" "$1"' _ "$PLACE/notes/environment"
    expect "what the run prints is not taken for commands" output_is_fenced
    expect "nothing leaks into the rest of the job" bash -c '[ ! -e "$1/env" ] && [ ! -e "$1/path" ]' _ "$PLACE"

    recorded all-hold "$HOLDS"
    STAND_IN_STATUS=0 act kind-all-hold
    expect "a run in which everything holds passes" ended passed
    expect "the logs of kind are not kept then" bash -c '[ ! -e "$1/uploaded/kind-logs" ]' _ "$PLACE"
    expect "there is no error then" same "$(annotations error)" ""

    cp "$TESTS/programs/kind" "$WORK/downloads/kind-linux-amd64"
    cp "$TESTS/programs/kind" "$WORK/downloads/kind-linux-arm64"
    act kind-other kind-version=v0.30.0 kind-sha256="$(sha256sum <"$TESTS/programs/kind" | cut -d' ' -f1)"
    expect "another kind is downloaded" contains "$(calls)" "curl https://github.com/kubernetes-sigs/kind/releases/download/v0.30.0/kind-linux-"
    expect "... and used if its digest is right" contains "$(calls)" "kind create cluster"
    act kind-tampered kind-version=v0.32.0
    expect "a kind with another digest than that of kind.json is not run" contains "$(annotations error)" "kind v0.32.0 has the digest"
    expect "... nor asked for its clusters" bash -c '! grep -q "kind get" "$1"' _ "$PLACE/notes/calls"
    STAND_IN_KIND_VERSION=0.32.0 act kind-options kind-version=v0.32.0 node-image=1.35 kind-config="$TESTS/run/summary.md" cluster-name=mine \
        profile=core,slow keep-cluster=true upload=false annotations=false
    expect "kind gets the image by digest, its configuration and name" contains "$(calls)" "--wait 5m --image kindest/node:v1.35.5@sha256:ce977ae6d65918d0b58a5f8b5e940429c2ce42fa3a5619ec2bbc60b949c0ac95 --config $TESTS/run/summary.md"
    expect "the profile is passed on" contains "$(calls)" "--context kind-mine --profile core,slow"
    expect "the cluster is kept if so asked" bash -c '! grep -q "kind delete" "$1"' _ "$PLACE/notes/calls"
    expect "nothing is uploaded if so asked" same "$(ls "$PLACE/uploaded")" ""
    expect "nothing is annotated if so asked" same "$(annotations warning)" ""

    act kind-tested
    expect "without a node image, kind gets that of the newest tested version" contains "$(calls)" "--image kindest/node:v1.36.4@sha256:"
    STAND_IN_KIND_VERSION=0.32.0 act kind-older node-image=1.33
    expect "an older version of Kubernetes brings the kind that has it" contains "$(calls)" "--image kindest/node:v1.33.12@sha256:"
    act kind-of-config kind-config="$TESTS/run/summary.md"
    expect "with a configuration, the image is that of the configuration" bash -c '! grep -q -- "--image" "$1"' _ "$PLACE/notes/calls"

    act kind-arguments 'filter=one $(touch '"$WORK"'/pwned)
   two words  
' 'arguments=--repeat=2
--label=a=b; touch '"$WORK"'/pwned' suite="$TESTS/run/report.json
$TESTS/run"
    expect "filters, suites and arguments are passed on as they are" contains "$(calls)" \
        "--suite $TESTS/run/report.json --suite $TESTS/run --repeat=2 --label=a=b; touch $WORK/pwned -- one \$(touch $WORK/pwned) two words"
    expect "and nothing of them is run" test ! -e "$WORK/pwned"
}

# Every line of the run is between `stop-commands` and its token, even if a line has no end.
output_is_fenced() {
    local token
    token=$(sed -n 's/^::stop-commands::\([0-9a-f]\{32\}\)$/\1/p' "$PLACE/log")
    [[ -n $token ]] && sed -n "/^::stop-commands::$token\$/,/^::$token::\$/p" "$PLACE/log" | grep -q '^::error title=hostile' &&
        grep -qx "::$token::" "$PLACE/log"
}

# decides WORDS passed|failed FAIL-ON STATUS FILTER [REASON]
decides() {
    local name=decide-$((PASSED + FAILED))
    recorded "$name" "$5"
    STAND_IN_STATUS=$4 act "$name" fail-on="$3"
    expect "$1" ended "$2"
    [[ -z ${6:-} ]] || expect "... and says so: $6" contains "$(summary)" "$6"
}

steps_decide() {
    local undecided="$HOLDS"' | .clauses[0].verdict = "inconclusive"' diverging="$HOLDS"' | .clauses[0].verdict = "diverges"'
    decides "inconclusive passes by default" passed violated 3 "$undecided"
    decides "inconclusive fails if it is to" failed inconclusive 3 "$undecided" "1 clause is inconclusive"
    decides "inconclusive fails if divergence is to" failed diverges 3 "$undecided"
    decides "a divergence passes by default" passed violated 0 "$diverging"
    decides "a divergence passes if inconclusive is to fail" passed inconclusive 0 "$diverging"
    decides "a divergence fails if it is to" failed diverges 0 "$diverging" "1 clause is divergent"
    decides "a violated expectation of a case fails" failed violated 1 "$HOLDS"' | .cases[0].verdict = "violated"' "1 case is violated"
    decides "an error fails" failed violated 4 "$HOLDS"' | .cases[0].verdict = "error"' "in error"
    decides "a run that decided nothing fails" failed violated 3 '(.clauses, .cases)[].verdict = "skipped"' "nothing was decided"
    decides "an interrupted run fails" failed violated 5 "$HOLDS" "the run was interrupted"
    decides "objects that are left fail the job" failed violated 6 "$HOLDS" "objects are left on the cluster"
    decides "objects that the report names fail the job" failed violated 0 "$HOLDS"' | .leftovers = [{}]' "objects are left on the cluster"
    decides "a run without an end fails" failed violated 4 "$HOLDS"' | del(.usage)' "did not come to its end"
    decides "an unknown exit status fails" failed violated 137 "$HOLDS" "exit status 137"
    decides "a verdict that is not known fails" failed violated 0 "$HOLDS"' | .clauses[0].verdict = "fine"' "a verdict that this action does not know: fine"
    decides "another format fails" failed violated 0 "$HOLDS"' | .schemaVersion = "2.0.0"' "has the format 2.0.0"
    decides "a noisy run passes by default, with a note" passed violated 0 "$HOLDS"' | .result.profiles[0] += { result: "invalid", why: "the nodes were too noisy" }' "Note: the profile core says nothing about the cluster: the nodes were too noisy"
    decides "a noisy run fails if inconclusive is to" failed inconclusive 0 "$HOLDS"' | .result.profiles[0] += { result: "invalid", why: "the nodes were too noisy" }'
    recorded refused
    STAND_IN_STATUS=2 act refused
    expect "a run that is refused fails" ended failed
    expect "... and says why" contains "$(summary)" "refused before it created anything"
    expect "... in one annotation" same "$(annotations error | wc -l)" 1
}

# compares WORDS passed|failed FAIL-ON FILTER-OF-THE-BASELINE FILTER-OF-THE-RUN
compares() {
    local name=compare-$((PASSED + FAILED))
    recorded "$name-older" "$4"
    recorded "$name" "$5"
    STAND_IN_STATUS=0 act "$name" fail-on="$3" baseline="$WORK/recorded/$name-older/report.json"
    expect "$1" ended "$2"
}

steps_compare() {
    compares "the same run is not worse than itself" passed regression . .
    expect "... though a clause is violated, which is only a warning then" contains "$(annotations warning)" "status-kept%3A violated"
    expect "... and the difference is shown" contains "$(summary)" "Compared with the baseline: 0 added, 0 dropped, 0 changed"
    compares "a clause that held and is violated is worse" failed regression "$HOLDS" "$HOLDS"' | .clauses[0].verdict = "violated"'
    expect "... it is counted" same "$(an_output regressions)" 1
    expect "... it is in the table" contains "$(summary)" "| holds | **violated** |"
    expect "... it is an error" contains "$(annotations error)" "%3A holds -> violated::worse than in the baseline"
    compares "a clause that held and is inconclusive is worse" failed violated "$HOLDS" "$HOLDS"' | .clauses[0].verdict = "inconclusive"'
    compares "a clause that held and diverges is not" passed regression "$HOLDS" "$HOLDS"' | .clauses[0].verdict = "diverges"'
    compares "an inconclusive clause that is violated is worse" failed regression "$HOLDS"' | .clauses[0].verdict = "inconclusive"' "$HOLDS"' | .clauses[0].verdict = "violated"'
    compares "a violated clause that holds is not" passed regression "$HOLDS"' | .clauses[0].verdict = "violated"' "$HOLDS"
    compares "a new clause that is violated is worse" failed regression "$HOLDS | del(.clauses[0])" "$HOLDS"' | .clauses[0].verdict = "violated"'
    compares "a clause that is no longer there is not" passed regression "$HOLDS" "$HOLDS | del(.clauses[0])"
    compares "a threshold counts with a baseline, too" failed violated . .
    compares "another edition of the suite is named" passed regression "$HOLDS"' | .suite.digest = "sha256:00"' "$HOLDS"
    expect "... as a note" contains "$(summary)" "another edition of the suite"
    recorded folder "$HOLDS"
    STAND_IN_STATUS=0 act baseline-folder baseline="$WORK/recorded/folder"
    expect "a folder of a run is a baseline" ended passed
    act baseline-wrong baseline="$TESTS/run/summary.md"
    expect "what is not a report is not a baseline" ended failed
    expect "... and the reason is shown" contains "$(summary)" "the baseline cannot be compared"
}

steps_publish() {
    local older
    recorded many '.clauses = [range(30) as $i | .clauses[0] | .id = "demo.clause-\($i)" | .verdict = "violated" | del(.followsFrom)]'
    act many
    expect "at most ten errors are written" same "$(annotations error | grep -vc 'title=Probity')" 10
    expect "... the last counts the rest" contains "$(annotations error)" "::error title=and 21 more::21 more are in the summary"
    recorded hostile-older '.clauses[0].verdict = "holds"'
    older=$STAND_IN_RUN
    recorded hostile '.clauses[0] |= (.verdict = "violated" | .finding = "one\n::warning::two\r100% </pre><script>| `x`")'
    act hostile baseline="$older"
    expect "captured text cannot begin a command" contains "$(annotations error)" "%3A holds -> violated::worse than in the baseline: one%0A::warning::two%0D100%25"
    expect "... nor end an element of the summary" bash -c '! grep -q "<script>" "$1" && [ "$(grep -c "^</pre>$" "$1")" = 1 ]' _ "$PLACE/summary.md"
    expect "... nor a cell of a table" contains "$(summary)" "&lt;script&gt;&#124;"
    recorded own '.suite.added = ["test/a:b, c.yaml"] | .cases[0] |= (.source = "test/a:b, c.yaml" | .verdict = "violated" | .expected = [{ what: "never a restart", verdict: { verdict: "violated", finding: "a restart" } }])'
    act own
    expect "a case of the user's own is annotated at its file" contains "$(annotations error)" "::error file=test/a%3Ab%2C c.yaml,title="
    recorded follows '(.clauses[] | select(.verdict == "violated")).followsFrom = "demo.other"'
    act follows
    expect "a violation that follows from another has no annotation" same "$(annotations error | grep -v 'title=Probity')" ""
    recorded long
    head -c 3000000 < <(yes "a long line of a summary with an accent: é") >"$STAND_IN_RUN/summary.md"
    act long
    expect "a summary that GitHub would drop is cut" bash -c '(($(stat -c %s "$1") < 1048576)) && grep -q "cut here" "$1" && iconv -f utf8 -t utf8 "$1" >/dev/null' _ "$PLACE/summary.md"
    recorded as-it-was
}

# refused INPUT=VALUE WORDS
refused() {
    act refused "$1"
    expect "refused: $(tr '\n' ' ' <<<"$1" | cut -c 1-60)" was_refused "$2"
}

steps_check_inputs() {
    refused fail-on=never "use one of: violated inconclusive diverges regression"
    refused fail-on=regression "needs the input baseline"
    refused profile=fast "a list of core, extended, node, cluster, slow and regressions"
    refused 'version=1.2; rm -rf /' "a version such as v1.2.3"
    refused sha256=abc "64 hexadecimal digits"
    refused kind-version=0.33 "a version such as v0.33.0"
    refused 'node-image=--help' "a minor version such as 1.36"
    refused 'cluster-name=--help' "lower-case letters"
    refused cluster-name= "cluster-name is empty"
    refused pull-policy=Sometimes "use one of: Never IfNotPresent Always"
    refused upload=yes "use one of: true false"
    refused kubeconfig=/nowhere/kubeconfig "cannot be read"
    refused baseline=/nowhere/report.json "cannot be read"
    refused suite=/nowhere/cases "cannot be read"
    refused only-suite=true "needs case files"
    refused image=example.com/agnhost-rs:dev "needs the input kubeconfig"
    refused "load-command=ssh node1 ctr" "needs the input kubeconfig"
    refused context=prod "needs the input kubeconfig"
    refused $'version=v1.2.3\nresult=passed' "a version such as v1.2.3"
    refused $'context=a\nresult=passed' "needs the input kubeconfig"
}

# A folder of downloads like that of a release.
published() {
    rm -rf "$WORK/downloads"
    mkdir -p "$WORK/downloads"
    cp "$ARCHIVE" "$WORK/downloads/$NAME"
    (cd "$WORK/downloads" && sha256sum "$NAME" >SHA256SUMS)
}

steps_get_programs() {
    local arch released
    arch=$(bash -c '. "$1/lib/step" && architecture' _ "$ACTION")
    NAME=probity-1.2.3-linux-$arch.tar.gz
    recorded all-hold "$HOLDS"
    export STAND_IN_STATUS=0
    act digest-right sha256="$DIGEST"
    expect "an archive with the right digest is taken" ended passed
    act digest-wrong sha256="${DIGEST//[0-9]/0}"
    expect "an archive with a wrong digest is refused" ended failed
    expect "... before anything of it runs" same "$(calls)" ""
    published
    act download version=v1.2.3
    expect "a version is downloaded and checked by its sums" ended passed
    expect "... from the release of this repository" contains "$(calls)" "curl https://github.invalid/example/probity/releases/download/v1.2.3/$NAME"
    expect "... and the log says what that is worth" contains "$(log)" "also protects against a replaced release"
    act download-mirror version=1.2.3 download-from=https://mirror.invalid/probity/ sha256="$DIGEST"
    expect "a mirror is used if one is given" contains "$(calls)" "curl https://mirror.invalid/probity/$NAME"
    expect "... and a given digest needs no sums" bash -c '! grep -q SHA256SUMS "$1"' _ "$PLACE/notes/calls"
    STAND_IN_REF=v1.2.3 act download-tag version=
    expect "without a version, the tag of the action is taken" ended passed
    STAND_IN_REF=v1 act download-none version=
    expect "without a release, the action says what to do" contains "$(annotations error)" "name one in the input version"
    act download-missing version=v9.9.9
    expect "a release that does not exist is named" contains "$(annotations error)" "does the release v9.9.9 exist?"
    echo "tampered" >>"$WORK/downloads/$NAME"
    act download-damaged version=v1.2.3
    expect "a damaged download is refused" contains "$(annotations error)" "nothing of it was run"
    published
    : >"$WORK/downloads/SHA256SUMS"
    act download-no-line version=v1.2.3
    expect "sums without the archive are refused" contains "$(annotations error)" "has no line for $NAME"
    # release.json pins both, as behind the tag v1.
    released=$WORK/release.json
    jq -n --arg arch "$arch" --arg digest "$DIGEST" '{ version: "v1.2.3", sha256: { ($arch): $digest } }' >"$released"
    expect "release.json names the version and the digest" a_pinned_release "$released"
    unset STAND_IN_STATUS

    mkdir -p "$WORK/bad/probity-x"
    cp "$WORK/release/probity" "$IMAGE" "$WORK/bad/probity-x"
    ln -s /etc/passwd "$WORK/bad/probity-x/link"
    tar -C "$WORK/bad" -czf "$WORK/link.tar.gz" probity-x
    act archive-link archive="$WORK/link.tar.gz"
    expect "an archive with a link is refused" contains "$(annotations error)" "links or paths outside"
    rm "$WORK/bad/probity-x/link"
    tar -C "$WORK/bad" -czPf "$WORK/up.tar.gz" --transform 's,^probity-x/probity,probity-x/../../probity,' probity-x
    act archive-up archive="$WORK/up.tar.gz"
    expect "an archive with a path outside is refused" contains "$(annotations error)" "links or paths outside"
    act archive-text archive="$TESTS/run/summary.md"
    expect "what is not an archive is refused" contains "$(annotations error)" "not a gzip-compressed tar file"
    rm "$WORK/bad/probity-x/agnhost-rs.tar"
    tar -C "$WORK/bad" -czf "$WORK/part.tar.gz" probity-x
    act archive-part archive="$WORK/part.tar.gz"
    expect "an archive without the image is refused" contains "$(annotations error)" "holds no agnhost-rs.tar"
    expect "a job that never came to its run says so in the summary" contains "$(summary)" "the run did not start"
}

# The script alone, with a different release.json.
a_pinned_release() {
    new_place pinned
    mkdir -p "$PLACE/work"
    : >"$WORK/downloads/SHA256SUMS"
    env PATH="$BIN:$PATH" WORK="$PLACE/work" INPUT_ARCHIVE='' INPUT_VERSION='' INPUT_SHA256='' INPUT_DOWNLOAD_FROM='' ACTION_REF=v1 \
        ACTION_REPOSITORY=example/probity GITHUB_REPOSITORY=x GITHUB_SERVER_URL=https://github.invalid GITHUB_OUTPUT="$PLACE/output" \
        PROBITY_ACTION_RELEASE="$1" "$ACTION/get-programs" && ! grep -q SHA256SUMS "$PLACE/notes/calls"
}

steps_with_a_cluster_of_the_user() {
    recorded all-hold "$HOLDS"
    export STAND_IN_STATUS=0
    echo "a kubeconfig" >"$WORK/kubeconfig"
    act mine kubeconfig="$WORK/kubeconfig" context=mine "load-command=ssh node1 sudo ctr images import -" image=probity.local/agnhost-rs:dev pull-policy=IfNotPresent
    expect "a cluster of the user is taken" ended passed
    expect "kind is not touched" bash -c '! grep -q ^kind "$1"' _ "$PLACE/notes/calls"
    expect "the load command is called" contains "$(calls)" "ssh node1 sudo ctr images import -"
    expect "... and reads the image" same "$(cat "$PLACE/notes/received")" "$(sha256sum <"$IMAGE" | cut -d' ' -f1)"
    expect "the run names the kubeconfig and the context" contains "$(calls)" "--kubeconfig $WORK/kubeconfig --out"
    expect "... and the image" contains "$(calls)" "--context mine --image probity.local/agnhost-rs:dev --pull-policy IfNotPresent"
    expect "the kubeconfig is still there" test -f "$WORK/kubeconfig"
    act mine-metacharacters kubeconfig="$WORK/kubeconfig" "load-command=ssh node1 ; touch $WORK/pwned \$(touch $WORK/pwned)"
    expect "the load command is not run by a shell" test ! -e "$WORK/pwned"
    unset STAND_IN_STATUS
}

steps_when_kind_fails() {
    recorded as-it-was
    STAND_IN_KIND_FAILS=1 act kind-fails
    expect "a cluster that does not start fails the job" ended failed
    expect "... nothing runs" bash -c '! grep -q "^probity" "$1"' _ "$PLACE/notes/calls"
    expect "... what is there of it is deleted" contains "$(calls)" "kind delete cluster --name probity"
    expect "... and the summary says so" contains "$(summary)" "the run did not start"
    new_place kind-taken
    echo probity >"$PLACE/notes/clusters"
    act_again
    expect "a cluster of this name is not taken over" contains "$(annotations error)" "already a kind cluster named probity"
    expect "... nor deleted" same "$(cat "$PLACE/notes/clusters")" probity
    expect "nothing is deleted that was not started" touches_nothing
    act kind-unknown kind-version=v0.1.0
    expect "a kind whose digest is not known is refused" contains "$(annotations error)" "name it in the input kind-sha256"
    act kind-image-unknown node-image=1.12
    expect "a node image that is not known is refused" contains "$(annotations error)" "no node image of Kubernetes 1.12 is known"
}

# Each step that uses kind, when nothing has been started.
touches_nothing() {
    local step
    new_place not-started
    for step in stop-cluster collect-logs; do
        env PATH="$BIN:$PATH" WORK="$PLACE" KIND="$BIN" STARTED='' INPUT_CLUSTER_NAME=probity INPUT_KEEP_CLUSTER=false GITHUB_OUTPUT=/dev/null \
            "$ACTION/$step" || return 1
    done
    same "$(calls)" ''
}

# As `act`, in the place as it is.
act_again() {
    STATUS=0
    PATH=$BIN:$PATH "$PYTHON" "$TESTS/runner" "$PLACE" archive="$ARCHIVE" >"$PLACE/runner.log" 2>&1 || STATUS=$?
}

steps_when_cancelled() {
    expect "a cancelled run cleans up once, and its status is known" a_cancelled_run
}

a_cancelled_run() {
    local run
    new_place cancelled
    mkdir -p "$PLACE/work"
    env PATH="$BIN:$PATH" STAND_IN_HOLD=1 WORK="$PLACE/work" PROBITY="$TESTS/programs/probity" CLUSTER=existing KUBECONFIG_FILE=x CONTEXT='' \
        INPUT_IMAGE='' INPUT_PULL_POLICY='' INPUT_PROFILE='' INPUT_FILTER='' INPUT_SUITE='' INPUT_ONLY_SUITE=false INPUT_ARGUMENTS='' \
        GITHUB_OUTPUT="$PLACE/output" "$ACTION/run" >"$PLACE/log" 2>&1 &
    run=$!
    eventually 10 test -e "$PLACE/notes/holding" || return 1
    kill -TERM "$run"
    sleep 0.3
    kill -TERM "$run"
    wait "$run" || { cat "$PLACE/log"; return 1; }
    same "$(grep -c cleaned "$PLACE/notes/calls")" 1 && contains "$(cat "$PLACE/output")" "exit-status=5"
}
