//! Decides about a first packet that waits: which defects strike the connection, and how it is handled. To take a
//! connection over, the proxy connects to the pod first, so that a closed port stays closed.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::Shared;
use super::Stream;
use super::choice::{Choice, choose};
use super::effects::{Effects, is_hidden};
use super::exchange::dial;
use super::fault::{Instead, Outcome, TcpChange};
use super::memory::Last;
use super::netlink::Verdict;
use super::pace;
use super::packet::{self, Syn};
use super::probes::{Mechanism, PROBES, Seen};
use super::queue::Waiting;
use super::rules::{REFUSED, TAKEN};
use super::session::Session;
use crate::board::KnownPod;

/// How long a verdict is kept. This is longer than the time for which a kernel repeats a first packet.
const REPEATED: Duration = Duration::from_secs(140);

/// Connections whose first packet got a verdict, and connections that are about to be taken over.
#[derive(Default)]
pub(super) struct Flows(Mutex<State>);

#[derive(Default)]
struct State {
    /// The verdict for each connection; `None` until it is decided.
    verdicts: HashMap<Syn, (Instant, Option<Verdict>)>,
    sessions: HashMap<SocketAddrV4, Session>,
}

impl Flows {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The verdict about a packet that is repeated. While the first packet waits, its repetitions are dropped.
    fn repeated(&self, syn: &Syn) -> Option<Verdict> {
        let state = self.lock();
        state.verdicts.get(syn).map(|(_, verdict)| verdict.unwrap_or(Verdict::Drop))
    }

    fn begin(&self, syn: Syn) {
        let mut state = self.lock();
        let now = Instant::now();
        state.verdicts.retain(|_, (since, _)| now - *since < REPEATED);
        // A kubelet that has given up never connects for its session.
        state.sessions.retain(|_, session| now - session.since < REPEATED);
        state.verdicts.insert(syn, (now, None));
    }

    fn decide(&self, syn: Syn, verdict: Verdict) {
        self.lock().verdicts.insert(syn, (Instant::now(), Some(verdict)));
    }

    /// The session of a connection that arrives from `source`.
    pub(super) fn session(&self, source: SocketAddrV4) -> Option<Session> {
        self.lock().sessions.remove(&source)
    }
}

/// Decides about a waiting packet. Work that needs time is done in the background.
pub(super) fn decide(shared: &Arc<Shared>, waiting: Waiting) {
    let Some(syn) = packet::read(&waiting.payload) else { return waiting.decide(Verdict::Accept) };
    if let Some(verdict) = shared.flows.repeated(&syn) {
        return waiting.decide(verdict);
    }
    let Some(pod) = shared.board.pod_of_ip((*syn.destination.ip()).into()) else {
        return waiting.decide(Verdict::Accept);
    };
    let seen = Seen { port: syn.destination.port(), ..Seen::default() };
    let choice = choose(&shared.board, &pod, &seen, &[]);
    if choice.is_none() {
        return waiting.decide(Verdict::Accept);
    }
    shared.flows.begin(syn);
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let verdict = open(&shared, syn, pod, choice).await;
        shared.flows.decide(syn, verdict);
        waiting.decide(verdict);
    });
}

/// How a connection begins.
enum Begin {
    /// Without the pod, for now.
    Alone,
    /// With a connection to the pod.
    Open(Stream),
    /// With a known result.
    Ended(Outcome),
    /// Not at all: the packet only gets this verdict.
    Not(Verdict),
}

async fn open(shared: &Arc<Shared>, syn: Syn, pod: KnownPod, choice: Choice) -> Verdict {
    let since = Instant::now();
    let effects = Effects::of(&choice.struck);
    if effects.drop {
        return Verdict::Drop;
    }
    sleep(effects.delay).await;
    if effects.refuse {
        return Verdict::Mark(REFUSED);
    }
    let begin = if is_tcp(&pod, syn.destination) && (effects.skip.is_some() || effects.pace.is_some()) {
        begin_tcp(shared, &syn, &pod, &effects).await
    } else if choice.struck.iter().chain(&choice.open).any(is_hidden) && !is_elsewhere_only(&effects, &choice)
    {
        Begin::Alone
    } else {
        connect(&syn, &effects, since).await
    };
    let (open, ended) = match begin {
        Begin::Alone => (None, None),
        Begin::Open(stream) => (Some(stream), None),
        Begin::Ended(outcome) => (None, Some(outcome)),
        Begin::Not(verdict) => return verdict,
    };
    // The delay has passed; later times count from the kubelet's first packet.
    let choice = Choice { struck: without_delay(choice.struck), ..choice };
    let session =
        Session { shared: Arc::clone(shared), pod, to: syn.destination, choice, open, ended, since };
    shared.flows.lock().sessions.insert(syn.source, session);
    Verdict::Mark(TAKEN)
}

