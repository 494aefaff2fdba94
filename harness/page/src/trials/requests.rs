//! The requests of the clients of a trial, as their own target recorded them.

use std::fmt::Write as _;

use probity_model::stamp::counted;
use probity_model::timeline::Line;
use probity_model::{EventId, Stamp, Timeline};
use probity_script::witness::{Call, Fact};

use crate::lanes::{Look, when};

/// The key of the pod of the clients in the case of a trial.
const CLIENT: &str = "client";

/// An answer that takes longer than this is slow. The clients of most faults do not wait any longer.
const SLOW: i64 = 1_000_000;

/// A request.
pub(crate) struct ClientRequest {
    /// The event with its result.
    pub(crate) id: EventId,
    /// When it was sent, in microseconds since the run's zero.
    pub(crate) at: i64,
    /// When its result was known.
    pub(crate) until: i64,
    /// Its result.
    pub(crate) outcome: RequestOutcome,
    /// The request and its result in words.
    pub(crate) text: String,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOutcome {
    /// It was sent before the first request that was answered. It does not count, because a Service needs a moment to take
    /// effect.
    Early,
    /// It was answered.
    Answered,
    /// It was answered, but slowly.
    Slow,
    /// It was answered with an error.
    Error,
    /// Its connection was refused.
    Refused,
    /// It was not answered.
    Unanswered,
}

impl RequestOutcome {
    /// All results, in the order in which they are counted.
    pub(crate) const ALL: [Self; 6] =
        [Self::Answered, Self::Slow, Self::Error, Self::Refused, Self::Unanswered, Self::Early];

    /// In a few words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Early => "sent before the first answer, not counted",
            Self::Answered => "answered",
            Self::Slow => "answered after more than 1 s",
            Self::Error => "answered with an error",
            Self::Refused => "refused",
            Self::Unanswered => "not answered",
        }
    }

    /// How a request with this result is drawn.
    pub(crate) fn look(self) -> Look {
        match self {
            Self::Early => Look::Faint,
            Self::Answered => Look::Good,
            Self::Slow => Look::Mixed,
            Self::Error | Self::Unanswered => Look::Bad,
            Self::Refused => Look::Alarm,
        }
    }

    /// Whether the request failed, so that it belongs to an outage.
    fn failed(self) -> bool {
        matches!(self, Self::Error | Self::Refused | Self::Unanswered)
    }

    fn of(call: &Call) -> Self {
        let refused = call.error.as_ref().is_some_and(|error| error.contains("refused"));
        match call.status {
            None if refused => Self::Refused,
            None => Self::Unanswered,
            Some(_) if !call.succeeded() => Self::Error,
            Some(_) if counted(call.took_us) > SLOW => Self::Slow,
            Some(_) => Self::Answered,
        }
    }
}

/// When a request was sent. Its line is written when its result is known.
pub(crate) fn sent(line: &Line<'_>, call: &Call) -> Stamp {
    line.at.earlier(counted(call.took_us))
}

/// The requests of the clients, in the order in which they were sent.
pub(crate) fn of(run: &Timeline<'_>) -> Vec<ClientRequest> {
    let containers = run.pods.iter().filter(|pod| pod.key == CLIENT).flat_map(|pod| &pod.containers);
    let lines = containers.flat_map(|container| &container.attempts).flat_map(|attempt| &attempt.lines);
    let request = lines.filter_map(|line| match &line.line.fact {
        Fact::Call(call) => Some(ClientRequest {
            id: line.id,
            at: when(run, &sent(line, call), line.id),
            until: when(run, &line.at, line.id),
            outcome: RequestOutcome::of(call),
            text: in_words(call),
        }),
        _ => None,
    });
    let mut requests: Vec<ClientRequest> = request.collect();
    requests.sort_by_key(|request| request.at);
    for early in requests.iter_mut().take_while(|request| request.outcome.failed()) {
        early.outcome = RequestOutcome::Early;
    }
    requests
}

fn in_words(call: &Call) -> String {
    let mut text = match (call.status, &call.error) {
        (Some(status), _) => format!("answered {status}"),
        (None, Some(error)) => error.clone(),
        (None, None) => "no answer".to_owned(),
    };
    if let Some(host) = &call.answered_by {
        let _ = write!(text, " by {host}");
    }
    let _ = write!(text, " after {} ms", call.took_us / 1000);
    text
}

