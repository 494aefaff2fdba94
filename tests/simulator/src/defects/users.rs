//! The defects of pods with their own user namespace. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_users {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// All pods with their own user namespace have the same users of the node (`userns.no-overlap`).
    UsersShared,
    /// Pods get users that the node keeps for itself (`userns.no-overlap`).
    UsersOfNodeGiven,
    /// A pod has only a thousand users (`userns.optin`).
    UsersFew,
    /// A pod with its own user namespace has the groups of the node (`userns.optin`).
    GroupsOfNode,
    /// Pods that do not request it have their own user namespace (`userns.optin`).
    UsersApartUnasked,
    /// A process has the ids of the node inside (`userns.ids-inside`).
    IdsOfNodeInside,
    /// A volume has the pod's group on the node, and the group nobody inside (`userns.ids-inside`).
    VolumeGroupOfNode,
    /// A container whose user does not exist inside starts (`userns.ids-inside`).
    MissingUserRuns,
    /// Files of users that do not exist inside belong to root (`userns.overflow-id`).
    NobodyIsRoot,
    /// Files of users that do not exist inside can be changed (`userns.overflow-id`).
    NobodyCanWrite,
    /// Root inside is root on the node (`userns.root-unprivileged-on-host`).
    RootIsRootOutside,
    /// Capabilities of a pod with its own user namespace apply on the node (`userns.capabilities-scoped`).
    CapabilitiesOfNode,
    /// A pod with its own user namespace has no capabilities (`userns.capabilities-scoped`).
    CapabilitiesLost,
    /// Pods with their own user namespace cannot write to volumes (`userns.apps-unchanged`).
    OwnUsersCannotWrite,
    } };
}
