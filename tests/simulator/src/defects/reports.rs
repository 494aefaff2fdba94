//! The defects of what a kubelet reports: its events, and the fields of a status that distinguish pods, containers and
//! instances. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_reports {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The host in a status.
    /// The address of a pod's host is the pod's own address (`report.status.addresses`).
    HostAddressIsPods,
    /// Each pod shows a different address for its host (`report.status.addresses`).
    HostAddressOfNobody,
    /// A pod that uses the network of its node is shown with its own address (`report.status.addresses`).
    HostNetworkUnshown,
    /// The generation of a status follows that of the pod only when a container changes (`report.status.observed-generation`).
    GenerationFollowsContainers,
    // The metadata of events.
    /// An event has a UID that no pod has (`report.event.object`).
    EventOfAnotherPod,
    /// The reference of an event lacks the API version (`report.event.object`).
    EventWithoutApiVersion,
    /// An event does not name the component that recorded it (`report.event.source`).
    EventWithoutSource,
    /// An event names another node (`report.event.source`).
    EventOfAnotherNode,
    /// In events, every container has the path of a main container (`report.event.field-path`).
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
    /// The count of an event that occurs again does not grow (`report.event.count`).
    EventCountStays,
    /// The first time of an event changes with each occurrence (`report.event.count`).
    EventFirstTimeMoves,
    // Which events there are.
    /// Failed probes are not reported (`report.event.unhealthy`).
    FailuresUnreported,
    /// Only the first of several equal failures is reported (`report.event.unhealthy`).
    FirstFailureReportedOnly,
    /// A failed readiness probe is reported as a failed liveness probe (`report.event.unhealthy-names-probe`).
    FailureOfAnotherKind,
    /// A kill because of a probe is reported without its cause (`report.event.killing-cause`).
    KillUnexplained,
    /// A kill because of a probe is not reported (`report.event.killing-cause`).
    KillUnreported,
    /// The stop of a deleted pod's container is reported as caused by its liveness probe (`report.event.killing-cause`).
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
    /// A container that restarts without a delay is reported as waiting for its back-off (`report.event.back-off`).
    BackOffReportedAtRestart,
    /// Failed hooks are not reported (`report.event.failed-hook`).
    FailedHookUnreported,
    /// Hooks that succeed are reported as failed (`report.event.failed-hook`).
    GoodHookReported,
    // Fields of a status.
    /// A status has no startTime (`report.status.start-time`).
    StartTimeUnsaid,
    /// The startTime is the time of the request (`report.status.start-time`).
    StartTimeOfRequest,
    /// The conditions do not have an observedGeneration (`report.status.observed-generation`).
    GenerationOfConditionsUnsaid,
    /// A condition keeps its observedGeneration as long as it keeps its status (`report.status.observed-generation`).
    GenerationOfConditionsStays,
    /// Only the condition of the scheduler keeps its observedGeneration (`report.status.observed-generation`).
    GenerationOfScheduledStays,
    /// Main containers have no status until the pod is initialized (`container.state.three-states`).
    MainsUnshownAtFirst,
    /// A pod that has ended has the reason of an eviction (`pod.phase.succeeded`, `pod.phase.failed`).
    ReasonLeftOver,
    /// All instances of a container have the same ID (`report.status.container-id`).
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
    /// The list of a pod's addresses contains those of its node (`report.status.addresses`).
    AddressesDisagree,
    /// A pod is shown with an address that is not its own (`report.status.addresses`).
    AddressOfAnotherPod,
    /// Each status update renews the start time of the pod (`report.status.start-time`).
    StartTimeMoves,
    /// The start time of a pod is ten seconds late (`report.status.start-time`).
    StartTimeLate,
    /// A status update turns the class of a pod into BestEffort (`report.status.qos-class`).
    ClassForgotten,
    /// The observedGeneration of a status is in the future (`report.status.observed-generation`).
    GenerationAhead,
    /// A status does not have an observedGeneration (`report.status.observed-generation`).
    GenerationUnsaid,
    // Images, ConfigMaps and Secrets that are missing.
    /// Images that are on the node are not reported (`report.event.pulled-each-time`).
    PullUnreported,
    /// An image that is on the node is reported only before the first start of its container (`report.event.pulled-each-time`).
    PullReportedOnce,
    /// A container without an image is shown as if it were being created (`report.status.image-missing`).
    ImageLackShownAsCreating,
    /// Every problem with an image is shown as a failed pull (`report.status.image-missing`).
    ImageLackShownAsPull,
    /// Only the attempts are reported for a container without an image, and no failure (`report.event.image-missing`).
    ImageLackUnreported,
    /// The wait for the next pull is not reported (`report.event.image-missing`).
    PullBackOffUnreported,
    /// A failed pull is retried with each sync of the pod (`report.event.pull-back-off`).
    PullsWithEachSync,
    /// The delay between two pulls does not grow (`report.event.pull-back-off`).
    PullBackOffFlat,
    /// A failed pull is not retried (`report.event.pull-back-off`).
    PullTriedOnce,
    /// The pull for an init container is not retried after the second attempt (`report.event.pull-back-off`).
    InitPullTriedTwice,
    /// A container starts without the objects that its environment or its volume refers to
    /// (`report.status.settings-missing`, `settings-supplied`).
    SettingsIgnored,
    /// A container without its environment is shown as if it were being created (`report.status.settings-missing`).
    SettingsLackShownAsCreating,
    /// A container without its environment is shown as if its start had failed (`report.status.settings-missing`).
    SettingsLackShownAsRunError,
    /// A container without its volume is shown as if its creation had failed (`report.status.settings-missing`).
    VolumeLackShownAsError,
    /// A missing ConfigMap or Secret is not reported (`report.event.settings-missing`).
    SettingsLackUnreported,
    /// The event about a missing object names neither the object nor what needs it (`report.event.settings-missing`).
    SettingsLackUnnamed,
    /// The kubelet tries only once to start a container that refers to a missing object (`report.status.settings-supplied`).
    SettingsNotTriedAgain,
    // Termination messages.
    /// No container has a termination message (`report.status.termination-message`, `termination-message-log`).
    MessageMissing,
    /// Only a container that fails has a termination message (`report.status.termination-message`).
    MessageOfFailuresOnly,
    /// The termination message is read only from the default file (`report.status.termination-message`).
    MessageOfUsualPath,
    /// Termination messages are not truncated (`report.status.termination-message-limit`).
    MessageUncut,
    /// Termination messages are truncated at half of the limit (`report.status.termination-message-limit`).
    MessageCutEarly,
    /// The messages of a pod have no common limit (`report.status.termination-message-limit`).
    MessagesOfPodUncut,
    /// The log of a container is never used in place of its message (`report.status.termination-message-log`).
    LogNeverStandsIn,
    /// The log of a container is used in place of its message even after a success (`report.status.termination-message-log`).
    LogAfterSuccess,
    /// The log is used in place of a message although the container wrote one (`report.status.termination-message`).
    LogReplacesMessage,
    /// The beginning of the log is used in place of a message (`report.status.termination-message-log`).
    LogFromItsBeginning,
    /// More than 2048 bytes of a log are used in place of a message (`report.status.termination-message-log`).
    LogUncut,
    /// Less than 2048 bytes of a long log are used in place of a message (`report.status.termination-message-log`).
    LogCutEarly,
    // What a container got.
    /// A status does not have the allocated resources (`report.status.allocated-resources`).
    AllocationUnsaid,
    /// A status has no allocated resource other than memory (`report.status.allocated-resources`).
    AllocationOfMemoryOnly,
    /// The allocated resources of a pod do not include its sidecars (`report.status.pod-allocated-resources`).
    PodAllocationWithoutSidecars,
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
    /// Every read-only mount is shown as recursively read-only (`report.status.volume-mounts`).
    MountsShownAsRecursive,
    /// Each container is shown with the user root (`report.status.user`).
    UserShownAsRoot,
    /// A status does not have the groups that a pod requests (`report.status.user`).
    GroupsUnsaid,
    /// The last container of each list has two statuses (`report.status.one-per-container`).
    StatusTwice,
    /// Each list has a status of a container that the pod does not have (`report.status.one-per-container`).
    StatusOfNoContainer,
    } };
}
