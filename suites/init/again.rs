//! Init containers that run again, and init containers that must not run again.

use probity_model::clocks::Order;
use probity_model::timeline::{At, Attempt, ContainerKind, ContainerLife, Life, Line, PodLife};
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::inits::{inits, success};
use crate::reading::mains::{is_plain, is_recorded, lives_of, mains};

/// An init container that has succeeded does not run again.
pub(super) fn done_is_done(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A restarted kubelet knows from the running containers that the earlier containers succeeded.
    let inits = run.lives().whole().only(|life| {
        life.container.kind == ContainerKind::Init
            && !run.lost_a_sandbox()
            && !run.lost_a_node()
            && !life.pod.restarts_as_one()
            && life.container.spec.get("restartPolicy").is_none()
            && life.is_numbered()
    });
    for life in inits {
        let Some((line, 0)) = life.exited_by_itself() else { continue };
        if !life.before_deletion(&line.at) {
            continue;
        }
        if let Some(again) = life.lives_again() {
            seen.violated(
                format!("{} was started again although it had succeeded", life.name()),
                [line.id, again],
            );
        } else if let Some(restarted) = restarted_main(&life, line, clause) {
            seen.fine([line.id, restarted]);
            seen.facet("main", "restarted");
        } else if life.watched_for(&line.at, clause.slack_us()) {
            seen.fine(run.to_the_end([line.id]));
            seen.facet("main", "runs");
        }
    }
}

/// The start of a main container that restarted after the init container had succeeded, if the case continued for long
/// enough to show a second run of the init container.
fn restarted_main(life: &Life<'_, '_>, done: &Line<'_>, clause: &Clause) -> Option<EventId> {
    let after = |main: &&Attempt<'_>| life.run.before(&done.at, &main.began);
    let mut lives = mains(life.pod).flat_map(|main| &main.attempts).filter(after);
    let again = lives.find(|main| main.earlier_processes() > 0 && main.is_numbered())?;
    life.watched_for(&again.began, clause.slack_us()).then_some(again.began.id)
}

/// When a main container is restarted, no init container runs.
pub(super) fn not_with_a_restart(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in
        run.pods.iter().filter(|pod| is_plain(run, pod) && inits(pod).any(|init| success(init).is_some()))
    {
        for life in mains(pod).flat_map(|main| lives_of(run, pod, main)).filter(|life| life.number > 0) {
            let Some(before) = life.before().filter(|_| life.is_numbered()) else { continue };
            if let Some(again) = init_after(run, pod, &before) {
                let finding = format!("an init container ran again after {} restarted", life.name());
                seen.violated(finding, [life.began.id, again]);
            } else if inits(pod).all(is_recorded) && life.watched_for(&life.began, clause.slack_us()) {
                seen.fine([life.began.id]);
            }
        }
    }
}

/// After a time in which all main containers were terminated, no init container runs again.
pub(super) fn not_after_all_ended(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lasting = |pod: &&PodLife<'_>| pod.restart_policy() == "Always" && is_plain(run, pod);
    for pod in run.pods.iter().filter(lasting) {
        let all_succeeded = inits(pod).all(|init| is_recorded(init) && success(init).is_some());
        if inits(pod).next().is_none() || !all_succeeded {
            continue;
        }
        for life in mains(pod).flat_map(|main| lives_of(run, pod, main)) {
            let (Some(end), Some(next)) = (&life.ended, life.next()) else { continue };
            let mut others = mains(pod).filter(|other| other.name != life.container.name);
            if !next.is_numbered() || !others.all(|other| is_down(run, other, (end, &next.began))) {
                continue;
            }
            if let Some(again) = init_after(run, pod, &life) {
                let finding = format!(
                    "an init container of {} ran again after all main containers had terminated",
                    pod.key
                );
                seen.violated(finding, [end.id, again]);
            } else if next.watched_for(&next.began, clause.slack_us()) {
                seen.fine([end.id, next.began.id]);
                seen.facet("mains", if mains(pod).count() == 1 { "one" } else { "several" });
            }
        }
    }
}

/// Whether a container had ended and had not started again at some time between the two given times.
fn is_down(run: &Timeline<'_>, container: &ContainerLife<'_>, (from, to): (&At, &At)) -> bool {
    container.attempts.iter().any(|attempt| {
        let next = container.attempts.iter().find(|next| next.number == attempt.number + 1);
        attempt.ended.as_ref().is_some_and(|ended| run.before(ended, to))
            && next.is_none_or(|next| run.before(from, &next.began))
    })
}

/// An init container that started after this instance of a main container had started.
fn init_after(run: &Timeline<'_>, pod: &PodLife<'_>, main: &Life<'_, '_>) -> Option<EventId> {
    let mut lives = inits(pod).flat_map(|init| &init.attempts);
    lives.find(|init| run.clocks.order(&main.began, &init.began) == Order::Before).map(|init| init.began.id)
}

/// When an init container runs again, it finds the data that it wrote to a volume. (Its target counts its own instances
/// in a file there.)
pub(super) fn finds_its_files(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for init in run.pods.iter().filter(|pod| is_plain(run, pod)).flat_map(inits) {
        let complete: Vec<_> = init.attempts.iter().filter(|life| life.is_complete()).collect();
        for pair in complete.windows(2) {
            let [one, two] = pair else { continue };
            let events = [one.began.id, two.began.id];
            if one.number == two.number {
                let finding = format!("{} ran again, and the data that it had written was lost", init.name);
                seen.violated(finding, events);
            } else if one.number + 1 == two.number {
                seen.fine(events);
            }
        }
    }
}
