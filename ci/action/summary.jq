# The head of the summary, from the decision. Text from the cluster is untrusted input: it becomes HTML text.

def text: tostring | gsub("[\r\n]+"; " ") | @html;
# In a table cell, a bar would begin the next cell.
def cell: text | gsub("\\|"; "&#124;");

"## Probity action: \(if .passed then "passed" else "failed" end) (fail-on: \(.failOn | text))\n",
(.reasons[] | "- \(text)"),
(.warnings[] | "- Note: \(text)"),
(if .regressions == [] then empty else
  "\n| worse than in the baseline | was | is | seen |\n| --- | --- | --- | --- |",
  (.regressions[:50][] | "| \(.id | cell) | \(.from | cell) | **\(.to | cell)** | \(.finding[:300] | cell) |"),
  (if (.regressions | length) > 50 then "\nand \((.regressions | length) - 50) more" else empty end)
end)
