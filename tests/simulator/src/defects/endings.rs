//! Defects in how containers are stopped in rare situations, and in the waits for hooks. In the list, they come after all earlier
//! defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_endings {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Hooks.
    /// The kubelet does not wait for a postStart hook of a sidecar that is a request
    /// (`container.state.poststart-before-running`).
    SidecarRequestHookUnawaited,
    /// A preStop hook that is a request is cut off after ten seconds (`termination.prestop-runs-first`).
    RequestHookCutOff,
    /// A preStop hook has at most the grace period of the pod, even if the request sets a longer one
    /// (`termination.prestop-runs-first`).
    HookCutAtOwnGrace,
    /// The preStop hook does not run before a restart because of a resize (`resize.with-restart`).
    ResizeRestartSkipsHook,
    /// The preStop hooks of sidecars do not run at a deadline (`init.activedeadline-kills-running`).
    DeadlineSkipsSidecarHook,
    /// A container whose postStart hook fails never waits for its restart (`restart.backoff.other-causes`).
    FailedHookNeverBacksOff,
    // Sidecars.
    /// Sidecars wait at most for the grace period of the pod, even if the request sets a longer one
    /// (`termination.sidecar.after-main`, `reverse-order`).
    SidecarsWaitOwnGrace,
    /// The sidecars of a deleted pod stop together if no main container is running (`termination.sidecar.reverse-order`).
    SidecarsUnorderedWithoutMains,
    /// The sidecars of a pod stop together when an init container fails for good (`init.never-fails-pod`).
    FailedInitStopsSidecarsTogether,
    /// The sidecars of a static pod stop with its main containers (`static.removed`).
    StaticSidecarsUnordered,
    /// The sidecars of a pod that is deleted with a grace period of zero are killed without a stop signal
    /// (`termination.forced.small-grace-on-node`).
    ForcedSidecarWithoutSignal,
    // Ephemeral containers.
    /// The ephemeral containers of a pod that completes are killed without a stop signal (`termination.term-to-pid1`).
    EphemeralKilledAtCompletion,
    } };
}
