//! The defects of what a kubelet does and shows in a pod's lifetime, apart from its probes. In the list, they come
//! after all earlier defects.

/// Passes on the list of all earlier defects, followed by these.
macro_rules! with_life {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // The states of containers.
    /// A running container is shown as running and as waiting (`container.state.three-states`).
    ShownInTwoStates,
    /// The reason of a waiting container is not shown (`container.state.waiting-reason`).
    WaitsWithoutReason,
    /// The end of a container is shown ten seconds late (`container.state.three-states`, `terminated-fields`).
    EndShownLate,
    /// A container seems to have started five seconds later (`container.state.running-startedat`).
    StartedAtLate,
    /// A container seems to have ended ten seconds later (`container.state.terminated-fields`).
    FinishedAtLate,
    /// Every failure is shown as status 1 (`container.state.terminated-fields`).
    ExitStatusFlattened,
    /// A container that was killed is shown as completed (`container.state.terminated-fields`).
    KillShownAsCompletion,
    /// The reason of an end is not shown (`container.state.terminated-fields`).
    EndWithoutReason,
    /// A failed postStart hook has no effect (`container.state.poststart-failure-kills`).
    FailedHookIgnored,
    /// A postStart hook that is answered with an error counts as failed (`container.state.poststart-failure-kills`).
    HookStatusCounts,
    // The phases of pods, and what pods keep.
    /// The phase is the status that kubectl shows (`pod.phase.values`, `pod.phase.not-kubectl-status`).
    PhaseIsKubectlStatus,
    /// A pod is Running as soon as it is bound (`pod.phase.starts-pending`, `pod.phase.running`).
    RunningWhenBound,
    /// A pod stays Pending six seconds longer (`pod.phase.moves-to-running`).
    PendingForLong,
    /// A pod is Pending again while a container waits (`pod.phase.moves-to-running`, `pod.phase.running`).
    PendingBetweenRestarts,
    /// The first container that exits with 0 ends the pod (`pod.phase.succeeded`).
    OverAtFirstEnd,
    /// Every pod that has ended is Succeeded (`pod.phase.failed`, `pod.phase.terminal-before-removal`).
    FailuresSucceed,
    /// A pod that exceeded its deadline is Succeeded if its containers exit with 0 (`init.activedeadline-kills-running`).
    DeadlineSucceeds,
    /// Init containers are killed at the deadline without a stop signal (`init.activedeadline-includes-init`).
    DeadlineKillsInits,
    /// A pod with restartPolicy OnFailure ends although a container waits for its restart (`restart.policy.onfailure`).
    BackOffEndsPod,
    /// A container whose postStart hook failed has two seconds to stop (`container.state.poststart-failure-kills`).
    FailedHookHasTwoSeconds,
    /// The preStop hook of a container whose postStart hook failed does not run
    /// (`container.state.poststart-failure-kills`).
    FailedHookSkipsOther,
    /// The postStart hooks of sidecars do not run (`container.state.poststart-before-running`).
    PostStartOfSidecarsForgotten,
    /// The termination message is lost when the next instance starts (`report.status.termination-message`).
    MessageLostOnRestart,
    /// All containers are restarted by a rule only once (`restart.rules.all-containers`).
    RestartAllOnlyOnce,
    /// Init containers that have completed are not ready (`init.status-array`).
    CompletedInitsUnready,
    /// Every pod that has ended is Failed (`pod.phase.succeeded`, `pod.phase.terminal-before-removal`).
    SuccessesFail,
    /// A pod that has ended is Running again two seconds later (`pod.phase.terminal-sticky`).
    LeavesTerminalPhase,
    /// A deleted pod stays Running until it has terminated (`pod.phase.terminal-before-removal`).
    RemovedWhileRunning,
    /// A deleted pod that a finalizer keeps stays Running (`pod.phase.terminal-before-removal`).
    HeldPodsStayRunning,
    /// A deleted pod that a finalizer keeps is always Failed (`pod.phase.terminal-before-removal`).
    HeldPodsFail,
    /// A new pod with the name of an earlier one has the same UID (`pod.lifecycle.unique-uid`).
    UidGoesWithName,
    /// A restart moves a pod to another node (`pod.lifecycle.scheduled-once`, `restart.same-pod-same-node`).
    RestartMovesPod,
    /// A restart gives a pod another address (`restart.same-pod-same-node`).
    RestartChangesAddress,
    /// A restart empties the volumes of a pod (`pod.lifecycle.volume-tied-to-uid`).
    RestartEmptiesVolume,
    /// The volumes of a deleted pod are emptied while its containers still run (`pod.lifecycle.volume-tied-to-uid`).
    VolumesGoBeforeContainers,
    /// A new pod with the name of an earlier one has the volumes of the earlier one (`pod.lifecycle.volume-tied-to-uid`).
    VolumeGoesWithName,
    // Nodes that are lost.
    /// A pod on a lost node is Pending again (`pod.phase.unknown`, `pod.phase.node-loss-failed`).
    LostPodsPending,
    /// Nothing deletes a pod on a lost node (`pod.lifecycle.node-failure-deletes`).
    LostPodsKept,
    /// A pod on a lost node is deleted although it tolerates the loss (`pod.lifecycle.node-failure-deletes`).
    LostPodsDeletedAtOnce,
    /// A pod that was bound to a lost node starts (`pod.lifecycle.never-started-on-dead-node`).
    DeadNodeStartsPods,
    /// Scheduling gates have no effect (`pod.scheduling.gates-delay`).
    SchedulingGatesIgnored,
    /// A pod is scheduled as soon as one of its gates is removed (`pod.scheduling.gates-delay`).
    OneSchedulingGateIsEnough,
    /// The scheduler does not notice that the last gate was removed (`pod.scheduling.gates-delay`).
    SchedulingGateRemovalUnnoticed,
    /// A gate can be added to a pod (`pod.scheduling.gates-delay`).
    ApiAddsSchedulingGates,
    /// A deleted pod is created again although it has no controller (`pod.lifecycle.controller-replaces`).
    BarePodsComeBack,
    // Local storage.
    /// A pod that uses more storage than its limit keeps running (`pod.lifecycle.node-pressure-not-survived`).
    StorageLimitsIgnored,
    /// A pod that uses more storage than its limit is restarted in place (`pod.lifecycle.node-pressure-not-survived`).
    EvictedPodsRestart,
    /// An evicted pod is shown as Succeeded, however its containers ended (`pod.lifecycle.node-pressure-not-survived`).
    EvictedPodsSucceed,
    /// The status of an evicted pod has no reason (`pod.lifecycle.node-pressure-not-survived`).
    StorageEvictionUnexplained,
    // Restarts.
    /// Any policy is accepted (`restart.policy.values-default`).
    ApiAcceptsAnyPolicy,
    /// With restartPolicy OnFailure, a container that exited with 0 restarts (`restart.policy.onfailure`).
    RestartsAfterSuccess,
    /// A sidecar follows the policy of its pod (`restart.policy.scope`).
    SidecarFollowsPolicy,
    /// The first restart has the same delay as the second (`restart.first-crash-immediate`).
    FirstRestartWaits,
    /// No restart has a delay (`restart.backoff.sequence`, `restart.backoff.waiting-reason`).
    BackOffMissing,
    /// Restarts come after half of their delay (`restart.backoff.sequence`).
    BackOffHalved,
    /// The delay does not grow (`restart.backoff.sequence`).
    BackOffStays,
    /// The delay has no cap (`restart.backoff.cap`).
    BackOffUncapped,
    /// The delay is never reset (`restart.backoff.reset-after-10min`).
    BackOffNeverReset,
    /// A container that was changed still waits for the end of its delay (`restart.backoff.image-change-resets`).
    ChangeKeepsBackOff,
    /// The same, if the container is a sidecar (`restart.backoff.image-change-resets`).
    ChangeKeepsBackOffOfSidecar,
    /// A container that was changed starts at once, but its next delay keeps growing (`image-change-resets`).
    ChangeKeepsDelays,
    /// A container that waits is shown as terminated (`restart.backoff.waiting-reason`).
    WaitShownAsEnd,
    /// The first restart after a kill has a delay (`restart.backoff.liveness-kills`).
    KillsWaitAtOnce,
    /// No restart after a kill has a delay (`restart.backoff.liveness-kills`, `restart.backoff.probe-causes`).
    KillsNeverWait,
    // The restart policies and rules of containers.
    /// The policy of a container is ignored (`restart.rules.container-policy`).
    OwnPolicyIgnored,
    /// The policy of a container applies only in a pod with restartPolicy Never (`restart.rules.container-policy`).
    OwnPolicyOnlyAdds,
    /// The policy of an init container is ignored (`restart.rules.container-policy`).
    OwnPolicyForMainsOnly,
    /// The rules of a container are ignored (`restart.rules.exit-codes`).
    RestartRulesIgnored,
    /// A rule matches every exit status except 0 (`restart.rules.exit-codes`).
    RestartRulesMatchAnyFailure,
    /// NotIn counts as In (`restart.rules.exit-codes`).
    RestartRulesKnowOnlyIn,
    /// A rule with NotIn compares only the last exit code in its list (`restart.rules.exit-codes`).
    LastNotInOnly,
    /// A rule that restarts all containers is ignored (`restart.rules.all-containers`).
    RestartAllIgnored,
    /// A rule that restarts all containers restarts only its own (`restart.rules.all-containers`).
    RestartAllOnlyOne,
    /// A rule that restarts all containers restarts no init container (`restart.rules.all-containers`).
    RestartAllSkipsInits,
    /// A rule restarts all containers, whatever the exit status (`restart.rules.all-containers`).
    RestartAllForAnyStatus,
    /// A rule that restarts all containers applies although an earlier rule matches (`restart.rules.all-containers`).
    RestartAllByLaterRule,
    /// Such a rule of an init container is ignored (`restart.rules.all-containers`).
    RestartAllOfInitIgnored,
    /// Any policy of a container is accepted (`restart.rules.validation`).
    ApiAcceptsAnyOwnPolicy,
    /// Rules are accepted without a restart policy (`restart.rules.validation`).
    ApiAcceptsRulesWithoutPolicy,
    /// Any action, any operator and a rule without exit codes are accepted (`restart.rules.validation`).
    ApiAcceptsAnyRule,
    } };
}
