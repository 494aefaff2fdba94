# Installs the checkers that the tests of the action use, in versions that are known to work, from their registries.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the caller sets CACHE and uses the paths

# actionlint is a Go module.
install_actionlint() {
    local version=1.7.12
    ACTIONLINT=$CACHE/actionlint-$version/actionlint
    [[ ! -x $ACTIONLINT ]] || return 0
    if command -v actionlint >/dev/null; then
        ACTIONLINT=actionlint
        return
    fi
    need go golang-go
    echo "installing actionlint $version"
    GOBIN=$(dirname "$ACTIONLINT") go install "github.com/rhysd/actionlint/cmd/actionlint@v$version" >/dev/null 2>&1
}

# check-jsonschema contains the schemas of actions, workflows and GitLab's files, and a YAML parser.
install_check_jsonschema() {
    local version=0.39.0
    local folder=$CACHE/check-jsonschema-$version
    PYTHON=$folder/bin/python CHECK_JSONSCHEMA=$folder/bin/check-jsonschema
    [[ ! -x $CHECK_JSONSCHEMA ]] || return 0
    echo "installing check-jsonschema $version"
    need python3 python3
    # On Debian, a part of venv is in a separate package. It contains no program, so `need` gets a name that never exists.
    python3 -m venv "$folder" >/dev/null 2>&1 || { need venv-of-python python3-venv && python3 -m venv "$folder"; }
    "$folder/bin/pip" install --quiet "check-jsonschema==$version" >/dev/null
}

# The CycloneDX project's own parser for bills of materials; it contains the schema.
install_cyclonedx() {
    local version=11.12.0
    local folder=$CACHE/cyclonedx-$version
    CYCLONEDX_PYTHON=$folder/bin/python
    [[ ! -x $folder/installed ]] || return 0
    echo "installing cyclonedx-python-lib $version"
    python3 -m venv "$folder" && "$folder/bin/pip" install --quiet "cyclonedx-python-lib[json-validation]==$version" >/dev/null &&
        install -m 0755 /dev/null "$folder/installed"
}
