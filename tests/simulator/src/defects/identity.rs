//! The defects of names, operating systems, privileges, shared volumes and users. In the list, they come after all
//! earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_identity {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// Any name of a pod is accepted (`pod.name-subdomain`).
    ApiAcceptsAnyName,
    /// Names of any length are accepted (`pod.name-subdomain`).
    ApiAcceptsLongNames,
    /// Names with dots are rejected (`pod.name-subdomain`).
    ApiRefusesSubdomains,
    /// A pod can name any operating system (`pod.os-field`).
    ApiAcceptsAnySystem,
    /// A pod for Windows is rejected (`pod.os-field`).
    ApiRefusesWindows,
    /// The kubelet runs pods of any operating system (`pod.os-field`).
    ForeignPodsRun,
    /// Pods of another operating system wait forever (`pod.os-field`).
    ForeignPodsWait,
    /// Each container has its own empty volume (`pod.shared.volumes`).
    VolumesApart,
    /// A restart of a container empties the volumes that it mounts (`pod.shared.volumes`).
    VolumesEmptiedByRestart,
    /// Privileged containers have no additional capabilities (`pod.privileged`).
    PrivilegedIgnored,
    /// All containers of a pod with a privileged container are privileged (`pod.privileged`).
    PrivilegedForAll,
    /// A container without a limit gets zero as its limit (`downward.fallback-allocatable`).
    DownwardLimitIsZero,
    /// A container without a limit gets twice the amount of its node (`downward.fallback-allocatable`).
    DownwardLimitIsDoubled,
    /// Pods with their own user namespace can have other namespaces of the node (`userns.forbidden-combos`).
    ApiMixesNamespaces,
    /// Pods with their own user namespace can see the processes of the node (`userns.forbidden-combos`).
    ApiMixesProcesses,
    /// All pods have the users of the node (`userns.unsupported-runtime`).
    UsersOfNode,
    } };
}
