//! The known bugs of public reports: on a faithful cluster each of them meets what it expects, and with the bug planted it
//! does not.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use probity_case::Case;
use probity_model::expect;
use probity_simulator::{Defect, simulate};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;

/// The planted defect that is nearest to each bug, and which its expectations must notice.
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
    ("post-start-blocks-deletion", Defect::DeletionSignalsLate),
    ("prestop-outlasts-grace", Defect::HookNeverCut),
    ("prestop-time-not-deducted", Defect::HookTimeAdded),
    ("readiness-frozen-while-terminating", Defect::ReadinessStopsOnDelete),
    ("readiness-restarts", Defect::ReadinessServesAsLiveness),
    ("ready-after-startup-failure", Defect::ReadinessIgnoresStartup),
    ("ready-without-a-process", Defect::ReadyFlagNotCleared),
    ("redirect-to-another-host", Defect::FollowsCrossHost),
    ("resize-waits-for-back-off", Defect::ChangeKeepsBackOff),
    ("second-hook-not-run", Defect::PreStopSkipped),
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

/// The bugs that no planted defect is like, with the reason.
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
    ("sidecars-never-signalled", "no defect lets a sidecar wait for the end of one that never started"),
];

fn cases() -> Vec<Case> {
    let files = probity_suites::regressions().unwrap_or_else(|problem| panic!("{problem}"));
    files.into_iter().flat_map(|file| file.cases).collect()
}

/// The end of a case's name.
fn short(case: &Case) -> &str {
    case.name.0.rsplit('/').next().unwrap()
}

/// What the expectations of a case say of a run: the words of their verdicts, each with the expectation.
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
    for case in cases() {
        for seed in SEEDS {
            let wrong: Vec<String> =
                said(&case, &[], seed).into_iter().filter(|said| !said.starts_with("holds")).collect();
            assert!(wrong.is_empty(), "{} (seed {seed}):\n{}", case.name, wrong.join("\n"));
        }
    }
}

#[test]
fn with_the_bug_planted_an_expectation_is_violated() {
    for case in cases() {
        let Some((_, defect)) = PLANTED.iter().find(|(name, _)| *name == short(&case)) else { continue };
        for seed in SEEDS {
            let said = said(&case, &[*defect], seed);
            let noticed = said.iter().any(|said| said.starts_with("violated"));
            assert!(noticed, "{} with {defect:?} (seed {seed}):\n{}", case.name, said.join("\n"));
        }
    }
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
    assert!(UNPLANTED.iter().all(|(_, why)| !why.is_empty()));
}
