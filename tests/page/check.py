"""Checks `report.html` of a run in a headless Chromium: no errors, no requests, filters, folding, timelines, keyboard.

    check.py REPORT.html PICTURES     writes pictures of each width and theme into the folder PICTURES
"""

import base64
import os
import pathlib
import sys
import time

from browser import Browser

SIZES = {"phone": (390, 844), "tablet": (1024, 768), "desk": (1600, 1000)}
SHOWN = "[...document.querySelectorAll('#clause-table tr.row')].filter((row) => row.offsetParent).length"
failures = []


def expect(what, is_so):
    print(f"{'ok' if is_so else 'FAILED'}: {what}")
    if not is_so:
        failures.append(what)


def settled(browser):
    """Waits until nothing scrolls any more."""
    last = None
    for _ in range(60):
        now = browser.run("scrollY")
        if now == last:
            return
        last = now
        time.sleep(0.1)


def open_first(browser, verdicts):
    """Opens the first clause with one of these verdicts that has a timeline, and says which."""
    find = "document.querySelector(`#clause-table tr.row[data-verdict=${verdict}] + tr.detail .timeline`)"
    for verdict in verdicts:
        expression = find.replace("${verdict}", verdict)
        found = browser.run(f"{expression}?.closest('tr').previousElementSibling.id")
        if found:
            browser.run(f"location.hash = {found!r}")
            browser.wait(f"document.getElementById({'of-' + found!r}).querySelector('.timeline .axis text')")
            settled(browser)
            return found
    raise LookupError("no clause has a timeline")


def check_filters(browser):
    total = browser.run(SHOWN)
    browser.key("/")
    expect("`/` goes to the search", browser.run("document.activeElement.name") == "text")
    browser.call("Input.insertText", text="startup")
    some = browser.run(SHOWN)
    expect(f"a word filters the clauses: {some} of {total}", 0 < some < total)
    browser.key("Escape")
    browser.run("document.querySelector('#filters button[type=reset]').click()")
    browser.wait(f"{SHOWN} === {total}")
    for box, count in browser.run("[...document.querySelectorAll('[name=verdict]')].map((box) => [box.value, +box.parentElement.textContent.match(/\\d+/)[0]])"):
        browser.run(f"document.querySelector('[name=verdict][value={box}]').click()")
        expect(f"{box} filters {count} clauses", browser.run(SHOWN) == count)
        browser.run(f"document.querySelector('[name=verdict][value={box}]').click()")
    expect("one that finds nothing says so", browser.run(
        "(() => { const text = document.querySelector('[name=text]'); text.value = 'zzqx'; text.dispatchEvent(new Event('input', { bubbles: true }));"
        " return !document.querySelector('#clauses .none').hidden; })()"))
    browser.run("document.querySelector('#clauses .reset').click()")


def check_keyboard(browser):
    browser.key("j")
    browser.key("j")
    before = browser.run("document.activeElement.closest('tr').id")
    browser.key("k")
    expect("j and k go from row to row", before != browser.run("document.activeElement.closest('tr').id"))
    browser.key("Enter")
    expect("Enter opens a row", browser.run("document.activeElement.getAttribute('aria-expanded')") == "true")
    expect("its address names it", browser.run("decodeURI(location.hash) === '#' + document.activeElement.closest('tr').id"))
    browser.key("Enter")
    expect("Enter closes it again", browser.run("document.activeElement.getAttribute('aria-expanded')") == "false")


def check_timeline(browser, clause):
    place = f"document.getElementById({'of-' + clause!r}).querySelector('.timeline')"
    expect(f"evidence of {clause} is marked", browser.run(f"{place}.querySelectorAll('.ring').length") > 0)
    browser.run(f"{place}.querySelector('.scroll').focus()")
    readout = f"{place}.querySelector('.readout').textContent"
    browser.key("e")
    expect("E goes to the evidence", "evidence #" in browser.run(readout))
    said = browser.run(readout)
    browser.key("ArrowDown")
    expect("an arrow goes to the next lane", browser.run(readout) != said)
    drawn = f"{place}.querySelector('.window').getAttribute('width')"
    browser.key("0")
    whole = float(browser.run(drawn))
    browser.key("+", "+")
    expect("+ zooms in", float(browser.run(drawn)) < whole)
    button = browser.run(f"{place}.closest('.body').querySelector('.events button')?.textContent")
    if button:
        browser.run(f"{place}.closest('.body').querySelector('.events button').click()")
        expect(f"the number {button} goes to its event", button in browser.run(readout))


def check_case(browser):
    browser.run("location.hash = document.querySelector('#case-table tr.row').id")
    browser.wait("document.querySelector('#case-table .opened + tr .manifests summary')")
    expect("a case shows its manifest", "apiVersion" in browser.run("document.querySelector('#case-table .manifests pre').textContent"))


def check_without_script(browser, address):
    browser.look(1024, 768, script=False)
    browser.open(address)
    browser.shoot(os.path.join(sys.argv[2], "without-script.png"))
    document = browser.call("DOM.getDocument", depth=0)["root"]["nodeId"]
    body = browser.call("DOM.querySelector", nodeId=document, selector="#clause-table .detail .body")["nodeId"]
    box = browser.call("DOM.getBoxModel", nodeId=body)["model"]
    expect("without script the details stand open", box["height"] > 50)
    browser.look(1024, 768)


def take_pictures(browser, address, folder):
    for name, (width, height) in SIZES.items():
        for dark in (False, True):
            browser.look(width, height, dark)
            browser.open(address)
            path = os.path.join(folder, f"{name}-{'dark' if dark else 'light'}")
            browser.shoot(f"{path}-top.png")
            browser.run("document.getElementById('clauses').scrollIntoView({ behavior: 'instant' })")
            browser.shoot(f"{path}-table.png")
            clause = open_first(browser, ["violated", "diverges", "inconclusive", "holds"])
            browser.shoot(f"{path}-clause.png")
            browser.run(f"document.getElementById({'of-' + clause!r}).querySelector('.timeline').scrollIntoView({{ behavior: 'instant', block: 'center' }})")
            browser.shoot(f"{path}-timeline.png")
            wide = browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            expect(f"nothing sticks out at {width} px", wide <= 0)


def main(page, folder):
    os.makedirs(folder, exist_ok=True)
    address = pathlib.Path(page).resolve().as_uri()
    with Browser() as browser:
        browser.look(1600, 1000)
        took = browser.open(address)
        print(f"{os.path.getsize(page)} bytes, open after {took:.2f} s")
        check_filters(browser)
        check_keyboard(browser)
        check_timeline(browser, open_first(browser, ["violated", "diverges", "holds"]))
        check_case(browser)
        check_without_script(browser, address)
        take_pictures(browser, address, folder)
        browser.look(1024, 768, media="print")
        browser.open(address)
        with open(os.path.join(folder, "print.pdf"), "wb") as file:
            file.write(base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"]))
        expect(f"nothing was logged: {browser.said}", not browser.said)
        asked = {url for url in browser.requests if not url.startswith("file://")} - {"about:blank"}
        expect(f"nothing was asked of a network: {asked or 'nothing'}", not asked)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
