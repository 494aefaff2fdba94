//! Defects of resizes in place. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_resizes {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// A resize restarts main containers, whatever their policy (`resize.without-restart`).
    ResizeRestarts,
    /// A resize restarts sidecars (`resize.without-restart`).
    ResizeRestartsSidecars,
    /// A new amount of memory restarts every container (`resize.without-restart`).
    ResizeOfMemoryRestarts,
    /// When a resize restarts a container, the others of its pod also restart (`resize.without-restart`).
    ResizeRestartsAll,
    /// A resize restarts nothing, whatever the policy (`resize.with-restart`).
    ResizePolicyIgnored,
    /// A resize restarts a container twice (`resize.with-restart`).
    ResizeRestartsTwice,
    /// The cgroup keeps its CPU limit (`resize.enacted`).
    ResizeOfCpuUnenacted,
    /// The cgroup keeps its memory limit (`resize.enacted`).
    ResizeOfMemoryUnenacted,
    /// The cgroup keeps every limit that should decrease (`resize.enacted`).
    ResizeOnlyRaises,
    /// The cgroups of sidecars keep their limits (`resize.enacted`).
    ResizeOfSidecarsUnenacted,
    /// A resize takes fourteen seconds (`resize.completed`, `resize.enacted`).
    ResizeLate,
    /// The condition of a resize is never removed (`resize.completed`).
    ResizeNeverCompletes,
    /// The status keeps the resources from before a resize (`resize.completed`).
    ResizeUnshown,
    /// The conditions of a resize do not have an observedGeneration (`report.status.observed-generation`,
    /// `resize.infeasible`).
    GenerationOfResizesUnsaid,
    /// A resize that exceeds the node is not marked as infeasible (`resize.infeasible`).
    TooLargeResizeUnsaid,
    /// A resize that exceeds the node is only deferred (`resize.infeasible`).
    TooLargeResizeDeferred,
    /// A resize that exceeds the node is enacted (`resize.infeasible`).
    TooLargeResizeEnacted,
    /// A resize may change the QoS class (`resize.class-kept`).
    ApiResizesClass,
    /// The cgroup keeps a memory limit that should decrease (`resize.enacted`).
    MemoryOnlyRaises,
    /// A deferred resize is never tried again (`resize.deferred`).
    DeferredResizeForgotten,
    /// The cgroup of a pod keeps its limits when a container is resized (`init.resources.cgroup`).
    PodCgroupNotResized,
    /// A pod that is bound to a node without enough memory runs (`pod.phase.rejected-for-resources`).
    BoundBeyondMemoryRuns,
    /// The status of a pod that its kubelet rejected for lack of a resource has no reason
    /// (`pod.phase.rejected-for-resources`).
    RejectionWithoutReason,
    } };
}
