//! The defects of components that act on the whole cluster: the taint controller, the scheduler that preempts pods, and
//! the garbage collector of pods on nodes that are out of service. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_scope {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Taints.
    /// NoExecute taints evict no pods (`disruptiontarget.taint-manager`).
    TaintsIgnored,
    /// NoExecute taints evict pods only after 15 seconds (`disruptiontarget.taint-manager`).
    TaintsActLate,
    /// NoExecute taints evict pods that tolerate them (`disruptiontarget.taint-manager`).
    TolerationsIgnored,
    /// NoExecute taints evict pods that tolerate them for a limited time at once (`disruptiontarget.taint-manager`).
    TolerationSecondsIgnored,
    /// NoExecute taints evict pods after half of their tolerationSeconds (`disruptiontarget.taint-manager`).
    TolerationSecondsHalved,
    /// A pod that a taint evicts has no condition that shows the reason (`disruptiontarget.taint-manager`).
    TaintUnexplained,
    /// The condition of a pod that a taint evicts has another reason (`disruptiontarget.taint-manager`).
    TaintMisexplained,
    // Preemption.
    /// No pod is preempted for a pod with a higher priority (`disruptiontarget.preemption`, `qos.preemption-ignores`).
    NobodyPreempted,
    /// A preempted pod has no condition that shows the reason (`disruptiontarget.preemption`).
    PreemptionUnexplained,
    /// The condition of a preempted pod has another reason (`disruptiontarget.preemption`).
    PreemptionMisexplained,
    /// A preempted pod has one second to end (`disruptiontarget.preemption`).
    PreemptionWithoutGrace,
    /// Pods with the same priority are preempted (`qos.preemption-ignores`).
    EqualsPreempted,
    /// BestEffort pods are preempted first, whatever their priority (`qos.preemption-ignores`).
    BestEffortPreemptedFirst,
    /// The pod with the highest of the lower priorities is preempted (`qos.preemption-ignores`).
    HighestPreemptedFirst,
    // Windows pods.
    /// A pod with HostProcess containers and others is accepted (`pod.windows-hostprocess`).
    ApiAcceptsMixedHostProcess,
    /// A pod whose first container alone is not a HostProcess container is accepted (`pod.windows-hostprocess`).
    ApiForgetsFirstHostProcess,
    /// A HostProcess pod without the network of the host is accepted (`pod.windows-hostprocess`).
    ApiAcceptsHostProcessWithoutHost,
    /// Every HostProcess pod is rejected (`pod.windows-hostprocess`).
    ApiRefusesHostProcess,
    // Nodes that are out of service.
    /// Pods that are being deleted stay on a node that is out of service (`podgc.out-of-service`).
    OutOfServiceIgnored,
    /// Pods that are being deleted are removed from a lost node even without the taint (`podgc.out-of-service`).
    SweepsWithoutTaint,
    /// Pods on a node that is out of service are removed without becoming Failed (`podgc.out-of-service`).
    SweptWithoutFailing,
    } };
}
