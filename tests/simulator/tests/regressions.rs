//! The publicly reported bugs. On a faithful cluster, the case of each bug meets its expectations, unless the current
//! release also has the bug. With the bug planted, the case does not meet them.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use probity_case::Case;
use probity_model::expect;
use probity_simulator::{Defect, simulate};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;

/// The planted defect that is most similar to each bug. The expectations of the bug's case must detect this defect.
const PLANTED: &[(&str, Defect)] = &[
    ("crash-forgotten-beside-sidecar", Defect::CrashIsFinal),
    ("crash-loop-makes-pod-pending", Defect::PendingBetweenRestarts),
    ("deadline-loses-container-status", Defect::EndShownLate),
    ("evict-skips-hook", Defect::EvictionSkipsHooks),
    ("eviction-shown-as-success", Defect::EvictedPodsSucceed),
    ("exec-readiness-frozen-while-terminating", Defect::ReadinessStopsOnDelete),
    ("exec-timeout-ignored", Defect::ExecTimeoutIgnored),
    ("exec-timeout-restarts-nothing", Defect::ExecTimeoutIsError),
    ("failed-pod-shown-as-succeeded", Defect::FailuresSucceed),
    ("gate-closed-pod-ready", Defect::GateChangeUnnoticed),
    ("hook-finds-no-network", Defect::PreStopSkipped),
    ("host-header-ignored", Defect::HostHeaderIgnored),
    ("large-body-fails", Defect::LargeBodyFails),
    ("liveness-kills-while-terminating", Defect::LivenessGoesOnInTermination),
    ("liveness-waits-for-pod-grace", Defect::ProbeGraceIgnored),
    ("main-container-before-init", Defect::SandboxLossSkipsInits),
    ("prestop-outlasts-grace", Defect::HookNeverCut),
    ("prestop-time-not-deducted", Defect::HookTimeAdded),
    ("readiness-frozen-while-terminating", Defect::ReadinessStopsOnDelete),
    ("readiness-restarts", Defect::ReadinessServesAsLiveness),
    ("ready-after-startup-failure", Defect::ReadinessIgnoresStartup),
    ("ready-without-a-process", Defect::ReadyFlagNotCleared),
    ("redirect-to-another-host", Defect::FollowsCrossHost),
    ("resize-waits-for-back-off", Defect::ChangeKeepsBackOff),
    ("second-init-container-skipped", Defect::SandboxLossSkipsInits),
    ("shorter-grace-ignored", Defect::SecondDeletionIgnored),
    ("sidecar-probed-while-terminating", Defect::LivenessGoesOnInTermination),
    ("sidecar-startup-probe-gives-up", Defect::SidecarFollowsPolicy),
    ("sidecar-status-frozen-in-jobs", Defect::SidecarFollowsPolicy),
    ("startup-alone-ready-late", Defect::AbsentReadinessIsUnready),
    ("startup-failure-ignored", Defect::StartupFailureTolerated),
    ("startup-failure-kills-late", Defect::StartupFailureTolerated),
    ("startup-gate-open-after-kill", Defect::StartupNotRearmedOnRestart),
    ("startup-grace-dropped", Defect::StartupGraceIgnored),
    ("startup-probe-goes-on", Defect::StartupGoesOnAfterSuccess),
    ("startup-probe-once-only", Defect::StartupNotRearmedOnRestart),
    ("success-shown-as-failure", Defect::SuccessesFail),
    ("unhealthy-restarted-despite-never", Defect::RestartsDespiteNever),
];

/// The bugs for which no planted defect is similar, with the reason.
const UNPLANTED: &[(&str, &str)] = &[
    ("deleted-pod-never-terminal", "no planted defect is like it yet"),
    ("evicted-pod-gets-whole-grace", "no planted defect is like it yet"),
    ("initial-delay-kills", "no planted defect is like it yet"),
    ("kills-wait-for-each-other", "no planted defect is like it yet"),
    ("kubelet-restart-gives-readiness", "no planted defect is like it yet"),
    ("kubelet-restart-opens-startup-gate", "no planted defect is like it yet"),
    ("kubelet-restart-repeats-startup", "no planted defect is like it yet"),
    ("kubelet-restart-takes-readiness", "no planted defect is like it yet"),
    ("liveness-count-survives-exit", "no planted defect is like it yet"),
    ("liveness-kill-shown-as-success", "no planted defect is like it yet"),
    ("prestop-command-outlives-container", "no planted defect is like it yet"),
    ("prestop-sleep-outlives-container", "no planted defect is like it yet"),
    ("probe-goes-on-during-kill", "no planted defect is like it yet"),
    (
        "post-start-blocks-deletion",
        "its expectations need a step that comes too late in the simulated cluster",
    ),
    ("second-hook-not-run", "its expectations need a mark that the planted defect keeps from being set"),
    ("sidecars-never-signalled", "no defect lets a sidecar wait for the end of one that never started"),
];

