"use strict";
// What the page can do beyond being read: fold, filter, theme, keys. Texts are only ever set as texts.
document.documentElement.classList.add("js");

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);

/** An element with properties and children; a child that is a string becomes text. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/* Folding: a row opens its details. Closed details are still found by the browser's own search, where it can. */

const bodyOf = (row) => one(".body", row.nextElementSibling);
const isOpen = (row) => row.classList.contains("opened");

function fold(row, open) {
  const body = bodyOf(row);
  row.classList.toggle("opened", open);
  one(".open", row).setAttribute("aria-expanded", open);
  if (open) {
    body.removeAttribute("hidden");
    openBody(body);
  } else {
    body.setAttribute("hidden", "until-found");
  }
}

/** What is only made when somebody looks at it. */
function openBody(body) {
  if (body.dataset.made) return;
  body.dataset.made = "yes";
  for (const place of all(".timeline", body)) new TimelineView(place, body);
  // Where the data cannot be read, the timeline says why.
  for (const place of all(".manifests", body)) showManifests(place).catch(() => {});
}

function foldAll() {
  for (const row of all("tr.row")) {
    const link = one(".open", row);
    link.setAttribute("aria-expanded", "false");
    const body = bodyOf(row);
    body.setAttribute("hidden", "until-found");
    body.id ||= `of-${row.id}`;
    link.setAttribute("aria-controls", body.id);
    body.addEventListener("beforematch", () => fold(row, true));
  }
  for (const table of all("table.list")) {
    table.addEventListener("click", (event) => {
      const row = event.target.closest("tr.row");
      const link = event.target.closest("a");
      if (!row || (link && !link.matches(".open")) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (!link && String(getSelection()) !== "") return;
      event.preventDefault();
      fold(row, !isOpen(row));
      history.replaceState(null, "", isOpen(row) ? "#" + encodeURI(row.id) : location.pathname + location.search);
    });
  }
}

/** On a phone rows are laid out as blocks, and a browser would no longer call the table one. */
function keepRoles() {
  const roles = { table: "table", thead: "rowgroup", tbody: "rowgroup", tr: "row", td: "cell", "th[scope=col]": "columnheader", "th[scope=row]": "rowheader" };
  for (const [selector, role] of Object.entries(roles)) {
    for (const element of all(selector)) element.setAttribute("role", role);
  }
}

/** Opens what an address names, even if a filter hides it. */
function reveal(hash) {
  let id = hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // It is not encoded: take it as it is.
  }
  const target = id && document.getElementById(id);
  if (!target) return;
  const row = target.closest("tr.row");
  if (row) {
    if (row.hidden) resetFilters();
    fold(row, true);
    one(".open", row).focus({ preventScroll: true });
  }
  target.scrollIntoView({ block: "start" });
}

/* Filters. */

const form = () => document.getElementById("filters");

function resetFilters() {
  form().reset();
  applyFilters();
}

/** What a search looks at: the row, and what was found. */
function haystack(row) {
  row.haystack ??= [row, ...all(".finding, .events, .sides", row.nextElementSibling)].map((of) => of.textContent).join(" ").toLowerCase();
  return row.haystack;
}

function applyFilters() {
  const chosen = new FormData(form());
  const verdicts = chosen.getAll("verdict");
  const [chapter, level] = [chosen.get("chapter"), chosen.get("level")];
  const shows = chosen.getAll("shows");
  const words = chosen.get("text").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  const rows = all("#clause-table tr.row");
  for (const row of rows) {
    const passes =
      (!verdicts.length || row.dataset.verdict.split(" ").some((verdict) => verdicts.includes(verdict))) &&
      shows.every((what) => row.dataset.shows.split(" ").includes(what)) &&
      (!level || row.dataset.level === level) &&
      (!chapter || row.parentElement.dataset.chapter === chapter) &&
      words.every((word) => haystack(row).includes(word));
    row.hidden = row.nextElementSibling.hidden = !passes;
    shown += passes;
  }
  for (const chapter of all("#clause-table tbody")) chapter.hidden = !one("tr.row:not([hidden])", chapter);
  one("#clauses .count").textContent = shown === rows.length ? `${shown} clauses` : `${shown} of ${rows.length} clauses`;
  one("#clauses .none").hidden = shown > 0;
}

