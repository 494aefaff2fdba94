//! Defects of restarts, deadlines and reports that show only with the right neighbor, such as a sidecar, an ephemeral
//! container or a scheduling gate. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_overlooked {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Restarts.
    /// A sidecar keeps a pod with restartPolicy Always from completing, whatever the policies of its main containers are
    /// (`sidecar.job-completes`).
    OwnPolicyKeepsSidecars,
    /// A container with its own policy OnFailure does not restart after a failed startup probe
    /// (`probe.startup.failure-kills-container`).
    OwnOnFailureStartupIsFinal,
    /// Ephemeral containers run again when all containers restart (`ephemeral.never-restarted`).
    RestartAllRunsEphemeral,
    /// In a new sandbox, sidecars do not wait for the init containers (`init.rerun-on-pod-restart`).
    NewSandboxStartsSidecars,
    /// A change of an init container keeps its back-off (`restart.backoff.image-change-resets`).
    ChangeKeepsBackOffOfInit,
    /// A change of a pod resets the back-off of all its containers (`restart.backoff.sequence`).
    AnyChangeResetsBackOff,
    /// Sidecars that a probe killed restart without a back-off (`restart.backoff.liveness-kills`).
    SidecarKillsNeverWait,
    /// Containers of static pods restart without a back-off (`restart.backoff.sequence`).
    StaticPodsNeverWait,
    // Ends and reports.
    /// A deadline counts from the creation of its pod (`init.activedeadline-kills-running`).
    DeadlineFromCreation,
    /// A failed ephemeral container makes its pod fail (`pod.phase.succeeded`).
    FailedEphemeralFailsPod,
    /// The status does not show that the image of an ephemeral container is missing (`report.status.image-missing`).
    EphemeralImageUnexplained,
    /// The status of a container that lacks a part of its configuration has no message (`report.status.settings-missing`).
    ConfigErrorUnexplained,
    } };
}
