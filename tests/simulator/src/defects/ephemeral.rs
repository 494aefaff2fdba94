//! The defects of ephemeral containers. In the list, they come after all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_ephemeral {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// Ephemeral containers are stored but never run (`ephemeral.added-via-subresource`).
    EphemeralNeverRuns,
    /// Ephemeral containers run 15 seconds late (`ephemeral.added-via-subresource`).
    EphemeralRunsLate,
    /// An update of a pod adds ephemeral containers (`ephemeral.added-via-subresource`).
    ApiUpdatesEphemeral,
    /// A new pod can have ephemeral containers (`ephemeral.added-via-subresource`).
    ApiCreatesEphemeral,
    /// Ephemeral containers follow the restart policy of their pod (`ephemeral.never-restarted`).
    EphemeralRestarts,
    /// Ephemeral containers restart if they have failed (`ephemeral.never-restarted`).
    EphemeralRestartsOnFailure,
    /// The end of an ephemeral container is never shown (`ephemeral.never-restarted`).
    EphemeralEndUnshown,
    /// Every end of an ephemeral container is shown as a success (`ephemeral.never-restarted`).
    EphemeralEndsWell,
    /// The end of an ephemeral container is shown with the time of its start (`ephemeral.never-restarted`).
    EphemeralEndsAtStart,
    /// The start of an ephemeral container is not reported (`report.event.started-each-time`, `pulled-each-time`).
    EphemeralStartsUnreported,
    /// Ephemeral containers are killed two seconds after their stop signal (`termination.kill-after-grace`).
    EphemeralKilledEarly,
    /// Ephemeral containers get a stop signal, and are never killed (`termination.kill-after-grace`).
    EphemeralNeverKilled,
    /// Events about ephemeral containers have the path of a main container (`report.event.field-path`).
    EphemeralPathOfMains,
    /// Ephemeral containers can have ports (`ephemeral.fields-forbidden`).
    ApiAcceptsEphemeralPorts,
    /// Ephemeral containers can have probes (`ephemeral.fields-forbidden`).
    ApiAcceptsEphemeralProbes,
    /// Ephemeral containers can have hooks (`ephemeral.fields-forbidden`).
    ApiAcceptsEphemeralHooks,
    /// Ephemeral containers can have resources (`ephemeral.resources-forbidden`).
    ApiAcceptsEphemeralResources,
    /// Ephemeral containers can be changed (`ephemeral.immutable`).
    ApiChangesEphemeral,
    /// Ephemeral containers can be removed (`ephemeral.immutable`).
    ApiRemovesEphemeral,
    /// Ephemeral containers lose their environment and their mounts (`ephemeral.same-spec-type`).
    ApiDropsEphemeralFields,
    /// Mirror pods can have ephemeral containers (`ephemeral.static-pod-refused`).
    ApiDebugsMirrors,
    /// A pod is not ready while an ephemeral container runs (`ephemeral.no-effect-on-readiness`).
    EphemeralUnreadiesPod,
    /// A pod is not ready after an ephemeral container has failed (`ephemeral.no-effect-on-readiness`).
    EphemeralFailsPod,
    /// Ephemeral containers see no other processes (`ephemeral.shared-pid`).
    EphemeralSeesNothing,
    /// The target of an ephemeral container is ignored (`ephemeral.shared-pid`).
    EphemeralTargetIgnored,
    /// The target of an ephemeral container is ignored if it is a sidecar (`ephemeral.shared-pid`).
    EphemeralTargetsMainsOnly,
    /// Nothing restarts in a pod with an ephemeral container whose image is missing (`restart.policy.always`).
    EphemeralMissingImageBlocks,
    /// The status of an ephemeral container disappears a second after its end (`ephemeral.never-restarted`).
    EphemeralLostFromStatus,
    } };
}
