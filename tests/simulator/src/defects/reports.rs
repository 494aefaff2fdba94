//! The defects of what a kubelet reports: its events, and the fields of a status that tell one pod, container and instance from
//! another. They follow the others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_reports {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // What an event says of itself.
    /// An event has a UID that no pod has (`report.event.object`).
    EventOfAnotherPod,
    /// The reference of an event lacks the version of the API (`report.event.object`).
    EventWithoutApiVersion,
    /// An event does not name the component that recorded it (`report.event.source`).
    EventWithoutSource,
    /// An event names another node (`report.event.source`).
    EventOfAnotherNode,
    /// Every container has the path of a main container (`report.event.field-path`).
    EventPathOfMains,
    /// An event does not say which container it is about (`report.event.field-path`).
    EventWithoutPath,
    /// Every event has the type Normal (`report.event.type`).
    WarningsAreNormal,
    /// Every event has the type Warning (`report.event.type`).
    EverythingIsWarning,
    /// The count of an event that occurs again stays (`report.event.count`).
    EventCountStays,
    /// The first time of an event moves with each occurrence (`report.event.count`).
    EventFirstTimeMoves,
    // Which events there are.
    /// Failed probes are not reported (`report.event.unhealthy`).
    FailuresUnreported,
    /// Only the first of several equal failures is reported (`report.event.unhealthy`).
    FirstFailureReportedOnly,
    /// A failed readiness probe is reported as a failed liveness probe (`report.event.unhealthy-names-probe`).
    FailureOfAnotherKind,
    /// A kill by a probe is reported as any stop (`report.event.killing-cause`).
    KillUnexplained,
    /// A kill by a probe is not reported (`report.event.killing-cause`).
    KillUnreported,
    /// The stop of a deleted pod's container is put down to its liveness probe (`report.event.killing-cause`).
    DeletionBlamesProbe,
    /// The stops of a deleted pod's containers are not reported (`report.event.killing-cause`).
    DeletionUnreported,
    /// A container that exits is reported as stopped (`report.event.killing-only-stopped`).
    ExitReportedAsKill,
    /// Only the first start of a container is reported (`report.event.started-each-time`).
    StartReportedOnce,
    /// Creations are not reported (`report.event.started-each-time`, `created-before-started`).
    CreationUnreported,
    /// A container is reported as started before it is reported as created (`report.event.created-before-started`).
    StartedBeforeCreated,
    /// The wait for a back-off is not reported (`report.event.back-off`).
    BackOffUnreported,
    /// A container that starts for the first time is reported as waiting for its back-off (`report.event.back-off`).
    BackOffReportedAtStart,
    /// Failed hooks are not reported (`report.event.failed-hook`).
    FailedHookUnreported,
    /// Hooks that succeed are reported as failed (`report.event.failed-hook`).
    GoodHookReported,
    // Fields of a status.
    /// All instances of a container have one ID (`report.status.container-id`).
    ContainerIdStays,
    /// The last state has the ID of the running instance (`report.status.container-id`).
    LastStateHasCurrentId,
    /// The ID of a container does not name the runtime (`report.status.container-id`).
    ContainerIdBare,
    /// The ID of the image is not shown (`report.status.image`).
    ImageIdMissing,
    /// Each restart counts twice (`report.status.restart-count`).
    RestartsCountedTwice,
    /// Restarts are not counted (`report.status.restart-count`).
    RestartsUncounted,
    /// The list of a pod's addresses is that of its node (`report.status.addresses`).
    AddressesDisagree,
    /// A pod is shown with an address that is not its own (`report.status.addresses`).
    AddressOfAnotherPod,
    /// Each status update renews the start time of the pod (`report.status.start-time`).
    StartTimeMoves,
    /// A pod seems to have come to its kubelet ten seconds later (`report.status.start-time`).
    StartTimeLate,
    /// A status update turns the class of a pod into BestEffort (`report.status.qos-class`).
    ClassForgotten,
    /// A status is about a generation that is yet to come (`report.status.observed-generation`).
    GenerationAhead,
    /// A status does not say which generation it is about (`report.status.observed-generation`).
    GenerationUnsaid,
    } };
}
