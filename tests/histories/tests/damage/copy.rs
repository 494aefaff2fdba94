//! A copy of a history that is damaged: events dropped, changed, moved in time, or doubled.
//!
//! Changes to a target's lines leave no gap in their numbers: a kubelet that behaved differently would not leave a gap
//! either. (For lost lines, see the simulator's `losses.rs`.)

use std::collections::{BTreeMap, BTreeSet};

use probity_model::history::{Event, Happening, Header};
use probity_model::timeline::Attempt;
use probity_model::{EventId, History, Timeline};
use probity_script::WitnessLine;
use probity_script::witness::{Entry, Fact, Request};
use serde_json::Value;

/// The first number of added connections and commands. No instance of a target has so many connections or commands.
const ADDED: u64 = 1_000_000;

/// A history that is being damaged.
pub(crate) struct Copy {
    header: Header,
    events: Vec<Option<Event>>,
    added: Vec<Event>,
    /// The instances whose lines are renumbered.
    touched: BTreeSet<String>,
    doubles: u64,
}

impl Copy {
    /// A copy without damage.
    pub(crate) fn of(run: &Timeline<'_>) -> Self {
        let events = run.history.events().map(|(_, event)| Some(event.clone())).collect();
        let (added, touched) = (Vec::new(), BTreeSet::new());
        Self { header: run.history.header.clone(), events, added, touched, doubles: ADDED }
    }

    /// Changes one event.
    pub(crate) fn event(mut self, id: EventId, change: impl FnOnce(&mut Event)) -> Self {
        if let Some(event) = self.events.get_mut(id.0 as usize).and_then(Option::as_mut) {
            change(event);
        }
        self
    }

    /// Drops events.
    pub(crate) fn without(mut self, ids: impl IntoIterator<Item = EventId>) -> Self {
        for id in ids {
            let gone = self.events.get_mut(id.0 as usize).and_then(Option::take);
            self.touched.extend(gone.iter().filter_map(|event| Some(line(event)?.boot.clone())));
        }
        self
    }

    /// Moves events to a later or an earlier time.
    pub(crate) fn moved(mut self, ids: impl IntoIterator<Item = EventId>, by_us: i64) -> Self {
        for id in ids {
            if let Some(event) = self.events.get_mut(id.0 as usize).and_then(Option::as_mut) {
                shift(event, by_us);
                self.touched.extend(line(event).map(|line| line.boot.clone()));
            }
        }
        self
    }

    /// Repeats the events of one exchange at another time.
    pub(crate) fn doubled(mut self, ids: impl IntoIterator<Item = EventId>, by_us: i64) -> Self {
        self.doubles += 1;
        for id in ids {
            let Some(mut event) = self.events.get(id.0 as usize).cloned().flatten() else { continue };
            shift(&mut event, by_us);
            if let Some(line) = line_mut(&mut event) {
                number(&mut line.fact, self.doubles);
                self.touched.insert(line.boot.clone());
            }
            self.added.push(event);
        }
        self
    }

    /// Adds the same event at the same time to another instance of a container.
    pub(crate) fn told_to(mut self, id: EventId, container: &str, life: &Attempt<'_>) -> Self {
        let Some(mut event) = self.events.get(id.0 as usize).cloned().flatten() else { return self };
        if let Happening::Witness(heard) = &mut event.what {
            container.clone_into(&mut heard.container);
        }
        if let Some(line) = line_mut(&mut event) {
            life.boot.clone_into(&mut line.boot);
            line.attempt = life.number;
            self.touched.insert(line.boot.clone());
        }
        self.added.push(event);
        self
    }

    /// Adds an event.
    pub(crate) fn with(mut self, event: Event) -> Self {
        self.added.push(event);
        self
    }

    /// Changes a line of a target.
    pub(crate) fn line(self, id: EventId, change: impl FnOnce(&mut WitnessLine)) -> Self {
        self.event(id, |event| {
            if let Some(line) = line_mut(event) {
                change(line);
            }
        })
    }

    /// Changes what a target saw of a request.
    pub(crate) fn request(self, id: EventId, change: impl FnOnce(&mut Request)) -> Self {
        self.line(id, |line| {
            if let Fact::Request(request) = &mut line.fact {
                change(request);
            }
        })
    }

    /// Changes an object in a revision.
    pub(crate) fn object(self, id: EventId, change: impl FnOnce(&mut Value)) -> Self {
        self.event(id, |event| {
            if let Happening::Sighting(sighting) = &mut event.what {
                change(&mut sighting.object);
            }
        })
    }

    /// Changes the status of a container in one revision of its pod.
    pub(crate) fn status(self, id: EventId, container: &str, change: impl FnOnce(&mut Value)) -> Self {
        self.event(id, |event| write_status(event, container, change))
    }

    /// Changes a condition of a pod in one revision.
    pub(crate) fn condition(self, id: EventId, kind: &str, to: bool) -> Self {
        self.event(id, |event| write_condition(event, kind, to))
    }

