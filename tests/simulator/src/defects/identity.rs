//! The defects of names, operating systems, privileges, shared volumes and users. They follow the others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
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
    /// Pods of another operating system wait for ever (`pod.os-field`).
    ForeignPodsWait,
    /// Each container has an empty volume of its own (`pod.shared.volumes`).
    VolumesApart,
    /// A restart of a container empties the volumes that it mounts (`pod.shared.volumes`).
    VolumesEmptiedByRestart,
    /// Privileged containers are like others (`pod.privileged`).
    PrivilegedIgnored,
    /// All containers beside a privileged one are privileged (`pod.privileged`).
    PrivilegedForAll,
    /// A container without a limit is told that it is zero (`downward.fallback-allocatable`).
    DownwardLimitIsZero,
    /// A container without a limit is told twice what its node has (`downward.fallback-allocatable`).
    DownwardLimitIsDoubled,
    /// Pods with users of their own can have namespaces of the node (`userns.forbidden-combos`).
    ApiMixesNamespaces,
    /// Pods with users of their own can have the processes of the node (`userns.forbidden-combos`).
    ApiMixesProcesses,
    /// All pods have the users of the node (`userns.unsupported-runtime`).
    UsersOfNode,
    } };
}
