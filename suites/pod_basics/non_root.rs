//! Containers that must not run as root, although their user is root.

use probity_model::timeline::{Revision, State};
use probity_model::{Clause, Seen, Timeline};

use super::context::effective;

/// The waiting reason of a container that cannot be created from its spec, in the reference implementation of Kubernetes.
const NOT_CREATED: &str = "CreateContainerConfigError";

/// A container that requires a user other than root, but has the user root, does not start.
pub(super) fn never_start_as_root(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        let Some((required, by)) = effective(pod, container, "runAsNonRoot") else { continue };
        let root = effective(pod, container, "runAsUser").is_some_and(|(user, _)| *user == 0);
        if *required != true || !root {
            continue;
        }
        let shown = |state: &dyn Fn(&State<'_>) -> bool| {
            let shows = |of: &&Revision<'_>| of.container(&container.name).is_some_and(|of| state(&of.state));
            pod.revisions.iter().find(shows).map(|shown| shown.id)
        };
        let began = container.attempts.first().map(|attempt| attempt.began.id);
        let ran = began.or_else(|| shown(&|state| matches!(state, State::Running { .. })));
        if let Some(ran) = ran {
            let name = format!("{}/{}", pod.key, container.name);
            seen.violated(format!("{name} has started as root, although runAsNonRoot is true"), [ran]);
        } else if let Some(waits) =
            shown(&|state| matches!(state, State::Waiting { reason } if *reason == NOT_CREATED))
        {
            seen.fine([waits]);
            seen.facet("given-by", by);
        }
    }
}
