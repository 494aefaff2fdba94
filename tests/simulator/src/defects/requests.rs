//! Defects in the requests of probes and in the counting of their results, which only a few cases show: answers over
//! TLS, runs of results, refused connections, output, slow bodies, header names and slashes. In the list, they come
//! after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_requests {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // HTTPS.
    /// Any answer to an HTTPS probe is a success (`probe.http.status-range`).
    HttpsAnswersPass,
    /// An HTTPS probe has no timeout (`probe.timeout.http`).
    HttpsTimeoutIgnored,
    /// An HTTPS probe that times out is a success (`probe.failure-threshold.exact-count`).
    HttpsTimeoutPasses,
    /// Custom headers are not sent over HTTPS (`probe.http.custom-headers`).
    HttpsDropsCustomHeaders,
    // Runs of results.
    /// A run of successes ends only after `failureThreshold` failures (`probe.success-threshold.readiness`).
    RunOfSuccessesOutlivesFailure,
    /// A run of failures ends only after `successThreshold` successes (`probe.failure-threshold.consecutive`).
    RunOfFailuresOutlivesSuccess,
    // Refused connections.
    /// A container that its startup probe killed is killed again at its first failure
    /// (`probe.failure-threshold.exact-count`).
    StartupStreakSurvivesKill,
    /// A container that its liveness probe killed is killed again at its first failure
    /// (`probe.failure-threshold.exact-count`).
    LivenessStreakSurvivesKill,
    /// Connections of gRPC probes are never closed (`probe.grpc.new-connection-each`).
    GrpcConnectionsStayOpen,
    /// Probes of sidecars are not checked (`validation.probe-fields`).
    ApiSkipsProbesOfSidecars,
    /// Custom headers without a value are not sent (`probe.http.custom-headers`).
    EmptyHeadersDropped,
    /// TCP probes reset their connections (`probe.tcp.no-payload`).
    TcpProbesReset,
    /// Each request of a probe that follows redirects has the whole timeout (`probe.timeout.http`).
    TimeoutOfEachHop,
    /// Ports above 32767 are invalid (`probe.http.host-default-pod-ip`, `probe.tcp.port-forms`).
    HighPortsInvalid,
    /// HTTPS probes require TLS 1.3 (`probe.http.https-skips-verification`).
    TlsNeeds13,
    /// A refused connection of an HTTP liveness probe has no result (`probe.http.refused-fails`).
    LivenessRefusalDiscarded,
    /// A refused connection of an HTTP startup probe has no result (`probe.http.refused-fails`).
    StartupRefusalDiscarded,
    /// A refused connection of an HTTP startup probe is a success (`probe.http.refused-fails`).
    StartupRefusalPasses,
    // Output.
    /// A command that prints more than the kubelet reads fails (`probe.exec.exit-zero`).
    ExecMuchOutputFails,
    /// A command that prints more than the kubelet reads passes (`probe.exec.exit-zero`).
    ExecMuchOutputPasses,
    // Slow bodies.
    /// The timeout starts again with every part of a body (`probe.timeout.http`).
    TimeoutRestartsWithBytes,
    // Warnings.
    /// A warning about a redirect has the reason of a failure (`probe.http.redirect.missing-location`).
    WarningAsUnhealthy,
    // HTTP hooks.
    /// A hook uses HTTP, whatever its scheme (`container.hook.request-as-written`).
    HookSchemeIgnored,
    /// A hook verifies the certificate of its server (`container.hook.request-as-written`).
    HookVerifiesCertificates,
    /// The query of a hook is not sent (`container.hook.request-as-written`).
    HookQueryDropped,
    /// The headers of a hook are not sent (`container.hook.request-as-written`).
    HookHeadersDropped,
    /// The Host header of a hook is the pod's address (`container.hook.request-as-written`).
    HookHostDropped,
    /// A hook with a host is sent to its own pod (`container.hook.host-field`).
    HookHostIgnored,
    // Names of headers.
    /// Header names are sent as the spec spells them (`probe.http.custom-headers`).
    HeaderNamesAsWritten,
    /// Names of custom headers are sent in lower case (`probe.http.custom-headers`).
    HeaderNamesInLowerCase,
    // Slashes.
    /// A path without a leading slash is sent without one (`probe.http.method-get`).
    PathSentWithoutSlash,
    /// A slash is added before every path (`probe.http.method-get`).
    PathSlashDoubled,
    /// Two slashes in a path become one (`probe.http.method-get`).
    PathSlashesMerged,
    // Hosts.
    /// The host of a TCP probe has no effect (`probe.http.host-field-overrides-address`).
    TcpHostIgnored,
    /// A probe with a host and the name of a port goes to its own pod (`probe.http.host-field-overrides-address`).
    NamedPortIgnoresHost,
    /// A probe with a host has the address of its own pod in the Host header
    /// (`probe.http.host-field-overrides-address`).
    HostFieldNamesOwnPod,
    /// gRPC probes of pods on the host's network go to 127.0.0.1 (`probe.grpc.no-host`).
    GrpcThroughLoopback,
    /// TCP probes go to the address that the pod had in its first sandbox (`probe.tcp.default-host`).
    TcpKeepsFirstAddress,
    // Redirects and answers.
    /// A probe with a host follows no redirect (`probe.http.redirect.same-host-followed`).
    RedirectFromHostUnfollowed,
    /// The Accept header is not sent again after a redirect (`probe.http.redirect.headers-kept`).
    RedirectDropsAccept,
    /// An answer with headers of more than eight KiB is a failure (`probe.http.status-range`).
    LargeHeadFails,
    // Standard error.
    /// The event about a failed command does not contain what it printed to standard error
    /// (`report.event.unhealthy-names-probe`).
    StandardErrorUnsaid,
    // Counters.
    /// The counters of a container begin again when it restarts (`prober.metrics.agree-with-witness`).
    CountersBeginAgain,
    // Some probes only.
    /// An error ends the row of failures of a startup probe (`probe.result.unknown-no-action`).
    ErrorEndsStartupRow,
    /// Variables are replaced only in the commands of readiness probes (`prober.exec.static-env-expansion`).
    ExecCommandOfReadinessOnlyExpanded,
    /// The timeout of a gRPC probe is at most its period (`probe.timeout.tcp-grpc`).
    GrpcTimeoutAtMostPeriod,
    /// The readiness commands of a pod's containers wait for each other (`prober.worker.one-per-kind`,
    /// `probe.timing.period`).
    ReadinessCommandsTakeTurns,
    /// A readiness command stops with the failure of the liveness probe (`probe.readiness.runs-for-life`).
    ReadinessCommandStopsInProbeKill,
    /// Cookies of answers are sent back (`probe.http.header-set`).
    CookiesKept,
    /// Authorization is not sent again to another port (`probe.http.redirect.headers-kept`).
    AuthorizationLostOnOtherPort,
    /// Variables in the values of headers are replaced (`probe.http.custom-headers`).
    HeaderValuesExpanded,
    /// An HTTPS probe fails if its answer is truncated (`probe.http.body.short-body-error`).
    HttpsShortBodyFails,
    /// Accept-Encoding is sent over HTTP/2 (`probe.http.header-set`).
    Http2SendsAcceptEncoding,
    /// The grace period of a probe does not apply to static pods (`probe.tgps.liveness-override`).
    StaticProbeGraceIgnored,
    } };
}
