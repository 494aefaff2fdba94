//! More requests than can be answered, and probes that wait behind them.

use serde_json::json;

use super::scene::{SECOND, SPARE, Scene, UNSEEN_KILL, WAITING, span};
use super::{Expected, Quantity};
use crate::promise::{self, Failing};
use probity_model::timeline::{Handler, ProbeKind};

/// What an overloaded application needs for one request; it serves one at a time.
const SERVICE: i64 = 400_000;
/// After so long that many wait.
const RAMP: i64 = 3 * SECOND;

impl Scene<'_> {
    /// Whether a probe waits behind the requests of an overload, longer than it has patience.
    pub(super) fn starved(&self, kind: ProbeKind) -> bool {
        self.probe(kind).is_some_and(|probe| {
            matches!(probe.handler, Handler::Http { .. })
                && probe.handler.port() == Some(self.stand.traffic.port)
                && probe.timeout < WAITING * SERVICE * 3 / 4
        })
    }

    pub(super) fn overload(&mut self) {
        let (subject, listener) = (self.stand.subject.as_str(), self.stand.traffic.listener.as_str());
        let web = &mut self.pods[0].1["target"][subject]["listeners"][listener];
        web["workers"] = json!({ "count": 1 });
        web["paths"]["*"] = json!({ "delay": span(SERVICE) });
        self.client["timeout"] = json!("10s");
        self.begin();
        let hit = |scene: &Self, kind: ProbeKind| {
            let probe = scene.probe(kind).filter(|_| scene.starved(kind))?;
            let mut promise = promise::failures(probe, Failing::ByTimeout);
            promise.span.hi += RAMP;
            promise.formula = format!(
                "{} ({}), {} s later at most while the queue grows",
                promise.formula,
                kind.word(),
                RAMP / SECOND
            );
            Some(promise)
        };
        let unready = hit(self, ProbeKind::Readiness);
        let killed = hit(self, ProbeKind::Liveness);
        let longest = [&unready, &killed].into_iter().flatten().map(|promise| promise.span.hi).max();
        let lasts = longest.unwrap_or(8 * SECOND) + self.pre_stop(ProbeKind::Liveness).span.hi + SPARE;
        let serving = json!({ "service": "web", "ready": true });
        self.step(json!({ "wait": { "pod": "app", "serving": serving, "within": "20s" } }));
        self.step(json!({ "create": { "pod": "client" } }));
        self.watch("overload", lasts);
        let spared = |scene: &Self, kind: ProbeKind| match scene.probe(kind) {
            None => scene.blind(kind),
            Some(_) => {
                format!("the {} probe does not wait behind the requests, or waits long enough", kind.word())
            }
        };
        self.expect(
            Quantity::Unready,
            match (&unready, &killed) {
                (Some(unready), Some(killed)) => Expected::Within(unready.or_sooner(killed)),
                (None, Some(_)) if !self.shows_kills() => Expected::Unsaid(UNSEEN_KILL.to_owned()),
                (Some(only), None) | (None, Some(only)) => Expected::Within(only.clone()),
                (None, None) => Expected::Never(spared(self, ProbeKind::Readiness)),
            },
        );
        let relieved = "the readiness probe may take the load away first".to_owned();
        match (&killed, &unready) {
            (None, _) => {
                self.expect(Quantity::Killed, Expected::Never(spared(self, ProbeKind::Liveness)));
                self.expect(Quantity::Restarts, Expected::Times(0, "nothing kills it".to_owned()));
            }
            (Some(killed), Some(unready)) if unready.span.lo < killed.span.hi => {
                self.expect(Quantity::Killed, Expected::Unsaid(relieved.clone()));
                self.expect(Quantity::Restarts, Expected::Unsaid(relieved));
            }
            (Some(killed), _) => {
                let hook = self.pre_stop(ProbeKind::Liveness);
                self.expect(Quantity::Killed, Expected::Within(killed.then(&hook)));
                self.expect(Quantity::Restarts, Expected::Unsaid("a restart cures no overload".to_owned()));
            }
        }
        self.expect(
            Quantity::Downtime,
            Expected::Unsaid("slow answers are no downtime, refused ones are".to_owned()),
        );
        self.expect(
            Quantity::Lost,
            Expected::Unsaid("two to three of ten a second can be answered".to_owned()),
        );
    }
}
