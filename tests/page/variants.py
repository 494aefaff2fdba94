"""Makes other reports of one, so that comparisons have something to compare: an older kubelet whose book lacks some clauses,
and a newer one that violates some. They are for checking pages only and say nothing about any kubelet.

    variants.py REPORT.json FOLDER     writes FOLDER/older/report.json and FOLDER/newer/report.json
"""

import collections
import json
import pathlib
import sys


def named(report, kubelet, began):
    report["runId"], report["began"] = f"variant-{kubelet}", began
    report["environment"]["server"] = kubelet
    for node in report["environment"]["nodes"].values():
        node["kubelet"] = kubelet


def turn(clause, verdict, finding=""):
    clause["verdict"], clause["finding"] = verdict, finding
    clause.pop("reason", None)


def count(report):
    of = collections.Counter(clause["verdict"] for clause in report["clauses"])
    words = ["holds", "diverges", "violated", "inconclusive", "error", "skipped"]
    report["result"]["clauses"] = {"total": len(report["clauses"]), **{word: of[word] for word in words}}


def of_verdict(report, verdict):
    return [clause for clause in report["clauses"] if clause["verdict"] == verdict]


def older(report):
    named(report, "v1.35.1", "2026-11-20T10:00:00Z")
    del report["clauses"][3:6]
    for clause in of_verdict(report, "diverges")[:2]:
        turn(clause, "holds")
    for clause in of_verdict(report, "holds")[10:12]:
        turn(clause, "violated", "it was so before <b>the fix</b>")


def newer(report):
    named(report, "v1.37.0-a-vendor-s-long-name", "2026-11-24T10:00:00Z")
    for clause in of_verdict(report, "holds")[20:23]:
        turn(clause, "violated", "a liveness probe arrived 11.000 s before startup succeeded, in a container that inherited `started`")
    for clause in of_verdict(report, "holds")[30:32]:
        turn(clause, "inconclusive", "the watch was lost meanwhile")
    for clause in of_verdict(report, "holds")[40:60]:
        for found in clause.get("measurements", []):
            observed = found["measured"]["observed"]
            observed["lo"], observed["hi"] = int(observed["lo"] * 1.3), int(observed["hi"] * 1.3)
    for clause in of_verdict(report, "holds")[60:90]:
        for facet in clause.get("facets", [])[:1]:
            facet["seen"] = "unseen"


def main(source, folder):
    for name, change in {"older": older, "newer": newer}.items():
        report = json.load(open(source))
        change(report)
        count(report)
        place = pathlib.Path(folder) / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
