//! Defects that processes see inside their containers: host names, files and privileges. Also defects in the statuses of
//! containers that other defects leave alone. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_inside {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// `setHostnameAsFQDN` has no effect (`pod.hostname`).
    HostnameNeverQualified,
    /// The hosts file does not contain the fully qualified name of a pod (`pod.hosts-file`).
    HostsWithoutDomain,
    /// Only main containers have a hosts file with the name of their pod (`pod.hosts-file`).
    HostsOfMainsOnly,
    /// The search list of a pod lacks the domain of its own namespace (`pod.dns-search`).
    SearchWithoutNamespace,
    /// The processes of init containers can gain privileges (`pod.security-context`).
    InitsGainPrivileges,
    /// Sidecars keep the capabilities that they drop (`pod.security-context`).
    SidecarsKeepCapabilities,
    /// A container with its own path for its termination message can write to its root file system
    /// (`pod.security-context`).
    RootWritableForMessages,
    /// Only the first supplemental group of a pod takes effect (`pod.security-context`).
    OnlyFirstGroupAdded,
    /// A ConfigMap after another source of a projected volume adds no files (`pod.configuration-files`).
    ProjectedMapLost,
    /// The files of a mounted ConfigMap are never updated (`pod.configuration-files`).
    MountedMapStays,
    /// The files of a mounted Secret are never updated (`pod.configuration-files`).
    MountedSecretStays,
    /// The files of a projected volume are never updated (`pod.configuration-files`).
    ProjectedFilesStay,
    /// An optional key that a mounted object gets later has no file (`pod.configuration-files`).
    LateOptionalKeyUnseen,
    /// The group of a pod has no effect on volumes with Secrets and on projected volumes (`pod.configuration-files`).
    GroupOfSecretsIgnored,
    /// The mode of a single file of a volume has no effect (`pod.configuration-files`, `downward.fieldref-both`).
    ItemModesIgnored,
    /// All tokens of a projected volume are for the audience of the first (`pod.configuration-files`).
    TokensShared,
    /// Of several objects in `envFrom` with the same key, the first takes precedence (`pod.environment`).
    FirstEnvFromWins,
    /// References to variables from whole ConfigMaps and Secrets are not replaced (`pod.environment`).
    ReferencesToObjectsStay,
    /// A variable for a limit that another container does not have is zero (`downward.fallback-allocatable`).
    LimitOfOtherIsZero,
    /// Only the first entry of `hostAliases` is in the hosts file (`pod.hosts-file`).
    SecondHostAliasLost,
    /// The options in the dnsConfig of a pod have no effect (`pod.dns-search`).
    ResolverOptionsIgnored,
    /// The options in the dnsConfig of a pod replace all options of its dnsPolicy (`pod.dns-search`).
    ResolverOptionsReplaced,
    /// A process of a pod with supplemental groups is not in the group of its files (`pod.security-context`).
    FsGroupBesideOthersLost,
    /// A mount of a sidecar with a `subPath` contains the whole volume (`pod.shared.volumes`).
    SidecarSubPathIgnored,
    /// A volume in memory is on the disk of its node (`report.status.volume-mounts`).
    MemoryVolumeOnDisk,
    /// The status of a container has a user only until its first restart (`report.status.user`).
    UserOfFirstInstanceOnly,
    /// The status of a running ephemeral container has no ID (`report.status.container-id`).
    RunningEphemeralWithoutId,
    /// The first of several ephemeral containers has two statuses (`report.status.one-per-container`).
    EphemeralShownTwice,
    } };
}
