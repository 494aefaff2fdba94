//! The defects of how a kubelet uses its configuration, what it leaves on its node, and how it handles static pods. In
//! the list, they come after all earlier defects.

/// Passes on the list of all earlier defects, followed by these.
macro_rules! with_nodes {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The configuration of the back-off.
    /// The maximum back-off cannot be configured (`restart.backoff.configurable`, `restart.backoff.max-below-initial`).
    BackOffMaximumIgnored,
    /// The first delay is the configured maximum (`restart.backoff.configurable`).
    BackOffBeginsAtMaximum,
    /// A maximum below the first delay has no effect (`restart.backoff.max-below-initial`).
    BackOffNotBelowFirst,
    /// A maximum of less than a second is accepted (`restart.backoff.config-range`).
    BackOffRangeFromZero,
    /// A maximum of less than ten seconds is rejected (`restart.backoff.config-range`).
    BackOffRangeFromTen,
    /// A maximum of more than five minutes is accepted (`restart.backoff.config-range`).
    BackOffRangeOpen,
    // What a pod leaves on its node.
    /// The sandbox of a deleted pod keeps running (`termination.sandbox-cleaned`).
    SandboxRunsOn,
    /// The sandbox of a deleted pod ends but is not removed (`termination.sandbox-cleaned`).
    SandboxKept,
    /// The cgroup of a pod is sized only for its main containers (`init.resources.cgroup`).
    CgroupOfMainsOnly,
    /// The cgroup of a pod is sized for init and main containers at the same time (`init.resources.cgroup`).
    CgroupOfAllTogether,
    /// The cgroup of a pod has no limits (`init.resources.cgroup`).
    CgroupUnlimited,
    // The garbage collection of terminated pods.
    /// The threshold has no effect (`podgc.threshold`).
    GcThresholdIgnored,
    /// One more pod than the threshold is left (`podgc.threshold`).
    GcKeepsOneMore,
    /// The newest pods are removed first (`podgc.threshold`).
    GcNewestFirst,
    // Static pods.
    /// Manifests in the folder for static pods have no effect (`static.kubelet-managed`).
    StaticPodsIgnored,
    /// The containers of static pods are not restarted (`static.kubelet-managed`).
    StaticPodsNotRestarted,
    /// Static pods are not probed (`static.probes-work`).
    StaticPodsUnprobed,
    /// A static pod keeps running when its manifest is removed (`static.removed`).
    StaticPodsOutliveManifests,
    /// A static pod is killed when its manifest is removed (`static.removed`).
    StaticPodsKilledWithManifests,
    /// A static pod restarts when its manifest is removed (`static.removed`).
    StaticPodsRestartWithManifests,
    /// When the manifest of a static pod is removed, only its mirror pod is removed, and the static pod keeps running
    /// (`static.removed`).
    StaticPodsForgottenWithManifests,
    /// The mirror pod of a static pod stays when the manifest is removed (`static.removed`).
    MirrorOutlivesManifest,
    /// A static pod has no mirror pod (`static.mirror`).
    MirrorMissing,
    /// A mirror pod lacks the annotation that marks it as one (`static.mirror`).
    MirrorUnmarked,
    /// A mirror pod has no owner (`static.mirror`).
    MirrorUnowned,
    /// The deletion of its mirror pod ends a static pod (`static.mirror`).
    MirrorDeletionEndsPod,
    /// A deleted mirror pod is not created again (`static.mirror`).
    MirrorNotRecreated,
    /// A deadline in its mirror pod ends a static pod (`static.mirror`).
    MirrorDeadlineHeeded,
    } };
}
