//! Defects that show only in a later instance, after an update, or while a pod terminates. In the list, they come after
//! all earlier defects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_later {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    // Later instances.
    /// Three failures of a startup probe stop a restarted container, whatever its threshold
    /// (`probe.failure-threshold.exact-count`).
    StartupThresholdShrinks,
    /// The readiness gates of a pod are forgotten once one of its containers has restarted (`readinessgate.ready-needs-both`).
    GatesForgottenAfterRestart,
    /// A failed postStart hook of a restarted container has no effect (`container.state.poststart-failure-kills`).
    FailedStartHookIgnoredLater,
    // Counts.
    /// A probe that cannot be carried out resets the count of failures (`probe.result.unknown-no-action`).
    ErrorEndsRow,
    /// A success of a command cancels only one of its failures (`probe.failure-threshold.exact-count`).
    CommandForgivesOneFailure,
    // New images.
    /// A container with a new image has two seconds to stop (`pod.update.image-replaces`).
    NewImageKillsHard,
    /// A container with a new image is stopped without its hook (`pod.update.image-replaces`).
    NewImageSkipsHook,
    /// A container that waits for its image does not get a corrected one (`pod.update.image-replaces`).
    CorrectedImageIgnored,
    // Pods that terminate.
    /// Ephemeral containers are killed without a stop signal (`termination.term-to-pid1`).
    EphemeralGetsNoSignal,
    /// The last state of a container is shown only once after its restart (`container.state.terminated-fields`).
    LastStateLostLater,
    /// The status of an evicted pod has no message (`pod.lifecycle.node-pressure-not-survived`).
    EvictionWithoutMessage,
    // What follows an event.
    /// After a restart, an earlier lack of memory is shown as an error (`container.state.terminated-fields`).
    LackOfMemoryForgotten,
    /// A container is stopped when its postStart hook has succeeded (`container.state.poststart-failure-kills`).
    GoodHookStopsContainer,
    /// A restarted kubelet runs the startup probes of started containers (`prober.kubelet-restart.status-kept`).
    RestartRepeatsStartupProbes,
    /// The kubelet writes its generation into conditions of others (`pod.condition.custom-preserved`).
    GenerationInForeignConditions,
    /// The condition AllContainersRestarting is never True (`restart.rules.all-announced`).
    RestartAllUnannounced,
    /// The condition AllContainersRestarting stays True (`restart.rules.all-announced`).
    RestartAllAnnouncedForEver,
    /// The condition AllContainersRestarting is True before a container has exited (`restart.rules.all-announced`).
    RestartAllAnnouncedEarly,
    /// The condition AllContainersRestarting has no transition time (`pod.condition.fields`).
    RestartAllUndated,
    // Conditions that change, or only seem to.
    /// A condition that turns True keeps its message (`pod.condition.fields`).
    MessageOutlivesStatus,
    /// A container that has become ready is still named, until all are ready (`pod.condition.containersready`).
    ReadyAgainStillNamed,
    /// All init containers are named until the last one has succeeded (`pod.condition.initialized`).
    DoneInitStillNamed,
    /// Each status update renews the times of conditions that applications set (`pod.condition.custom-preserved`).
    CustomConditionsRedated,
    /// The condition `DisruptionTarget` gets the time of the end of its pod (`pod.condition.transition-time`).
    TargetRedatedAtEnd,
    /// A new generation renews the time of `Ready` (`pod.condition.transition-time`).
    ReadyRedatedByGeneration,
    /// A restart renews the time of `PodReadyToStartContainers` (`pod.condition.transition-time`).
    NetworkRedatedByRestart,
    // Containers that run or have ended.
    /// A running init container is not shown as started (`init.status-array`).
    RunningInitUnstarted,
    /// The last state is lost when the last instance has ended (`container.state.terminated-fields`).
    LastStateLostAtEnd,
    } };
}