function startFilters() {
  if (!form()) return;
  form().hidden = false;
  form().addEventListener("input", applyFilters);
  form().addEventListener("reset", () => setTimeout(applyFilters));
  form().addEventListener("submit", (event) => event.preventDefault());
  one("#clauses .reset").addEventListener("click", resetFilters);
  for (const link of all("[data-only]")) {
    link.addEventListener("click", () => {
      form().reset();
      for (const box of form().elements.verdict.length ? form().elements.verdict : [form().elements.verdict]) {
        box.checked = box.value === link.dataset.only;
      }
      applyFilters();
    });
  }
  applyFilters();
}

/* Theme, copying, manifests. */

function startTheme() {
  const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = make("button", { type: "button" });
  const show = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  show();
  one(".tools").append(button);
}

/** A button that copies a text; the text is selected where a page may not copy. */
function copyButton(place, text) {
  const button = make("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    } catch {
      getSelection().selectAllChildren(one("code", place) || place);
    }
  });
  return button;
}

/** A value as YAML, which is how people read manifests. */
function yaml(value, indent = "") {
  if (Array.isArray(value)) {
    return value.length ? value.map((item) => `${indent}- ${yaml(item, indent + "  ").trimStart()}`).join("\n") : `${indent}[]`;
  }
  if (value && typeof value === "object") {
    const entries = Object.entries(value).map(([key, item]) => {
      const isBlock = item && typeof item === "object" && Object.keys(item).length > 0;
      return `${indent}${plain(key)}:${isBlock ? "\n" + yaml(item, indent + "  ") : " " + yaml(item)}`;
    });
    return entries.length ? entries.join("\n") : `${indent}{}`;
  }
  return indent + (typeof value === "string" ? plain(value) : JSON.stringify(value));
}

/** A string without quotes, if YAML reads it as the same string. */
function plain(text) {
  const isPlain = /^[A-Za-z_/.][\w./@=+-]*(?: [\w./@=+-]+)*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n|\.inf|\.nan)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}

async function showManifests(place) {
  const data = await caseData(place.dataset.case);
  for (const { title, manifest } of data?.manifests ?? []) {
    const code = make("code", {}, yaml(manifest));
    place.append(make("details", {}, make("summary", {}, `As sent: ${title}`), make("pre", {}, code)));
  }
}

/* Keys: / searches, j and k go from row to row, Escape leaves. */

function onKey(event) {
  const typing = event.target.matches("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing) return;
  if (event.key === "/") {
    event.preventDefault();
    one("#filters [name=text]")?.focus();
  }
  if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
}

function step(by) {
  const links = all("tr.row:not([hidden]) .open").filter((link) => link.offsetParent);
  const row = document.activeElement.closest("tr.row, tr.detail");
  const link = row && one(".open", row.matches(".row") ? row : row.previousElementSibling);
  const next = links[links.indexOf(link) + by] ?? links[0];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "center" });
}

addEventListener("DOMContentLoaded", () => {
  keepRoles();
  foldAll();
  startFilters();
  startTheme();
  for (const pre of all("pre.command")) pre.append(copyButton(pre, () => one("code", pre).textContent));
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]:not(.open)');
    if (link) setTimeout(() => reveal(link.hash));
  });
  addEventListener("beforeprint", () => {
    for (const row of all("tr.row[data-verdict~=violated], tr.row[data-verdict~=error], tr.row[data-verdict~=inconclusive]")) fold(row, true);
  });
  addEventListener("hashchange", () => reveal(location.hash));
  // When the page is complete, the browser itself goes to the place that the address names, and takes the focus away.
  addEventListener("load", () => setTimeout(() => reveal(location.hash)));
});
