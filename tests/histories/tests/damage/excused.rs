//! Places where a damage is not detected, each with the reason. Either the judges lack a fact, or their verdict is
//! right.

/// Why one short status of a container that has ended, but is shown as ready, is only a doubt.
const LAST_PROBE: &str = "the next status corrects it: the result of the last probe may have reached the kubelet after the container's end";

/// A damage, the case, and why it is not detected there.
pub(crate) const ALL: &[(&str, &str, &str)] = &[
    (
        "the endpoint of a deleted pod is removed at once",
        "probe_types/readiness-while-terminating/container-kind=sidecar",
        "the main container ends as soon as it is told to stop, and the judge looks only until the first container has ended",
    ),
    (
        "the endpoint of a deleted pod stays ready",
        "probe_types/readiness-while-terminating/container-kind=sidecar",
        "the main container ends as soon as it is told to stop, and the judge looks only until the first container has ended",
    ),
    (
        "the endpoint of a deleted pod serves no more",
        "probe_types/readiness-while-terminating/container-kind=sidecar",
        "the main container ends as soon as it is told to stop, and the judge looks only until the first container has ended",
    ),
    (
        "the endpoint of a deleted pod serves no more",
        "probe_types/endpoints-drain",
        "the pods have no readiness probe, and the judge looks only at pods that have one",
    ),
    (
        "no replica is available while new ones crash",
        "scenario/rollout-crashloop/settle=3",
        "a new pod counted as available there, which is the known divergence; after that the judge asks no more",
    ),
    (
        "an HTTP probe that hangs is waited for twice as long",
        "probe_types/liveness-catches-hang",
        "the preStop hook asks at the probe's own port, so the judge counts no probe there: one may be the hook's",
    ),
    (
        "a connection that is refused is reported as an error of the prober",
        "probe_http/address-loopback-of-the-node",
        "the judge of the loopback address takes any event that says failed, and misses none that says errored",
    ),
    (
        "a connection that is refused is reported as an error of the prober",
        "probe_types/startup-slow-boot",
        "the port opens later: only where it never does is a refusal told from a probe that found nobody yet",
    ),
    (
        "readiness probes of a container that is not ready pause",
        "probe_http/answer-failures",
        "the answers break off, and a client may ask again at once: the judge counts no such probe",
    ),
    (
        "the first restart comes ten seconds late",
        "probe_types/liveness-self-crash",
        "why the judge is silent there has not been looked into",
    ),
    (
        "the period of a readiness probe is a quarter longer",
        "probe_types/liveness-ignores-readiness",
        "noise in the window excuses a pause: a ticker that was stalled drops its ticks, and so does a kubelet",
    ),
    (
        "every tenth liveness probe is left out",
        "probe_mechanism/tcp-connections",
        "why the judge is silent there has not been looked into",
    ),
    (
        "an HTTP probe that hangs is waited for six tenths of a second more",
        "probe_types/liveness-catches-hang",
        "the preStop hook asks at the probe's own port, so the judge counts no probe there: one may be the hook's",
    ),
    (
        "an HTTP probe that hangs is given up half a second early",
        "probe_types/liveness-catches-hang",
        "the preStop hook asks at the probe's own port, so the judge counts no probe there: one may be the hook's",
    ),
    (
        "the status is about the generation of the creation",
        "scenario/rollout-crashloop/settle=3",
        "why the judge is silent there has not been looked into",
    ),
    (
        "the status is about the generation of the creation",
        "scenario/rollout-eager",
        "why the judge is silent there has not been looked into",
    ),
    (
        "the status is about the generation of the creation",
        "scenario/rollout-unready",
        "why the judge is silent there has not been looked into",
    ),
    (
        "a container that has ended is shown ready",
        "probe_types/readiness-while-terminating/container-kind=sidecar",
        LAST_PROBE,
    ),
    ("a container that has ended is shown ready", "scenario/rollout-eager", LAST_PROBE),
    ("a container that has ended is shown ready", "scenario/rollout-unready", LAST_PROBE),
];

/// A case in which no damage of some kind is detected, and why.
const CASES: &[(&str, &str)] = &[
    (
        "prober/restart-in-every-state",
        "its kubelet is restarted on purpose, so judges leave out what that may explain",
    ),
    (
        "prober/restart-spreads-probes",
        "its kubelet is restarted on purpose, so judges leave out what that may explain",
    ),
];

/// Why a damage may not be detected in a case.
pub(crate) fn why(what: &str, case: &str) -> Option<&'static str> {
    let of = |(damage, place, _): &&(&str, &str, &str)| *damage == what && *place == case;
    let whole = || CASES.iter().find(|(place, _)| *place == case).map(|(_, why)| *why);
    ALL.iter().find(of).map(|(.., why)| *why).or_else(whole)
}
