//! The fault overload: the application receives more requests than it can answer, and probes wait behind them.

use probity_model::timeline::{Handler, ProbeKind};
use serde_json::json;

use super::Quantity;
use super::builder::{SPARE, TrialBuilder, UNSEEN_KILL, WAITING, span};
use crate::promise::{self, Failing, Promise, SECOND};

/// The time that an overloaded application needs for one request; it serves one at a time.
const SERVICE: i64 = 400_000;
/// The time until the maximum number of requests are waiting.
const RAMP: i64 = 3 * SECOND;

impl TrialBuilder<'_> {
    /// When a probe has failed often enough, if it waits behind the requests for longer than its timeout.
    fn starved(&self, kind: ProbeKind) -> Option<Promise> {
        let waits = matches!(self.probe(kind)?.handler, Handler::Http { .. })
            && self.probe(kind)?.handler.port() == Some(self.pod.traffic.port)
            && self.probe(kind)?.timeout < WAITING * SERVICE * 3 / 4;
        let later = format!(" ({}), at most {} s later while the queue grows", kind.word(), RAMP / SECOND);
        waits.then_some(promise::failures(self.probe(kind)?, Failing::ByTimeout).or_later(RAMP, later))
    }

    /// Why a probe does not fail.
    fn spared(&self, kind: ProbeKind) -> Promise {
        Promise::never(match self.probe(kind) {
            None => self.blind(kind),
            Some(_) => {
                format!(
                    "the {} probe does not queue behind the requests, or its timeout is long enough",
                    kind.word()
                )
            }
        })
    }

    pub(super) fn overload(&mut self) {
        let listener = self.pod.traffic.listener.as_str();
        let web = &mut self.plan()["listeners"][listener];
        web["workers"] = json!({ "count": 1 });
        web["paths"]["*"] = json!({ "delay": span(SERVICE) });
        self.client_timeout = "10s";
        self.begin();
        let (unready, killed) = (self.starved(ProbeKind::Readiness), self.starved(ProbeKind::Liveness));
        let longest = [&unready, &killed].into_iter().flatten().map(|promise| promise.span.hi).max();
        let hook = self.pre_stop(ProbeKind::Liveness);
        self.create_client();
        self.watch("overload", longest.unwrap_or(8 * SECOND) + hook.span.hi + SPARE);
        let out = match (&unready, &killed) {
            (Some(unready), Some(killed)) => unready.or_sooner(killed),
            (None, Some(_)) if !self.shows_kills() => Promise::open(UNSEEN_KILL),
            (Some(only), None) | (None, Some(only)) => only.clone(),
            (None, None) => self.spared(ProbeKind::Readiness),
        };
        self.expect(Quantity::Unready, out);
        let relieved = || Promise::open("the readiness probe may stop the traffic first");
        let (killed, restarts) = match (&killed, &unready) {
            (None, _) => (self.spared(ProbeKind::Liveness), Promise::exactly(0, "no probe kills it")),
            (Some(killed), Some(unready)) if unready.span.lo < killed.span.hi => (relieved(), relieved()),
            (Some(killed), _) => (killed.then(&hook), Promise::open("a restart does not end an overload")),
        };
        self.expect(Quantity::Killed, killed);
        self.expect(Quantity::Restarts, restarts);
        self.expect(
            Quantity::Downtime,
            Promise::open("slow answers do not count as downtime; refused connections do"),
        );
        self.expect(
            Quantity::Lost,
            Promise::open("two to three of the ten requests per second can be answered"),
        );
    }
}
