//! A shutdown of the node that is announced to the kubelet: which pods the kubelet ends when, how long it delays the shutdown,
//! and what happens to new pods.

use probity_case::NodeStep;
use probity_composer::NODE;
use probity_script::Span;
use serde_json::{Value, json};

use crate::Defect;
use crate::critical::{CLUSTER_CRITICAL, CRITICAL};
use crate::pod::{Container, micros};
use crate::pressure::Cause;
use crate::world::{Act, MS, SECOND, World};

/// How soon the kubelet looks again whether the pods that it ended are gone.
const LOOKS_AGAIN: i64 = 100 * MS;

/// How long the kubelet may delay a shutdown for pods of each kind.
#[derive(Clone, Copy)]
pub(crate) struct Periods {
    regular: i64,
    critical: i64,
}

/// A shutdown that was announced.
pub(crate) struct Shutdown {
    periods: Periods,
    announced: i64,
    /// When the kubelet began to end critical pods.
    second_phase: Option<i64>,
    /// When the kubelet no longer delayed the shutdown.
    released: Option<i64>,
}

impl World<'_> {
    /// Takes over from the settings of a kubelet how long it may delay a shutdown.
    pub(crate) fn delays_shutdowns(&mut self, settings: &Value) {
        let span = |field: &str| Some(micros(settings.get(field)?.as_str()?.parse::<Span>().ok()?));
        let (all, critical) = (span("shutdownGracePeriod"), span("shutdownGracePeriodCriticalPods"));
        self.node.delays =
            all.zip(critical).map(|(all, critical)| Periods { regular: all - critical, critical });
    }

    /// A shutdown of the node is announced.
    pub(crate) fn announce_shutdown(&mut self, of: &NodeStep) {
        let delayed = self.node.delays.is_some() && self.locks_shutdowns();
        self.verb_done(of, None, Some(json!({ "delayed": delayed })));
        let Some(periods) = self.node.delays.filter(|_| !self.has(Defect::ShutdownIgnored)) else { return };
        self.shutdown = Some(Shutdown { periods, announced: self.now, second_phase: None, released: None });
        let first = self.between(20 * MS, 200 * MS);
        self.later(first, Act::EndForShutdown(self.has(Defect::ShutdownBeginsWithCritical)));
        if self.has(Defect::ShutdownEndsAllAtOnce) {
            self.later(first, Act::EndForShutdown(true));
        }
        self.later(first + LOOKS_AGAIN, Act::LookAtShutdown);
    }

    /// Whether the kubelet holds a lock that delays shutdowns.
    fn locks_shutdowns(&self) -> bool {
        !self.has(Defect::ShutdownNotDelayed)
    }

    /// The kubelet ends the critical pods of its node, or all others.
    pub(crate) fn end_for_shutdown(&mut self, critical: bool) {
        let spares = critical && self.has(Defect::ShutdownSparesCritical);
        for pod in 0..self.pods.len() {
            let here = self.pods[pod].object["spec"]["nodeName"] == NODE;
            if here && self.is_critical(pod) == critical && !spares {
                self.end_by_eviction(pod, Cause::Shutdown);
            }
        }
    }

    fn is_critical(&self, pod: usize) -> bool {
        let class = &self.pods[pod].object["spec"]["priorityClassName"];
        *class == CRITICAL.0 || (*class == CLUSTER_CRITICAL.0 && !self.has(Defect::ClusterCriticalEndsFirst))
    }

    /// The kubelet checks which pods are left, and goes on if there are none or their time is over.
    pub(crate) fn look_at_shutdown(&mut self) {
        let early = self.has(Defect::ShutdownReleasedEarly);
        let held = self.has(Defect::ShutdownHeld);
        let is_left = |critical: bool| {
            let of = |pod: usize| self.is_critical(pod) == critical;
            (0..self.pods.len())
                .any(|pod| of(pod) && self.pods[pod].containers.iter().any(Container::is_running))
        };
        let (regular, critical) = (is_left(false), is_left(true));
        let now = self.now;
        let Some(of) = &mut self.shutdown else { return };
        match of.second_phase {
            None if !regular || now >= of.announced + of.periods.regular => {
                of.second_phase = Some(now);
                self.later(0, Act::EndForShutdown(true));
            }
            Some(began) if (!critical || early || now >= began + of.periods.critical) && !held => {
                of.released.get_or_insert(now);
                return;
            }
            _ => {}
        }
        self.later(LOOKS_AGAIN, Act::LookAtShutdown);
    }

    /// The shutdown is cancelled.
    pub(crate) fn cancel_shutdown(&mut self, of: &NodeStep) {
        let delayed = self.shutdown.is_some() && self.locks_shutdowns();
        let released = self.shutdown.as_ref().and_then(|of| Some(of.released? - of.announced));
        let output = json!({ "delayed": delayed, "releasedAfterUs": released });
        if !self.has(Defect::ShutdownForEver) {
            self.shutdown = None;
        }
        if self.has(Defect::ShutdownPodsReturn) {
            self.return_pods();
        }
        self.verb_done(of, None, Some(output));
    }

    /// A kubelet starts the pods again that it has ended.
    fn return_pods(&mut self) {
        for pod in 0..self.pods.len() {
            if self.pods[pod].evicted == Some(Cause::Shutdown) {
                self.pods[pod].evicted = None;
                self.pods[pod].expired = false;
                self.pods[pod].terminal = false;
                self.touch(pod);
                self.later(SECOND, Act::Create(pod));
            }
        }
    }

    /// Whether the kubelet rejects a new pod because its node shuts down.
    pub(crate) fn rejects_for_shutdown(&mut self, pod: usize) -> bool {
        let admits = || {
            let critical = self.is_critical(pod) && self.has(Defect::ShutdownAdmitsCritical);
            critical || self.has(Defect::ShutdownAcceptsPods)
        };
        if self.shutdown.is_none() || admits() {
            return false;
        }
        let unexplained = self.has(Defect::ShutdownRejectsSilently);
        let message = if unexplained { "" } else { "Pod was rejected as the node is shutting down." };
        self.reject(pod, "NodeShutdown", message);
        true
    }

    /// The time that the containers of a pod have to stop when the node shuts down.
    pub(crate) fn grace_of_shutdown(&self, pod: usize) -> i64 {
        let own = self.pods[pod].grace();
        let periods = self.shutdown.as_ref().map(|of| of.periods);
        let configured = periods.map(|of| if self.is_critical(pod) { of.critical } else { of.regular });
        match configured {
            Some(configured) if self.has(Defect::ShutdownForgetsOwnGrace) => configured,
            Some(configured) if !self.has(Defect::ShutdownForgetsItsPeriods) => own.min(configured),
            _ => own,
        }
    }

    /// The condition that shows that the kubelet ended a pod because its node shuts down.
    pub(crate) fn told_shutdown(&self, pod: usize, phase: &str) -> Option<Value> {
        let ended = self.pods[pod].evicted == Some(Cause::Shutdown);
        let over = matches!(phase, "Succeeded" | "Failed");
        if !ended || !over || self.has(Defect::ShutdownUnexplained) {
            return None;
        }
        Some(self.target_condition(pod, "TerminationByKubelet", Cause::Shutdown))
    }
}