/// The bugs that the simulated cluster has without a defect, because it behaves like the current release. Each has the
/// resulting behavior.
const LIKE_UPSTREAM: &[(&str, &str)] = &[
    ("eviction-shown-as-success", "it does not evict a pod whose containers have ended with success"),
    ("kills-wait-for-each-other", "it stops the containers of a pod one after the other"),
    ("liveness-count-survives-exit", "it counts on the failures of the instance before"),
    ("liveness-kill-shown-as-success", "a killed container that exits with 0 has succeeded"),
    ("post-start-blocks-deletion", "it removes the pod before the step that marks the time"),
    ("prestop-command-outlives-container", "it removes the pod before the step that marks the time"),
    ("prestop-sleep-outlives-container", "it removes the pod before the step that marks the time"),
    (
        "ready-without-a-process",
        "a container that was killed and starts again at once is not shown as not ready in between",
    ),
    ("shorter-grace-ignored", "it ends a termination with the grace period with which it began"),
    ("sidecar-probed-while-terminating", "it probes sidecars until they end"),
];

fn cases() -> Vec<Case> {
    let files = probity_suites::regressions().unwrap_or_else(|problem| panic!("{problem}"));
    files.into_iter().flat_map(|file| file.cases).collect()
}

/// The end of a case's name.
fn short(case: &Case) -> &str {
    case.name.0.rsplit('/').next().unwrap()
}

/// The verdicts of a case's expectations on a run, each with the expectation.
fn said(case: &Case, defects: &[Defect], seed: u64) -> Vec<String> {
    let history = simulate(case, defects, seed);
    let each = expect::judge(&history).into_iter();
    each.map(|expected| {
        format!("{} {}: {}", expected.verdict.word(), expected.what, expected.verdict.sentence())
    })
    .collect()
}

#[test]
fn a_faithful_cluster_meets_what_each_of_them_expects() {
    let like_upstream = |case: &&Case| !LIKE_UPSTREAM.iter().any(|(name, _)| *name == short(case));
    let mut wrong = Vec::new();
    for case in cases().iter().filter(like_upstream) {
        for seed in SEEDS {
            let said = said(case, &[], seed).into_iter().filter(|said| !said.starts_with("holds"));
            wrong.extend(said.map(|said| format!("{} (seed {seed}): {said}", case.name)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn with_the_bug_planted_an_expectation_is_violated() {
    let mut unnoticed = Vec::new();
    for case in cases() {
        let Some((_, defect)) = PLANTED.iter().find(|(name, _)| *name == short(&case)) else { continue };
        for seed in SEEDS {
            let said = said(&case, &[*defect], seed);
            if !said.iter().any(|said| said.starts_with("violated")) {
                unnoticed.push(format!("{} with {defect:?} (seed {seed}): {}", case.name, said.join("; ")));
            }
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}

#[test]
fn each_of_them_has_its_defect_or_the_reason_why_not() {
    let names: Vec<String> = cases().iter().map(|case| short(case).to_owned()).collect();
    let known: Vec<&str> =
        PLANTED.iter().map(|(name, _)| *name).chain(UNPLANTED.iter().map(|(name, _)| *name)).collect();
    let (have, want): (BTreeSet<&str>, BTreeSet<&str>) =
        (known.iter().copied().collect(), names.iter().map(String::as_str).collect());
    assert_eq!(have, want);
    assert_eq!(known.len(), have.len(), "one of them is there twice");
    assert!(UNPLANTED.iter().chain(LIKE_UPSTREAM).all(|(_, why)| !why.is_empty()));
    assert!(LIKE_UPSTREAM.iter().all(|(name, _)| want.contains(name)));
}
