//! Defects in what is shown of resizes, shares and ends, and in how much memory a container may use. In the list, they come
//! after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_pending {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// Each status gives the condition of a resize a new time (`pod.condition.transition-time`).
    ResizeConditionsRedated,
    /// A pod keeps its first allocatedResources when a container is resized (`resize.completed`).
    PodAllocationStays,
    /// The resources of a deferred resize are shown as allocated (`resize.deferred`).
    DeferredShownAsAllocated,
    /// No condition says that a resize is in progress (`resize.completed`).
    ResizeUnannounced,
    /// A resize that is withdrawn stays pending (`resize.completed`).
    WithdrawnResizeStaysPending,
    /// A container that waits for its back-off has no allocated resources (`report.status.allocated-resources`).
    AllocationLostInBackOff,
    /// A pod is held to the memory limits of those containers that have one (`qos.burstable-limit-default`).
    PodHeldToSomeLimits,
    /// The request of a container does not protect it (`qos.oom-score`).
    OomScoreIgnoresRequest,
    /// The status of a pod that is rejected or exceeds its deadline has no message (`pod.phase.rejected-for-resources`,
    /// `init.activedeadline-kills-running`).
    EndWithoutMessage,
    /// The message of an eviction names another volume (`pod.lifecycle.node-pressure-not-survived`).
    EvictionNamesAnotherVolume,
    /// The condition of an evicted pod has no time (`pod.condition.fields`).
    EvictionUndated,
    } };
}
