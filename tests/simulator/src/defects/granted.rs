//! Defects in what a container really gets: its filter of system calls, its protected files, its limits and its room. In the
//! list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_granted {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// The seccomp profile of a pod applies only to its main containers (`pod.security-context`).
    SeccompOfPodLost,
    /// Sidecars can change the settings of the kernel below `/proc` (`pod.security-context`).
    SidecarProcUnprotected,
    /// Volumes with ConfigMaps, Secrets and other data from the API can be written to (`report.status.volume-mounts`).
    SettingsWritable,
    /// A volume with a Secret is on the disk of its node (`report.status.volume-mounts`).
    SecretsOnDisk,
    /// Without service links, a container has no variables for the API server either (`pod.environment`).
    ApiServerVariablesMissing,
    /// The resolver of a pod has no DNS server (`pod.dns-search`).
    DnsServerLost,
    /// Ephemeral containers have no hosts file with the name of their pod (`pod.hosts-file`).
    HostsNotOfEphemeral,
    /// The condition of an evicted pod has no observedGeneration (`report.status.observed-generation`).
    EvictionWithoutGeneration,
    /// The kubelet runs a pod whose sidecar makes it too large for its node (`pod.phase.rejected-for-resources`).
    BoundBeyondWithSidecarRuns,
    /// Of several deferred resizes, the one of the pod with the lowest priority comes first (`resize.deferred`).
    LowPriorityResizedFirst,
    /// A limit that a container did not have before is shown, but has no effect (`resize.enacted`).
    AddedLimitUnenacted,
    /// Regular init containers run without their limits (`report.status.resources`).
    LimitsOfInitsUnapplied,
    /// References in the arguments of a container are replaced only by variables with literal values
    /// (`pod.command-references`).
    ArgumentsSeeLiteralsOnly,
    /// The values in the arguments of a container are expanded again (`pod.command-references`).
    ArgumentsExpandedTwice,
    /// A safe sysctl in the spec of a pod has no effect (`pod.safe-sysctls`).
    SafeSysctlUnset,
    /// A pod with the dnsPolicy None also has the DNS configuration of the cluster (`pod.dns-none`).
    DnsPolicyNoneIgnored,
    /// The variables in a `subPathExpr` are not replaced (`pod.subpath-expr`).
    SubPathExprUnexpanded,
    /// A container that drops ALL capabilities does not get those that it adds (`pod.security-context`).
    DropAllWins,
    /// A container with the imagePullPolicy Always starts with the image of its node (`report.status.image-always`).
    PullAlwaysUsesLocal,
    } };
}
