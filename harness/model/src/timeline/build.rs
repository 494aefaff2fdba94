//! Joins a history into a timeline.

use std::collections::{BTreeMap, BTreeSet};

use probity_script::WitnessLine;
use probity_script::witness::{Entry, Fact};
use serde_json::Value;

use super::Timeline;
use super::at::{At, Completion};
use super::attempt::{Asked, Attempt, Connection, Executed, Line, Probe, Through};
use super::containers::{containers, ephemeral};
use super::failed_starts;
use super::kube::{KubeEvent, ServiceSeen, SliceSeen};
use super::outages;
use super::pod::{ContainerLife, PodLife, Revision};
use super::probes::probes;
use super::static_pods;
use crate::clocks::{Clock, Clocks, Stamp};
use crate::history::{
    Change, Did, Event, EventId, Gap, Happening, Heard, History, Listener, Noise, Sighting, Source,
};
use crate::measure::{Interval, SECOND};
use crate::stamp::{FAR, MOST_COUNTED, counted};

/// The label that holds a pod's key in its case.
const KEY: &str = "probity.dev/pod";

pub(super) fn timeline(history: &History) -> Timeline<'_> {
    let over = history.events().find(
        |(_, event)| matches!(&event.what, Happening::Deed(deed) if matches!(deed.did, Did::Over { .. })),
    );
    let end = over.map_or_else(|| history.next_id(), |(id, _)| id);
    let events: Vec<(EventId, &Event)> = history.events().take_while(|(id, _)| *id < end).collect();
    // The harness listened until it recorded the end of the case, so a silence before that means that nothing was sent.
    let last = over.or_else(|| events.last().copied());
    let mut timeline = Timeline {
        history,
        clocks: Clocks::of(history),
        gaps: Vec::new(),
        noise: Vec::new(),
        late_kubelet: Vec::new(),
        outages: Vec::new(),
        pods: Vec::new(),
        strays: Vec::new(),
        services: Vec::new(),
        deeds: Vec::new(),
        tried: Vec::new(),
        ended_us: last.map_or(0, |(_, event)| event.us.clamp(-FAR, FAR)),
    };
    let static_pods = static_pods::names(history);
    let mut lives: BTreeMap<&str, TargetLines<'_>> = BTreeMap::new();
    let mut order = Vec::new();
    for &(id, event) in &events {
        match &event.what {
            Happening::Deed(deed) => {
                timeline.deeds.push((id, deed));
                match &deed.did {
                    Did::Tried(tried) => timeline.tried.push((id, tried)),
                    Did::Created { kind, name, manifest } if kind == "Pod" => {
                        created(&mut timeline.pods, id, name, manifest)
                    }
                    Did::Deleted { kind, name, .. } if kind == "Pod" => {
                        mark_deleted(&mut timeline.pods, name, id)
                    }
                    Did::Evicted { pod, refused: None, .. } => mark_deleted(&mut timeline.pods, pod, id),
                    _ => {}
                }
            }
            Happening::Sighting(sighting) => sight(&mut timeline, id, event.us, sighting, &static_pods),
            Happening::Witness(heard) => hear(&mut lives, &mut order, id, event.us, heard),
            Happening::Gap(gap) => timeline.gaps.push((id, gap.clone())),
            Happening::Noise(noise) if noise.by.is_excuse() => timeline.noise.push((id, with_backlog(noise))),
            Happening::Noise(noise) => timeline.late_kubelet.push((id, noise.clone())),
            Happening::Reading(_) => {}
        }
    }
    timeline.outages = outages::outages(history);
    static_pods::gather(&mut timeline);
    for pod in &mut timeline.pods {
        pod.containers = containers(pod.spec);
        pod.ephemeral = ephemeral(&pod.revisions);
    }
    for boot in order {
        if let Some(life) = lives.remove(boot) {
            settle(&mut timeline, boot, life);
        }
    }
    for pod in &mut timeline.pods {
        failed_starts::count(pod);
        for container in pod.containers.iter_mut().chain(&mut pod.ephemeral) {
            container.attempts.sort_by_key(|attempt| (attempt.number, attempt.began.at.lo));
        }
    }
    let held_up = held_up(&timeline);
    for (probe, held_up) in probes_of(&mut timeline.pods).zip(held_up) {
        back_date(probe, held_up);
    }
    timeline
}

