//! Defects of one kind of probe, volume or container, where the cases used to have only the other kinds. In the list, they
//! come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_narrow {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Commands.
    /// Exit statuses 126 and 127 of a liveness command are errors that change nothing (`probe.exec.exit-zero`).
    LivenessShellErrorsDiscarded,
    /// All commands of a container's probes have the longest timeout among them (`probe.exec.timeout-fails`).
    ExecTimeoutIsLongest,
    /// Liveness commands do not wait for startup (`probe.startup.gates-liveness`).
    LivenessCommandIgnoresStartup,
    /// Liveness commands continue while a deleted pod stops (`prober.termination.liveness-startup-stop`).
    LivenessCommandGoesOnInTermination,
    // HTTP probes.
    /// A Host header is not sent again from the second redirect on (`probe.http.redirect.cross-host-by-name`).
    HostLostOnSecondRedirect,
    /// Over TLS, the whole body is read (`probe.http.body.limit-10kib`).
    HttpsReadsWholeBody,
    /// A failed TLS handshake of a liveness or startup probe changes nothing (`probe.http.refused-fails`).
    HandshakeFailureDiscarded,
    // Other probes.
    /// The failures of a TCP probe are counted in total, and not in a row (`probe.failure-threshold.exact-count`).
    TcpFailuresCountedInAll,
    /// A liveness and a readiness probe that call the same gRPC service share one call (`probe.timing.period`).
    SharedGrpcServiceAskedOnce,
    /// The grace period of a probe has an effect only for HTTP probes (`probe.tgps.liveness-override`,
    /// `probe.tgps.startup-override`).
    ProbeGraceForHttpOnly,
    /// The failures of a liveness probe count for the next pod with the same name (`probe.failure-threshold.exact-count`).
    FailuresOfNamesake,
    // Sidecars.
    /// The liveness probe of a sidecar waits until the pod is initialized (`probe.timing.first-probe-phase`).
    SidecarLivenessAfterInits,
    /// In a pod with restartPolicy Never, a sidecar that exited with 0 is not probed after its restart
    /// (`probe.startup.reruns-on-restart`).
    SucceededSidecarUnprobed,
    /// After a kubelet restart, sidecars that are not new are ready until their probes fail
    /// (`prober.kubelet-restart.nothing-gained`).
    RestartMakesSidecarsReady,
    /// All sidecars of a pod share one back-off (`restart.first-crash-immediate`).
    SidecarsShareBackOff,
    /// The preStop hook of a sidecar waits for the main containers if it is a request
    /// (`termination.sidecar.prestop-not-ordered`).
    RequestHookOfSidecarWaits,
    // Other containers.
    /// Every killed container with a memory limit has the reason OOMKilled (`container.state.terminated-fields`).
    LimitedKillShownAsOutOfMemory,
    /// The time of a preStop hook that fails is not a part of the grace period (`termination.prestop-counts-in-grace`).
    FailedHookIsFree,
    /// A change of only the limits of a container keeps its back-off (`restart.backoff.image-change-resets`).
    LimitsKeepBackOff,
    /// In variables of init containers and sidecars, a missing limit is 0 (`downward.fallback-allocatable`).
    LimitOfInitsIsZero,
    /// A key of a Secret does not replace a variable of an earlier object (`pod.environment`).
    SecretYieldsToMap,
    // Volumes.
    /// A key that is removed from a Secret keeps its file (`pod.configuration-files`).
    RemovedSecretKeyStays,
    /// A restarted container that mounts a part of a volume gets the whole volume (`pod.subpath-expr`).
    SubPathLostOnRestart,
    } };
}
