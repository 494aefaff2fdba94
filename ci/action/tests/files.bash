# Checks the files of the action and of the workflows with the tools for their formats.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts share variables

test_files() {
    local scripts=("$ACTION"/{check-inputs,get-programs,start-cluster,load-image,run,decide,publish,verdict,collect-logs,stop-cluster}
        "$TESTS"/programs/* "$CI/release" "$CI/action-test")
    need shellcheck shellcheck
    install_actionlint
    expect "shellcheck finds nothing in the scripts" \
        env -C "$ROOT" shellcheck --external-sources --severity=warning "${scripts[@]}" "$ACTION/lib/step" "$CI/lib/static" "$TESTS"/*.bash
    expect "actionlint finds nothing in the workflows" env -C "$ROOT" "$ACTIONLINT" -color=false
    expect "the workflows have the form of the schema" \
        "$CHECK_JSONSCHEMA" --builtin-schema vendor.github-workflows "$ROOT"/.github/workflows/*.yaml
    expect "action.yml has the form of the schema" \
        "$CHECK_JSONSCHEMA" --builtin-schema vendor.github-actions "$ACTION/action.yml"
    expect "each step script begins safely" each_begins_safely
    expect "no script evaluates text" bash -c '! grep -nwE "eval|bash -c|sh -c" "$@"' _ "${scripts[@]:0:10}" "$ACTION/lib/step"
    expect "no expression is pasted into a script of action.yml" bash -c '! grep -nE "^ *run:.*\\$\{\{" "$1"' _ "$ACTION/action.yml"
    expect "each step gets the inputs that its script reads" inputs_reach_the_scripts
    expect "each input is used" each_input_is_used
    expect "actions of others are pinned by commit" pinned
    expect "workflows start with sudo what needs root" root_has_sudo
    expect "the scripts are executable" bash -c 'for file; do [ -x "$file" ] || { echo "$file"; exit 1; }; done' _ "${scripts[@]}"
    expect "kind.json has digests for both architectures, and node images by digest" jq -e '. as $all | ($all.releases[$all.default] != null) and
        all(.releases[]; (.sha256 | keys == ["amd64", "arm64"]) and all(.sha256[]; test("^[0-9a-f]{64}$"))
            and all(.images | to_entries[]; .key as $minor | .value | test("^kindest/node:v" + $minor + "\\.[0-9]+@sha256:[0-9a-f]{64}$")))' "$ACTION/kind.json"
    expect "the matrix of the daily workflow has each node image" jq -e -f "$ACTION/matrix.jq" "$ACTION/kind.json"
}

each_begins_safely() {
    local script
    for script in "${scripts[@]}"; do
        grep -qx 'set -euo pipefail' "$script" || { echo "$script"; return 1; }
    done
}

# For each step: the variables that the script names, except those that it sets or that the runner provides.
inputs_reach_the_scripts() {
    "$PYTHON" - "$ACTION" <<'PYTHON'
import pathlib, re, sys
from ruamel.yaml import YAML
action = pathlib.Path(sys.argv[1])
wrong = 0
for step in YAML(typ="safe").load(action / "action.yml")["runs"]["steps"]:
    if "run" not in step:
        continue
    script = (action / re.search(r'PATH/([a-z-]+)"', step["run"]).group(1)).read_text()
    words = "WORK|REPORT|PROBITY|CLUSTER|KIND|STARTED|CONTEXT|KUBECONFIG_FILE|IMAGE_ARCHIVE|EXIT_STATUS|ACTION_[A-Z]+|INPUT_[A-Z0-9_]+"
    body = "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("#"))
    used = set(re.findall(rf"\$\{{?({words})\b", body))
    for loop in re.findall(r"for name in ([a-z -]+); do", body):
        used |= {"INPUT_" + name.upper().replace("-", "_") for name in loop.split()}
    given = set(step["env"])
    if used != given:
        print(f"{step['name']}: lacks {sorted(used - given)}, does not use {sorted(given - used)}")
        wrong = 1
sys.exit(wrong)
PYTHON
}

each_input_is_used() {
    local name
    while read -r name; do
        grep -q "\${{ inputs\.$name \|inputs\.$name ==" "$ACTION/action.yml" || { echo "$name"; return 1; }
    done < <("$PYTHON" -c 'import sys; from ruamel.yaml import YAML; print("\n".join(YAML(typ="safe").load(open(sys.argv[1]))["inputs"]))' "$ACTION/action.yml")
}

pinned() {
    ! grep -hE '^ *-? *uses: ' "$ACTION/action.yml" "$ROOT"/.github/workflows/*.yaml | grep -vE '@[0-9a-f]{40} # v[0-9.]+$|uses: \./'
}

# The runner's user is not root. A script of ci states in its head that it needs root, for one of its options or always. A step
# of ci/test needs root if one of the scripts that it runs does.
root_has_sudo() {
    "$PYTHON" - "$CI" "$ROOT"/.github/workflows/*.yaml <<'PYTHON'
import itertools, pathlib, re, sys
from ruamel.yaml import YAML
ci = pathlib.Path(sys.argv[1])
CALL = re.compile(r"\bci/([a-z-]+)(?![\w/-])((?: +[a-z-]+)*)")

def needs_root(script, words):
    text = (ci / script).read_text()
    if script == "test":
        return any(needs_root(name, rest.split()) for step in words or steps(text) for name, rest in CALL.findall(branch(text, step)))
    for line in itertools.takewhile(lambda line: line.startswith("#"), text.splitlines()):
        option = re.match(rf"#   ci/{script} (--[a-z-]+)", line)
        if "needs root" in line.lower() and (option is None or option[1] in words):
            return True
    return False

def steps(text):
    return re.findall(r'^    "([a-z]+) ', text, re.MULTILINE)

def branch(text, step):
    found = re.search(rf"^ +{step}\)(.*?);;", text.partition("\nrun() {")[2], re.MULTILINE | re.DOTALL)
    return found[1] if found else f"ci/{step}"

wrong = called = 0
for workflow in map(pathlib.Path, sys.argv[2:]):
    for name, job in YAML(typ="safe").load(workflow)["jobs"].items():
        for line in "\n".join(step.get("run", "") for step in job["steps"]).splitlines():
            for call in CALL.finditer(line):
                called += 1
                if "sudo " not in line[:call.start()] and needs_root(call[1], call[2].split()):
                    print(f"{workflow.name}, job {name}: `{call[0]}` needs root and is started without sudo")
                    wrong = 1
if not called:
    print("no workflow calls a script of ci")
sys.exit(wrong or not called)
PYTHON
}
