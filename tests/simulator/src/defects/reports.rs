//! The defects of what a kubelet reports: its events, and the fields of a status that tell one pod, container and instance from
//! another. They follow the others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_reports {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Which host a status names.
    /// A pod has its own address as that of its host (`report.status.addresses`).
    HostAddressIsPods,
    /// Each pod has another address of its host (`report.status.addresses`).
    HostAddressOfNobody,
    /// A pod that uses the network of its node has an address of its own (`report.status.addresses`).
    HostNetworkUnshown,
    /// The generation of a status follows that of the pod only when a container changes (`report.status.observed-generation`).
    GenerationFollowsContainers,
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
    /// Events about images that cannot be pulled have the type Normal (`report.event.type`).
    PullFailuresAreNormal,
    /// The back-off of a pull is reported as a problem (`report.event.type`).
    PullBackOffIsWarning,
    /// Events about images that cannot be pulled name another node (`report.event.source`).
    PullFailuresOfAnotherNode,
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
    /// Each start of a container is reported twice (`report.event.started-each-time`, `pulled-each-time`).
    StartReportedTwice,
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
    /// A status has no startTime (`report.status.start-time`).
    StartTimeUnsaid,
    /// The startTime is the time of the request (`report.status.start-time`).
    StartTimeOfRequest,
    /// The conditions do not say which generation they are about (`report.status.observed-generation`).
    GenerationOfConditionsUnsaid,
    /// A condition keeps its generation as long as it keeps its status (`report.status.observed-generation`).
    GenerationOfConditionsStays,
    /// Main containers have no status until the pod is initialized (`container.state.three-states`).
    MainsUnshownAtFirst,
    /// A pod that is over has the reason of an eviction (`pod.phase.succeeded`, `pod.phase.failed`).
    ReasonLeftOver,
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
    // Images, ConfigMaps and Secrets that are missing.
    /// It is not reported that an image is on the node (`report.event.pulled-each-time`).
    PullUnreported,
    /// Only before the first start of a container it is reported that its image is on the node (`report.event.pulled-each-time`).
    PullReportedOnce,
    /// A container without an image is shown as if it was being created (`report.status.image-missing`).
    ImageLackShownAsCreating,
    /// Whatever is wrong with an image, its pull is shown as failed (`report.status.image-missing`).
    ImageLackShownAsPull,
    /// Nothing is reported about a container without an image but what was tried (`report.event.image-missing`).
    ImageLackUnreported,
    /// The wait for the next pull is not reported (`report.event.image-missing`).
    PullBackOffUnreported,
    /// A container starts without what its environment or its volume refers to (`report.status.settings-missing`,
    /// `settings-supplied`).
    SettingsIgnored,
    /// A container without its environment is shown as if it was being created (`report.status.settings-missing`).
    SettingsLackShownAsCreating,
    /// A container without its environment is shown as if its start had failed (`report.status.settings-missing`).
    SettingsLackShownAsRunError,
    /// A container without its volume is shown as if its creation had failed (`report.status.settings-missing`).
    VolumeLackShownAsError,
    /// It is not reported that a ConfigMap or a Secret does not exist (`report.event.settings-missing`).
    SettingsLackUnreported,
    /// The report about what does not exist names neither it nor what needs it (`report.event.settings-missing`).
    SettingsLackUnnamed,
    /// The kubelet tries only once to start a container with what it refers to (`report.status.settings-supplied`).
    SettingsNotTriedAgain,
    // Termination messages.
    /// No container has a termination message (`report.status.termination-message`, `termination-message-log`).
    MessageMissing,
    /// Only a container that fails has a termination message (`report.status.termination-message`).
    MessageOfFailuresOnly,
    /// The termination message is read from the usual file alone (`report.status.termination-message`).
    MessageOfUsualPath,
    /// Termination messages are not cut (`report.status.termination-message-limit`).
    MessageUncut,
    /// Termination messages are cut at half of the limit (`report.status.termination-message-limit`).
    MessageCutEarly,
    /// The messages of a pod have no common limit (`report.status.termination-message-limit`).
    MessagesOfPodUncut,
    /// The log of a container never stands in for its message (`report.status.termination-message-log`).
    LogNeverStandsIn,
    /// The log of a container also stands in for its message when it succeeded (`report.status.termination-message-log`).
    LogAfterSuccess,
    /// The log stands in for a message although the container wrote one (`report.status.termination-message`).
    LogReplacesMessage,
    /// The log stands in for a message with its beginning (`report.status.termination-message-log`).
    LogFromItsBeginning,
    /// More of a log than 2048 bytes stands in for a message (`report.status.termination-message-log`).
    LogUncut,
    /// Less of a long log than 2048 bytes stands in for a message (`report.status.termination-message-log`).
    LogCutEarly,
    // What a container was given.
    /// A status does not have the allocated resources (`report.status.allocated-resources`).
    AllocationUnsaid,
    /// A status has no other allocated resource than memory (`report.status.allocated-resources`).
    AllocationOfMemoryOnly,
    /// A status does not have the resources of a container (`report.status.resources`).
    ResourcesUnsaid,
    /// A status does not have the limits of a container (`report.status.resources`).
    ResourcesWithoutLimits,
    /// A status keeps the resources that a container had first (`report.status.resources`).
    ResourcesOfFirstStatus,
    /// A status does not list the mounted volumes (`report.status.volume-mounts`).
    MountsUnsaid,
    /// A volume that is mounted read-only is shown as writable (`report.status.volume-mounts`).
    MountsShownAsWritable,
    /// Each container is shown with the user root (`report.status.user`).
    UserShownAsRoot,
    /// A status does not have the groups that a pod asks for (`report.status.user`).
    GroupsUnsaid,
    /// The last container of each list has two statuses (`report.status.one-per-container`).
    StatusTwice,
    /// Each list has a status of a container that the pod does not have (`report.status.one-per-container`).
    StatusOfNoContainer,
    } };
}