/// Whether only the destination changes and nothing else must be known first. Then the connection is opened at once, so
/// that a closed port there refuses the kubelet.
fn is_elsewhere_only(effects: &Effects, choice: &Choice) -> bool {
    choice.open.is_empty() && effects.skip.is_none() && effects.pace.is_none() && !effects.keep_alive
}

fn without_delay(struck: Vec<super::fault::Does>) -> Vec<super::fault::Does> {
    struck.into_iter().filter(|does| !matches!(does, super::fault::Does::Delay { .. })).collect()
}

/// Whether all probes of this port are TCP probes, as far as the specification is known.
fn is_tcp(pod: &KnownPod, to: SocketAddrV4) -> bool {
    let seen = Seen { port: to.port(), ..Seen::default() };
    let candidates = PROBES.candidates(&pod.namespace, &pod.name, &seen);
    !candidates.is_empty() && candidates.iter().all(|probe| probe.by == Mechanism::Tcp)
}

async fn connect(syn: &Syn, effects: &Effects, since: Instant) -> Begin {
    let to = effects.destination(syn.destination);
    let connecting = dial(to, effects);
    let connected = match effects.slow {
        None => connecting.await,
        Some((after, outcome)) => tokio::select! {
            connected = connecting => connected,
            () = sleep_until(since + after) => {
                return match outcome {
                    Outcome::Success => Begin::Ended(outcome),
                    Outcome::Failure => Begin::Not(Verdict::Mark(REFUSED)),
                };
            }
        },
    };
    match connected {
        Ok(stream) => needs(stream, effects).await,
        Err(_) if effects.tcp.contains(&TcpChange::OpenAnyway) => Begin::Ended(Outcome::Success),
        Err(_) if effects.judge.silence == Some(Outcome::Success) => Begin::Ended(Outcome::Success),
        // The kubelet itself finds the port closed.
        Err(_) if to == syn.destination && !effects.from_inside => Begin::Not(Verdict::Accept),
        Err(_) => Begin::Not(Verdict::Mark(REFUSED)),
    }
}

/// The conditions that a TCP probe sets for a connection, in addition to its opening.
async fn needs(mut stream: Stream, effects: &Effects) -> Begin {
    for change in &effects.tcp {
        let mut byte = [0];
        let is_enough = match change {
            TcpChange::NeedsBanner { within } => {
                matches!(timeout(within.0, stream.read(&mut byte)).await, Ok(Ok(1..)))
            }
            TcpChange::NeedsOpen { r#for } => {
                matches!(timeout(r#for.0, stream.read(&mut byte)).await, Ok(Ok(1..)) | Err(_))
            }
            TcpChange::Send(_) | TcpChange::Reset | TcpChange::OpenAnyway => true,
        };
        if !is_enough {
            return Begin::Not(Verdict::Mark(REFUSED));
        }
    }
    Begin::Open(stream)
}

/// Decides about a TCP probe. Such a probe ends with its handshake, so the result that replaces the pod's answer must
/// be known before the handshake.
async fn begin_tcp(shared: &Arc<Shared>, syn: &Syn, pod: &KnownPod, effects: &Effects) -> Begin {
    let key = (syn.destination, format!("{} tcp", pod.uid));
    let to = effects.destination(syn.destination);
    let last = if let Some(pace) = effects.pace {
        let (memory, remembered) = (shared.memory.clone(), key.clone());
        let probe = move || {
            let (memory, key) = (memory.clone(), remembered.clone());
            tokio::spawn(async move {
                let is_open = open_and_close(to).await.is_ok();
                memory.remember(&key, if is_open { Last::Open } else { Last::None });
            });
        };
        pace::other(shared, &key, pace, probe).await
    } else {
        let (pass, stands_for) = effects.skip.unwrap_or((1, Instead::Last));
        if shared.memory.passes(&key, pass) {
            let begin = connect(syn, effects, Instant::now()).await;
            let is_open = matches!(begin, Begin::Open(_));
            shared.memory.remember(&key, if is_open { Last::Open } else { Last::None });
            return begin;
        }
        match stands_for {
            Instead::Last => shared.memory.last(&key),
            Instead::Success => Some(Last::Open),
            Instead::Failure => Some(Last::None),
        }
    };
    match last {
        Some(Last::None) => Begin::Not(Verdict::Mark(REFUSED)),
        _ => Begin::Ended(Outcome::Success),
    }
}

async fn open_and_close(to: SocketAddrV4) -> io::Result<()> {
    timeout(Duration::from_secs(10), super::connect::from_node(to)).await??;
    Ok(())
}
