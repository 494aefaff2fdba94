//! Defects in what one instance of a container takes from another, in references between variables, and in ends and resizes
//! that look unusual. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_reused {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// An instance that writes no message has the message of the previous one (`report.status.termination-message`).
    MessageOfPreviousInstance,
    /// What a container writes to its standard error is not in its message (`report.status.termination-message-log`).
    StandardErrorLost,
    /// Sidecars do not count when containers share the space for messages (`report.status.termination-message-limit`).
    MessageSharesWithoutSidecars,
    /// A reference to a variable that is listed later is replaced, too (`pod.environment`).
    LaterReferencesReplaced,
    /// A reference to a variable about a Service stays as it is (`pod.environment`).
    ServiceReferencesStay,
    /// The time of a sleep is rounded up (`termination.prestop-counts-in-grace`).
    SleepCountsMore,
    /// Resizes of Guaranteed pods are marked as infeasible (`resize.enacted`, `resize.completed`).
    GuaranteedNeverResized,
    /// A container that the runtime cannot start is reported as started (`report.event.started-each-time`).
    FailedStartReportedAsStart,
    /// The count of an init container stays at one (`report.status.restart-count`).
    InitRestartsStopAtOne,
    /// The exit status of a process that SIGTERM ended counts as a success (`restart.policy.onfailure`,
    /// `pod.phase.failed`).
    EndBySigtermIsSuccess,
    } };
}
