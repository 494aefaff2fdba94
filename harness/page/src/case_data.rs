//! The data of each case for the script: its lanes and its manifests, packed.
//!
//! The cases are lines of JSON, compressed together and encoded in base64. So text from a cluster cannot be read as
//! markup, data that the cases share is stored once, and the script parses a line only when a user opens the case. If a
//! page is still too large, the least interesting cases are left out, and the script shows a note in their place.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use data_encoding::BASE64;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use probity_model::history::Did;
use probity_model::{EventId, History, Timeline};
use probity_report::{Histories, Word, Workers};
use serde_json::{Value, json};

use crate::html::Html;
use crate::index::Index;
use crate::lanes::{self, Lane, LaneGroup};
use crate::trials::Trial;

/// The tolerance of `surely_exceeds`, in bytes: a different first line changes the compressed size of the other lines
/// by at most this much.
const SLACK: usize = 64 << 10;

/// The cases of a page.
pub(crate) struct CaseData {
    /// How many cases there are.
    cases: usize,
    /// Their places and their lines, the most interesting first. If not all cases fit into the page, the last ones may be
    /// missing here.
    lines: Vec<(usize, String)>,
    /// All cases, packed, unless some are missing.
    packed: Option<String>,
}

impl CaseData {
    /// The data of the cases whose histories can be read. The histories are read again, one by one, because a run may
    /// have more of them than fit into memory, and only until no more cases fit into `room` bytes.
    pub(crate) fn of(index: &Index<'_>, histories: &dyn Histories, workers: Workers, room: usize) -> Self {
        let cited = index.cited();
        let none = BTreeSet::new();
        let mut places: Vec<usize> = (0..index.cases.len()).filter(|at| index.cases[*at].is_drawn).collect();
        places.sort_by_key(|at| interest(index.cases[*at].report.verdict));
        let draw = |at: &usize| {
            let case = index.cases[*at].report;
            let read = histories.read_history(&case.history.as_ref()?.file).ok()?;
            let cited = cited.get(at).unwrap_or(&none);
            let data = of_case(&read.history, case.began_us, cited, index.trial_of(*at));
            Some((*at, data.to_string()))
        };
        let mut lines = Vec::new();
        let mut cases = places.len();
        let mut packer = Packer::new(&places);
        let full = workers.in_order(&places, draw, |line| {
            match line {
                Some((at, line)) => {
                    packer.put(&line);
                    lines.push((at, line));
                }
                None => cases -= 1,
            }
            if packer.surely_exceeds(room) { Err(()) } else { Ok(()) }
        });
        let packed = (full.is_ok() && cases == places.len()).then(|| packer.packed());
        Self { cases, lines, packed }
    }

    /// Writes as many cases as fit into `room` bytes.
    pub(crate) fn put(mut self, page: &mut Html, room: usize) {
        let mut count = self.cases;
        while count > self.lines.len() {
            count = fewer(count);
        }
        self.lines.truncate(count);
        let mut packed = self.packed.take().unwrap_or_else(|| self.pack());
        while packed.len() > room && !self.lines.is_empty() {
            self.lines.truncate(fewer(self.lines.len()));
            packed = self.pack();
        }
        page.put("<script type=\"application/octet-stream\" id=\"data\">{}</script>\n", &[&packed]);
    }

    fn pack(&self) -> String {
        let places: Vec<usize> = self.lines.iter().map(|(at, _)| *at).collect();
        let mut packer = Packer::new(&places);
        for (_, line) in &self.lines {
            packer.put(line);
        }
        packer.packed()
    }
}

/// The next smaller number of cases to try if this many do not fit.
fn fewer(cases: usize) -> usize {
    cases * 7 / 8
}

/// Packs a line with the positions of the cases, and then one line for each case. Writing to memory does not fail.
struct Packer {
    deflated: DeflateEncoder<Vec<u8>>,
    written: std::io::Result<()>,
    first_line: usize,
}

impl Packer {
    fn new(places: &[usize]) -> Self {
        let first = json!(places).to_string();
        let deflated = DeflateEncoder::new(Vec::new(), Compression::best());
        let mut packer = Self { deflated, written: Ok(()), first_line: first.len() };
        packer.put(&first);
        packer
    }

