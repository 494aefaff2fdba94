//! Defects of probes that are acted on at the wrong time, sent in the wrong form, or left out in rare situations. They follow the
//! others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_untimely {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Too early.
    /// The first failure of a readiness command settles (`probe.failure-threshold.exact-count`).
    ReadinessCommandFailsAtOnce,
    /// The first failure of a command settles if it has never passed (`probe.failure-threshold.exact-count`).
    CommandFailsAtOnceAtStart,
    /// A refused connection settles at once (`probe.failure-threshold.exact-count`, `probe.tcp.open-success`).
    RefusedConnectionSettles,
    // Too late.
    /// A liveness probe at the endpoint of the readiness probe needs twice its threshold (`probe.failure-threshold.exact-count`).
    SharedEndpointCountsHalf,
    /// The probes of a container that crashed under OnFailure end (`probe.timing.period`, `probe.readiness.runs-for-life`).
    OnFailureEndsProbes,
    /// Under Never, a kill by a probe takes the other containers along (`probe.liveness.needs-restarting-policy`).
    KillForGoodTakesNeighbors,
    // Counts in sidecars.
    /// A success does not end the run of failures of a sidecar (`probe.failure-threshold.consecutive`).
    SidecarFailuresCountedInAll,
    /// A failure does not end the run of successes of a sidecar (`probe.success-threshold.readiness`).
    SidecarSuccessesCountedInAll,
    // After a restart of the kubelet.
    /// A container that was starting never gets its liveness probe (`prober.kubelet-restart.probing-resumes`).
    RestartLosesLivenessOfStarting,
    /// The probes of a container that was starting do not wait for its start (`prober.kubelet-restart.probing-resumes`).
    RestartOpensGateOfStarting,
    // Connections.
    /// HTTPS probes use the same connection again (`probe.http.new-connection-each`).
    HttpsReusesConnections,
    /// TCP probes never close their connections (`probe.tcp.no-payload`).
    TcpConnectionsLeak,
    /// HTTP probes never close their connections (`probe.http.new-connection-each`).
    HttpConnectionsLeak,
    /// HTTP liveness probes only connect (`probe.http.method-get`).
    HttpLivenessOnlyConnects,
    /// HTTP probes connect once more before they ask (`probe.http.method-get`).
    HttpConnectsBesides,
    // Counters.
    /// Counters have the name of their pod in place of its UID (`prober.metrics.agree-with-witness`).
    CountersUnderPodName,
    // Timeouts.
    /// HTTP startup probes time out after a second (`probe.timeout.http`).
    StartupTimeout1s,
    /// An HTTP startup probe without an answer has no result (`probe.startup.failure-kills-container`).
    StartupTimeoutDiscarded,
    // Paces.
    /// Readiness probes stop with the stop signal of a failed probe (`probe.readiness.runs-for-life`).
    ReadinessStopsInProbeKill,
    /// A liveness probe that took half of its period or more loses its next turn (`probe.timing.period`).
    SlowLivenessLosesTurn,
    /// A restarted container is probed while its hook after the start runs (`prober.worker.waits-for-container`).
    LaterStartHookUnawaited,
    // Other containers.
    /// A liveness failure also kills the other containers of the pod, without a stop signal (`liveness.failure-restarts-container`).
    NeighborsKilledHard,
    } };
}
