//! Defects that show only if two things come together, such as a policy and a wait. In the list, they come after all earlier
//! defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_rare {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Restarts.
    /// A container that cannot be started is tried again without a back-off (`restart.backoff.sequence`).
    StartErrorNeverWaits,
    /// With OnFailure, a container that a probe killed restarts without a back-off (`restart.backoff.liveness-kills`).
    OnFailureKillsNeverWait,
    /// Rules do not apply to a container that was killed because it exceeded its memory limit (`restart.rules.exit-codes`).
    MemoryKillIgnoresRules,
    /// The own policy of a main container is forgotten while the container waits for its restart
    /// (`restart.rules.container-policy`).
    OwnPolicyLostInBackOff,
    /// Ephemeral containers run again in a new sandbox (`ephemeral.never-restarted`).
    EphemeralAgainInNewSandbox,
    // Pods that end.
    /// In a deleted pod with sidecars, ephemeral containers are stopped after the main containers
    /// (`termination.starts-promptly`).
    EphemeralStopsAfterMains,
    /// A sidecar of a deleted pod waits for a later one that waits for its restart (`termination.sidecar.after-main`).
    CrashedSidecarBlocksEarlier,
    /// At the deadline, all sidecars are stopped at once after the main containers (`init.activedeadline-kills-running`).
    ExpiredSidecarsStopTogether,
    // Images.
    /// A new image of a sidecar has no effect while its pod initializes (`pod.update.image-replaces`).
    NewImageOfSidecarWaitsForInits,
    /// While one image of a pod cannot be pulled, its other images are not pulled either (`report.event.image-missing`).
    PullBackOffOfPod,
    } };
}
