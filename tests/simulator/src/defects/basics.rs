//! The defects of basic pod behavior: what an API server lets clients change in pods, what the containers of a pod
//! share, and what the downward API passes to containers. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_basics {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Updates of pods.
    /// A pod has the generation that a client requests (`pod.update.generation`).
    GenerationFromRequest,
    /// The generation of a pod does not change when its spec changes (`pod.update.generation`).
    GenerationStays,
    /// The generation of a pod grows by 2 (`pod.update.generation`).
    GenerationJumps,
    /// The generation of a pod also grows with its labels (`pod.update.generation`).
    GenerationCountsLabels,
    /// The generation of a pod also grows with its status (`pod.update.generation`).
    GenerationCountsStatus,
    /// The environment of an existing pod can be changed (`pod.update.allowed-fields`).
    ApiPatchesContainers,
    /// The restart policy, grace period and node selector of an existing pod can be changed (`pod.update.allowed-fields`).
    ApiPatchesSpec,
    /// Tolerations can be removed from an existing pod (`pod.update.allowed-fields`).
    ApiRemovesTolerations,
    /// No tolerations can be added to an existing pod (`pod.update.allowed-fields`).
    ApiRefusesTolerations,
    /// A change of an existing pod's image is accepted, but has no effect (`pod.update.allowed-fields`).
    ApiIgnoresImage,
    /// A main container keeps running with its old image (`pod.update.image-replaces`).
    NewImageKeepsMain,
    /// A sidecar keeps running with its old image (`pod.update.image-replaces`).
    NewImageKeepsSidecar,
    /// A container with a new image is stopped nine seconds later (`pod.update.image-replaces`).
    NewImageNoticedLate,
    /// A new image of one container stops all containers of the pod (`pod.update.image-replaces`).
    NewImageStopsAll,
    /// A deadline can be extended (`pod.update.activedeadline`).
    ApiExtendsDeadline,
    /// A deadline can be removed (`pod.update.activedeadline`).
    ApiRemovesDeadline,
    /// No deadline can be set on a pod without one (`pod.update.activedeadline`).
    ApiRefusesDeadline,
    /// A deadline can be negative (`pod.update.activedeadline`).
    ApiAcceptsNegativeDeadline,
    /// Finalizers can be added to a pod that is being deleted (`pod.update.no-new-finalizers`).
    ApiAddsLateFinalizers,
    /// No finalizers can be added to an existing pod (`pod.update.no-new-finalizers`).
    ApiRefusesFinalizers,
    /// A pod gets the creation time that a client requests (`pod.update.metadata-immutable`).
    ApiPatchesCreationTime,
    /// A pod gets the UID that a client requests (`pod.update.metadata-immutable`).
    ApiPatchesUid,
    // What containers share.
    /// Each container has its own network (`pod.shared.network`).
    NetworkPerContainer,
    /// Each container has its own loopback interface (`pod.shared.network`).
    LoopbackPerContainer,
    /// All pods have one network namespace (`pod.shared.network`).
    NetworkOfAllPods,
    /// Each container has its own namespace for interprocess communication (`pod.shared.ipc`).
    IpcPerContainer,
    /// All pods have one namespace for interprocess communication (`pod.shared.ipc`).
    IpcOfAllPods,
    /// Two pods have the same address (`pod.shared.ip-per-family`).
    AddressOfTwoPods,
    /// A pod has two addresses of one family (`pod.shared.ip-per-family`).
    TwoAddressesOfOneFamily,
    /// Only the first container of a pod runs on its node (`pod.co-scheduled`).
    ContainersSpread,
    /// The last of several containers runs on another node (`pod.co-scheduled`).
    LastContainerElsewhere,
    /// Containers see the name of their node (`pod.hostname`).
    HostnameOfNode,
    /// A long host name is not truncated (`pod.hostname`).
    HostnameUncut,
    /// The `hostname` in the spec of a pod is ignored (`pod.hostname`).
    HostnameFieldIgnored,
    // Variables, users and kernel parameters.
    /// Variables from whole ConfigMaps and Secrets take precedence over the container's own (`pod.environment`).
    EnvFromOverridesEnv,
    /// Variables from whole Secrets have no prefix (`pod.environment`).
    EnvFromSecretUnprefixed,
    /// Containers get variables about Services although their pod does not want them (`pod.environment`).
    ServiceVariablesUnasked,
    /// The group of a pod takes precedence over the group of a container (`pod.security-context`).
    GroupOfPodWins,
    /// A container may run as root although its pod forbids this (`pod.run-as-non-root`).
    NonRootOfPodUnchecked,
    /// Only the first kernel parameter of a pod is checked (`pod.unsafe-sysctls`).
    UnsafeSysctlAfterSafe,
    // The downward API.
    /// Variables of the downward API are missing (`downward.fieldref-both`, `downward.env-only`).
    DownwardVariablesMissing,
    /// Files of the downward API are missing (`downward.fieldref-both`, `downward.two-ways`).
    DownwardFilesMissing,
    /// A container gets the name of its pod in place of the UID (`downward.fieldref-both`).
    DownwardUidIsName,
    /// An annotation is looked up among the labels (`downward.fieldref-both`).
    DownwardMixesMaps,
    /// A container gets the pod's addresses in place of the host's (`downward.env-only`).
    DownwardHostIsPod,
    /// Labels and annotations are written without quotes (`downward.volume-only`).
    DownwardUnquoted,
    /// Files are never updated (`downward.volume-only`).
    DownwardFilesStay,
    /// Files are not written again if they would get their first content back (`downward.volume-only`).
    DownwardChangeBackUnwritten,
    /// The file with one label keeps its first content (`downward.fieldref-both`).
    DownwardLabelFileStays,
    /// A container that starts again gets its first variables with labels (`downward.fieldref-both`).
    DownwardVariablesStay,
    /// Containers in a new sandbox get the address of the first sandbox (`downward.env-only`).
    DownwardAddressOfOldSandbox,
    /// Amounts are rounded down (`downward.resourcefieldref`).
    DownwardRoundsDown,
    /// A container gets its own amounts in place of those of the named container
    /// (`downward.resourcefieldref`).
    DownwardContainerIgnored,
    /// The divisor is ignored (`downward.resourcefieldref`).
    DownwardDivisorIgnored,
    /// A container gets limits in place of requests (`downward.resourcefieldref`).
    DownwardRequestsAreLimits,
    /// A pod without a token gets no values (`downward.no-client-needed`).
    DownwardNeedsToken,
    /// Fields of variables are accepted in volumes (`downward.env-only`).
    ApiAcceptsVariablesInVolumes,
    /// Fields of files are accepted in variables (`downward.volume-only`).
    ApiAcceptsFilesInVariables,
    } };
}
