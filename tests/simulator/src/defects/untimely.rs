//! Defects of probes: results that have an effect at the wrong time, and probes that are sent in the wrong form or left
//! out in rare situations. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_untimely {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Too early.
    /// The first failure of a readiness command has an effect, whatever the threshold (`probe.failure-threshold.exact-count`).
    ReadinessCommandFailsAtOnce,
    /// The first failure of a command that has never passed has an effect, whatever the threshold
    /// (`probe.failure-threshold.exact-count`).
    CommandFailsAtOnceAtStart,
    /// A single refused connection has an effect, whatever the threshold (`probe.failure-threshold.exact-count`,
    /// `probe.tcp.open-success`).
    RefusedConnectionSettles,
    // Too late.
    /// A liveness probe that shares its endpoint with the readiness probe needs twice as many failures
    /// (`probe.failure-threshold.exact-count`).
    SharedEndpointCountsHalf,
    /// In a pod with restartPolicy OnFailure, the probes of a container end after a crash (`probe.timing.period`,
    /// `probe.readiness.runs-for-life`).
    OnFailureEndsProbes,
    /// With restartPolicy Never, a kill because of a probe also ends the other containers
    /// (`probe.liveness.needs-restarting-policy`).
    KillForGoodTakesNeighbors,
    // Counts in sidecars.
    /// A success does not end the run of failures of a sidecar (`probe.failure-threshold.consecutive`).
    SidecarFailuresCountedInAll,
    /// A failure does not end the run of successes of a sidecar (`probe.success-threshold.readiness`).
    SidecarSuccessesCountedInAll,
    // After a kubelet restart.
    /// A container that was starting never gets its liveness probe (`prober.kubelet-restart.probing-resumes`).
    RestartLosesLivenessOfStarting,
    /// The probes of a container that was starting do not wait for its start (`prober.kubelet-restart.probing-resumes`).
    RestartOpensGateOfStarting,
    // Connections.
    /// HTTPS probes reuse their connection (`probe.http.new-connection-each`).
    HttpsReusesConnections,
    /// TCP probes never close their connections (`probe.tcp.no-payload`).
    TcpConnectionsLeak,
    /// HTTP probes never close their connections (`probe.http.new-connection-each`).
    HttpConnectionsLeak,
    /// HTTP liveness probes only connect (`probe.http.method-get`).
    HttpLivenessOnlyConnects,
    /// HTTP probes open an additional connection before their request (`probe.http.method-get`).
    HttpConnectsBesides,
    // Counters.
    /// Counters have the name of their pod in place of its UID (`prober.metrics.agree-with-witness`).
    CountersUnderPodName,
    // Timeouts.
    /// HTTP startup probes time out after one second (`probe.timeout.http`).
    StartupTimeout1s,
    /// An HTTP startup probe without an answer has no result (`probe.startup.failure-kills-container`).
    StartupTimeoutDiscarded,
    // Paces.
    /// Readiness probes stop with the stop signal of a failed probe (`probe.readiness.runs-for-life`).
    ReadinessStopsInProbeKill,
    /// After a liveness probe that took half of its period or more, the next one is skipped (`probe.timing.period`).
    SlowLivenessLosesTurn,
    /// A restarted container is probed while its postStart hook runs (`prober.worker.waits-for-container`).
    LaterStartHookUnawaited,
    // Other containers.
    /// A liveness failure also kills the other containers of the pod, without a stop signal
    /// (`liveness.failure-restarts-container`).
    NeighborsKilledHard,
    } };
}
