"""The checks of `report.html` that no other page has: timelines with their lanes, cases, manifests and trials."""

import os

from checking import SIZES, check_accessible, check_contrast, check_filters, check_fits, check_keyboard, expect, print_page, settled, shoot


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


def check_endpoints(browser, folder):
    """A case with a service has a group for each service, and in it a lane for each endpoint."""
    rows = browser.run("[...document.querySelectorAll('#case-table tr.row')].map((row) => row.id)")
    for row in [row for row in rows if "rollout" in row or "scenario" in row]:
        browser.run(f"location.hash = {row!r}")
        body = f"document.getElementById({row!r}).nextElementSibling"
        browser.wait(f"{body}.querySelector('.timeline .axis text')")
        groups = browser.run(f"[...{body}.querySelectorAll('.timeline .group')].map((of) => of.textContent)")
        services = [name for name in groups if name.startswith("Endpoints of ")]
        if services:
            expect(f"{row} has a group for each service: {services}", len(set(services)) == len(services))
            group = f"[...{body}.querySelectorAll('.timeline .group')].find((of) => of.textContent === {services[0]!r})"
            browser.run(f"{group}.scrollIntoView({{ behavior: 'instant', block: 'center' }})")
            settled(browser)
            shoot(browser, folder, "endpoints")
            return
    print("no case of this run has a service")


def check_trial_lanes(browser, row, body):
    browser.wait(f"{body}.querySelector('.timeline .axis text')")
    lanes = browser.run(f"[...{body}.querySelectorAll('.timeline svg text')].map((of) => of.textContent)")
    for name in ["client requests", "promised: ", "observed: "]:
        expect(f"{row} has a lane `{name}`", any(lane.startswith(name) for lane in lanes))
    expect(f"the evidence of {row} is marked", browser.run(f"{body}.querySelectorAll('.timeline .ring').length") > 0)


def check_trials(browser, folder):
    """The page of a run of `probity try` has its promises, as tables and as bands over the requests of the clients."""
    rows = browser.run("[...document.querySelectorAll('#trial-table tr.row')].map((row) => row.id)")
    if not rows:
        print("this is not a run of `probity try`")
        return
    drawn = browser.run("document.querySelector('#trial-table tr.detail:has(.timeline)')?.previousElementSibling.id")
    row = drawn or rows[0]
    body = f"document.getElementById({row!r}).nextElementSibling"
    browser.run(f"location.hash = {row!r}")
    if drawn:
        check_trial_lanes(browser, row, body)
    expect(f"{row} has a row for each promise", browser.run(f"{body}.querySelectorAll('.promises tbody tr').length") > 0)
    headings = f"{body}.querySelector('.promises thead').getBoundingClientRect().height"
    for size, (width, height) in SIZES.items():
        for dark in (False, True):
            browser.look(width, height, dark)
            path = f"{size}-{'dark' if dark else 'light'}-trial"
            browser.run(f"document.getElementById({row!r}).scrollIntoView({{ behavior: 'instant' }})")
            settled(browser)
            shoot(browser, folder, path)
            check_contrast(browser, path)
            check_fits(browser, path)
            expect(f"{path}: the headings of its table are shown", browser.run(headings) > 9)
    browser.look(1600, 1000)


def check_without_script(browser, address, folder):
    browser.look(1024, 768, script=False)
    browser.open(address)
    shoot(browser, folder, "without-script")
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
            path = f"{name}-{'dark' if dark else 'light'}"
            shoot(browser, folder, f"{path}-top")
            browser.run("document.getElementById('clauses').scrollIntoView({ behavior: 'instant' })")
            shoot(browser, folder, f"{path}-table")
            clause = open_first(browser, ["violated", "diverges", "inconclusive", "holds"])
            shoot(browser, folder, f"{path}-clause")
            browser.run(f"document.getElementById({'of-' + clause!r}).querySelector('.timeline').scrollIntoView({{ behavior: 'instant', block: 'center' }})")
            shoot(browser, folder, f"{path}-timeline")
            check_contrast(browser, path)
            check_fits(browser, path)


def check(browser, address, folder):
    browser.look(1600, 1000)
    took = browser.open(address)
    print(f"report.html is open after {took:.2f} s")
    check_filters(browser, "report")
    check_keyboard(browser, "report")
    check_timeline(browser, open_first(browser, ["violated", "diverges", "holds"]))
    check_case(browser)
    check_endpoints(browser, folder)
    check_trials(browser, folder)
    check_accessible(browser, "report")
    check_without_script(browser, address, folder)
    take_pictures(browser, address, folder)
    print_page(browser, address, os.path.join(folder, "print.pdf"))
