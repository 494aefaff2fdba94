//! The defects of pods with users of their own. They follow the others in the one list.

/// Hands the list of the other defects on, with these behind it, to the next that adds some.
macro_rules! with_users {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// All pods with users of their own have the same ones of the node (`userns.no-overlap`).
    UsersShared,
    /// Pods get users that the node keeps for itself (`userns.no-overlap`).
    UsersOfNodeGiven,
    /// A pod has only a thousand users (`userns.optin`).
    UsersFew,
    /// A pod with users of its own has the groups of the node (`userns.optin`).
    GroupsOfNode,
    /// Pods that do not ask for it have users of their own (`userns.optin`).
    UsersApartUnasked,
    /// A process has the ids of the node inside (`userns.ids-inside`).
    IdsOfNodeInside,
    /// A volume has the group of the pod on the node, and nobody's inside (`userns.ids-inside`).
    VolumeGroupOfNode,
    /// A container starts whose user does not exist inside (`userns.ids-inside`).
    MissingUserRuns,
    /// Files of users that do not exist inside belong to root (`userns.overflow-id`).
    NobodyIsRoot,
    /// Files of users that do not exist inside can be changed (`userns.overflow-id`).
    NobodyCanWrite,
    /// Root inside is root on the node (`userns.root-unprivileged-on-host`).
    RootIsRootOutside,
    /// Capabilities of a pod with users of its own are valid on the node (`userns.capabilities-scoped`).
    CapabilitiesOfNode,
    /// A pod with users of its own has no capabilities (`userns.capabilities-scoped`).
    CapabilitiesLost,
    /// Volumes cannot be written with users of their own (`userns.apps-unchanged`).
    OwnUsersCannotWrite,
    } };
}
