//! The defects of what a kubelet makes of its configuration, what it leaves on its node, and what it does with static pods.
//! They follow the others in the same list.

/// Hands the list of the other defects on, with these behind it.
macro_rules! with_nodes {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The configuration of the back-off.
    /// The maximum of the back-off cannot be configured (`restart.backoff.configurable`, `restart.backoff.max-below-initial`).
    BackOffMaximumIgnored,
    /// The first delay is the configured maximum (`restart.backoff.configurable`).
    BackOffBeginsAtMaximum,
    /// A maximum below the first delay has no effect (`restart.backoff.max-below-initial`).
    BackOffNotBelowFirst,
    /// A maximum of less than a second is accepted (`restart.backoff.config-range`).
    BackOffRangeFromZero,
    /// A maximum of less than ten seconds is refused (`restart.backoff.config-range`).
    BackOffRangeFromTen,
    /// A maximum of more than five minutes is accepted (`restart.backoff.config-range`).
    BackOffRangeOpen,
    // What a pod leaves on its node.
    /// The sandbox of a deleted pod runs on (`termination.sandbox-cleaned`).
    SandboxRunsOn,
    /// The sandbox of a deleted pod has ended, and is kept (`termination.sandbox-cleaned`).
    SandboxKept,
    /// The control group of a pod is made for its main containers (`init.resources.cgroup`).
    CgroupOfMainsOnly,
    /// The control group of a pod has room for init and main containers at the same time (`init.resources.cgroup`).
    CgroupOfAllTogether,
    /// The control group of a pod has no limits (`init.resources.cgroup`).
    CgroupUnlimited,
    // The collection of pods that are over.
    /// The threshold has no effect (`podgc.threshold`).
    GcThresholdIgnored,
    /// One more than the threshold are left (`podgc.threshold`).
    GcKeepsOneMore,
    /// The newest pods are removed first (`podgc.threshold`).
    GcNewestFirst,
    // Static pods.
    /// Manifests in the folder for static pods have no effect (`static.kubelet-managed`).
    StaticPodsIgnored,
    /// The containers of static pods are not started again (`static.kubelet-managed`).
    StaticPodsNotRestarted,
    /// Static pods are not probed (`static.probes-work`).
    StaticPodsUnprobed,
    /// A static pod runs on when its manifest is removed (`static.removed`).
    StaticPodsOutliveManifests,
    /// A static pod is killed when its manifest is removed (`static.removed`).
    StaticPodsKilledWithManifests,
    /// A static pod restarts when its manifest is removed (`static.removed`).
    StaticPodsRestartWithManifests,
    /// A static pod is forgotten, and only its mirror pod goes, when the manifest is removed (`static.removed`).
    StaticPodsForgottenWithManifests,
    /// The mirror pod of a static pod stays when the manifest is removed (`static.removed`).
    MirrorOutlivesManifest,
    /// A static pod has no mirror pod (`static.mirror`).
    MirrorMissing,
    /// A mirror pod does not say that it is one (`static.mirror`).
    MirrorUnmarked,
    /// A mirror pod belongs to nobody (`static.mirror`).
    MirrorUnowned,
    /// The deletion of its mirror pod ends a static pod (`static.mirror`).
    MirrorDeletionEndsPod,
    /// A mirror pod is not created again (`static.mirror`).
    MirrorNotRecreated,
    /// A deadline in its mirror pod ends a static pod (`static.mirror`).
    MirrorDeadlineHeeded,
    } };
}
