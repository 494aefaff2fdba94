"""Writes the folder of a run that is made of recorded histories, as `probity run --out` leaves it, so that a page can be
checked without a cluster.

    recorded.py HISTORIES FOLDER     HISTORIES is a folder such as tests/histories/kubernetes-1.36.3
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys


def read(path):
    """The header of a history, the time of its last event, and the digest of its lines."""
    text = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
    lines = text.splitlines()
    return json.loads(lines[0]), json.loads(lines[-1])["us"], hashlib.sha256(text).hexdigest()


def main(histories, folder):
    histories, folder = pathlib.Path(histories), pathlib.Path(folder)
    cases, ended, longest, headers = [], [], 0, []
    for path in sorted(histories.rglob("*.jsonl.zst")):
        header, last, digest = read(path)
        file = f"history/{path.relative_to(histories)}"
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / file)
        case = header["case"]
        cases.append({"case": case, "source": f"suites/{case.split('=')[0]}.yaml", "profile": "extended", "judges": header["judges"], "story": "Recorded."})
        ended.append({"event": "case-ended", "case": case, "history": file, "sha256": digest, "beganUs": 0, "us": last})
        longest = max(longest, last)
        headers.append(header)
    header = headers[0]
    version = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    tool = {"name": "probity", "version": "0.1.0", "commit": version, "modified": False}
    began = {
        "event": "began", "schema": "probity.dev/run", "version": 1, "runId": f"recorded-{histories.name}", "beganWallUs": header["beganWallUs"],
        "command": ["probity", "run"], "tool": tool, "suite": {"name": "probity", "version": "0.1.0"}, "profiles": ["extended"], "cases": cases,
    }
    ready = {"event": "ready", "context": "probity-cluster", "server": header["server"], "namespace": "probity-recorded", "nodes": header["nodes"], "image": "", "us": 0}
    numbers = ["wallUs", "laidUs", "longestUs", "cases", "requests", "cpuUs", "peakMemory", "stalls", "stalledUs"]
    finished = {"event": "finished", **dict.fromkeys(numbers, 0), "wallUs": longest, "longestUs": longest, "cases": len(cases), "interrupted": False}
    with open(folder / "events.ndjson", "w") as log:
        for line in [began, ready, *ended, finished]:
            log.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
