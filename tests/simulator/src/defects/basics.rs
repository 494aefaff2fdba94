//! The defects of pods as such: what an API server lets clients change of them, what their containers share, and what they
//! are told about themselves. They follow the others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_basics {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Updates of pods.
    /// A pod has the generation that a client asks for (`pod.update.generation`).
    GenerationFromRequest,
    /// The generation of a pod stays when its spec changes (`pod.update.generation`).
    GenerationStays,
    /// The generation of a pod grows by 2 (`pod.update.generation`).
    GenerationJumps,
    /// The generation of a pod also grows with its labels (`pod.update.generation`).
    GenerationCountsLabels,
    /// The generation of a pod also grows with its status (`pod.update.generation`).
    GenerationCountsStatus,
    /// An existing pod gets any environment (`pod.update.allowed-fields`).
    ApiPatchesContainers,
    /// An existing pod gets any restart policy, grace period and node selector (`pod.update.allowed-fields`).
    ApiPatchesSpec,
    /// Tolerations can be taken away from an existing pod (`pod.update.allowed-fields`).
    ApiRemovesTolerations,
    /// An existing pod gets no further tolerations (`pod.update.allowed-fields`).
    ApiRefusesTolerations,
    /// The image of an existing pod stays, and nobody says so (`pod.update.allowed-fields`).
    ApiIgnoresImage,
    /// A main container keeps running with its old image (`pod.update.image-replaces`).
    NewImageKeepsMain,
    /// A sidecar keeps running with its old image (`pod.update.image-replaces`).
    NewImageKeepsSidecar,
    /// A container with a new image is stopped nine seconds later (`pod.update.image-replaces`).
    NewImageNoticedLate,
    /// A new image of one container stops all containers of the pod (`pod.update.image-replaces`).
    NewImageStopsAll,
    /// A deadline can be put off (`pod.update.activedeadline`).
    ApiExtendsDeadline,
    /// A deadline can be taken away (`pod.update.activedeadline`).
    ApiRemovesDeadline,
    /// A pod without a deadline gets none (`pod.update.activedeadline`).
    ApiRefusesDeadline,
    /// A deadline can be negative (`pod.update.activedeadline`).
    ApiAcceptsNegativeDeadline,
    /// A pod that is being deleted gets further finalizers (`pod.update.no-new-finalizers`).
    ApiAddsLateFinalizers,
    /// An existing pod gets no finalizers (`pod.update.no-new-finalizers`).
    ApiRefusesFinalizers,
    /// A pod gets the creation time that a client asks for (`pod.update.metadata-immutable`).
    ApiPatchesCreationTime,
    /// A pod gets the UID that a client asks for (`pod.update.metadata-immutable`).
    ApiPatchesUid,
    // What containers share.
    /// Each container has a network of its own (`pod.shared.network`).
    NetworkPerContainer,
    /// Each container has a loopback of its own (`pod.shared.network`).
    LoopbackPerContainer,
    /// All pods have one network namespace (`pod.shared.network`).
    NetworkOfAllPods,
    /// Each container has a namespace for interprocess communication of its own (`pod.shared.ipc`).
    IpcPerContainer,
    /// All pods have one namespace for interprocess communication (`pod.shared.ipc`).
    IpcOfAllPods,
    /// Two pods have one address (`pod.shared.ip-per-family`).
    AddressOfTwoPods,
    /// A pod has two addresses of one family (`pod.shared.ip-per-family`).
    TwoAddressesOfOneFamily,
    /// Only the first container of a pod runs on its node (`pod.co-scheduled`).
    ContainersSpread,
    /// The last of several containers runs on another node (`pod.co-scheduled`).
    LastContainerElsewhere,
    /// Containers see the name of their node (`pod.hostname`).
    HostnameOfNode,
    /// A long host name is not cut off (`pod.hostname`).
    HostnameUncut,
    // The downward API.
    /// Variables of the downward API are missing (`downward.fieldref-both`, `downward.env-only`).
    DownwardVariablesMissing,
    /// Files of the downward API are missing (`downward.fieldref-both`, `downward.two-ways`).
    DownwardFilesMissing,
    /// The UID that a container is told is the name of its pod (`downward.fieldref-both`).
    DownwardUidIsName,
    /// An annotation is looked for among the labels (`downward.fieldref-both`).
    DownwardMixesMaps,
    /// The addresses of the host are those of the pod (`downward.env-only`).
    DownwardHostIsPod,
    /// Labels and annotations are written without quotes (`downward.volume-only`).
    DownwardUnquoted,
    /// Files are never written again (`downward.volume-only`).
    DownwardFilesStay,
    /// Amounts are rounded down (`downward.resourcefieldref`).
    DownwardRoundsDown,
    /// A container is told its own amounts in place of those of the container that is named
    /// (`downward.resourcefieldref`).
    DownwardContainerIgnored,
    /// The divisor is ignored (`downward.resourcefieldref`).
    DownwardDivisorIgnored,
    /// Requests are limits (`downward.resourcefieldref`).
    DownwardRequestsAreLimits,
    /// A pod without a token is told nothing (`downward.no-client-needed`).
    DownwardNeedsToken,
    /// Fields of variables are accepted in volumes (`downward.env-only`).
    ApiAcceptsVariablesInVolumes,
    /// Fields of files are accepted in variables (`downward.volume-only`).
    ApiAcceptsFilesInVariables,
    } };
}
