//! The defects of QoS classes, quotas and resource limits. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_resources {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Classes and sums.
    /// A Burstable container that requests little memory has the score of BestEffort (`qos.oom-score`).
    OomScoreUncapped,
    /// Guaranteed containers are not protected by their score (`qos.oom-score`).
    OomScoreOfGuaranteedHigh,
    /// The score follows from the memory limit, and not from the request (`qos.oom-score`).
    OomScoreOfLimit,
    /// One resource with limits is enough for Guaranteed (`qos.guaranteed`).
    ClassOfOneResource,
    /// Limits alone do not make a pod Guaranteed (`qos.guaranteed`).
    ClassNeedsRequests,
    /// Requests below the limits are enough for Guaranteed (`qos.guaranteed`).
    ClassIgnoresRequests,
    /// Limits do not make a pod Burstable (`qos.burstable`).
    ClassIgnoresLimits,
    /// Only memory counts for the class (`qos.burstable`, `qos.guaranteed`).
    ClassOfMemory,
    /// Any resource makes a pod Burstable (`qos.besteffort`).
    ClassOfAnyResource,
    /// Requests of zero make a pod Burstable (`qos.besteffort`).
    ClassCountsZero,
    /// A pod loses its class when it runs (`qos.three-classes`).
    ClassLost,
    /// A quota counts only the first container (`qos.pod-sums`).
    QuotaCountsFirst,
    /// A quota does not count memory (`qos.pod-sums`).
    QuotaIgnoresMemory,
    /// A quota does not count limits (`qos.pod-sums`).
    QuotaIgnoresLimits,
    /// A quota is exceeded when it is used up (`qos.pod-sums`).
    QuotaRefusesTheLast,
    // Limits.
    /// Containers take as much memory as they want (`qos.limit-exceeded-kills-container-only`, `qos.guaranteed-protection`).
    MemoryLimitIgnored,
    /// Only the first main container of a pod has a memory limit (`qos.guaranteed-protection`).
    MemoryLimitOnlyOfFirst,
    /// A container is killed at a third of its memory limit (`qos.guaranteed-protection`).
    MemoryLimitOfAThird,
    /// An OOM kill ends all containers of a pod (`qos.limit-exceeded-kills-container-only`).
    MemoryKillTakesThePod,
    /// A container does not restart after an OOM kill (`qos.limit-exceeded-kills-container-only`).
    MemoryKillIsFinal,
    /// A request acts as a limit (`qos.burstable-limit-default`).
    RequestsAreLimits,
    /// Containers use as much CPU time as they want (`qos.guaranteed-protection`).
    ProcessorLimitIgnored,
    /// Containers use a tenth more CPU time than their limit (`qos.guaranteed-protection`).
    ProcessorLimitExceeded,
    // A lack of memory.
    /// No pod is evicted when memory is short (`qos.request-exceeded-candidate`).
    ShortageIgnored,
    /// Guaranteed pods are evicted first (`qos.eviction-order`, `qos.request-exceeded-candidate`).
    ShortageEvictsGuaranteedFirst,
    /// The pod that exceeds its request by the least is evicted first (`qos.eviction-order`).
    ShortageEvictsLeastFirst,
    /// Pods are evicted in the order of their usage, whatever their priorities are (`qos.eviction-priority`).
    ShortageIgnoresPriority,
    /// The pod that uses the least is evicted first, whatever it requests (`qos.request-exceeded-candidate`).
    ShortageForgetsRequests,
    /// Only the first container of an evicted pod is stopped (`qos.request-exceeded-candidate`).
    ShortageEvictsOneContainer,
    /// A pod that was evicted by its kubelet has no condition that shows this (`disruptiontarget.kubelet`).
    ShortageUnexplained,
    /// The condition of a pod that was evicted by its kubelet has another reason (`disruptiontarget.kubelet`).
    ShortageMisexplained,
    /// A pod has the condition of an evicted pod while it still runs (`disruptiontarget.kubelet`).
    ShortageExplainedEarly,
    // Exclusive CPUs.
    /// No container gets exclusive CPUs (`qos.static-cpu`).
    ProcessorsNotGiven,
    /// A container gets one more exclusive CPU than it requests (`qos.static-cpu`).
    ProcessorsOneTooMany,
    /// Containers that start later may use the exclusive CPUs of others (`qos.static-cpu`).
    ProcessorsSharedWithLater,
    /// Containers that were already running may still use the exclusive CPUs of others (`qos.static-cpu`).
    ProcessorsSharedWithEarlier,
    } };
}
