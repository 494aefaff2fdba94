"""The checks of the pages that compare reports: the matrix and the differences."""

import os

from checking import SHOWN, SIZES, check_accessible, check_contrast, check_filters, check_fits, check_keyboard, expect, print_page, settled, shoot


# Whether the compared reports differ for the worse.
REGRESSIONS = False


def check_links(browser, name):
    """Every link to a report leads to its page and, with a clause, to that clause's place."""
    links = browser.run("[...new Set([...document.querySelectorAll('a[href*=\"report.html\"]')].map((of) => of.href))]")
    here = browser.run("location.href")
    if not links:
        print(f"{name}: no report has a page")
        return
    with_clause = next(link for link in links if "#" in link)
    browser.open(with_clause)
    clause = with_clause.split("#")[1]
    browser.wait(f"document.getElementById({clause!r})?.classList.contains('opened')")
    browser.wait(f"document.activeElement?.closest('tr')?.id === {clause!r}")
    expect(f"{name}: a verdict leads to {clause} in its report", browser.run("document.activeElement.closest('tr').id") == clause)
    browser.open(here)


def check_marks(browser):
    marked = browser.run("[...document.querySelectorAll('#clause-table tr.row .turn.worse')].map((of) => of.textContent.trim())")
    if marked or REGRESSIONS:
        expect(f"matrix: regressions are marked with words: {sorted(set(marked))}", marked and all(len(text) > 5 for text in marked))
        top = browser.run("document.querySelector('.findings').textContent")
        expect("matrix: they are listed at the top", all(text.strip("▼ ") in top for text in marked))
    else:
        print("matrix: no clause changed for the worse")
    colors = browser.run("[...document.querySelectorAll('#clause-table td.cell')].filter((of) => !of.textContent.trim()).length")
    expect("matrix: no cell says anything by its color alone", colors == 0)


def check_without_script(browser, address, folder):
    """What differs can be chosen, and an address shows the details of its clause."""
    clause = browser.run("(document.querySelector('#clause-table .turn') ?? document.querySelector('#clause-table tr.row td')).closest('tr').id")
    browser.look(1024, 768, script=False)
    browser.open(f"{address}#{clause}")
    shoot(browser, folder, "matrix-without-script")
    document = browser.call("DOM.getDocument", depth=0)["root"]["nodeId"]

    def node(selector):
        return browser.call("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]

    def height(selector):
        try:
            return browser.call("DOM.getBoxModel", nodeId=node(selector))["model"]["height"]
        except RuntimeError:
            return 0

    expect("matrix: without script an address shows details", height(f"[id='{clause}'] + .detail .body") > 50)
    expect("matrix: and all others are closed", height(f"tr.row:not([id='{clause}']) + .detail .body") == 0)
    same = "tr.row:not([data-shows~=differs])"
    expect("matrix: without script all rows are there", height(same) > 0)
    browser.call("DOM.scrollIntoViewIfNeeded", nodeId=node("[name=shows]"))
    left, top, right, _, _, bottom, *_ = browser.call("DOM.getBoxModel", nodeId=node(".chip:has([value=differs])"))["model"]["border"]
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=(left + right) / 2, y=(top + bottom) / 2, button="left", clickCount=1)
    expect("matrix: without script what differs can be chosen", height(same) == 0)
    browser.look(1024, 768)


def take_pictures(browser, address, folder, kind):
    for name, (width, height) in SIZES.items():
        for dark in (False, True):
            browser.look(width, height, dark)
            browser.open(address)
            path = f"{kind}-{name}-{'dark' if dark else 'light'}"
            shoot(browser, folder, f"{path}-top")
            browser.run("document.getElementById('clauses').scrollIntoView({ behavior: 'instant' })")
            shoot(browser, folder, f"{path}-table")
            row = browser.run("(document.querySelector('#clause-table .turn.worse') ?? document.querySelector('#clause-table tr.row .open')).closest('tr.row, tr.detail').id"
                              " || document.querySelector('#clause-table tr.row').id")
            browser.run(f"location.hash = {row!r}")
            settled(browser)
            shoot(browser, folder, f"{path}-clause")
            check_contrast(browser, path)
            check_fits(browser, path)


def check_matrix(browser, address, folder):
    browser.look(1600, 1000)
    browser.open(address)
    check_filters(browser, "matrix")
    check_keyboard(browser, "matrix")
    check_marks(browser)
    check_accessible(browser, "matrix")
    check_links(browser, "matrix")
    check_without_script(browser, address, folder)
    take_pictures(browser, address, folder, "matrix")
    print_page(browser, address, os.path.join(folder, "matrix.pdf"))


def check_diff(browser, address, folder):
    browser.look(1600, 1000)
    browser.open(address)
    check_filters(browser, "diff")
    check_keyboard(browser, "diff")
    kinds = browser.run("[...document.querySelectorAll('[name=chapter] option')].map((of) => [of.value, +of.textContent.match(/\\d+/)?.[0]])")
    for value, count in kinds[1:]:
        choose = "(() => {{ const of = document.querySelector('[name=chapter]'); of.value = {!r}; of.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
        browser.run(choose.format(value))
        expect(f"diff: a kind of change has {count} clauses", browser.run(SHOWN) == count)
    browser.run("document.querySelector('#filters button[type=reset]').click()")
    first = browser.run("document.querySelector('#clause-table .chapter').textContent")
    expect(f"diff: new violations come first: {first.strip()}", "New violations" in first)
    check_accessible(browser, "diff")
    check_links(browser, "diff")
    take_pictures(browser, address, folder, "diff")
    print_page(browser, address, os.path.join(folder, "diff.pdf"))
