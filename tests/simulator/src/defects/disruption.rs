//! The defects of evictions and of disruption budgets. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_disruption {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The API server's answers to evictions.
    /// No eviction is ever refused (`pdb.limits-voluntary`, `pdb.involuntary-counts`).
    EvictionIgnoresBudgets,
    /// An eviction is not counted until the controller updates the budget (`pdb.limits-voluntary`, `example-one-at-a-time`).
    EvictionsNotCounted,
    /// A budget refuses every eviction (`pdb.limits-voluntary`, `pdb.example-one-at-a-time`).
    BudgetsRefuseAll,
    /// An eviction that a budget forbids is refused with a conflict (`pdb.limits-voluntary`).
    RefusalIsConflict,
    /// A refusal does not name the budget as its cause (`pdb.limits-voluntary`).
    RefusalWithoutCause,
    /// A budget counts for all pods of the namespace (`pdb.selector`).
    BudgetSelectsAll,
    /// If a pod has several budgets, only the first one counts (`pdb.selector`).
    FirstBudgetDecides,
    /// The eviction of a pod with several budgets is refused with a status that allows a retry (`pdb.selector`).
    SeveralBudgetsMayRetry,
    /// A pod that is not ready is evicted only if the budget allows a disruption (`unhealthy-default`, `-alwaysallow`).
    UnhealthyNeedBudget,
    /// A pod that is not ready can always be evicted (`pdb.unhealthy-default`).
    UnhealthyAlwaysEvicted,
    /// The eviction of a pod that is not ready uses up the budget (`pdb.unhealthy-default`).
    UnhealthyUseBudget,
    /// `AlwaysAllow` is ignored (`pdb.unhealthy-alwaysallow`).
    AlwaysAllowIgnored,
    /// `AlwaysAllow` also allows the eviction of ready pods (`pdb.unhealthy-alwaysallow`).
    AlwaysAllowForHealthy,
    /// The budget applies to the eviction of a pending pod (`eviction.pending-terminal-bypass`).
    PendingAskBudget,
    /// The budget applies to the eviction of a pod that has ended (`eviction.pending-terminal-bypass`).
    FinishedAskBudget,
    /// The budget applies to the eviction of a terminating pod (`eviction.pending-terminal-bypass`).
    TerminatingAskBudget,
    // What a budget's controller counts.
    /// Pods that are not ready count as healthy (`pdb.involuntary-counts`, `pdb.unhealthy-default`).
    UnreadyCountAsHealthy,
    /// The counts of a budget are updated only after 20 seconds (`pdb.involuntary-counts`).
    BudgetsCountedLate,
    /// The counts of a budget are never updated once a pod was evicted (`pdb.limits-voluntary`).
    BudgetsNeverRecover,
    /// A budget allows one disruption more than it should (`pdb.limits-voluntary`, `pdb.example-one-at-a-time`).
    BudgetAllowsOneMore,
    // Deletions and budgets.
    /// A deletion is refused if an eviction would be refused (`pdb.direct-delete-ignores`).
    DeletionAsksBudget,
    /// A deletion is delayed while an eviction would be refused (`pdb.direct-delete-ignores`).
    DeletionAwaitsBudget,
    // How evicted pods terminate.
    /// An evicted pod has no grace period (`eviction.graceful`).
    EvictionWithoutGrace,
    /// An evicted pod has half of its grace period (`eviction.graceful`).
    EvictionHalvesGrace,
    /// The hooks of an evicted pod do not run (`eviction.graceful`).
    EvictionSkipsHooks,
    /// An evicted pod has no condition that shows why it terminates (`disruptiontarget.eviction-api`).
    EvictionUnexplained,
    /// The condition of an evicted pod has another reason (`disruptiontarget.eviction-api`).
    EvictionMisexplained,
    /// The condition of an evicted pod comes four seconds late (`disruptiontarget.eviction-api`).
    EvictionExplainedLate,
    /// A deleted pod has the condition of an evicted one (`disruptiontarget.eviction-api`).
    DeletionExplainedAsEviction,
    // Pods that nobody disturbs.
    /// A pod that nobody disturbs is removed after a while (`disruption.pods-stay`).
    IdlePodsRemoved,
    /// A pod that nobody disturbs is restarted after a while (`disruption.pods-stay`).
    IdlePodsRestarted,
    /// An evicted pod loses the condition `DisruptionTarget` with its last status (`disruptiontarget.eviction-api`).
    TargetDroppedAtEnd,
    } };
}
