//! Defects of how pods leave: what is stopped too late, too early or never, and what starts although its pod goes. They follow the
//! others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_leaving {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Deleted pods.
    /// A sidecar of a deleted pod has two seconds, whatever is left of the grace period (`termination.kill-after-grace`).
    DeletedSidecarsHaveTwoSeconds,
    /// A sidecar of a deleted pod is never killed (`termination.kill-after-grace`).
    DeletedSidecarsNeverKilled,
    /// The init container of a deleted pod is told to stop four seconds late (`termination.starts-promptly`).
    DeletedInitsToldLate,
    /// The init container of a deleted pod is not told to stop (`termination.starts-promptly`).
    DeletedInitsNotTold,
    /// Sidecars of a deleted pod wait for main containers that do not run (`termination.starts-promptly`).
    SidecarsWaitForNoMain,
    /// A container is started in a deleted pod when its back-off is over (`termination.no-restart-while-terminating`).
    BackOffOutlivesDeletion,
    /// An init container that exits with 0 when it is stopped counts as done (`termination.no-restart-while-terminating`).
    StoppedInitPasses,
    // Hooks.
    /// A sidecar is told to stop while its hook runs (`termination.prestop-runs-first`).
    HookOfSidecarUnawaited,
    /// A sidecar is not told to stop after its hook (`termination.prestop-runs-first`).
    HookedSidecarNotTold,
    /// The sleep of a hook takes as long as it says, whatever the grace period (`termination.prestop-runs-first`).
    SleepOutlastsGrace,
    /// A request of a hook before the stop is waited for without an end (`termination.prestop-2s-extension`).
    HookRequestNeverCut,
    /// A container whose hook is refused is not told to stop (`termination.starts-promptly`).
    RefusedHookForgetsSignal,
    /// The sleep of a hook after the start takes three times as long (`container.state.poststart-before-running`).
    StartSleepTripled,
    // Other ends.
    /// At the deadline, sidecars are told to stop with the main containers (`init.activedeadline-kills-running`).
    ExpiredSidecarsDoNotWait,
    /// At the deadline, sidecars have two seconds (`init.activedeadline-kills-running`).
    ExpiredSidecarsHaveTwoSeconds,
    /// An init container that exits with 0 when it is stopped at the deadline counts as done (`init.activedeadline-includes-init`).
    ExpiredInitPasses,
    /// The sidecars of a pod whose init container failed are killed (`init.never-fails-pod`).
    FailedInitKillsSidecars,
    } };
}
