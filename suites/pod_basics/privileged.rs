//! Privileged containers.

use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::dumps::looks;

/// The file in which the kernel shows the capabilities that a process can have at most.
pub(super) const STATUS: &str = "/proc/self/status";
const BOUND: &str = "CapBnd:";

/// The capabilities that a process can have at most, one bit for each.
pub(super) fn capabilities(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(BOUND))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// A privileged container of any kind has more capabilities than one that is not privileged.
pub(super) fn has_all_capabilities(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let views: Vec<_> = looks(run)
        .into_iter()
        .filter_map(|look| {
            let held = capabilities(look.dump.files.get(STATUS)?)?;
            let context = look.life.container.spec.get("securityContext");
            let is = context.and_then(|context| context.get("privileged")).and_then(Value::as_bool);
            let dropped = context.is_some_and(|context| context["capabilities"]["drop"][0] == "ALL");
            Some((look.line.id, look.life, held, is == Some(true), dropped))
        })
        .collect();
    for (id, life, held, privileged, dropped) in &views {
        let beside = views.iter().find(|(_, other, _, is, _)| {
            std::ptr::eq(other.pod, life.pod)
                && other.container.name != life.container.name
                && is != privileged
        });
        let Some((other, _, its, ..)) = beside else { continue };
        let name = life.name();
        match privileged {
            true => {
                let more = held.count_ones() > its.count_ones() && (held & its) == *its;
                let finding =
                    || format!("{name} is privileged, but has no more capabilities than a plain container");
                seen.check(more, finding, [*id, *other]);
                if more {
                    seen.facet("privileged", "true");
                }
            }
            false if *dropped => {
                let finding = || {
                    format!(
                        "{name} drops all capabilities, but has some when it runs beside a privileged container"
                    )
                };
                seen.check(*held == 0, finding, [*id, *other]);
                if *held == 0 {
                    seen.facet("privileged", "false");
                }
            }
            false => {}
        }
    }
}
