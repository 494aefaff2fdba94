//! Why a container was stopped: what a case gives as reasons.

use probity_model::timeline::{ProbeKind, ProbedLife};

/// Whether only one of its own probes can have stopped this instance: the case has no other cause.
pub(crate) fn only_its_probe(life: &ProbedLife<'_, '_>) -> bool {
    let (pod, container) = (life.pod, life.container);
    let other = [ProbeKind::Startup, ProbeKind::Liveness]
        .into_iter()
        .any(|kind| kind != life.spec.kind && container.probe(kind).is_some());
    let hooked = container.spec.get("lifecycle").is_some();
    let lawful = life.stop().is_none_or(|stop| life.before_deletion(&stop.at));
    let stays = container.stays() && !pod.work_is_done(container) && life.policy() != "Never";
    stays && lawful && !other && !hooked && life.only_probes_stop_it()
}