    /// The damaged history.
    pub(crate) fn done(self) -> Option<History> {
        let mut events: Vec<Event> = self.events.into_iter().flatten().chain(self.added).collect();
        events.sort_by_key(|event| event.us);
        for boot in &self.touched {
            renumber(&mut events, boot);
        }
        let mut history = History::new(self.header);
        for event in events {
            history.push(event.us, event.what);
        }
        Some(history)
    }
}

/// Renumbers the lines of one instance, in the order of their times.
fn renumber(events: &mut [Event], boot: &str) {
    let of =
        |event: &Event| line(event).filter(|line| line.boot == boot).map(|line| (line.mono_us, line.seq));
    let mut order: Vec<_> =
        events.iter().enumerate().filter_map(|(at, event)| Some((of(event)?, at))).collect();
    order.sort_unstable();
    let places: BTreeMap<usize, u64> = (0..).zip(&order).map(|(seq, (_, at))| (*at, seq)).collect();
    for (at, event) in events.iter_mut().enumerate() {
        if let (Some(line), Some(seq)) = (line_mut(event), places.get(&at)) {
            line.seq = *seq;
        }
        if let Happening::Witness(heard) = &mut event.what
            && let Entry::Left { boot: of, told, .. } = &mut heard.entry
            && of == boot
        {
            *told = places.len() as u64;
        }
    }
}

/// Changes the status of a container in a revision of its pod.
pub(crate) fn write_status(event: &mut Event, container: &str, change: impl FnOnce(&mut Value)) {
    let Happening::Sighting(sighting) = &mut event.what else { return };
    let lists = ["containerStatuses", "initContainerStatuses"];
    let Some(status) = sighting.object.get_mut("status").and_then(Value::as_object_mut) else { return };
    let all = status.iter_mut().filter(|(list, _)| lists.contains(&list.as_str()));
    let mut all = all.flat_map(|(_, list)| list.as_array_mut().into_iter().flatten());
    if let Some(status) = all.find(|status| status["name"] == container) {
        change(status);
    }
}

/// Changes a condition of a pod in a revision.
pub(crate) fn write_condition(event: &mut Event, kind: &str, to: bool) {
    let Happening::Sighting(sighting) = &mut event.what else { return };
    let conditions = sighting.object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    if let Some(found) = conditions.into_iter().flatten().find(|condition| condition["type"] == kind) {
        found["status"] = if to { "True".into() } else { "False".into() };
    }
}

fn line(event: &Event) -> Option<&WitnessLine> {
    match &event.what {
        Happening::Witness(heard) => match &heard.entry {
            Entry::Line(line) => Some(line),
            _ => None,
        },
        _ => None,
    }
}

fn line_mut(event: &mut Event) -> Option<&mut WitnessLine> {
    match &mut event.what {
        Happening::Witness(heard) => match &mut heard.entry {
            Entry::Line(line) => Some(line),
            _ => None,
        },
        _ => None,
    }
}

/// Moves an event on all its clocks.
pub(crate) fn shift(event: &mut Event, by_us: i64) {
    event.us += by_us;
    if let Happening::Witness(heard) = &mut event.what {
        heard.received_us = heard.received_us.map(|us| us.saturating_add_signed(by_us));
        if let Entry::Left { last_mono_us, .. } = &mut heard.entry {
            *last_mono_us = last_mono_us.saturating_add_signed(by_us);
        }
    }
    if let Some(line) = line_mut(event) {
        line.mono_us = line.mono_us.saturating_add_signed(by_us);
        line.wall_us = line.wall_us.saturating_add_signed(by_us);
        match &mut line.fact {
            Fact::Request(request) => {
                request.first_byte_us = request.first_byte_us.saturating_add_signed(by_us);
            }
            Fact::Exec(seen) => {
                let began = &mut seen.command.began_mono_us;
                *began = began.saturating_add_signed(by_us);
            }
            _ => {}
        }
    }
}

/// Gives a connection or a command another number.
fn number(fact: &mut Fact, to: u64) {
    match fact {
        Fact::Accepted(accepted) => accepted.conn = to,
        Fact::Tls(tls) => tls.conn = to,
        Fact::Request(request) => request.conn = to,
        Fact::Answer(answer) => answer.conn = to,
        Fact::Closed(closed) => closed.conn = to,
        Fact::Exec(seen) => seen.exec = to,
        Fact::ExecEnded(ended) => ended.exec = to,
        _ => {}
    }
}

/// A copy of a revision at another time.
pub(crate) fn revised(like: &Event, us: i64) -> Event {
    let mut event = like.clone();
    event.us = us;
    if let Happening::Sighting(sighting) = &mut event.what {
        sighting.revision = format!("{}{us}", sighting.revision);
        sighting.object["metadata"]["resourceVersion"] = sighting.revision.clone().into();
    }
    event
}
