//! The defects of evictions and of disruption budgets. They follow the others in the same list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_disruption {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // What the API server answers to evictions.
    /// No eviction is ever refused (`pdb.limits-voluntary`, `pdb.involuntary-counts`).
    EvictionIgnoresBudgets,
    /// An eviction is not counted until the controller looks at the budget (`pdb.limits-voluntary`, `example-one-at-a-time`).
    EvictionsNotCounted,
    /// A budget refuses every eviction (`pdb.limits-voluntary`, `pdb.example-one-at-a-time`).
    BudgetsRefuseAll,
    /// What a budget forbids is refused as a conflict (`pdb.limits-voluntary`).
    RefusalIsConflict,
    /// A refusal does not name the budget as its cause (`pdb.limits-voluntary`).
    RefusalWithoutCause,
    /// A budget counts for all pods of the namespace (`pdb.selector`).
    BudgetSelectsAll,
    /// Of several budgets of a pod only the first is asked (`pdb.selector`).
    FirstBudgetDecides,
    /// The eviction of a pod with several budgets is refused as one that may be tried again (`pdb.selector`).
    SeveralBudgetsMayRetry,
    /// A pod that is not ready is evicted only where the budget allows a disruption (`unhealthy-default`, `-alwaysallow`).
    UnhealthyNeedBudget,
    /// A pod that is not ready can always be evicted (`pdb.unhealthy-default`).
    UnhealthyAlwaysEvicted,
    /// The eviction of a pod that is not ready uses up the budget (`pdb.unhealthy-default`).
    UnhealthyUseBudget,
    /// `AlwaysAllow` is not looked at (`pdb.unhealthy-alwaysallow`).
    AlwaysAllowIgnored,
    /// `AlwaysAllow` lets pods be evicted that are ready (`pdb.unhealthy-alwaysallow`).
    AlwaysAllowForHealthy,
    /// The eviction of a pending pod asks the budget (`eviction.pending-terminal-bypass`).
    PendingAskBudget,
    /// The eviction of a pod that is over asks the budget (`eviction.pending-terminal-bypass`).
    FinishedAskBudget,
    /// The eviction of a terminating pod asks the budget (`eviction.pending-terminal-bypass`).
    TerminatingAskBudget,
    // What a budget's controller counts.
    /// Pods that are not ready count as healthy (`pdb.involuntary-counts`, `pdb.unhealthy-default`).
    UnreadyCountAsHealthy,
    /// A budget is counted anew only after 20 seconds (`pdb.involuntary-counts`).
    BudgetsCountedLate,
    /// A budget is never counted anew once a pod was evicted (`pdb.limits-voluntary`).
    BudgetsNeverRecover,
    /// A budget allows one disruption more than it should (`pdb.limits-voluntary`, `pdb.example-one-at-a-time`).
    BudgetAllowsOneMore,
    // What deletions have to do with budgets.
    /// A deletion is refused that would be refused as an eviction (`pdb.direct-delete-ignores`).
    DeletionAsksBudget,
    /// A deletion waits that would be refused as an eviction (`pdb.direct-delete-ignores`).
    DeletionAwaitsBudget,
    // How evicted pods go.
    /// An evicted pod has no grace period (`eviction.graceful`).
    EvictionWithoutGrace,
    /// An evicted pod has half of its grace period (`eviction.graceful`).
    EvictionHalvesGrace,
    /// The hooks of an evicted pod do not run (`eviction.graceful`).
    EvictionSkipsHooks,
    /// An evicted pod does not say why it goes (`disruptiontarget.eviction-api`).
    EvictionUnexplained,
    /// An evicted pod names another reason (`disruptiontarget.eviction-api`).
    EvictionMisexplained,
    /// An evicted pod says why it goes four seconds late (`disruptiontarget.eviction-api`).
    EvictionExplainedLate,
    /// A deleted pod says that it was evicted (`disruptiontarget.eviction-api`).
    DeletionExplainedAsEviction,
    // Pods that nobody touches.
    /// A pod that nobody touches is removed after a while (`disruption.pods-stay`).
    IdlePodsRemoved,
    /// A pod that nobody touches is restarted after a while (`disruption.pods-stay`).
    IdlePodsRestarted,
    /// An evicted pod loses the condition `DisruptionTarget` with its last status (`disruptiontarget.eviction-api`).
    TargetDroppedAtEnd,
    } };
}
