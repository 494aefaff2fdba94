//! The defects of the conditions of pods, of readiness gates, and of what collects pods. They follow the others in the one
//! list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_conditions {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // What is said of conditions.
    /// `PodScheduled` is not among the conditions (`pod.condition.set-of-five`, `podscheduled`).
    ScheduledLeftOut,
    /// `PodReadyToStartContainers` is not among the conditions (`ptsc.present`, `pod.condition.set-of-five`).
    ReadyToStartUnsaid,
    /// The reason of a condition is a sentence (`pod.condition.fields`).
    ConditionReasonIsSentence,
    /// A condition that turns True keeps its reason (`pod.condition.fields`).
    ReasonOutlivesStatus,
    /// A condition does not say since when it holds (`pod.condition.fields`).
    ConditionWithoutTime,
    /// Each status update renews the transition times (`pod.condition.transition-time`).
    TransitionTimeOfEachWrite,
    /// The transition time is that of the first status for ever (`pod.condition.transition-time`).
    TransitionTimeOfFirst,
    /// A pod without a node counts as scheduled (`pod.condition.podscheduled`).
    ScheduledBeforeBinding,
    /// Nothing is said of a pod that cannot be scheduled (`pod.condition.podscheduled`).
    UnscheduledUnsaid,
    /// Nobody says which containers are not ready (`pod.condition.containersready`).
    UnreadyNotNamed,
    /// Nobody says why a pod is not initialized (`pod.condition.initialized`).
    UninitializedWithoutReason,
    /// Nobody says which containers are not initialized (`pod.condition.initialized`).
    UninitializedNotNamed,
    /// Nobody says which gate keeps a pod from being ready (`readinessgate.containersready-shown`).
    GateNotNamed,
    /// A pod is unready for another reason than its containers (`pod.condition.containersready`).
    ReadyHasAnotherReason,
    /// A pod that is over stays ready (`pod.condition.terminal-not-ready`).
    TerminalStaysReady,
    /// Nobody says that a pod is not ready because it is over (`pod.condition.terminal-not-ready`).
    TerminalWithoutReason,
    /// A status update drops the conditions of others (`pod.condition.custom-preserved`).
    CustomConditionsDropped,
    // Readiness gates.
    /// A gate whose condition is missing is open (`readinessgate.missing-is-false`).
    MissingGateIsTrue,
    /// A gate whose condition is Unknown is open (`readinessgate.ready-needs-both`).
    UnknownGateIsTrue,
    /// One of several gates is enough (`readinessgate.ready-needs-both`).
    OneGateIsEnough,
    /// Gates have no effect (`readinessgate.ready-needs-both`).
    GatesIgnored,
    /// The kubelet looks at gates only when something else changes (`readinessgate.ready-needs-both`).
    GateChangeUnnoticed,
    /// Containers are not ready while a gate is shut (`readinessgate.containersready-shown`).
    GatesCountForContainers,
    /// An endpoint is ready although a gate is shut (`pod.condition.ready`).
    SliceIgnoresGates,
    /// Any word is a gate (`readinessgate.name-format`).
    ApiAcceptsAnyGate,
    /// A gate may have no prefix and no capitals (`readinessgate.name-format`).
    ApiRefusesPlainGate,
    /// A patch of the pod itself sets its status (`readinessgate.set-by-patch`).
    ApiPatchSetsStatus,
    /// A patch of the status changes nothing (`readinessgate.set-by-patch`).
    ApiStatusPatchIgnored,
    // The network of a pod.
    /// A pod is ready to start containers as soon as it is bound (`ptsc.false-before-sandbox`).
    ReadyToStartWhenBound,
    /// It is so only when a container has started (`ptsc.true-after-sandbox`).
    ReadyToStartAfterStart,
    /// It is so still when the pod is over (`ptsc.false-after-sandbox-loss`).
    ReadyToStartForEver,
    /// Without init containers, Initialized waits for the sandbox (`ptsc.initialized-order-no-init`).
    InitializedAfterSandbox,
    // The collector of pods.
    /// A pod that failed is removed soon (`podgc.failed-pods-kept`).
    FailedPodsRemoved,
    /// Pods on nodes that do not exist stay (`podgc.orphaned`).
    OrphansKept,
    /// They are removed without the condition `DisruptionTarget` (`podgc.orphaned-condition`).
    OrphansUnexplained,
    /// They are removed without having failed (`podgc.orphaned-condition`).
    OrphansStayPending,
    /// A pod that is being deleted and never had a node stays as it is (`podgc.unscheduled-terminating`).
    UnscheduledTerminatingKept,
    } };
}
