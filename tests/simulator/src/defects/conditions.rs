//! The defects of pod conditions, of readiness gates, and of the pod garbage collector. In the list, they come after
//! all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_conditions {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The content of conditions.
    /// `PodScheduled` is not among the conditions (`pod.condition.set-of-five`, `podscheduled`).
    ScheduledLeftOut,
    /// `PodReadyToStartContainers` is not among the conditions (`ptsc.present`, `pod.condition.set-of-five`).
    ReadyToStartUnsaid,
    /// The reason of a condition is a sentence (`pod.condition.fields`).
    ConditionReasonIsSentence,
    /// A condition that turns True keeps its reason (`pod.condition.fields`).
    ReasonOutlivesStatus,
    /// A condition has no transition time (`pod.condition.fields`).
    ConditionWithoutTime,
    /// Each status update renews the transition times (`pod.condition.transition-time`).
    TransitionTimeOfEachWrite,
    /// The transition time always stays that of the first status (`pod.condition.transition-time`).
    TransitionTimeOfFirst,
    /// A pod without a node counts as scheduled (`pod.condition.podscheduled`).
    ScheduledBeforeBinding,
    /// The status does not show that a pod cannot be scheduled (`pod.condition.podscheduled`).
    UnscheduledUnsaid,
    /// The status does not name the containers that are not ready (`pod.condition.containersready`).
    UnreadyNotNamed,
    /// The status does not show why a pod is not initialized (`pod.condition.initialized`).
    UninitializedWithoutReason,
    /// The status does not name the containers that are not initialized (`pod.condition.initialized`).
    UninitializedNotNamed,
    /// The status does not name the gate that keeps a pod from being ready (`readinessgate.containersready-shown`).
    GateNotNamed,
    /// A pod's condition gives a reason other than that of its containers (`pod.condition.containersready`).
    ReadyHasAnotherReason,
    /// A pod that has ended stays ready (`pod.condition.terminal-not-ready`).
    TerminalStaysReady,
    /// The status does not show that a pod is not ready because it has ended (`pod.condition.terminal-not-ready`).
    TerminalWithoutReason,
    /// A status update drops the conditions of others (`pod.condition.custom-preserved`).
    CustomConditionsDropped,
    // Readiness gates.
    /// A gate whose condition is missing counts as True (`readinessgate.missing-is-false`).
    MissingGateIsTrue,
    /// A gate whose condition is Unknown counts as True (`readinessgate.ready-needs-both`).
    UnknownGateIsTrue,
    /// One of several gates is enough (`readinessgate.ready-needs-both`).
    OneGateIsEnough,
    /// Gates have no effect (`readinessgate.ready-needs-both`).
    GatesIgnored,
    /// The kubelet notices changes of gates only when something else changes (`readinessgate.ready-needs-both`).
    GateChangeUnnoticed,
    /// Containers are not ready while a gate is not True (`readinessgate.containersready-shown`).
    GatesCountForContainers,
    /// An endpoint is ready although a gate is not True (`pod.condition.ready`).
    SliceIgnoresGates,
    /// Any word is accepted as a gate (`readinessgate.name-format`).
    ApiAcceptsAnyGate,
    /// Gates without a prefix are rejected (`readinessgate.name-format`).
    ApiRefusesPlainGate,
    /// A patch of the pod itself sets its status (`readinessgate.set-by-patch`).
    ApiPatchSetsStatus,
    /// A patch of the status changes nothing (`readinessgate.set-by-patch`).
    ApiStatusPatchIgnored,
    // The network of a pod.
    /// A pod is ready to start containers as soon as it is bound (`ptsc.false-before-sandbox`).
    ReadyToStartWhenBound,
    /// A pod is ready to start containers only when a container has started (`ptsc.true-after-sandbox`).
    ReadyToStartAfterStart,
    /// A pod is still ready to start containers after it has ended (`ptsc.false-after-sandbox-loss`).
    ReadyToStartForEver,
    /// Without init containers, Initialized waits for the sandbox (`ptsc.initialized-order-no-init`).
    InitializedAfterSandbox,
    // The pod garbage collector.
    /// A failed pod is removed soon (`podgc.failed-pods-kept`).
    FailedPodsRemoved,
    /// Pods on nodes that do not exist stay (`podgc.orphaned`).
    OrphansKept,
    /// Pods on nodes that do not exist are removed without the condition `DisruptionTarget` (`podgc.orphaned-condition`).
    OrphansUnexplained,
    /// Pods on nodes that do not exist are removed without becoming Failed (`podgc.orphaned-condition`).
    OrphansStayPending,
    /// A pod that is being deleted and never had a node stays as it is (`podgc.unscheduled-terminating`).
    UnscheduledTerminatingKept,
    } };
}
