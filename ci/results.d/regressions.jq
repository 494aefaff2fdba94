# Writes docs/results/regressions.md from the reports of the versions, in their order. $cases[0] is the list of the cases
# of known bugs: `probity list --profile regressions --format json`.
include "facts";

def cell: gsub("\\|"; "\\|") | gsub("<"; "&lt;") | gsub("\\s+"; " ");
def row: "| \(join(" | ")) |";

# What a case showed: a word, and a reason if the word needs one. Only the expectations of the case count, because they say what
# the bug is. If the case ran again because something was undecided, the later run counts.
def outcome($name):
    [.cases[] | select(.case == $name and (.triedAgain | not))] | last
    | [.expected[]?.verdict] as $verdicts
    | [$verdicts[] | select(.verdict == "violated") | .finding] as $violated
    | [$verdicts[] | select(.verdict != "holds") | .why // .finding] as $open
    | if . == null then { word: "not run" }
      elif .verdict == "skipped" then { word: "skipped", why: .finding }
      elif ($violated | length) > 0 then { word: "shows the bug", why: $violated[0] }
      elif ($verdicts | length) > 0 and ($open | length) == 0 then { word: "as promised" }
      else { word: "undecided", why: ($open[0] // .finding) }
      end;

def shown:
    if .word == "as promised" then .word
    elif .word == "shows the bug" then "**\(.word)**"
    elif .why then "\(.word): \(.why | cell)"
    else .word
    end;

def link: "[\(.name)](../../suites/regressions/\(.name).yaml)";

["as promised", "shows the bug", "undecided", "skipped"] as $words
| [inputs | . as $report | {
    kubelets: kubelets,
    facts: [runtimes, date, program],
    command: command(input_filename | split("/")[-2]),
    outcomes: [$cases[0][].case as $name | $report | outcome($name)]
  }] as $runs
| [$cases[0] | to_entries[] | .key as $at | {
    name: .value.case | ltrimstr("regressions/"),
    issue: .value.reported.issue,
    outcomes: [$runs[] | .outcomes[$at]]
  }] as $bugs
| "# Known bugs, version by version

<!-- Written by ci/results; do not edit. -->

Each row of the second table is a [known bug, as a case](../regressions.md). A column says what the case showed on stock
Kubernetes of one version, with containerd, as [`ci/cluster`](../cluster.md) starts it:

- *as promised*: all expectations of the case held;
- *shows the bug*: an expectation of the case was violated;
- *undecided*: the run could not decide, for the reason in the cell;
- *skipped*: the case cannot run on this version or cluster, for the reason in the cell.

Each run executes each case once, and a second time if something was undecided. A bug that depends on timing may stay hidden
in a run. To run the cases on your own cluster: `probity run --context CONTEXT --profile regressions`.
",
(["Kubernetes", "runtime", "date", "program"] + $words + ["command"] | row),
"|---|---|---|---|---|---|---|---|---|",
($runs[] | . as $run
 | [.kubelets] + .facts + [$words[] as $word | [$run.outcomes[] | select(.word == $word)] | length | tostring] + ["`\(.command)`"]
 | row),
"",
(["case", "report"] + [$runs[].kubelets] | row),
"|---|---|\([$runs[] | "---|"] | add)",
($bugs[]
 | [link, "[\(.issue | ltrimstr("kubernetes/kubernetes"))](https://github.com/\(.issue | sub("#"; "/issues/")))"] + [.outcomes[] | shown]
 | row),
"",
"## What was seen",
"",
"For each case that shows its bug, this is the finding on the newest version that shows it:",
"",
($bugs[]
 | ([.outcomes | to_entries[] | select(.value.word == "shows the bug")] | last) as $newest
 | select($newest)
 | "- \(link), \($runs[$newest.key].kubelets): \($newest.value.why | cell)")
