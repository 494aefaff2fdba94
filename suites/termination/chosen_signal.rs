//! Which signal stops a container: the one from its image or from its own field, in place of SIGTERM.

use probity_model::timeline::{Life, Line};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;

use super::asked::{Going, going};
use crate::reading::ends::{killed_at, may_be_unrecorded};
use crate::reading::stop_signals::VARIANT;

/// The signal that the image of a container names, according to its tag.
fn of_image(life: &Life<'_, '_>) -> Option<String> {
    let image = life.container.spec.get("image")?.as_str()?;
    let (_, signal) = image.rsplit_once('/')?.1.rsplit_once(VARIANT)?;
    Some(format!("SIG{}", signal.to_ascii_uppercase()))
}

/// The signal that the container itself names.
fn of_field(life: &Life<'_, '_>) -> Option<String> {
    life.container.lifecycle("stopSignal")?.as_str().map(str::to_owned)
}

/// If a container does not name a signal itself, the signal from its image stops it.
pub(super) fn of_the_image(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (going, life) in stopped(run) {
        if let (Some(wanted), None) = (of_image(&life), of_field(&life)) {
            judge(&going, &life, &wanted, seen);
        }
    }
}

/// The signal that a container names stops it, whatever its image names.
pub(super) fn of_the_container(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (going, life) in stopped(run) {
        let Some(wanted) = of_field(&life).filter(|_| is_known_to_the_runtime(&life)) else { continue };
        if judge(&going, &life, &wanted, seen) {
            seen.facet("over", if of_image(&life).is_some() { "image" } else { "default" });
        }
    }
}

/// Whether the status of the container shows any stop signal, right or wrong. A runtime that does not know the field drops it,
/// whatever the kubelet requests, and then the status shows no stop signal.
fn is_known_to_the_runtime(life: &Life<'_, '_>) -> bool {
    life.revisions().any(|(_, seen)| seen.stop_signal.is_some())
}

/// The containers of pods that were deleted with a grace period.
fn stopped<'t, 'h>(run: &'t Timeline<'h>) -> Vec<(Going<'t, 'h>, Life<'t, 'h>)> {
    let graceful = going(run).into_iter().filter(Going::is_graceful);
    let each = graceful.flat_map(|going| {
        let lives = going.lives();
        lives.into_iter().map(move |life| (going.clone(), life))
    });
    each.collect()
}

/// The first signal that a process itself received after the request.
fn first_signal<'t, 'h>(going: &Going<'_, '_>, life: &Life<'t, 'h>) -> Option<(&'t Line<'h>, &'h str)> {
    life.attempt.lines.iter().find_map(|line| match &line.line.fact {
        Fact::Signal(signal) if signal.child.is_none() && !going.run.before(&line.at, &going.first.at) => {
            Some((line, signal.signal.as_str()))
        }
        _ => None,
    })
}

/// Judges one container; returns whether it was stopped with the expected signal.
fn judge(going: &Going<'_, '_>, life: &Life<'_, '_>, wanted: &str, seen: &mut Seen) -> bool {
    let asked = going.first.at.id;
    match (first_signal(going, life), killed_at(life)) {
        (Some((line, signal)), _) => {
            let finding = || format!("{} has the stop signal {wanted}, but received {signal}", life.name());
            seen.check(signal == wanted, finding, [asked, line.id]);
            signal == wanted
        }
        (None, Some(ended)) if !may_be_unrecorded(life, ended) => {
            let finding = format!("{} has the stop signal {wanted}, but was killed without it", life.name());
            seen.violated(finding, [asked, ended.id]);
            false
        }
        (None, _) => false,
    }
}
