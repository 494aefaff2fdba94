//! Defects of how pods terminate: containers that are stopped too late, too early or never, and containers that start
//! although their pod terminates. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_leaving {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Deleted pods.
    /// A sidecar of a deleted pod has two seconds to stop, whatever is left of the grace period
    /// (`termination.kill-after-grace`).
    DeletedSidecarsHaveTwoSeconds,
    /// A sidecar of a deleted pod is never killed (`termination.kill-after-grace`).
    DeletedSidecarsNeverKilled,
    /// The init container of a deleted pod gets its stop signal four seconds late (`termination.starts-promptly`).
    DeletedInitsToldLate,
    /// The init container of a deleted pod gets no stop signal (`termination.starts-promptly`).
    DeletedInitsNotTold,
    /// Sidecars of a deleted pod wait for main containers that do not run (`termination.starts-promptly`).
    SidecarsWaitForNoMain,
    /// A container of a deleted pod is never shown as ready again (`probe.readiness.continues-while-terminating`).
    LeavingNeverReadyAgain,
    /// A container is started in a deleted pod at the end of its back-off (`termination.no-restart-while-terminating`).
    BackOffOutlivesDeletion,
    /// An init container that exits with 0 when it is stopped counts as done (`termination.no-restart-while-terminating`).
    StoppedInitPasses,
    /// A deleted pod with an init container is removed only once the wait for its volumes is over
    /// (`termination.exit-early-ends-early`).
    DeletionWaitsForVolumes,
    // Hooks.
    /// A sidecar gets its stop signal while its hook runs (`termination.prestop-runs-first`).
    HookOfSidecarUnawaited,
    /// A sidecar of a deleted pod does not wait for its sleep hook (`termination.prestop-runs-first`).
    SidecarSleepSkipped,
    /// The time of a sidecar's hook is added to the grace period (`termination.prestop-counts-in-grace`).
    SidecarHookTimeAdded,
    /// A sidecar gets no stop signal after its hook (`termination.prestop-runs-first`).
    HookedSidecarNotTold,
    /// The sleep of a hook takes its full time, whatever the grace period (`termination.prestop-runs-first`).
    SleepOutlastsGrace,
    /// The request of a preStop hook never times out (`termination.prestop-2s-extension`).
    HookRequestNeverCut,
    /// A preStop hook that is a request runs only if the pod is deleted or a probe has failed
    /// (`pod.update.image-replaces`, `init.activedeadline-kills-running`).
    RequestHookOnlyOnDeletion,
    /// The hooks of a static pod do not run when its manifest is removed (`static.removed`).
    StaticPodsRemovedWithoutHooks,
    /// A container whose hook is refused gets no stop signal (`termination.starts-promptly`).
    RefusedHookForgetsSignal,
    /// The request of a hook goes to the address that the pod had in its first sandbox
    /// (`container.hook.request-as-written`).
    HookToAddressOfOldSandbox,
    /// The sleep of a postStart hook takes three times as long (`container.state.poststart-before-running`).
    StartSleepTripled,
    // Other ends.
    /// At the deadline, sidecars get their stop signal together with the main containers (`init.activedeadline-kills-running`).
    ExpiredSidecarsDoNotWait,
    /// At the deadline, sidecars have two seconds to stop (`init.activedeadline-kills-running`).
    ExpiredSidecarsHaveTwoSeconds,
    /// An init container that exits with 0 when it is stopped at the deadline counts as done
    /// (`init.activedeadline-includes-init`).
    ExpiredInitPasses,
    /// The sidecars of a pod whose init container failed are killed (`init.never-fails-pod`).
    FailedInitKillsSidecars,
    } };
}
