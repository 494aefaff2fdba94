//! Defects that show only if something comes between: an update or an error between two results of a probe, a sandbox that
//! is replaced, a sidecar that waits for its restart, or a stop that no probe caused. In the list, they come after all
//! earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_interrupted {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Results of probes.
    /// Every update of a pod, also of its labels, ends the runs of failures of its probes
    /// (`probe.failure-threshold.exact-count`).
    UpdateEndsFailureRun,
    /// An error of a readiness probe ends a run of successes if the probe needs several successes
    /// (`probe.result.unknown-no-action`).
    ErrorBreaksSuccessRun,
    /// After one error, a liveness or startup probe is not sent again to the same container instance
    /// (`probe.result.unknown-no-action`).
    ErrorEndsProbing,
    /// A redirect to another host has no result if the probe needs several successes
    /// (`probe.http.redirect.cross-host-not-followed`).
    WarningBreaksSuccessRun,
    // Requests of probes.
    /// Over HTTP/2, the custom Host header is not the authority of the request (`probe.http.vhost-via-header`).
    Http2IgnoresHostHeader,
    /// Over TLS, a User-Agent header that the probe removes is replaced by the default of the library
    /// (`probe.http.headers-remove`).
    HttpsAgentOfLibraryIfRemoved,
    /// gRPC probes go to the address of the first sandbox of the pod (`probe.grpc.no-host`).
    GrpcKeepsFirstAddress,
    /// In the command of a probe, references inside the values of variables are replaced, too
    /// (`prober.exec.static-env-expansion`).
    ExecCommandExpandsValues,
    // Stops and restarts.
    /// A patch of the labels or annotations of a pod ends the back-off of its containers (`restart.backoff.sequence`).
    LabelsEndBackOff,
    /// At the deadline of a pod, a container has the grace period of its liveness probe
    /// (`init.activedeadline-kills-running`).
    DeadlineUsesProbeGrace,
    /// After its postStart hook failed, a container has the grace period of its liveness probe
    /// (`container.state.poststart-failure-kills`).
    FailedHookUsesProbeGrace,
    /// A container that gets a new image has the grace period of its liveness probe (`pod.update.image-replaces`).
    NewImageUsesProbeGrace,
    /// The sidecars of a deleted pod wait for the ephemeral containers, too (`termination.prestop-runs-first`).
    SidecarsAwaitEphemerals,
    } };
}
