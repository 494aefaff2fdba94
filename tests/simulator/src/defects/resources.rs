//! The defects of classes, quotas and limits of resources. They follow the others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_resources {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Classes and sums.
    /// A Burstable container that requests little memory has the score of BestEffort (`qos.oom-score`).
    OomScoreUncapped,
    /// Guaranteed containers have no protection by their score (`qos.oom-score`).
    OomScoreOfGuaranteedHigh,
    /// One resource with limits is enough for Guaranteed (`qos.guaranteed`).
    ClassOfOneResource,
    /// Limits alone do not make a pod Guaranteed (`qos.guaranteed`).
    ClassNeedsRequests,
    /// Requests below the limits are good enough for Guaranteed (`qos.guaranteed`).
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
    /// A quota counts the first container only (`qos.pod-sums`).
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
    /// Only the first container of a pod has a memory limit, no sidecar and no other container
    /// (`qos.guaranteed-protection`).
    MemoryLimitOnlyOfFirst,
    /// A container is killed at a third of its memory limit (`qos.guaranteed-protection`).
    MemoryLimitOfAThird,
    /// A lack of memory kills all containers of a pod (`qos.limit-exceeded-kills-container-only`).
    MemoryKillTakesThePod,
    /// A container that was killed for its memory does not restart (`qos.limit-exceeded-kills-container-only`).
    MemoryKillIsFinal,
    /// A request is a limit (`qos.burstable-limit-default`).
    RequestsAreLimits,
    /// Containers use as much processor time as they want (`qos.guaranteed-protection`).
    ProcessorLimitIgnored,
    /// Containers use a tenth more processor time than their limit (`qos.guaranteed-protection`).
    ProcessorLimitExceeded,
    // A lack of memory.
    /// Nobody is evicted where memory is short (`qos.request-exceeded-candidate`).
    ShortageIgnored,
    /// Guaranteed pods are evicted first (`qos.eviction-order`, `qos.request-exceeded-candidate`).
    ShortageEvictsGuaranteedFirst,
    /// The pod that exceeds its request by the least is evicted first (`qos.eviction-order`).
    ShortageEvictsLeastFirst,
    /// The pod that uses the least is evicted first, whatever it requests (`qos.request-exceeded-candidate`).
    ShortageForgetsRequests,
    /// Only the first container of an evicted pod is stopped (`qos.request-exceeded-candidate`).
    ShortageEvictsOneContainer,
    /// A pod that was evicted by its kubelet does not say so (`disruptiontarget.kubelet`).
    ShortageUnexplained,
    /// A pod that was evicted by its kubelet names another reason (`disruptiontarget.kubelet`).
    ShortageMisexplained,
    /// A pod says that it was evicted while it still runs (`disruptiontarget.kubelet`).
    ShortageExplainedEarly,
    // Processors of their own.
    /// Whole processors are given to nobody (`qos.static-cpu`).
    ProcessorsNotGiven,
    /// A container gets one processor more than it requests (`qos.static-cpu`).
    ProcessorsOneTooMany,
    /// Containers that start later may use the processors of others (`qos.static-cpu`).
    ProcessorsSharedWithLater,
    /// Containers that were running already may still use the processors of others (`qos.static-cpu`).
    ProcessorsSharedWithEarlier,
    } };
}
