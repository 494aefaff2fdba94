
/* Timelines: a case's lanes, drawn when somebody looks at them. */

const LANE = 22;
const GROUP = 24;
const AXIS = 46;

const seconds = (ms) => `${ms < 0 ? "−" : "+"}${(Math.abs(ms) / 1000).toFixed(3)} s`;

/** An SVG element with attributes; a text goes into it as text. */
function draw(parent, tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** A mark for something that is too short for a bar. Signs differ in form, not only in color. */
function sign(parent, look, x, y) {
  if (look === "good") return draw(parent, "circle", { class: look, cx: x, cy: y, r: 4 });
  if (look === "mixed") return draw(parent, "circle", { class: look, cx: x, cy: y, r: 3.5 });
  if (look === "bad") return draw(parent, "path", { class: look, d: `M${x - 3.5} ${y - 3.5}l7 7m0-7l-7 7` });
  if (look === "alarm") return draw(parent, "path", { class: look, d: `M${x} ${y - 5.5}l5 9.5h-10z` });
  return draw(parent, "rect", { class: look, x: x - 1.5, y: y - 6, width: 3, height: 12, rx: 1 });
}

class TimelineView {
  constructor(place, body) {
    this.place = place;
    this.body = body;
    this.choices = place.dataset.marks.split(";").map((mark) => {
      const [at, events] = mark.split(":");
      return { at, marked: new Set(events.split(" ").filter(Boolean).map(Number)) };
    });
    this.linkEvents();
    this.load(this.choices[0]).catch((error) => {
      place.replaceChildren(make("p", { className: "quiet" }, `The timeline could not be drawn: ${error.message}.`));
    });
  }

  async load(choice) {
    const data = await caseData(choice.at);
    if (!data) {
      this.place.replaceChildren(make("p", { className: "quiet" }, "The timeline is left out, since the page would grow too large; the history has it all."));
      return;
    }
    this.choice = choice;
    this.data = data;
    this.lanes = lanesOf(data);
    this.items = this.lanes.flatMap((lane) => lane.items);
    this.cited = this.findCited(choice.marked);
    this.cursor = null;
    this.build();
    this.view = this.evidenceView() ?? this.wholeView();
    this.redraw();
  }

  /** The cited events with their times: the first event of an item is its beginning, others are its end. */
  findCited(marked) {
    const cited = new Map();
    for (const item of this.items) {
      item.cited = item.events.filter((event) => marked.has(event));
      for (const event of item.cited) {
        if (!cited.has(event)) cited.set(event, { event, item, at: item.at + (item.events[0] === event ? 0 : item.length) });
      }
    }
    return [...cited.values()].sort((a, b) => a.at - b.at);
  }

  wholeView() {
    return { from: this.data.from, to: this.data.to };
  }

  /** The time around the evidence, if it is only a part of the case. */
  evidenceView() {
    if (!this.cited.length) return null;
    const [first, last] = [this.cited[0].at, this.cited.at(-1).at];
    const pad = Math.max((last - first) * 0.4, 1500);
    const [from, to] = [Math.max(first - pad, this.data.from), Math.min(last + pad, this.data.to)];
    return to - from < 0.75 * (this.data.to - this.data.from) ? { from, to } : null;
  }

  /* Building. */

  build() {
    this.scroll = make("div", { className: "scroll", tabIndex: 0, role: "application", "aria-roledescription": "timeline" });
    this.scroll.setAttribute("aria-label", `Timeline of ${this.caseName(this.choice.at)}. Left and right move between events, up and down between lanes, plus and minus zoom, 0 shows the whole case, E goes to the next evidence.`);
    this.readout = make("p", { className: "readout" });
    this.readout.setAttribute("role", "status");
    this.place.replaceChildren(this.controls(), this.scroll, this.readout, this.key());
    this.axis = draw(this.scroll, "svg", { class: "axis", height: AXIS, "aria-hidden": "true" });
    this.svg = draw(this.scroll, "svg", { "aria-hidden": "true" });
    this.scroll.addEventListener("keydown", (event) => this.onKey(event));
    this.scroll.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.svg.addEventListener("pointermove", (event) => this.onMove(event));
    this.svg.addEventListener("pointerleave", () => hideTip());
    this.svg.addEventListener("pointerdown", (event) => this.onDown(event));
    this.svg.addEventListener("dblclick", (event) => this.zoom(0.4, this.timeAt(event)));
    this.observer?.disconnect();
    this.observer = new ResizeObserver(() => this.scroll.clientWidth !== this.width && this.redraw());
    this.observer.observe(this.scroll);
    this.say(null);
  }

  caseName(at) {
    return document.querySelectorAll("#case-table tr.row .open")[at]?.textContent ?? "the case";
  }

  controls() {
    const button = (text, title, action) => {
      const made = make("button", { type: "button", title }, text);
      made.addEventListener("click", action);
      return made;
    };
    this.toEvidence = button("Evidence", "Show the time around the evidence", () => this.show(this.evidenceView() ?? this.wholeView()));
    this.toWhole = button("Whole case", "Show all of the case (0)", () => this.show(this.wholeView()));
    const title = this.choices.length > 1 ? this.chooser() : make("h4", {}, this.caseName(this.choice.at));
    const zooms = [button("−", "Zoom out (−)", () => this.zoom(2)), button("+", "Zoom in (+)", () => this.zoom(0.5))];
    for (const [at, name] of ["Zoom out", "Zoom in"].entries()) zooms[at].setAttribute("aria-label", name);
    return make("div", { className: "controls" }, title, ...(this.cited.length ? [this.toEvidence] : []), this.toWhole, ...zooms);
  }

  chooser() {
    const select = make("select");
    select.setAttribute("aria-label", "Case of the timeline");
    for (const [nth, choice] of this.choices.entries()) {
      select.append(make("option", { value: nth, selected: choice === this.choice }, this.caseName(choice.at)));
    }
    select.addEventListener("change", async () => {
      await this.load(this.choices[select.value]);
      one("select", this.place)?.focus();
    });
    return select;
  }

  key() {
    const entry = (look, text) => {
      const made = make("span");
      sign(draw(made, "svg", { viewBox: "0 0 14 12" }), look, 7, 6);
      made.append(text);
      return made;
    };
    const cited = make("span");
    draw(draw(cited, "svg", { viewBox: "0 0 14 12" }), "circle", { class: "ring", cx: 7, cy: 6, r: 5 });
    cited.append("evidence");
    return make("div", { className: "key" }, entry("good", "success"), entry("bad", "failure"), entry("mixed", "unclear or slow"), entry("alarm", "signal, restart, warning, refusal"), entry("plain", "other"), cited);
  }

  /** The numbers of events in the words beside become buttons that go to them. */
  linkEvents() {
    for (const choice of this.choices) {
      for (const code of all(`.events[data-case="${choice.at}"] li[data-event] > code`, this.body)) {
        const button = make("button", { type: "button", title: "Show in the timeline" }, code.textContent);
        button.addEventListener("click", async () => {
          if (this.choice !== choice) await this.load(choice);
          this.goTo(Number(button.parentElement.dataset.event));
        });
        code.replaceWith(button);
      }
    }
  }

  /* Drawing. */

  redraw() {
    this.width = this.scroll.clientWidth;
    if (!this.width) return;
    this.narrow = this.width < 640;
    this.left = this.narrow ? 0 : 176;
    this.lane = this.narrow ? LANE + 13 : LANE;
    let y = 0;
    for (const lane of this.lanes) {
      if (lane.first) y += GROUP;
      lane.y = y + (this.narrow ? 13 : 0);
      y += this.lane;
    }
    this.height = y + 6;
    this.svg.replaceChildren();
    this.svg.setAttribute("height", this.height);
    this.drawAxis();
    for (const lane of this.lanes) this.drawLane(lane);
    this.drawCited();
    this.drawCursor();
    const isWhole = this.view.from <= this.data.from && this.view.to >= this.data.to;
    this.toWhole.setAttribute("aria-pressed", isWhole);
  }

  x(ms) {
    const inner = this.width - this.left - 12;
    return this.left + 6 + ((ms - this.view.from) / (this.view.to - this.view.from)) * inner;
  }

  timeAt(event) {
    const x = event.clientX - this.scroll.getBoundingClientRect().left;
    return this.view.from + ((x - this.left - 6) / (this.width - this.left - 12)) * (this.view.to - this.view.from);
  }

  drawAxis() {
    this.axis.replaceChildren();
    const [whole, inner] = [this.data.to - this.data.from, this.width - this.left - 12];
    const part = (ms) => this.left + 6 + ((ms - this.data.from) / whole) * inner;
    draw(this.axis, "rect", { class: "whole", x: part(this.data.from), y: 4, width: inner, height: 4, rx: 2 });
    draw(this.axis, "rect", { class: "window", x: part(this.view.from), y: 4, width: Math.max(part(this.view.to) - part(this.view.from), 3), height: 4, rx: 2 });
    const span = this.view.to - this.view.from;
    const rough = span / Math.max(inner / 90, 2);
    const power = 10 ** Math.floor(Math.log10(rough));
    const tick = Math.max([1, 2, 5, 10].find((step) => step * power >= rough) * power, 1);
    const digits = Math.max(0, 3 - Math.floor(Math.log10(tick)));
    for (let at = Math.ceil(this.view.from / tick) * tick; at <= this.view.to; at += tick) {
      const x = this.x(at);
      draw(this.axis, "text", { x, y: 40, "text-anchor": x < this.left + 20 ? "start" : x > this.width - 24 ? "end" : "middle" }, `${(at / 1000).toFixed(Math.min(digits, 3))} s`);
      draw(this.svg, "path", { class: "grid", d: `M${Math.round(x)} 0V${this.height}` });
    }
    let free = this.left;
    for (const { at, event } of this.cited) {
      const x = this.x(at);
      if (x < this.left || x > this.width) continue;
      draw(this.axis, "path", { class: "cited", d: `M${x} 26V${AXIS}` });
      if (x < free) continue;
      draw(this.axis, "text", { class: "flag", x: Math.min(x, this.width - 30), y: 22, "text-anchor": this.narrow && x < 20 ? "start" : "middle" }, `#${event}`);
      free = x + 34;
    }
  }

  drawLane(lane) {
    if (lane.first) {
      const y = lane.y - (this.narrow ? 13 : 0) - GROUP;
      draw(this.svg, "rect", { class: "stripe", x: 0, y, width: this.width, height: GROUP });
      draw(this.svg, "text", { class: "group", x: 8, y: y + 16 }, lane.group);
    }
    const name = this.narrow || lane.name.length < 28 ? lane.name : lane.name.slice(0, 27) + "…";
    draw(this.svg, "text", { x: 8, y: this.narrow ? lane.y - 1 : lane.y + 15 }, name);
    for (const item of lane.items) {
      if (item.at + item.length >= this.view.from && item.at <= this.view.to) this.drawItem(lane, item);
    }
  }

  drawItem(lane, item) {
    const middle = lane.y + LANE / 2;
    const [from, to] = [Math.max(this.x(item.at), this.left), Math.min(this.x(item.at + item.length), this.width)];
    const wide = to - from;
    const isBar = item.length > 0 && (wide > 4 || item.look === "stalled" || item.look === "faint" || item.look === "life");
    if (isBar) {
      draw(this.svg, "rect", { class: item.look, x: from, y: middle - 7, width: Math.max(wide, 1), height: 14, rx: Math.min(3, wide / 2) });
      const room = Math.floor((wide - 10 - (lane.answers ? 10 : 0)) / 5.7);
      const text = item.text.replace(/^(status|condition \S+ is|phase):? ?/, "");
      if (room >= Math.min(text.length, 6) && item.look !== "stalled") {
        const shown = text.length > room ? text.slice(0, Math.max(room - 1, 1)) + "…" : text;
        draw(this.svg, "text", { class: `inside on-${item.look}`, x: from + 5 + (lane.answers ? 8 : 0), y: middle + 4 }, shown);
      }
    }
    if (!isBar || lane.answers) {
      if (this.x(item.at) >= this.left) sign(this.svg, item.look, this.x(item.at), middle);
    }
  }

  /** A ring around an item; around one of its ends, if it is long and only that end matters. */
  ring(item, name, at) {
    const middle = item.lane.y + LANE / 2;
    let [from, to] = [Math.max(this.x(item.at), this.left), Math.min(this.x(item.at + item.length), this.width)];
    if (at !== undefined && to - from > 24) from = to = this.x(at);
    if (to < this.left || from > this.width) return;
    draw(this.svg, "rect", { class: name, x: from - 7, y: middle - 9.5, width: Math.max(to - from, 0) + 14, height: 19, rx: 8 });
  }

  drawCited() {
    for (const { at, item } of this.cited) this.ring(item, "ring", at);
    for (const { at } of this.cited.slice(0, 40)) {
      const x = this.x(at);
      if (x >= this.left && x <= this.width) draw(this.svg, "path", { class: "cited", d: `M${x} 0V${this.height}` });
    }
  }

  drawCursor() {
    one(".here", this.svg)?.remove();
    if (this.cursor) this.ring(this.cursor, "here");
  }

  /* Moving. */

  show(view) {
    this.view = view;
    this.redraw();
  }

  zoom(by, around) {
    const { from, to } = this.view;
    const middle = around ?? (this.cursor && this.cursor.at >= from && this.cursor.at <= to ? this.cursor.at : (from + to) / 2);
    const span = Math.min(Math.max((to - from) * by, 10), this.data.to - this.data.from);
    this.pan(middle - ((middle - from) / (to - from)) * span, span);
  }

  /** Shows a span from an instant on, as far as the case goes. */
  pan(from, span) {
    const start = Math.max(this.data.from, Math.min(from, this.data.to - span));
    this.show({ from: start, to: start + span });
  }

  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event));
  }

  onDown(event) {
    const [start, { from, to }] = [event.clientX, this.view];
    const item = this.itemAt(event);
    if (item) this.goToItem(item, false);
    const move = (moved) => {
      if (Math.abs(moved.clientX - start) < 4) return;
      hideTip();
      this.pan(from - ((moved.clientX - start) / (this.width - this.left)) * (to - from), to - from);
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  }

  /** What is nearest to the pointer: short things before the bars around them. */
  itemAt(event) {
    const y = event.clientY - this.svg.getBoundingClientRect().top;
    const x = event.clientX - this.scroll.getBoundingClientRect().left;
    const lane = this.lanes.find((lane) => y >= lane.y && y < lane.y + LANE);
    if (!lane || x < this.left) return null;
    let best = null;
    for (const item of lane.items) {
      const [from, to] = [this.x(item.at), this.x(item.at + item.length)];
      const away = Math.max(from - x, x - to, 0);
      if (away <= 8 && (!best || away < best.away || (away === best.away && item.length < best.item.length))) best = { item, away };
    }
    return best?.item ?? null;
  }

  onMove(event) {
    const item = event.buttons ? null : this.itemAt(event);
    if (item) showTip(event, this.words(item));
    else hideTip();
  }

  words(item) {
    const took = item.length > 0 ? `, ${(item.length / 1000).toFixed(3)} s long` : "";
    const cited = item.cited.length ? ` (evidence ${item.cited.map((event) => `#${event}`).join(", ")})` : "";
    return `${seconds(item.at)}${took}: ${item.text}${cited}`;
  }

  say(item) {
    const hint = "Times are seconds since the run's zero, when things happened; the harness heard of them a little later. Point at something, or use the arrow keys.";
    this.readout.textContent = item ? `${item.lane.group}, ${item.lane.name}. ${this.words(item)}` : hint;
  }

  goTo(event) {
    const found = this.cited.find((one) => one.event === event);
    if (found) this.goToItem(found.item, true);
  }

  goToItem(item, scroll) {
    this.cursor = item;
    const span = this.view.to - this.view.from;
    if (item.at + item.length < this.view.from || item.at > this.view.to) this.pan(item.at - span / 3, span);
    this.drawCursor();
    this.say(item);
    if (scroll) {
      this.scroll.scrollTop = item.lane.y - this.scroll.clientHeight / 2;
      this.scroll.scrollIntoView({ block: "nearest" });
    }
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      ArrowRight: () => this.along(1), ArrowLeft: () => this.along(-1), ArrowDown: () => this.across(1), ArrowUp: () => this.across(-1),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.show(this.wholeView()),
      e: () => this.nextCited(), E: () => this.nextCited(),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  }

  along(by) {
    const items = this.cursor?.lane.items ?? this.lanes[0].items;
    const next = items[this.cursor ? items.indexOf(this.cursor) + by : 0];
    if (next) this.goToItem(next, true);
  }

  /** The nearest thing in the next lane. */
  across(by) {
    const lane = this.lanes[this.lanes.indexOf(this.cursor?.lane) + by] ?? this.lanes[0];
    const at = this.cursor?.at ?? this.view.from;
    const nearest = lane.items.reduce((a, b) => (Math.abs(b.at - at) < Math.abs(a.at - at) ? b : a));
    this.goToItem(nearest, true);
  }

  nextCited() {
    const at = this.cited.findIndex((one) => one.item === this.cursor);
    const later = this.cited.slice(at + 1).find((one) => one.item !== this.cursor) ?? this.cited[0];
    if (later) this.goToItem(later.item, true);
  }
}

/* The tip beside the pointer. */

let tip = null;

function showTip(event, text) {
  tip ??= document.body.appendChild(make("div", { className: "tip" }));
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${event.clientY + 20 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 20}px`;
}

function hideTip() {
  if (tip) tip.hidden = true;
}
