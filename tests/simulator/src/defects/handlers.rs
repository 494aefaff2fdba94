//! The defects of what probes do by commands, connections and health checks, and how their results count.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_handlers {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
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
    } };
}
