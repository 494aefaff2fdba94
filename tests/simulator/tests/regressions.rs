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
    ("deadline-loses-container-status", Defect::EndShownLate),
    ("exec-readiness-frozen-while-terminating", Defect::ReadinessStopsOnDelete),
    ("exec-timeout-ignored", Defect::ExecTimeoutIgnored),
    ("exec-timeout-restarts-nothing", Defect::ExecTimeoutIsError),
    ("host-header-ignored", Defect::HostHeaderIgnored),
    ("large-body-fails", Defect::LargeBodyFails),
    ("liveness-kills-while-terminating", Defect::LivenessGoesOnInTermination),
    ("liveness-waits-for-pod-grace", Defect::ProbeGraceIgnored),
    ("prestop-outlasts-grace", Defect::HookNeverCut),
    ("prestop-time-not-deducted", Defect::HookTimeAdded),
    ("readiness-frozen-while-terminating", Defect::ReadinessStopsOnDelete),
    ("readiness-restarts", Defect::ReadinessServesAsLiveness),
    ("redirect-to-another-host", Defect::FollowsCrossHost),
    ("sidecar-startup-probe-gives-up", Defect::SidecarFollowsPolicy),
    ("sidecar-status-frozen-in-jobs", Defect::SidecarFollowsPolicy),
    ("startup-alone-ready-late", Defect::AbsentReadinessIsUnready),
    ("startup-gate-open-after-kill", Defect::StartupNotRearmedOnRestart),
    ("startup-grace-dropped", Defect::StartupGraceIgnored),
    ("startup-probe-once-only", Defect::StartupNotRearmedOnRestart),
];

/// The bugs that no planted defect is like, with the reason.
const UNPLANTED: &[(&str, &str)] =
    &[("sidecars-never-signalled", "no defect lets a sidecar wait for the end of one that never started")];

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
