//! Defects in what a kubelet keeps of earlier probes, instances and pods, and in what it says of probes. In the list, they
//! come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_kept {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Counters and events.
    /// A probe that ends in an error is counted as a failure (`prober.metrics.agree-with-witness`).
    ErrorsCountedAsFailures,
    /// The durations of probes are kept when their pod is gone (`prober.termination.remove-all`).
    DurationsOutliveTheirPod,
    /// Each attempt of a probe that ends in an error is reported (`report.event.unhealthy`).
    EachAttemptReported,
    /// Only the first line of a command's output is reported (`report.event.unhealthy-names-probe`).
    OutputFirstLineOnly,
    /// What a command printed first is reported each time (`report.event.unhealthy-names-probe`).
    FirstOutputRepeated,
    /// The failures of sidecars of a deleted pod are not reported (`report.event.unhealthy`).
    SidecarSilentInTermination,
    // Readiness.
    /// The readiness gates of a deleted pod count as True (`readinessgate.ready-needs-both`).
    GatesOpenInTermination,
    /// In a deleted pod, a main container without a readiness probe stays ready when it ends
    /// (`pod.condition.containersready`).
    EndedReadyInTermination,
    /// A restart of all containers keeps their readiness (`prober.worker.new-container-resets-result`).
    RestartOfAllKeepsReadiness,
    /// A new sandbox keeps the readiness of the containers (`prober.worker.new-container-resets-result`).
    NewSandboxKeepsReadiness,
    /// A restart for a resize keeps the readiness of the container (`prober.worker.new-container-resets-result`).
    RestartForResizeKeepsReadiness,
    /// After a restart, the readiness probe waits a full period after startup
    /// (`probe.startup.readiness-follows-immediately`).
    RestartLosesReadinessTrigger,
    // Critical pods.
    /// A critical pod for which there is no room is rejected (`disruptiontarget.critical-pod`).
    CriticalPodsRejected,
    /// To make room for a critical pod, pods are ended that hold nothing that it needs (`disruptiontarget.critical-pod`).
    RoomMadeByOthers,
    /// A pod that was ended for a critical pod has no condition that shows this (`disruptiontarget.critical-pod`).
    CriticalUnexplained,
    /// The condition of a pod that was ended for a critical pod has another reason (`disruptiontarget.critical-pod`).
    CriticalMisexplained,
    /// A pod has the condition of a pod that was ended for a critical one while it still runs
    /// (`disruptiontarget.critical-pod`).
    CriticalExplainedEarly,
    } };
}