    fn put(&mut self, line: &str) {
        if self.written.is_ok() {
            self.written = writeln!(self.deflated, "{line}");
        }
    }

    /// Whether the lines so far do not fit into `room` bytes, and would not fit with a shorter first line either.
    fn surely_exceeds(&self, room: usize) -> bool {
        let room = room / 4 * 3;
        self.deflated.get_ref().len() > room + room / 8 + self.first_line + SLACK
    }

    fn packed(self) -> String {
        BASE64.encode(&self.written.and_then(|()| self.deflated.finish()).unwrap_or_default())
    }
}

/// The order in which cases are kept.
fn interest(word: Word) -> u8 {
    match word {
        Word::Violated => 0,
        Word::Error => 1,
        Word::Inconclusive => 2,
        Word::Diverges => 3,
        Word::Holds | Word::Skipped => 4,
    }
}

/// The data that the script draws: times in milliseconds since the run's zero, and texts by their numbers.
fn of_case(
    history: &History,
    began_us: Option<i64>,
    cited: &BTreeSet<EventId>,
    trial: Option<&Trial>,
) -> Value {
    let run = Timeline::of(history);
    let groups = lanes::of(&run, cited, trial);
    let mut texts = Texts::default();
    let items = groups.iter().flat_map(|group| &group.lanes).flat_map(|lane| &lane.items);
    let first = items.clone().map(|item| item.at).min();
    let last = items.map(|item| item.at + item.length).max();
    let from = began_us.or(first).unwrap_or(0);
    let groups: Vec<Value> = groups.iter().map(|group| of_group(group, &mut texts)).collect();
    json!({
        "from": milliseconds(from),
        "to": milliseconds(last.unwrap_or(from).max(run.ended_us).max(from + 1000)),
        "groups": groups,
        "texts": texts.list,
        "manifests": manifests(&run),
    })
}

fn of_group(group: &LaneGroup, texts: &mut Texts) -> Value {
    let lanes: Vec<Value> = group.lanes.iter().map(|lane| of_lane(lane, texts)).collect();
    json!({ "name": group.name, "lanes": lanes })
}

/// A lane by columns. Times and events are differences from the previous time and event, and looks are their first
/// letters. This encoding halves the size of a page.
fn of_lane(lane: &Lane, texts: &mut Texts) -> Value {
    let (mut time, mut event) = (0, 0);
    let (mut at, mut long, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for item in &lane.items {
        let (from, to) = (milliseconds(item.at), milliseconds(item.at + item.length));
        at.push(from - time);
        long.push(to - from);
        time = from;
        let steps = item.events.iter().map(|id| {
            let step = i64::from(id.0) - event;
            event = i64::from(id.0);
            step
        });
        events.push(steps.collect::<Vec<i64>>());
    }
    let looks: String = lane.items.iter().map(|item| item.look.letter()).collect();
    let text: Vec<usize> = lane.items.iter().map(|item| texts.number(&item.text)).collect();
    json!({ "name": lane.name, "at": at, "long": long, "look": looks, "text": text, "events": events })
}

fn milliseconds(us: i64) -> i64 {
    us.div_euclid(1000)
}

/// Each text once.
#[derive(Default)]
struct Texts {
    list: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Texts {
    fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }
}

/// The manifests that were sent to the API server, in order.
fn manifests(run: &Timeline<'_>) -> Vec<Value> {
    let sent = run.deeds.iter().filter_map(|(_, deed)| match &deed.did {
        Did::Created { kind, name, manifest } => {
            Some(json!({ "title": format!("{kind} {name}"), "manifest": manifest }))
        }
        Did::Patched { kind, name, patch, .. } => {
            Some(json!({ "title": format!("patch of {kind} {name}"), "manifest": patch }))
        }
        _ => None,
    });
    let tried = run.tried.iter().map(|(_, tried)| {
        json!({ "title": format!("dry run {}, answered {}", tried.name, tried.code), "manifest": tried.manifest })
    });
    sent.chain(tried).collect()
}
