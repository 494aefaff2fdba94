"""Checks the pages in a headless Chromium: no errors, no requests, filters, folding, keyboard, names for screen readers,
contrast, three widths in light and dark, no script, print.

    check.py FOLDER PICTURES [regressions]

FOLDER has report.html, and may have matrix.html and diff.html; writes pictures into PICTURES. With `regressions`, the compared
reports must differ for the worse.
"""

import os
import pathlib
import sys

import comparing
import report_page
from browser import Browser
from checking import expect, failures

CHECKS = {"report.html": report_page.check, "matrix.html": comparing.check_matrix, "diff.html": comparing.check_diff}


def main(folder, pictures, *regressions):
    comparing.REGRESSIONS = bool(regressions)
    os.makedirs(pictures, exist_ok=True)
    with Browser() as browser:
        for name, check in CHECKS.items():
            page = pathlib.Path(folder) / name
            if page.exists():
                print(f"--- {name}, {page.stat().st_size} bytes")
                check(browser, page.resolve().as_uri(), pictures)
        expect(f"nothing was logged: {browser.said or 'yes'}", not browser.said)
        asked = {url for url in browser.requests if not url.startswith("file://")} - {"about:blank"}
        expect(f"nothing was asked of a network: {asked or 'yes'}", not asked)
    print(f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
