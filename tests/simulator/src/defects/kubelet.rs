//! The defects of other parts of the kubelet, and of what the API server rejects.

/// Passes the list of all earlier defects, followed by these, to the macro that adds the next ones.
macro_rules! with_kubelet {
    ([$next:ident $($rest:ident)*] $($others:tt)*) => { $next! { [$($rest)*] $($others)*
    /// Variables in a probe's command are not replaced (`prober.exec.static-env-expansion`).
    ExecCommandNotExpanded,
    /// Variables in the command of a sidecar's probe are not replaced (`prober.exec.static-env-expansion`).
    ExecCommandOfSidecarNotExpanded,
    /// A probe's command is run by a shell (`prober.exec.static-env-expansion`).
    ExecCommandByShell,
    /// Unknown names in a probe's command are removed (`prober.exec.static-env-expansion`).
    ExecCommandLosesUnknownNames,
    /// Variables from other sources are replaced by their values (`prober.exec.static-env-expansion`).
    ExecCommandSeesAllSources,
    /// Each probe counts twice (`prober.metrics.agree-with-witness`).
    CountsTwice,
    /// Failures are not counted (`prober.metrics.agree-with-witness`).
    CountsNoFailures,
    /// Only readiness probes are counted (`prober.metrics.agree-with-witness`).
    CountsReadinessOnly,
    /// The probes of sidecars are not counted (`prober.metrics.agree-with-witness`).
    CountsNoSidecars,
    /// Successes are counted as failures and the other way round (`prober.metrics.agree-with-witness`).
    CountsUnderTheOtherResult,
    /// A probe of a pod waits while another probe of the pod is running (`prober.worker.one-per-kind`).
    OneWorkerPerPod,
    /// A probe of a container waits while another probe of the container is running (`prober.worker.one-per-kind`).
    OneWorkerPerContainer,
    /// An extra run does not reset the ticker (`prober.worker.manual-trigger`).
    TriggerKeepsTheBeat,
    /// Readiness is carried over to a new instance (`prober.worker.new-container-resets-result`).
    ReadinessOutlivesLife,
    /// A liveness probe does not stop at its threshold (`prober.worker.onhold-after-liveness-failure`).
    LivenessGoesOnAfterFailure,
    /// A container that does not run keeps its readiness (`prober.worker.non-running-sets-failure`).
    NotRunningStaysReady,
    /// A sidecar that fails its liveness probe in a deleted pod is restarted (`prober.termination.sidecar-liveness`).
    SidecarRestartsInTermination,
    /// Each probe writes the pod's status (`prober.result.published-on-change`).
    EachProbeWritesStatus,
    /// A failed probe is repeated (`prober.retry.three-on-error`).
    FailuresTriedTwice,
    /// A probe that ended in an error is not retried (`prober.retry.three-on-error`).
    ErrorsTriedOnce,
    /// Counters remain after their pod was removed (`prober.termination.remove-all`).
    CountersOutliveTheirPod,
    /// After a kubelet restart, all probes come at the same instant (`prober.worker.restart-jitter`).
    RestartProbesAtOnce,
    /// A restarted kubelet considers containers as not started (`prober.kubelet-restart.status-kept`).
    RestartForgetsStarted,
    /// A restarted kubelet considers containers as not ready (`prober.kubelet-restart.status-kept`).
    RestartForgetsReady,
    /// A restarted kubelet restarts containers (`prober.kubelet-restart.status-kept`).
    RestartRestartsContainers,
    /// A restarted kubelet considers old containers as ready (`prober.kubelet-restart.nothing-gained`).
    RestartMakesReady,
    /// A restarted kubelet does not probe containers that ran before (`prober.kubelet-restart.probing-resumes`).
    RestartStopsProbing,
    /// A container is probed while its postStart hook runs (`prober.worker.waits-for-container`).
    ProbesDuringPostStart,
    /// Liveness and startup probes continue while a pod terminates (`prober.termination.liveness-startup-stop`).
    LivenessGoesOnInTermination,
    /// An exec probe needs no command (`validation.exec-command-required`).
    ApiAcceptsEmptyCommand,
    /// Pod templates are not validated (`validation.template-level`).
    ApiSkipsTemplates,
    /// A hook may sleep for a negative time (`validation.prestop-sleep-range`).
    ApiAcceptsNegativeSleep,
    /// A hook may sleep for longer than the grace period (`validation.prestop-sleep-range`).
    ApiAcceptsSleepBeyondGrace,
    /// A hook may not sleep for the whole grace period (`validation.prestop-sleep-range`).
    ApiRefusesSleepOfAllGrace,
    /// A hook may not sleep for zero seconds (`validation.prestop-sleep-range`).
    ApiRefusesSleepOfNothing,
    /// Readiness waits for all ports of a container (`scenario.readiness.mgmt-port-decoupled`).
    ReadinessNeedsAllPorts,
    /// If two pods have containers with the same name, the wrong container is killed (`scenario.liveness.overload-cascade`).
    KillsByNameOnly,
    /// A container is not killed while its pod's budget allows no disruption (`scenario.liveness.ignores-pdb`).
    KillsAskTheBudget,
    /// The runtime reaps child processes that a container's first process does not reap (`scenario.exec.zombies`).
    RuntimeReapsOrphans,
    /// Zombies stay although the first process reaps them (`scenario.exec.zombies`).
    RuntimeLeavesZombies,
    } };
}
