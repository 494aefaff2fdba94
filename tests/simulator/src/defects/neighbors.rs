//! Defects in which something beside a container changes how the kubelet treats it, and defects that forget one kind of
//! container, pod or change.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_neighbors {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Probes.
    /// The probes of a pod with restartPolicy Never end when one of its main containers has failed
    /// (`probe.liveness.failure-restarts-container`).
    FailureBesideEndsProbes,
    /// Liveness probes pause while an ephemeral container of the pod runs (`probe.timing.period`).
    DebuggerPausesLiveness,
    /// Liveness probes pause while a resize of the pod is pending (`probe.timing.period`).
    PendingResizePausesLiveness,
    /// A redirect that the kubelet does not follow fails a startup probe (`probe.http.redirect.missing-location`).
    RedirectFailsStartup,
    /// The event about a failed probe treats the output of the probe as a format (`report.event.unhealthy-names-probe`).
    OutputAsFormat,
    // The environment of a container.
    /// `hostAliases` have no effect in pods on the network of their node (`pod.hosts-file`).
    AliasesLostOnNode,
    /// A `runAsUser` of a container also replaces the `runAsGroup` of its pod (`pod.security-context`).
    UserDropsGroup,
    /// The file of a key that is removed from a mounted object stays (`pod.configuration-files`).
    RemovedKeyStays,
    // Resources.
    /// The score of a sidecar follows from its own request alone (`qos.oom-score`).
    OomScoreOfSidecarAlone,
    /// The cgroup of a pod is limited although one of its init containers has no memory limit (`init.resources.cgroup`).
    UnlimitedInitUncounted,
    } };
}
