//! The defects of those who act on the whole cluster: the controller of taints, the scheduler that preempts, the collector
//! of pods on nodes that are out of service. They follow the others in the same list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_scope {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Taints.
    /// Taints with the effect NoExecute end no pods (`disruptiontarget.taint-manager`).
    TaintsIgnored,
    /// They end pods after 15 seconds (`disruptiontarget.taint-manager`).
    TaintsActLate,
    /// They end pods that tolerate them (`disruptiontarget.taint-manager`).
    TolerationsIgnored,
    /// They end pods at once that tolerate them for a while (`disruptiontarget.taint-manager`).
    TolerationSecondsIgnored,
    /// They end such pods after half of the time (`disruptiontarget.taint-manager`).
    TolerationSecondsHalved,
    /// A pod that goes because of a taint does not say why (`disruptiontarget.taint-manager`).
    TaintUnexplained,
    /// It names another reason (`disruptiontarget.taint-manager`).
    TaintMisexplained,
    // Preemption.
    /// Nobody is preempted for a pod with a higher priority (`disruptiontarget.preemption`, `qos.preemption-ignores`).
    NobodyPreempted,
    /// A pod that is preempted does not say why (`disruptiontarget.preemption`).
    PreemptionUnexplained,
    /// It names another reason (`disruptiontarget.preemption`).
    PreemptionMisexplained,
    /// It has one second to end (`disruptiontarget.preemption`).
    PreemptionWithoutGrace,
    /// Pods of the same priority are preempted (`qos.preemption-ignores`).
    EqualsPreempted,
    /// BestEffort pods are preempted first, whatever their priority is (`qos.preemption-ignores`).
    BestEffortPreemptedFirst,
    /// The pod with the highest of the lower priorities is preempted (`qos.preemption-ignores`).
    HighestPreemptedFirst,
    // Windows pods.
    /// A pod with HostProcess containers and others is accepted (`pod.windows-hostprocess`).
    ApiAcceptsMixedHostProcess,
    /// The first container is not looked at for that (`pod.windows-hostprocess`).
    ApiForgetsFirstHostProcess,
    /// A HostProcess pod without the network of the host is accepted (`pod.windows-hostprocess`).
    ApiAcceptsHostProcessWithoutHost,
    /// Every HostProcess pod is rejected (`pod.windows-hostprocess`).
    ApiRefusesHostProcess,
    // Nodes that are out of service.
    /// Pods that are being deleted stay on a node that is out of service (`podgc.out-of-service`).
    OutOfServiceIgnored,
    /// They are removed from a lost node without the taint, too (`podgc.out-of-service`).
    SweepsWithoutTaint,
    /// They are removed without the phase Failed (`podgc.out-of-service`).
    SweptWithoutFailing,
    } };
}
