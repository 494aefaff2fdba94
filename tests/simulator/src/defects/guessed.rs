//! Defects of probes that look like improvements: what other HTTP and gRPC clients do, and what a kubelet guesses about a
//! server. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_guessed {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // HTTP probes.
    /// A status of 600 or above passes (`probe.http.status-range`).
    UnknownClassPasses,
    /// The Host header lacks the port if it is the default port of the scheme (`probe.http.host-default-pod-ip`).
    DefaultPortUnsaid,
    /// A header that occurs twice with the same value is sent once (`probe.http.repeated-headers`).
    EqualHeadersOnce,
    /// A relative redirect leads to a path in the root (`probe.http.redirect.same-host-followed`).
    RelativeRedirectFromRoot,
    /// A redirect to the requested URL is not followed (`probe.http.redirect.same-host-followed`).
    RedirectToItselfEnds,
    /// A redirect to another host does not end a run of liveness failures (`probe.failure-threshold.consecutive`).
    WarningKeepsFailures,
    // Other probes.
    /// A health check that the server does not permit passes (`probe.grpc.serving-success`).
    GrpcDeniedPasses,
    /// The service of a health check loses the name of its package (`probe.grpc.service-field`).
    GrpcPackageDropped,
    /// No probe waits for longer than five seconds (`probe.timeout.http`, `probe.timeout.tcp-grpc`).
    TimeoutAtMost5s,
    /// If an attempt follows an error, its result is lost (`probe.result.unknown-no-action`).
    ResultAfterErrorLost,
    /// The counters of a startup probe disappear when the probe has succeeded (`prober.metrics.agree-with-witness`).
    StartupCountersDropped,
    } };
}
