# Facts about a run, from its report.

def one_of_each: unique | join(" and ");
def kubelets: [.environment.nodes[].kubelet | ltrimstr("v")] | one_of_each;
def runtimes: [.environment.nodes[].runtime] | one_of_each;
def nodes: .environment.nodes | length | "\(.) node\(if . == 1 then "" else "s" end)";
def date: .began[0:10];
def program:
    .tool
    | "\(.name) \(.version), " + (if (.commit // "") == "" then "built without a commit" else "commit `\(.commit[0:12])`" end)
    + (if .modified then " with modified sources" else "" end);

# The call of ci/results that makes the run with this name: VERSION, VERSION-regressions or VERSION-RUNTIME.
def command($name):
    ($name | rtrimstr("-regressions") | split("-")) as $parts
    | (.environment.nodes | length) as $nodes
    | ["ci/results", (select($nodes > 1) | "--nodes \($nodes)"), (select($parts[1]) | "--runtime \($parts[1:] | join("-"))"), $parts[0]]
    | join(" ");