/// Consecutive requests with the same result.
pub(crate) struct Period {
    /// The result.
    pub(crate) outcome: RequestOutcome,
    /// When the first one was sent.
    pub(crate) from: i64,
    /// When the last result was known.
    pub(crate) until: i64,
    /// How many there are.
    pub(crate) count: usize,
}

/// The periods of the requests.
pub(crate) fn periods(requests: &[ClientRequest]) -> Vec<Period> {
    let of = |chunk: &[ClientRequest]| {
        let first = chunk.first()?;
        let until = chunk.iter().map(|request| request.until).max()?;
        Some(Period { outcome: first.outcome, from: first.at, until, count: chunk.len() })
    };
    requests.chunk_by(|one, next| one.outcome == next.outcome).filter_map(of).collect()
}

/// A time in which the requests failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    /// When the first request that failed was sent.
    pub(crate) from: i64,
    /// When the next request that was answered was sent. Without one, when the last result was known.
    pub(crate) until: i64,
    /// The first request that failed, and the request that was answered.
    pub(crate) events: Vec<EventId>,
}

/// The outages from an instant on.
pub(crate) fn outages(requests: &[ClientRequest], since: i64) -> Vec<Outage> {
    let mut outages: Vec<Outage> = Vec::new();
    let mut open = false;
    for request in
        requests.iter().filter(|request| request.at >= since && request.outcome != RequestOutcome::Early)
    {
        match outages.last_mut().filter(|_| open) {
            Some(last) if request.outcome.failed() => last.until = last.until.max(request.until),
            Some(last) => {
                last.until = request.at;
                last.events.push(request.id);
                open = false;
            }
            None if request.outcome.failed() => {
                outages.push(Outage { from: request.at, until: request.until, events: vec![request.id] });
                open = true;
            }
            None => {}
        }
    }
    outages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(results: &[RequestOutcome]) -> Vec<ClientRequest> {
        let request = |(at, got): (i64, &RequestOutcome)| ClientRequest {
            id: EventId(u32::try_from(at).unwrap_or_default()),
            at: at * 10,
            until: at * 10 + 3,
            outcome: *got,
            text: String::new(),
        };
        (0..).zip(results).map(request).collect()
    }

    #[test]
    fn an_outage_lasts_from_the_first_failure_to_the_next_answer() {
        use RequestOutcome::{Answered, Early, Refused, Slow, Unanswered};
        let all = requests(&[Early, Answered, Unanswered, Refused, Slow, Refused]);
        let events = |ids: &[u32]| ids.iter().copied().map(EventId).collect::<Vec<_>>();
        let first = Outage { from: 20, until: 40, events: events(&[2, 4]) };
        let last = Outage { from: 50, until: 53, events: events(&[5]) };
        assert_eq!(outages(&all, 0), [first, last.clone()]);
        assert_eq!(outages(&all, 45), [last]);
        assert!(outages(&requests(&[Early, Early]), 0).is_empty());
    }

    #[test]
    fn requests_in_a_row_with_one_result_are_one_period() {
        use RequestOutcome::{Answered, Refused};
        let found = periods(&requests(&[Answered, Answered, Refused, Answered]));
        let found: Vec<_> = found.iter().map(|one| (one.outcome, one.from, one.until, one.count)).collect();
        assert_eq!(found, [(Answered, 0, 13, 2), (Refused, 20, 23, 1), (Answered, 30, 33, 1)]);
    }

    #[test]
    fn a_refusal_is_told_from_silence_and_an_error_from_an_answer() {
        let call = |status: Option<u16>, error: Option<&str>, took_us: u64| {
            let (by, url) = ("load".to_owned(), "http://10.96.0.1:80/try".to_owned());
            Call { by, url, status, answered_by: None, error: error.map(str::to_owned), took_us }
        };
        for (call, outcome) in [
            (call(Some(200), None, 3000), RequestOutcome::Answered),
            (call(Some(200), None, 1_200_000), RequestOutcome::Slow),
            (call(Some(503), None, 3000), RequestOutcome::Error),
            (
                call(None, Some("failed to connect: Connection refused (os error 111)"), 200),
                RequestOutcome::Refused,
            ),
            (call(None, Some("no answer within 1s"), 1_000_000), RequestOutcome::Unanswered),
        ] {
            assert_eq!(RequestOutcome::of(&call), outcome, "{call:?}");
        }
    }
}
