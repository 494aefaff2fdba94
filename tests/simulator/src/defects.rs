//! The ways in which a kubelet, an API server or an endpoint controller can be wrong.
//!
//! Each defect is one deviation that a careless change of the real code could cause. Its comment names the clauses that
//! it should violate. `suites/defects.txt` lists which clauses detect it in all cases of the book.

#[macro_use]
mod list;
with_reports! {
    [with_conditions with_init with_life with_termination with_disruption with_basics with_resources with_ephemeral with_identity with_nodes with_users with_subtle with_careless with_scope with_requests with_later with_halves with_untimely with_unexplained with_told with_leaving with_resizes defects]
    /// Liveness probes do not wait for startup (`probe.startup.gates-liveness`, `slow-start-protection`).
    LivenessIgnoresStartup,
    /// Readiness probes do not wait for startup (`probe.startup.gates-readiness`).
    ReadinessIgnoresStartup,
    /// The startup probe continues after its success (`probe.startup.stops-after-success`).
    StartupGoesOnAfterSuccess,
    /// A restarted container immediately counts as started (`probe.startup.reruns-on-restart`, `started-field`).
    StartupNotRearmedOnRestart,
    /// A startup probe that reaches its threshold kills nothing (`probe.startup.failure-kills-container`).
    StartupFailureTolerated,
    /// A failed startup probe ends the whole pod, whatever the policy (`probe.startup.failure-kills-container`).
    StartupFailureIsFinal,
    /// One more failure than the threshold is tolerated (`failure-kills-container`, `pair.same-endpoint-higher-threshold`).
    OneMoreFailureTolerated,
    /// The first failure has an effect, whatever the threshold (`slow-start-protection`, `catches-hang`).
    FirstFailureSettles,
    /// Containers restart with Never (`failure-never-policy`, `needs-restarting-policy`, `self-crash-needs-no-probe`).
    RestartsDespiteNever,
    /// A container without a startup probe never counts as started (`probe.startup.absent-means-started`).
    AbsentStartupIsNotStarted,
    /// `started` is true before the startup probe succeeded (`probe.startup.started-field`).
    StartedFieldEarly,
    /// `started` is shown five seconds late (`probe.startup.started-field`).
    StartedFieldLate,
    /// Readiness waits a full period after startup (`probe.startup.readiness-follows-immediately`).
    NoReadinessTrigger,
    /// Failures of the startup probe count towards the liveness threshold (`probe.startup.slow-start-protection`).
    StartupFailsByLivenessThreshold,
    /// A liveness failure kills nothing (`probe.liveness.failure-restarts-container`).
    LivenessFailureTolerated,
    /// A liveness failure restarts every container of the pod (`probe.liveness.failure-restarts-container`).
    RestartsWholePod,
    /// Liveness probes start when the container is ready (`probe.liveness.independent-of-readiness`).
    LivenessWaitsForReadiness,
    /// A probe that times out passes (`probe.liveness.catches-hang`).
    TimeoutIsSuccess,
    /// Without a liveness probe, a container that fails its readiness probe is killed (`probe.liveness.absent-means-success`).
    ReadinessServesAsLiveness,
    /// A readiness failure restarts the container (`readiness.failure-marks-unready`, `maintenance-mode`, `backend-dependency`).
    ReadinessFailureRestarts,
    /// A container that exited by itself is not restarted (`probe.liveness.self-crash-needs-no-probe`).
    CrashIsFinal,
    /// With OnFailure, a container that a probe killed does not restart (`probe.liveness.needs-restarting-policy`).
    NotRestartedOnFailurePolicy,
    /// Containers that a probe killed never restart (`failure-restarts-container`, `startup.failure-kills-container`).
    ProbeKillIsFinal,
    /// A failed probe causes an immediate kill, without a stop signal (`probe.liveness.kill-is-graceful`).
    KillWithoutGrace,
    /// The grace period never ends after a failed probe (`probe.liveness.kill-is-graceful`).
    KillWaitsForEver,
    /// The preStop hook is left out (`probe.liveness.kill-is-graceful`).
    PreStopSkipped,
    /// The stop signal comes before the hook (`probe.liveness.kill-is-graceful`).
    PreStopAfterSignal,
    /// A failed readiness probe leaves the container ready (`probe.readiness.failure-marks-unready`).
    ReadyFlagNotCleared,
    /// Only the container becomes not ready (`probe.readiness.failure-marks-unready`, `pod-ready-iff-all-containers`).
    PodStaysReady,
    /// Readiness probes stop when the container is ready (`probe.readiness.runs-for-life`).
    ReadinessStopsWhenReady,
    /// A container that was not ready once is never ready again (`probe.readiness.recovers`).
    NeverReadyAgain,
    /// A container becomes ready again only with a restart (`probe.readiness.recovers`).
    RecoversByRestart,
    /// A container with a readiness probe starts ready (`probe.readiness.starts-unready`).
    StartsReady,
    /// A container without a readiness probe is never ready (`probe.readiness.absent-means-ready`).
    AbsentReadinessIsUnready,
    /// Readiness probes stop on deletion (`probe.readiness.continues-while-terminating`).
    ReadinessStopsOnDelete,
    /// A pod becomes unready on deletion and ready again (`probe.readiness.no-auto-unready-on-delete`).
    ReadyAgainOnDelete,
    /// Readiness and liveness share the smaller threshold (`probe.pair.same-endpoint-higher-threshold`).
    ThresholdsShared,
    /// One ready container makes the pod ready (`probe.scope.pod-ready-iff-all-containers`).
    OneReadyContainerIsEnough,
    /// A pod of several containers is never ready, although all of them are (`probe.scope.pod-ready-iff-all-containers`).
    PodNeverReady,
    /// The endpoint of an unready pod stays ready (`probe.readiness.endpoint-removed`).
    SliceKeepsReady,
    /// The endpoint of a pod that is not ready has no `serving` condition (`probe.readiness.endpoint-removed`).
    SliceKeepsServing,
    /// The endpoint of a terminating pod stays ready (`readiness.drain-without-probe`, `no-auto-unready-on-delete`).
    SliceReadyWhileTerminating,
    /// `publishNotReadyAddresses` has no effect (`probe.readiness.publish-not-ready`).
    PublishNotReadyIgnored,
    /// The proxy ignores all changes after the first endpoints (`readiness.service-traffic-stops`, `drain-without-probe`).
    ProxyKeepsSending,
    /// Only the first Service of a pod is updated (`probe.readiness.endpoint-removed`, `service-traffic-stops`).
    OnlyFirstServiceTold,
    /// Port 0 is accepted (`probe.http.port-number-range`).
    ApiAcceptsPortZero,
    /// Port 65535 is rejected (`probe.http.port-number-range`).
    ApiRefusesHighestPort,
    /// Any header name is accepted (`probe.http.header-name-validation`).
    ApiAcceptsBadHeaderName,
    /// Any scheme is accepted (`probe.http.default-scheme`).
    ApiAcceptsAnyScheme,
    /// The default scheme is HTTPS (`probe.http.default-scheme`).
    ApiDefaultsToHttps,
    /// The scheme gets no default (`probe.http.default-scheme`).
    ApiLeavesSchemeEmpty,
    /// The path gets no default (`probe.http.default-path`).
    ApiLeavesPathEmpty,
    /// A port name that no container port has is rejected (`probe.http.port-name-unresolvable`).
    ApiRefusesUnknownPortName,
    /// Port names are not validated (`probe.http.port-name-unresolvable`).
    ApiAcceptsAnyPortName,
    // Commands, connections and health checks: what a probe does, and how its result counts.
    /// A probe without a handler is accepted (`probe.handler.exactly-one`).
    ApiAcceptsNoHandler,
    /// A probe with several handlers is accepted (`probe.handler.exactly-one`).
    ApiAcceptsTwoHandlers,
    /// A command that ran counts as a success, whatever its exit status (`probe.exec.exit-zero`).
    ExecStatusIgnored,
    /// Exit statuses above 125 count as errors of the runtime (`probe.exec.exit-zero`).
    ExecHighStatusIsError,
    /// Commands are run on the node (`probe.exec.runs-inside-container`).
    ExecOnTheNode,
    /// Commands see the node's processes (`probe.exec.runs-inside-container`).
    ExecInTheNodesProcesses,
    /// Commands never time out (`probe.exec.timeout-fails`).
    ExecTimeoutIgnored,
    /// A command that times out is an error (`probe.exec.timeout-fails`).
    ExecTimeoutIsError,
    /// A command that leaves a child process behind counts as a success (`probe.exec.fork-then-exit-fails`).
    ExecWithChildPasses,
    /// A command that does not exist is a failure (`probe.exec.spawn-error-not-counted`, `probe.result.unknown-no-action`).
    MissingCommandFails,
    /// A command that does not exist passes (`probe.exec.spawn-error-not-counted`, `probe.result.unknown-no-action`).
    MissingCommandPasses,
    /// Statuses below 500 pass (`probe.http.status-range`).
    HttpClientErrorsPass,
    /// Only 200 passes (`probe.http.status-range`).
    HttpOnly200Passes,
    /// Probes use HEAD (`probe.http.method-get`).
    HttpAsksByHead,
    /// The query is cut off the path (`probe.http.method-get`).
    HttpDropsQuery,
    /// HTTP probes are sent from inside the pod to its loopback address (`probe.http.targets-pod-ip`).
    HttpThroughLoopback,
    /// HTTP probes are sent from inside the pod to its address (`probe.kubelet.network-probes-from-node`).
    HttpFromInside,
    /// A connection that is refused is an error (`probe.tcp.open-success`).
    TcpRefusalIsError,
    /// A connection that the container closes immediately is a failure (`probe.tcp.immediate-close-healthy`).
    TcpCloseFails,
    /// A connection to a port on which an HTTP probe fails is a failure (`probe.tcp.blind-to-app`).
    TcpHeedsHttp,
    /// Connections are opened from inside the pod to its address (`probe.tcp.from-node`).
    TcpFromInside,
    /// Connections are opened from inside the pod to its loopback address (`probe.tcp.default-host`, `http.targets-pod-ip`).
    TcpThroughLoopback,
    /// Without `host` a connection goes to the node (`probe.tcp.default-host`).
    TcpDefaultsToNode,
    /// The node knows the names of Services (`probe.tcp.host-service-name-unusable`).
    NodeKnowsServices,
    /// An unknown host is an error (`probe.tcp.host-service-name-unusable`).
    UnknownHostIsError,
    /// A line is sent over each connection (`probe.tcp.no-payload`).
    TcpSendsBytes,
    /// A connection is kept until the timeout (`probe.tcp.no-payload`).
    TcpKeepsConnection,
    /// A named port is resolved to the first declared port (`probe.tcp.port-forms`).
    TcpNamedPortIsFirstPort,
    /// A gRPC probe needs no port (`probe.grpc.port-required`).
    ApiAcceptsGrpcWithoutPort,
    /// The port of a gRPC probe may be a name (`probe.grpc.port-required`).
    ApiAcceptsGrpcPortName,
    /// A gRPC probe may have a host (`probe.grpc.no-host`).
    ApiAcceptsGrpcHost,
    /// A health check names localhost (`probe.grpc.no-host`).
    GrpcNamesLocalhost,
    /// The service of a health check is left out (`probe.grpc.service-field`).
    GrpcServiceDropped,
    /// The service of a health check is cut off at its hyphen (`probe.grpc.naming-advice`).
    GrpcServiceCutAtHyphen,
    /// All health checks on a port request the readiness probe's service (`probe.startup.gates-readiness`).
    GrpcOneServicePerPort,
    /// Every answer except NOT_SERVING passes (`probe.grpc.serving-success`).
    GrpcUnknownPasses,
    /// An error of the call is not a failure (`probe.grpc.serving-success`).
    GrpcErrorIsUnknown,
    /// An unknown service passes (`probe.grpc.wrong-service-fails`).
    GrpcNotFoundPasses,
    /// A server without the health protocol passes (`probe.grpc.unimplemented-fails`).
    GrpcUnimplementedPasses,
    /// A closed port is an error (`probe.grpc.wrong-port-fails`).
    GrpcRefusalIsError,
    /// If plain text fails, TLS is tried (`probe.grpc.plaintext-only`).
    GrpcFallsBackToTls,
    /// The user agent names only the library (`probe.grpc.user-agent`).
    GrpcAgentIsLibrarys,
    /// No deadline is sent (`probe.grpc.user-agent`).
    GrpcSendsNoDeadline,
    /// Metadata that names the pod is sent (`probe.grpc.user-agent`).
    GrpcSendsMetadata,
    /// Health checks share a connection (`probe.grpc.new-connection-each`).
    GrpcReusesConnection,
    // The settings of probes: defaults, delays, periods, timeouts, thresholds, grace periods.
    /// The period's default is 5 (`probe.config.defaults`).
    ApiOtherProbeDefaults,
    /// Each probe gets the pod's grace period (`probe.config.defaults`).
    ApiFillsProbeGrace,
    /// Numbers below zero are accepted (`probe.config.minimums`).
    ApiAcceptsNegative,
    /// A zero that means unset is kept (`probe.config.minimums`).
    ApiKeepsZero,
    /// Liveness and startup probes may require several successes (`success-threshold.liveness-startup-must-be-1`).
    ApiAcceptsTwoSuccesses,
    /// No probe may require several successes (`success-threshold.liveness-startup-must-be-1`).
    ApiRefusesTwoSuccesses,
    /// A readiness probe may have a grace period (`probe.tgps.readiness-refused`).
    ApiAcceptsReadinessGrace,
    /// The probes of a pod can be patched (`probe.config.immutable`, `probe.tgps.always-honoured-if-present`).
    ApiPatchesProbes,
    /// Half of the delay is enough (`probe.timing.initial-delay-honoured`).
    DelayHalved,
    /// A delay that is shorter than the period has no effect (`probe.timing.initial-delay-with-larger-period`).
    DelayLostWithLongPeriod,
    /// The delay has no effect after a restart (`probe.timing.initial-delay-per-restart`).
    DelayInFirstLifeOnly,
    /// The delay has no effect with a startup probe (`probe.timing.initial-delay-after-startup`).
    DelayLostAfterStartup,
    /// The first probe of an instance comes one period late (`probe.timing.first-probe-phase`).
    FirstProbeAPeriodLate,
    /// The period starts with the answer (`probe.timing.period`).
    PeriodAfterAnswer,
    /// After a failure, readiness probes come less often (`probe.timing.readiness-period-is-upper-bound`).
    ReadinessBacksOff,
    /// A failed readiness probe does not run again (`probe.failure-threshold.readiness-keeps-running`).
    ReadinessStopsAfterFailure,
    /// Network probes never time out (`probe.timeout.http`, `probe.timeout.tcp-grpc`).
    TimeoutIgnored,
    /// Every timeout is one second (`probe.timeout.http`, `probe.timeout.tcp-grpc`).
    TimeoutAlways1s,
    /// Every timeout is twice as long (`probe.timeout.http`, `probe.timeout.tcp-grpc`).
    TimeoutTwice,
    /// Every timeout is shorter by a fifth (`probe.timeout.http`, `probe.timeout.tcp-grpc`).
    TimeoutShort,
    /// The next probe does not wait for the current one (`probe.timeout.longer-than-period`).
    ProbesOverlap,
    /// Successes are counted in total, and not in a row (`probe.success-threshold.readiness`).
    SuccessesCountedInAll,
    /// One success is enough (`probe.success-threshold.first-start`, `probe.success-threshold.readiness`).
    SuccessThresholdIgnored,
    /// A restarted container is ready (`probe.success-threshold.after-restart`, `probe.readiness.starts-unready`).
    ReadyAtOnceAfterRestart,
    /// Failures are counted in total, and not in a row (`probe.failure-threshold.consecutive`).
    FailuresCountedInAll,
    /// One failure fewer than the threshold is enough (`probe.failure-threshold.exact-count`).
    OneFailureLessSettles,
    /// The first failure after a success is not counted (`probe.failure-threshold.exact-count`).
    FirstFailureForgiven,
    /// The grace period of a probe has no effect (`probe.tgps.liveness-override`, `probe.tgps.startup-override`).
    ProbeGraceIgnored,
    /// The grace period of a startup probe has no effect (`probe.tgps.startup-override`).
    StartupGraceIgnored,
    /// The grace period of a probe can only be shorter than the pod's (`probe.tgps.liveness-override`).
    ProbeGraceOnlyShorter,
    /// A probe without its own grace period has one of 30 s (`probe.tgps.default-inherits`).
    ProbeGraceDefaultsTo30,
    /// The grace period after a failed probe is two seconds (`probe.tgps.default-inherits`, `tgps.liveness-override`).
    ProbeGraceAlways2,
    /// A deletion uses the grace period of the liveness probe (`probe.tgps.not-used-on-deletion`).
    DeletionUsesProbeGrace,
    // The HTTP prober: where it sends probes.
    /// A probe without a path requests `/healthz` (`probe.http.default-path`).
    DefaultPathWrong,
    /// The Host header lacks the port (`probe.http.host-default-pod-ip`).
    HostHeaderLacksPort,
    /// The `host` field has no effect (`probe.http.host-field-overrides-address`, `host-localhost-hostnetwork`).
    HostFieldIgnored,
    /// Probes of pods on the host's network go to 127.0.0.1 (`probe.http.host-localhost-hostnetwork`).
    HostNetworkMeansLocalhost,
    /// A Host header among the custom ones has no effect (`probe.http.vhost-via-header`).
    HostHeaderIgnored,
    /// A named port is resolved to the first port (`probe.http.port-by-name`).
    NamedPortIsFirstPort,
    /// A port name that cannot be resolved counts as a failure (`probe.http.port-name-unresolvable`).
    UnresolvablePortFails,
    // The HTTP prober: what it sends.
    /// Custom headers are left out (`probe.http.custom-headers`).
    CustomHeadersDropped,
    /// Custom headers are sent only with the first probe (`probe.http.custom-headers`).
    CustomHeadersOnce,
    /// Values of one header are joined into one line (`probe.http.repeated-headers`).
    HeaderDuplicatesMerged,
    /// Only the last of several values of a header is sent (`probe.http.repeated-headers`).
    HeaderDuplicatesDropped,
    /// Values of one header are sent in the wrong order (`probe.http.repeated-headers`).
    HeadersReordered,
    /// The User-Agent names another version (`probe.http.user-agent-default`).
    UserAgentWrong,
    /// No Accept header is sent (`probe.http.accept-default`).
    AcceptMissing,
    /// The Accept header names a type (`probe.http.accept-default`).
    AcceptNarrow,
    /// Accept-Encoding is sent (`probe.http.header-set`).
    SendsAcceptEncoding,
    /// A header from the spec is sent in addition to the default (`probe.http.headers-override`).
    OverridesAppended,
    /// Defaults take precedence over the headers from the spec (`probe.http.headers-override`).
    OverridesIgnored,
    /// A header with an empty value is sent empty (`probe.http.headers-remove`).
    EmptyHeaderSentEmpty,
    /// A header with an empty value is sent with its default (`probe.http.headers-remove`).
    EmptyHeaderKeepsDefault,
    /// Connections are reused (`probe.http.new-connection-each`).
    ReusesConnections,
    /// The server's certificate is verified (`probe.http.https-skips-verification`).
    VerifiesCertificates,
    /// Only expired certificates are rejected (`probe.http.https-skips-verification`).
    RefusesExpiredCertificates,
    /// HTTP/2 is not offered (`probe.http.https-wire-details`).
    OffersNoHttp2,
    /// A client certificate is presented (`probe.http.https-wire-details`).
    ShowsClientCertificate,
    // The HTTP prober: answers.
    /// Redirects are not followed (`probe.http.redirect.same-host-followed`).
    FollowsNoRedirect,
    /// A redirect is a failure (`redirect.same-host-followed`, `cross-host-not-followed`).
    RedirectCountsAsFailure,
    /// A redirect to another port counts as a redirect to another host (`probe.http.redirect.same-host-other-port`).
    OtherPortIsOtherHost,
    /// A redirect to another scheme counts as a redirect to another host (`probe.http.redirect.http-to-https`).
    OtherSchemeIsOtherHost,
    /// Redirects to other hosts are followed (`probe.http.redirect.cross-host-not-followed`).
    FollowsCrossHost,
    /// A redirect to another host is a failure (`probe.http.redirect.cross-host-not-followed`).
    CrossHostFails,
    /// No event reports redirects that were not followed (`redirect.cross-host-not-followed`, `missing-location`).
    WarningMissing,
    /// The host of a custom Host header counts as the same host (`probe.http.redirect.cross-host-by-name`).
    HostHeaderIsSameHost,
    /// The custom Host header is dropped on a relative redirect (`probe.http.redirect.cross-host-by-name`).
    DropsHostOnRedirect,
    /// Twenty redirects are followed (`probe.http.redirect.limit`).
    RedirectLimitTwenty,
    /// Five redirects are followed (`probe.http.redirect.limit`).
    RedirectLimitFive,
    /// A redirect without a location is a failure (`probe.http.redirect.missing-location`).
    MissingLocationFails,
    /// A redirect to a location that cannot be requested passes (`probe.http.redirect.missing-location`).
    UnusableLocationPasses,
    /// Custom headers are not sent again after a redirect (`probe.http.redirect.headers-kept`).
    DropsHeadersOnRedirect,
    /// The whole body is read (`probe.http.body.limit-10kib`, `abrupt-close`).
    ReadsWholeBody,
    /// A body beyond the limit is a failure (`probe.http.body.limit-10kib`).
    LargeBodyFails,
    /// A truncated answer is a failure (`probe.http.body.short-body-error`).
    ShortBodyFails,
    /// A truncated answer is tried six times (`probe.http.body.short-body-error`).
    ShortBodyTriedSixTimes,
    /// The event about a failure contains the body (`probe.http.event-omits-body`).
    EventShowsBody,
    /// A refused connection passes (`probe.http.refused-fails`).
    RefusedIsSuccess,
    /// A malformed answer passes (`probe.http.refused-fails`).
    MalformedIsSuccess,
    /// A connection that closes before an answer has no result (`probe.http.refused-fails`).
    BrokenConnectionDiscarded,
    // Other parts of the kubelet: commands, counters, its restart, the end of pods; and other rejections by the API.
    /// Variables in a probe's command are not replaced (`prober.exec.static-env-expansion`).
    ExecCommandNotExpanded,
    /// A probe's command is run by a shell (`prober.exec.static-env-expansion`).
    ExecCommandByShell,
    /// Unknown names in a probe's command are removed (`prober.exec.static-env-expansion`).
    ExecCommandLosesUnknownNames,
    /// Variables from other sources are replaced by their values (`prober.exec.static-env-expansion`).
    ExecCommandSeesAllSources,
    /// Each probe counts twice (`prober.metrics.agree-with-witness`).
    CountsTwice,
    /// Failures are not counted (`prober.metrics.agree-with-witness`).
    CountsNoFailures,
    /// Only readiness probes are counted (`prober.metrics.agree-with-witness`).
    CountsReadinessOnly,
    /// Successes are counted as failures and the other way round (`prober.metrics.agree-with-witness`).
    CountsUnderTheOtherResult,
    /// A probe of a pod waits while another probe of the pod is running (`prober.worker.one-per-kind`).
    OneWorkerPerPod,
    /// A probe of a container waits while another probe of the container is running (`prober.worker.one-per-kind`).
    OneWorkerPerContainer,
    /// An extra run does not reset the ticker (`prober.worker.manual-trigger`).
    TriggerKeepsTheBeat,
    /// Readiness is carried over to a new instance (`prober.worker.new-container-resets-result`).
    ReadinessOutlivesLife,
    /// A liveness probe does not stop at its threshold (`prober.worker.onhold-after-liveness-failure`).
    LivenessGoesOnAfterFailure,
    /// A container that does not run keeps its readiness (`prober.worker.non-running-sets-failure`).
    NotRunningStaysReady,
    /// A sidecar that fails its liveness probe in a deleted pod is restarted (`prober.termination.sidecar-liveness`).
    SidecarRestartsInTermination,
    /// Each probe writes the pod's status (`prober.result.published-on-change`).
    EachProbeWritesStatus,
    /// A failed probe is repeated (`prober.retry.three-on-error`).
    FailuresTriedTwice,
    /// A probe that ended in an error is not retried (`prober.retry.three-on-error`).
    ErrorsTriedOnce,
    /// Counters remain after their pod was removed (`prober.termination.remove-all`).
    CountersOutliveTheirPod,
    /// After a kubelet restart, all probes come at the same instant (`prober.worker.restart-jitter`).
    RestartProbesAtOnce,
    /// A restarted kubelet considers containers as not started (`prober.kubelet-restart.status-kept`).
    RestartForgetsStarted,
    /// A restarted kubelet considers containers as not ready (`prober.kubelet-restart.status-kept`).
    RestartForgetsReady,
    /// A restarted kubelet restarts containers (`prober.kubelet-restart.status-kept`).
    RestartRestartsContainers,
    /// A restarted kubelet considers old containers as ready (`prober.kubelet-restart.nothing-gained`).
    RestartMakesReady,
    /// A restarted kubelet does not probe containers that ran before (`prober.kubelet-restart.probing-resumes`).
    RestartStopsProbing,
    /// A container is probed while its postStart hook runs (`prober.worker.waits-for-container`).
    ProbesDuringPostStart,
    /// Liveness and startup probes continue while a pod terminates (`prober.termination.liveness-startup-stop`).
    LivenessGoesOnInTermination,
    /// An exec probe needs no command (`validation.exec-command-required`).
    ApiAcceptsEmptyCommand,
    /// Pod templates are not validated (`validation.template-level`).
    ApiSkipsTemplates,
    /// A hook may sleep for a negative time (`validation.prestop-sleep-range`).
    ApiAcceptsNegativeSleep,
    /// A hook may sleep for longer than the grace period (`validation.prestop-sleep-range`).
    ApiAcceptsSleepBeyondGrace,
    /// A hook may not sleep for the whole grace period (`validation.prestop-sleep-range`).
    ApiRefusesSleepOfAllGrace,
    /// A hook may not sleep for zero seconds (`validation.prestop-sleep-range`).
    ApiRefusesSleepOfNothing,
    /// Readiness waits for all ports of a container (`scenario.readiness.mgmt-port-decoupled`).
    ReadinessNeedsAllPorts,
    /// If two pods have containers with the same name, the wrong container is killed (`scenario.liveness.overload-cascade`).
    KillsByNameOnly,
    /// A container is not killed while its pod's budget allows no disruption (`scenario.liveness.ignores-pdb`).
    KillsAskTheBudget,
    /// The runtime reaps child processes that a container's first process does not reap (`scenario.exec.zombies`).
    RuntimeReapsOrphans,
    /// Zombies stay although the first process reaps them (`scenario.exec.zombies`).
    RuntimeLeavesZombies,
}
