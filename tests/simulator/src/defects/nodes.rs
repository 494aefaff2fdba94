//! The defects of what a kubelet makes of its configuration, what it leaves on its node, and what it does with static pods.
//! They follow the others in the same list.

/// Hands the list of the other defects on, with these behind it.
macro_rules! with_nodes {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The configuration of the back-off.
    /// The maximum of the back-off cannot be configured (`restart.backoff.configurable`, `restart.backoff.max-below-initial`).
    BackOffMaximumIgnored,
    /// The first delay is the configured maximum (`restart.backoff.configurable`).
    BackOffBeginsAtMaximum,
    /// A maximum below the first delay has no effect (`restart.backoff.max-below-initial`).
    BackOffNotBelowFirst,
    /// A maximum of less than a second is accepted (`restart.backoff.config-range`).
    BackOffRangeFromZero,
    /// A maximum of less than ten seconds is refused (`restart.backoff.config-range`).
    BackOffRangeFromTen,
    /// A maximum of more than five minutes is accepted (`restart.backoff.config-range`).
    BackOffRangeOpen,
    // What a pod leaves on its node.
    /// The sandbox of a deleted pod runs on (`termination.sandbox-cleaned`).
    SandboxRunsOn,
    /// The sandbox of a deleted pod has ended, and is kept (`termination.sandbox-cleaned`).
    SandboxKept,
    } };
}
