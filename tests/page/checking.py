"""What the checks of all pages share: how they are counted, sizes and themes, pictures, and what any page must keep."""

import base64
import os
import time

SIZES = {"phone": (390, 844), "tablet": (1024, 768), "desk": (1600, 1000)}
SHOWN = "[...document.querySelectorAll('#clause-table tr.row')].filter((row) => row.offsetParent).length"
failures = []

# What has no name in the accessibility tree says nothing to a screen reader.
NAMED_ROLES = {"link", "button", "checkbox", "searchbox", "combobox", "textbox", "region", "table", "heading", "columnheader", "rowheader"}

# Texts that are too faint on their ground, by the formula of WCAG 2: 4.5 to 1, or 3 to 1 for large ones.
FAINT = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] > 250) return color;
    }
    return rgba(getComputedStyle(document.documentElement).backgroundColor);
  };
  const faint = new Map();
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility?.() || element.closest('.unseen, svg, [aria-hidden=true], option, .skip')) continue;
    const style = getComputedStyle(element);
    const [text, back] = [light(rgba(style.color)), light(ground(element))];
    const ratio = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) faint.set(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`, element.textContent.trim().slice(0, 30));
  }
  return [...faint].slice(0, 5).map((one) => one.join(': '));
})()"""


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


def check_accessible(browser, name):
    """Names of what can be used, unique ids, one main heading, a language and a title, and texts that can be read."""
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    browser.call("Accessibility.disable")
    value = lambda node, field: node.get(field, {}).get("value", "")
    bare = [value(node, "role") for node in nodes if not node.get("ignored") and value(node, "role") in NAMED_ROLES and not value(node, "name").strip()]
    expect(f"{name}: everything that can be used has a name: {bare[:5] or 'yes'}", not bare)
    roles = {value(node, "role") for node in nodes}
    expect(f"{name}: it has landmarks", {"banner", "main", "navigation"} <= roles)
    double = browser.run("(() => { const ids = [...document.querySelectorAll('[id]')].map((of) => of.id); return ids.filter((id, at) => ids.indexOf(id) !== at); })()")
    expect(f"{name}: every id is there once: {double[:3] or 'yes'}", not double)
    expect(f"{name}: one main heading, a language, a title", browser.run(
        "document.querySelectorAll('h1').length === 1 && document.documentElement.lang === 'en' && document.title.length > 9"))
    lost = browser.run("[...document.querySelectorAll('[aria-controls]')].filter((of) => !document.getElementById(of.getAttribute('aria-controls'))).length")
    expect(f"{name}: what controls something names it", lost == 0)


def check_contrast(browser, name):
    faint = browser.run(FAINT)
    expect(f"{name}: every text can be read on its ground: {faint or 'yes'}", not faint)


def check_fits(browser, name):
    width = browser.run("innerWidth")
    wide = browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    expect(f"{name}: nothing sticks out at {width} px", wide <= 0)


def check_filters(browser, name):
    """Text, verdicts, and a search that finds nothing."""
    total = browser.run(SHOWN)
    browser.key("/")
    expect(f"{name}: `/` goes to the search", browser.run("document.activeElement.name") == "text")
    word = browser.run("document.querySelector('#clause-table tr.row').id.split('.')[1]")
    browser.call("Input.insertText", text=word)
    some = browser.run(SHOWN)
    expect(f"{name}: `{word}` filters the clauses: {some} of {total}", 0 < some < total)
    browser.key("Escape")
    browser.run("document.querySelector('#filters button[type=reset]').click()")
    browser.wait(f"{SHOWN} === {total}")
    boxes = "[...document.querySelectorAll('#filters [type=checkbox]')].map((box) => [box.name, box.value, +box.parentElement.querySelector('b').textContent])"
    for kind, value, count in browser.run(boxes):
        click = f"document.querySelector('[name={kind}][value={value}]').click()"
        browser.run(click)
        expect(f"{name}: {value} filters {count} clauses", browser.run(SHOWN) == count)
        browser.run(click)
    expect(f"{name}: one that finds nothing says so", browser.run(
        "(() => { const text = document.querySelector('[name=text]'); text.value = 'zzqx'; text.dispatchEvent(new Event('input', { bubbles: true }));"
        " return !document.querySelector('#clauses .none').hidden; })()"))
    browser.run("document.querySelector('#clauses .reset').click()")


def check_keyboard(browser, name):
    browser.key("j")
    browser.key("j")
    before = browser.run("document.activeElement.closest('tr').id")
    browser.key("k")
    expect(f"{name}: j and k go from row to row", before != browser.run("document.activeElement.closest('tr').id"))
    browser.key("Enter")
    expect(f"{name}: Enter opens a row", browser.run("document.activeElement.getAttribute('aria-expanded')") == "true")
    expect(f"{name}: its address names it", browser.run("decodeURI(location.hash) === '#' + document.activeElement.closest('tr').id"))
    browser.key("Enter")
    expect(f"{name}: Enter closes it again", browser.run("document.activeElement.getAttribute('aria-expanded')") == "false")


def shoot(browser, folder, name):
    browser.shoot(os.path.join(folder, f"{name}.png"))


def print_page(browser, address, path):
    browser.look(1024, 768, media="print")
    browser.open(address)
    with open(path, "wb") as file:
        file.write(base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"]))
