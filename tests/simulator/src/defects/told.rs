//! Defects in reports that the judges did not compare before: events about probes that leave no record, codes in
//! events, IDs and messages of containers that have ended, the environment of commands, and optional references. In the
//! list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_told {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Events.
    /// Failed TCP probes are not reported (`report.event.unhealthy`).
    TcpFailuresUnreported,
    /// Probes that could not be carried out are not reported (`report.event.unhealthy`).
    ErrorsUnreported,
    /// Each failure is reported with the status code of the first (`report.event.unhealthy`).
    FailureCodeStays,
    /// A failure is reported with the status code of another container of the pod (`report.event.unhealthy`,
    /// `probe.http.event-omits-body`).
    FailureCodeOfNeighbor,
    // Containers that have ended.
    /// A container that has ended is shown with the ID of its sandbox (`report.status.container-id`).
    EndedHasSandboxId,
    /// A container that has ended is shown without an ID (`report.status.container-id`).
    EndedHasNoId,
    /// Only main containers have termination messages (`report.status.termination-message`, `termination-message-log`).
    MessageOfMainsOnly,
    /// A container that was stopped has no termination message (`report.status.termination-message`).
    MessageLostByStop,
    /// An ephemeral container has no termination message (`report.status.termination-message`).
    MessageOfEphemeralLost,
    /// A container that was killed because it took too much memory has no termination message
    /// (`report.status.termination-message`).
    MessageLostByLackOfMemory,
    // Commands.
    /// The commands of probes run as root (`probe.exec.runs-inside-container`).
    ExecAsRoot,
    /// The commands of probes do not have the environment of their container (`probe.exec.runs-inside-container`).
    ExecWithoutEnvironment,
    /// The commands of probes run in a temporary directory (`probe.exec.runs-inside-container`).
    ExecInAnotherFolder,
    // Counts.
    /// The first refused connection makes a container not ready, whatever the threshold
    /// (`probe.http.refused-fails`, `probe.tcp.open-success`).
    RefusalMakesUnready,
    /// A TCP readiness probe with a threshold above one needs one more failure (`probe.tcp.open-success`).
    TcpReadinessNeedsOneMore,
    /// The first failed health check kills a container (`probe.failure-threshold.exact-count`).
    GrpcFailureKills,
    // Optional references.
    /// Variables from a ConfigMap or a Secret that does not exist are left out (`report.status.settings-missing`).
    EnvFromIgnored,
    /// A pod waits for an optional volume (`report.status.settings-supplied`).
    OptionalVolumeAwaited,
    /// A pod waits for an optional key of a volume whose object exists (`report.status.settings-supplied`).
    OptionalVolumeKeyAwaited,
    /// A container waits for an optional key of a Secret that exists (`report.status.settings-supplied`).
    OptionalSecretKeyAwaited,
    /// A container waits for an optional key of an object that exists (`report.status.settings-supplied`).
    OptionalKeyAwaited,
    /// A container waits for optional variables (`report.status.settings-supplied`).
    OptionalEnvFromAwaited,
    } };
}