/// How long the node was stalled in the second before each probe was answered. No estimate is needed if the target
/// recorded when it sent the answer.
fn held_up(timeline: &Timeline<'_>) -> Vec<i64> {
    let lives = timeline.pods.iter().flat_map(|pod| pod.containers.iter().flat_map(|of| &of.attempts));
    let settled = lives.flat_map(|life| {
        life.probes.iter().map(move |probe| {
            let answer = life.request(probe).and_then(|asked| asked.answer.as_ref());
            let told = answer.is_some_and(|answer| answer.last_send_us.is_some());
            let at = probe.settled.as_ref().map_or(&probe.at, |settled| &settled.stamp);
            (life, (!told).then_some(at))
        })
    });
    settled
        .map(|(life, at)| at.map_or(0, |at| timeline.noise_between(&life.node, &at.earlier(SECOND), at)))
        .collect()
}

fn probes_of<'t, 'h>(pods: &'t mut [PodLife<'h>]) -> impl Iterator<Item = &'t mut Probe<'h>> {
    let lives = pods.iter_mut().flat_map(|pod| pod.containers.iter_mut().flat_map(|of| &mut of.attempts));
    lives.flat_map(|life| &mut life.probes)
}

/// Moves the times of a probe back if its target was stalled, because a stalled target records events late. The kernel
/// accepts a connection immediately, which is enough for a TCP probe, and an answer is sent before its line is written.
fn back_date(probe: &mut Probe<'_>, held_up: i64) {
    if matches!(probe.through, Through::Connection(_)) {
        probe.at.at = Interval::new(probe.at.at.lo - held_up, probe.at.at.hi);
    }
    if let Some(At { stamp: settled, .. }) = &mut probe.settled {
        let earliest = (settled.at.lo - held_up).max(probe.at.at.lo);
        settled.at = Interval::new(earliest.min(settled.at.lo), settled.at.hi);
    }
}

/// The watch may show a pod before the response to its creation arrives, so the deed may come after the first revision.
fn created<'h>(pods: &mut Vec<PodLife<'h>>, id: EventId, name: &str, manifest: &'h Value) {
    let seen =
        pods.iter_mut().rev().find(|pod| pod.name == name && pod.created.is_none() && pod.deleted.is_none());
    match seen {
        Some(pod) => pod.created = Some((id, manifest)),
        None => pods.push(PodLife { created: Some((id, manifest)), ..unknown_pod(name, manifest) }),
    }
}

pub(super) fn unknown_pod<'h>(name: &str, object: &'h Value) -> PodLife<'h> {
    let key = object.get("metadata").and_then(|m| m.get("labels")?.get(KEY)?.as_str()).unwrap_or(name);
    PodLife {
        key: key.to_owned(),
        name: name.to_owned(),
        uid: String::new(),
        node: String::new(),
        created: None,
        spec: object.get("spec").unwrap_or(&Value::Null),
        revisions: Vec::new(),
        containers: Vec::new(),
        ephemeral: Vec::new(),
        events: Vec::new(),
        deleted: None,
        is_static: false,
        mirrors: Vec::new(),
    }
}

fn mark_deleted(pods: &mut [PodLife<'_>], name: &str, id: EventId) {
    if let Some(pod) = pods.iter_mut().rev().find(|pod| pod.name == name && pod.deleted.is_none()) {
        pod.deleted = Some(id);
    }
}

fn sight<'h>(
    timeline: &mut Timeline<'h>,
    id: EventId,
    us: i64,
    sighting: &'h Sighting,
    static_pods: &BTreeSet<String>,
) {
    let object = &sighting.object;
    let text = |path: [&str; 2]| object.get(path[0]).and_then(|of| of.get(path[1])).and_then(Value::as_str);
    match sighting.kind.as_str() {
        "Pod" => {
            let uid = text(["metadata", "uid"]).unwrap_or_default();
            let known =
                |pod: &&mut PodLife<'_>| pod.name == sighting.name && (pod.uid == uid || pod.uid.is_empty());
            let at = match timeline.pods.iter_mut().find(known).is_some() {
                true => timeline
                    .pods
                    .iter()
                    .position(|pod| pod.name == sighting.name && (pod.uid == uid || pod.uid.is_empty())),
                false => {
                    timeline.pods.push(unknown_pod(&sighting.name, object));
                    Some(timeline.pods.len() - 1)
                }
            };
            let Some(pod) = at.and_then(|at| timeline.pods.get_mut(at)) else { return };
            if pod.uid.is_empty() {
                uid.clone_into(&mut pod.uid);
                pod.spec = object.get("spec").unwrap_or(pod.spec);
            }
            if pod.node.is_empty() {
                text(["spec", "nodeName"]).unwrap_or_default().clone_into(&mut pod.node);
            }
            let gone = sighting.change == Change::Deleted;
            pod.revisions.push(Revision { id, at: Stamp::harness(us), object, gone });
        }
        "Event" => {
            let of = text(["involvedObject", "name"]).unwrap_or_default();
            let uid = text(["involvedObject", "uid"]).unwrap_or_default();
            let same = |pod: &&mut PodLife<'_>| {
                // Events about a static pod name the UID that it has on its node.
                let any = uid.is_empty() || pod.uid.is_empty() || static_pods.contains(of);
                pod.name == of && (any || pod.uid == uid)
            };
            let event = KubeEvent::of(id, Stamp::harness(us), object);
            let named = timeline.pods.iter().any(|pod| pod.name == of);
            match timeline.pods.iter_mut().rev().find(same) {
                Some(pod) => pod.events.push(event),
                None if named => timeline.strays.push(event),
                None => {}
            }
        }
        "Service" => service(timeline, &sighting.name).object = Some(object),
        "EndpointSlice" => {
            let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
            let of =
                labels.and_then(|labels| labels.get("kubernetes.io/service-name")).and_then(Value::as_str);
            let gone = sighting.change == Change::Deleted;
            let seen = SliceSeen::of(id, Stamp::harness(us), object, gone);
            service(timeline, of.unwrap_or_default()).slices.push(seen);
        }
        "Endpoints" => service(timeline, &sighting.name).endpoints.push((id, Stamp::harness(us), object)),
        _ => {}
    }
}

