# The decision on a report: whether the job passes, and why not.
#
# $reports is an array of one report, $baselines an array of at most one, $compared says whether there is a
# baseline, $failOn is the threshold, and $status is the exit status of the run as text.

def words: ["violated", "error", "inconclusive", "diverges", "holds", "skipped"];
def count($n; $thing): "\($n) \($thing)\(if $n == 1 then "" else "s" end)";
def is_are($n): if $n == 1 then "is" else "are" end;

def check($name):
  if type != "object" or .kind != "ConformanceReport" then error("\($name) is not a report of probity")
  elif (.schemaVersion | tostring | startswith("1.") | not) then error("\($name) has the format \(.schemaVersion), and this action reads 1.x")
  else ([.clauses[].verdict, .cases[].verdict] - words) as $unknown
    | if $unknown == [] then . else error("\($name) has a verdict that this action does not know: \($unknown[0])") end
  end;

# `2 clauses and 1 case are violated`, or nothing.
def sentence($word; $what):
  (.clauses[$word] // 0) as $clauses | (.cases[$word] // 0) as $cases
  | [if $clauses > 0 then count($clauses; "clause") else empty end, if $cases > 0 then count($cases; "case") else empty end]
  | if . == [] then empty else "\(join(" and ")) \(is_are($clauses + $cases)) \($what)" end;

# Regressions: a clause that held and no longer holds, or a new violation.
def regressions($older):
  ($older.clauses | map({ key: .id, value: .verdict }) | from_entries) as $was
  | [ .clauses[]
      | ($was[.id] // "absent") as $from
      | select(
          ($from == "holds" and (.verdict == "violated" or .verdict == "inconclusive" or .verdict == "error"))
          or (.verdict == "violated" and $from != "violated"))
      | { id, from: $from, to: .verdict, finding: (.finding // "") } ];

($reports[0] | check("report.json")) as $report
| (if $compared then ($baselines[0] | check("the baseline")) else null end) as $older
| $report.result as $result
| (if $compared then ($report | regressions($older)) else [] end) as $regressions
| [$result.profiles[]? | select(.result == "invalid")] as $invalid
| [$invalid[] | "the profile \(.profile) says nothing about the cluster: \(.why)"] as $noStatement
| ($failOn == "inconclusive" or $failOn == "diverges") as $strict
| [
    # If the run itself failed, the job fails, whatever the threshold is.
    (if $status == "4" then "the cluster, the harness or a file failed (exit status 4)" else empty end),
    (if $status == "5" or ($report.usage.interrupted // false) then "the run was interrupted" else empty end),
    (if $report.usage == null then "the run did not come to its end" else empty end),
    (if $status == "6" or (($report.leftovers // []) | length) > 0 then "objects are left on the cluster; the summary names them, and `probity gc` removes them" else empty end),
    (if ["0", "1", "3", "4", "5", "6"] | index($status) then empty else "the run ended with exit status \($status)" end),
    ($result | sentence("error"; "in error: the harness or its surroundings failed")),
    (if ([$result.clauses, $result.cases] | map(.holds + .diverges + .violated) | add) == 0 then "nothing was decided" else empty end),
    # The threshold.
    (if $failOn == "regression" then empty else ($result | sentence("violated"; "violated")) end),
    (if $strict then ($result | sentence("inconclusive"; "inconclusive")), $noStatement[] else empty end),
    (if $failOn == "diverges" then ($result | sentence("diverges"; "divergent: the behavior contradicts the documentation and matches a known upstream deviation")) else empty end),
    (if $regressions != [] then "\(count($regressions | length; "clause")) \(is_are($regressions | length)) worse than in the baseline" else empty end)
  ] as $reasons
| [
    (if $strict then empty else $noStatement[] end),
    (if $compared and $older.suite.digest != $report.suite.digest then "the baseline was run with another edition of the suite, so clauses may differ for that reason" else empty end),
    (if $compared and $older.environment.server != $report.environment.server then "the baseline was run on Kubernetes \($older.environment.server // "unknown"), and this run on \($report.environment.server // "unknown")" else empty end)
  ] as $warnings
| { passed: ($reasons == []), $failOn, counts: $result.clauses, $reasons, $warnings, $regressions }
