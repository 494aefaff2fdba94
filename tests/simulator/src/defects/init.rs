//! The defects of how init containers and sidecars are run, shown and accepted. In the list, they come after all
//! earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_init {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The order of a pod's containers.
    /// Init containers are started together (`init.sequential`, `sidecar.order-and-started`).
    InitsRunTogether,
    /// Main containers do not wait for the last init container (`init.run-to-completion`, `init.delays-app-start`).
    MainsBesideInits,
    /// An init container that failed counts as done (`init.sequential`, `init.run-to-completion`, `init.retry-until-success`).
    InitFailureSkipped,
    /// The container after an init container starts eight seconds late (`init.sequential`, `init.run-to-completion`).
    InitSuccessNoticedLate,
    /// Each main container waits until the previous one has started (`init.app-containers-start-parallel`).
    MainsWaitForEachOther,
    /// An init container that fails is not started again (`init.retry-until-success`).
    InitNotRetried,
    /// With restartPolicy Always, an init container that succeeded runs again (`init.always-means-onfailure`).
    InitSuccessRestarts,
    /// With restartPolicy Never, an init container that fails is restarted (`init.never-fails-pod`).
    InitRetriedUnderNever,
    /// With restartPolicy Never, a pod stays Pending when an init container fails (`init.never-fails-pod`).
    InitFailureKeepsPending,
    /// The start of a container that the runtime cannot start is not retried (`init.start-error-retried`).
    StartErrorIsFinal,
    /// The start of a main container that the runtime cannot start is not retried (`restart.policy.always`,
    /// `restart.policy.onfailure`).
    StartErrorOfMainIsFinal,
    /// The start of a main container that the runtime cannot start is retried, whatever the policy is (`restart.policy.never`).
    StartErrorOfMainRetried,
    /// A restart of a main container runs the init containers again (`init.container-restart-no-rerun`).
    RestartRunsInitsAgain,
    /// Init containers run again when all main containers have terminated (`init.restart-reason-all-terminated`).
    AllEndedRunsInitsAgain,
    /// Init containers run again when all main containers have terminated for the second time
    /// (`init.restart-reason-all-terminated`).
    AllEndedTwiceRunsInitsAgain,
    /// Init containers do not run again in a new sandbox (`init.rerun-on-pod-restart`).
    SandboxLossSkipsInits,
    /// Only the last init container runs again in a new sandbox (`init.rerun-on-pod-restart`).
    SandboxLossRunsLastInit,
    /// A new image makes an init container run again (`init.image-change-no-restart`).
    ImageRunsInitAgain,
    // What init containers see.
    /// Init containers run before the pod has its address (`init.after-network-and-volumes`).
    InitWithoutNetwork,
    /// Init containers run before the volumes are mounted (`init.after-network-and-volumes`).
    InitWithoutVolumes,
    /// Each volume of a pod is mounted in all of its containers (`init.separate-image-and-fs`).
    VolumesMountedEverywhere,
    // What the status shows about them.
    /// A pod is ready while it initializes (`init.pod-not-ready`).
    ReadyWhileInitializing,
    /// A pod is Running while it initializes (`init.pending-phase`).
    RunningWhileInitializing,
    /// Initialized is True from the beginning (`init.initialized-condition-false`, `sidecar.started-with-startup-probe`).
    InitializedEarly,
    /// Initialized is never True (`init.initialized-condition-false`).
    InitializedNever,
    /// The statuses of init containers are in another order (`init.status-array`).
    InitStatusesReversed,
    /// The statuses of init containers are among those of the main containers (`init.status-array`).
    InitStatusesAmongMains,
    /// The ports of init containers belong to Services (`init.ports-not-in-services`).
    InitPortsInServices,
    // Deadlines.
    /// A deadline does not end the pod (`init.activedeadline-includes-init`, `init.activedeadline-kills-running`).
    DeadlineIgnored,
    /// A deadline counts from the end of the initialization (`init.activedeadline-includes-init`).
    DeadlineFromMains,
    /// A deadline has no effect after the initialization (`init.activedeadline-kills-running`).
    DeadlineForInitsOnly,
    /// Half of a deadline is enough (`init.activedeadline-includes-init`, `init.activedeadline-kills-running`).
    DeadlineHalved,
    /// A deadline that an update sets or shortens has no effect (`init.activedeadline-kills-running`).
    DeadlineUpdateIgnored,
    /// A deadline that an update sets counts from the update (`init.activedeadline-kills-running`).
    DeadlineFromUpdate,
    /// A pod loses its deadline as soon as a main container restarts (`init.activedeadline-kills-running`).
    DeadlineEndsWithRestart,
    /// A pod beyond its deadline is killed at once (`init.activedeadline-kills-running`).
    DeadlineKillsAtOnce,
    /// A pod beyond its deadline has two seconds, whatever its grace period is (`init.activedeadline-kills-running`).
    DeadlineGraceIsTwo,
    /// A pod beyond its deadline has no reason (`init.activedeadline-includes-init`, `init.activedeadline-kills-running`).
    DeadlineUnexplained,
    // Sidecars.
    /// The container after a sidecar waits for the sidecar to end (`sidecar.order-and-started`).
    SidecarEndAwaited,
    /// The container after a sidecar does not wait for the sidecar's startup probe (`sidecar.started-with-startup-probe`).
    SidecarStartUnawaited,
    /// Sidecars are started with the main containers (`sidecar.definition`).
    SidecarsStartLast,
    /// Sidecars are stopped when the pod is initialized (`sidecar.definition`).
    SidecarsEndWithInit,
    /// The readiness of sidecars does not count (`sidecar.readiness-counts`).
    SidecarReadinessIgnored,
    /// Sidecars keep running when the work is done (`sidecar.job-completes`).
    SidecarsKeepPod,
    /// A pod fails because of the exit status of a sidecar (`sidecar.job-completes`).
    SidecarStatusCounts,
    /// The probes of sidecars are not sent (`sidecar.probes-allowed`).
    SidecarProbesUnsent,
    // What is accepted.
    /// Init containers may have probes (`init.all-fields-except`).
    ApiAcceptsInitProbes,
    /// Init containers may have no variables (`init.all-fields-except`).
    ApiRefusesInitVariables,
    /// Sidecars may have no probes (`sidecar.probes-allowed`).
    ApiRefusesSidecarProbes,
    /// Containers may have the same name (`init.names-unique`).
    ApiAcceptsSameNames,
    /// Any policy of an init container is accepted (`sidecar.policy-values`).
    ApiAcceptsAnyInitPolicy,
    /// All fields of init containers can be patched (`init.only-image-mutable`).
    ApiPatchesInits,
    /// The image of an init container cannot be patched (`init.only-image-mutable`).
    ApiRefusesInitImage,
    /// The class of a pod follows only from its main containers (`init.resources.qos-same`).
    ClassOfMainsOnly,
    /// A quota counts the sum of all init containers (`init.resources.effective-init`, `init.resources.quota`).
    QuotaAddsInits,
    /// A quota does not count init containers (`init.resources.effective-pod`, `init.resources.quota`).
    QuotaIgnoresInits,
    /// A quota does not count sidecars (`init.resources.effective-pod`).
    QuotaIgnoresSidecars,
    /// A quota lets everything pass (`init.resources.quota`).
    QuotaLetsPass,
    /// The scheduler does not count what init containers request (`init.resources.scheduling`).
    SchedulerIgnoresInits,
    /// The scheduler does not count what sidecars request (`init.resources.scheduling`).
    SchedulerIgnoresSidecars,
    } };
}