fn service<'t, 'h>(timeline: &'t mut Timeline<'h>, name: &'h str) -> &'t mut ServiceSeen<'h> {
    let at = timeline.services.iter().position(|service| service.name == name).unwrap_or_else(|| {
        let slices = Vec::new();
        timeline.services.push(ServiceSeen { name, object: None, slices, endpoints: Vec::new() });
        timeline.services.len() - 1
    });
    &mut timeline.services[at]
}

/// The records of one instance of a process.
struct TargetLines<'h> {
    pod: &'h str,
    uid: &'h str,
    container: &'h str,
    node: &'h str,
    attempt: u64,
    lines: BTreeMap<u64, (EventId, i64, &'h WitnessLine)>,
    told: u64,
    left: Option<(EventId, i64)>,
}

fn hear<'h>(
    lives: &mut BTreeMap<&'h str, TargetLines<'h>>,
    order: &mut Vec<&'h str>,
    id: EventId,
    us: i64,
    heard: &'h Heard,
) {
    let (boot, attempt) = match &heard.entry {
        Entry::Joined { hello, .. } => (hello.boot.as_str(), hello.attempt),
        Entry::Line(line) => (line.boot.as_str(), line.attempt),
        Entry::Left { boot, .. } | Entry::Missing { boot, .. } => (boot.as_str(), 0),
        Entry::Silent { .. } | Entry::Resumed { .. } | Entry::Nonsense { .. } => return,
    };
    let life = lives.entry(boot).or_insert_with(|| {
        order.push(boot);
        let (pod, uid, container, node) = (&heard.pod, &heard.uid, &heard.container, &heard.node);
        TargetLines { pod, uid, container, node, attempt, lines: BTreeMap::new(), told: 0, left: None }
    });
    match &heard.entry {
        Entry::Line(line) => {
            life.lines.entry(line.seq).or_insert((id, us, line));
        }
        Entry::Left { told, .. } => {
            life.told = life.told.max(*told);
            life.left = Some((id, us));
        }
        // The connection had been interrupted, but the instance was still running.
        Entry::Joined { .. } => life.left = None,
        _ => {}
    }
}

/// Adds one instance to its container and looks for gaps in its record.
fn settle<'h>(timeline: &mut Timeline<'h>, boot: &'h str, life: TargetLines<'h>) {
    let Some(first) = life.lines.values().next().copied() else { return };
    let holes = holes(&life);
    let ends: Vec<(u64, i64, EventId)> =
        life.lines.iter().map(|(seq, (id, us, _))| (*seq, *us, *id)).collect();
    for (hole, count) in &holes {
        let before = ends.iter().rfind(|(seq, ..)| seq < hole).map_or(0, |(_, us, _)| *us);
        let after = ends.iter().find(|(seq, ..)| seq > hole);
        let to_us = after.map_or(timeline.ended_us + 1, |(_, us, _)| *us);
        let of = Source::Witness { pod: life.pod.to_owned(), container: life.container.to_owned() };
        let why = format!("{count} lines, starting with line {hole}, never arrived");
        let id = after.map_or(first.0, |(.., id)| *id);
        timeline.gaps.push((id, Gap { of, from_us: before, to_us, why }));
    }
    for (id, _, line) in life.lines.values() {
        if let Fact::Stall(stall) = &line.fact {
            let to_us = counted(line.mono_us);
            let from_us = to_us - counted(stall.late_us);
            let clock = Clock::Node(life.node.to_owned());
            timeline.noise.push((*id, Noise { by: Listener::Target, clock, from_us, to_us }));
        }
    }
    let same = |pod: &&mut PodLife<'_>| {
        let any = life.uid.is_empty() || pod.uid.is_empty() || pod.is_static;
        pod.name == life.pod && (any || pod.uid == life.uid)
    };
    let Some(pod) = timeline.pods.iter_mut().rev().find(same) else { return };
    if pod.node.is_empty() {
        life.node.clone_into(&mut pod.node);
    }
    let mut all = pod.containers.iter_mut().chain(&mut pod.ephemeral);
    let Some(container) = all.find(|container| container.name == life.container) else { return };
    let attempt = attempt(boot, &life, container, holes, first);
    container.attempts.push(attempt);
}

