
/* What is stored of the cases: unpacked once, parsed case by case. */

let unpacking = null;

/** What is stored of a case; undefined if the page has nothing of it. */
async function caseData(at) {
  unpacking ??= unpack();
  const lines = await unpacking;
  const line = lines.get(Number(at));
  if (typeof line === "string") lines.set(Number(at), JSON.parse(line));
  return lines.get(Number(at));
}

/** The lines of the cases by their places. They are parsed when they are asked for. */
async function unpack() {
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const [places, ...lines] = (await new Response(stream).text()).split("\n");
  return new Map(JSON.parse(places).map((place, nth) => [place, lines[nth]]));
}

const LOOKS = Object.fromEntries(["life", "good", "bad", "mixed", "faint", "ended", "alarm", "plain", "stalled"].map((look) => [look[0], look]));

/** The lanes of a block as objects: each item knows its lane. */
function lanesOf(data) {
  const lanes = [];
  for (const group of data.groups) {
    for (const [nth, lane] of group.lanes.entries()) {
      const made = { name: lane.name, group: group.name, first: nth === 0, answers: /probes$|requests$|hooks$/.test(lane.name) };
      let [at, event] = [0, 0];
      made.items = lane.at.map((step, nth) => ({
        lane: made,
        at: (at += step),
        length: lane.long[nth],
        look: LOOKS[lane.look[nth]],
        text: data.texts[lane.text[nth]],
        events: lane.events[nth].map((step) => (event += step)),
      }));
      lanes.push(made);
    }
  }
  return lanes;
}
