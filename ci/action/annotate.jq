# Annotations as workflow commands, from the decision (the input) and $reports, an array of at most one report.
#
# GitHub shows ten annotations of a kind for a step and silently drops the rest, so at most nine of a kind are written,
# and a tenth counts the others. Regressions come first.

def data: gsub("%"; "%25") | gsub("\r"; "%0D") | gsub("\n"; "%0A");
def property: data | gsub(":"; "%3A") | gsub(","; "%2C");
def short($most): if length > $most then .[:$most - 1] + "…" else . end;

# An annotation can only point to a file of the user's repository, which does not contain the cases of the book.
def own_file($report; $workspace):
  (. // "") as $case
  | [$report.cases[] | select(.case == $case) | .source][0] as $source
  | if $source == null or ((($report.suite.added // []) | index($source)) == null) then ""
    else $source | if $workspace != "" then ltrimstr($workspace + "/") else . end end;

def case_of: (.evidence[0].case?) // (.verdict as $verdict | [.judgedIn[]? | select(.verdict == $verdict) | .case][0]);

def notes($report; $word; $workspace):
  ($report.clauses[] | select(.verdict == $word and .followsFrom == null)
    | { key: .id, title: "\(.id): \($word)", message: "\(.finding // "") (promised: \(.text))", file: (case_of | own_file($report; $workspace)) }),
  ($report.cases[] as $case | $case.expected[]? | select(.verdict.verdict == $word)
    | { key: $case.case, title: "\($case.case): \($word)", message: "\(.verdict.finding // .verdict.why // "") (expected: \(.what))",
        file: ($case.case | own_file($report; $workspace)) });

def commands($kind):
  (.[:9][] | "::\($kind) \(if .file == "" then "" else "file=\(.file | property)," end)title=\(.title | short(100) | property)::\(.message | short(1000) | data)"),
  (if length > 9 then "::\($kind) title=and \(length - 9) more::\(length - 9) more are in the summary and in report.json" else empty end);

. as $decision
| [$decision.regressions[].id] as $worse
| [$decision.regressions[] | { key: .id, title: "\(.id): \(.from) -> \(.to)", message: "worse than in the baseline: \(.finding)", file: "" }] as $regressions
| (if $reports == [] then
    { errors: [], warnings: [] }
  else
    $reports[0] as $report
    | def of($word): [notes($report; $word; $workspace) | select(.key as $key | $worse | index($key) | not)];
    {
      errors: (
        (if $decision.failOn == "regression" then of("error") else of("violated") + of("error") end)
        + (if ["inconclusive", "diverges"] | index($decision.failOn) then of("inconclusive") else [] end)
        + (if $decision.failOn == "diverges" then of("diverges") else [] end)),
      warnings: (
        (if $decision.failOn == "regression" then of("violated") else [] end)
        + (if ["inconclusive", "diverges"] | index($decision.failOn) then [] else of("inconclusive") end))
    }
  end) as $notes
| ($regressions + $notes.errors | commands("error")),
  ($notes.warnings + [$decision.warnings[] | { title: "Probity", message: ., file: "" }] | commands("warning"))