fn holes(life: &TargetLines<'_>) -> Vec<(u64, u64)> {
    let mut holes = Vec::new();
    let mut next = 0;
    let past = life.lines.keys().next_back().map_or(0, |last| last.saturating_add(1)).max(life.told);
    for seq in life.lines.keys().copied().chain([past]) {
        if seq > next {
            holes.push((next, seq - next));
        }
        next = seq.saturating_add(1);
    }
    holes
}

fn attempt<'h>(
    boot: &'h str,
    life: &TargetLines<'h>,
    container: &ContainerLife<'h>,
    holes: Vec<(u64, u64)>,
    first: (EventId, i64, &'h WitnessLine),
) -> Attempt<'h> {
    let stamp = |line: &WitnessLine| Stamp::node(life.node, counted(line.mono_us));
    let began = match &first.2.fact {
        Fact::Started(started) => Stamp::node(life.node, counted(started.began_mono_us)),
        _ => stamp(first.2),
    };
    let mut attempt = Attempt {
        boot,
        number: life.attempt.min(MOST_COUNTED),
        failed_starts: 0,
        node: life.node.to_owned(),
        began: At::new(first.0, began),
        lines: Vec::new(),
        connections: Vec::new(),
        requests: Vec::new(),
        commands: Vec::new(),
        probes: Vec::new(),
        ended: life.left.map(|(id, us)| At::new(id, Stamp::harness(us))),
        holes,
    };
    let mut numbers: BTreeMap<u64, usize> = BTreeMap::new();
    for (id, _, line) in life.lines.values() {
        attempt.lines.push(Line { id: *id, at: stamp(line), line });
        gather(&mut attempt, &mut numbers, *id, stamp(line), &line.fact);
    }
    attempt.probes = probes(&attempt, &container.probes, container.plan().as_ref());
    attempt
}

/// Sorts one fact into the lists of its kind.
fn gather<'h>(
    attempt: &mut Attempt<'h>,
    numbers: &mut BTreeMap<u64, usize>,
    id: EventId,
    at: Stamp,
    fact: &'h Fact,
) {
    match fact {
        Fact::Accepted(accepted) => {
            numbers.insert(accepted.conn, attempt.connections.len());
            attempt.connections.push(Connection { id, at, accepted, tls: None, closed: None, requests: 0 });
        }
        Fact::Tls(tls) => {
            if let Some(connection) = numbers.get(&tls.conn).and_then(|at| attempt.connections.get_mut(*at)) {
                connection.tls = Some((id, tls));
            }
        }
        Fact::Closed(closed) => {
            if let Some(connection) =
                numbers.get(&closed.conn).and_then(|at| attempt.connections.get_mut(*at))
            {
                connection.closed = Some(Completion { at: At::new(id, at), record: closed });
            }
        }
        Fact::Request(request) => {
            let connection = numbers.get(&request.conn).copied();
            if let Some(connection) = connection.and_then(|at| attempt.connections.get_mut(at)) {
                connection.requests += 1;
            }
            attempt.requests.push(Asked { id, at, request, connection, answer: None });
        }
        Fact::Answer(answer) => {
            let same =
                |asked: &&mut Asked<'_>| asked.request.conn == answer.conn && asked.request.nth == answer.nth;
            if let Some(asked) = attempt.requests.iter_mut().rev().find(same) {
                asked.answer = Some(Completion { at: At::new(id, at), record: answer });
            }
        }
        Fact::Exec(seen) => attempt.commands.push(Executed { id, at, seen, ended: None }),
        Fact::ExecEnded(ended) => {
            if let Some(command) =
                attempt.commands.iter_mut().rev().find(|command| command.seen.exec == ended.exec)
            {
                command.ended = Some(Completion { at: At::new(id, at), record: ended });
            }
        }
        _ => {}
    }
}

/// Extends an overload by the time that the node takes to catch up, because it stays late until then.
fn with_backlog(noise: &Noise) -> Noise {
    if noise.by == Listener::Overload { noise.until_caught_up() } else { noise.clone() }
}
