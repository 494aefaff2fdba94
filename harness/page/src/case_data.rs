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
use probity_report::Word;
use serde_json::{Value, json};

use crate::html::Html;
use crate::index::Index;
use crate::lanes::{self, Lane, LaneGroup};

/// The cases of a page as lines, the most interesting first.
pub(crate) struct CaseData(Vec<(usize, String)>);

impl CaseData {
    /// The data of all cases whose histories could be read.
    pub(crate) fn of(index: &Index<'_>) -> Self {
        let cited = index.cited();
        let none = BTreeSet::new();
        let mut lines: Vec<(usize, String)> = Vec::new();
        for (at, case) in index.cases.iter().enumerate() {
            if let Some(history) = case.history {
                let data = of_case(history, case.report.began_us, cited.get(&at).unwrap_or(&none));
                lines.push((at, data.to_string()));
            }
        }
        lines.sort_by_key(|(at, _)| interest(index.cases[*at].report.verdict));
        Self(lines)
    }

    /// Writes as many cases as fit into `room` bytes.
    pub(crate) fn put(mut self, page: &mut Html, room: usize) {
        let mut packed = self.packed();
        while packed.len() > room && !self.0.is_empty() {
            self.0.truncate(self.0.len() * 7 / 8);
            packed = self.packed();
        }
        page.put("<script type=\"application/octet-stream\" id=\"data\">{}</script>\n", &[&packed]);
    }

    /// A line with the positions of the cases, then one line for each case. Writing to memory does not fail.
    fn packed(&self) -> String {
        let places: Vec<usize> = self.0.iter().map(|(at, _)| *at).collect();
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::best());
        let mut written = writeln!(deflated, "{}", json!(places));
        for (_, line) in &self.0 {
            written = written.and_then(|()| writeln!(deflated, "{line}"));
        }
        let bytes = written.and_then(|()| deflated.finish()).unwrap_or_default();
        BASE64.encode(&bytes)
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
pub(crate) fn of_case(history: &History, began_us: Option<i64>, cited: &BTreeSet<EventId>) -> Value {
    let run = Timeline::of(history);
    let groups = lanes::of(&run, cited);
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
