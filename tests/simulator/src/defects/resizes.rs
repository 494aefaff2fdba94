//! Defects of resizes in place. They follow the others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_resizes {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// A resize restarts main containers, whatever their policy says (`resize.without-restart`).
    ResizeRestarts,
    /// A resize restarts sidecars (`resize.without-restart`).
    ResizeRestartsSidecars,
    /// A new amount of memory restarts every container (`resize.without-restart`).
    ResizeOfMemoryRestarts,
    /// When a resize restarts a container, the others of its pod restart, too (`resize.without-restart`).
    ResizeRestartsAll,
    /// A resize restarts nothing, whatever the policy says (`resize.with-restart`).
    ResizePolicyIgnored,
    /// A resize restarts a container twice (`resize.with-restart`).
    ResizeRestartsTwice,
    /// The cgroup keeps its limit of the processor (`resize.enacted`).
    ResizeOfCpuUnenacted,
    /// The cgroup keeps its limit of the memory (`resize.enacted`).
    ResizeOfMemoryUnenacted,
    /// The cgroup keeps every limit that should fall (`resize.enacted`).
    ResizeOnlyRaises,
    /// The cgroups of sidecars keep their limits (`resize.enacted`).
    ResizeOfSidecarsUnenacted,
    /// A resize takes fourteen seconds (`resize.completed`, `resize.enacted`).
    ResizeLate,
    /// The condition of a resize never goes (`resize.completed`).
    ResizeNeverCompletes,
    /// The status keeps the resources from before a resize (`resize.completed`).
    ResizeUnshown,
    /// A resize beyond the node is not marked (`resize.infeasible`).
    TooLargeResizeUnsaid,
    /// A resize beyond the node is only deferred (`resize.infeasible`).
    TooLargeResizeDeferred,
    /// A resize beyond the node is enacted (`resize.infeasible`).
    TooLargeResizeEnacted,
    /// A resize may change the QoS class (`resize.class-kept`).
    ApiResizesClass,
    } };
}
