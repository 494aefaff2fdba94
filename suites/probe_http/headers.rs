//! The headers of HTTP probes: the default ones, and those that a spec adds, replaces or removes.
//!
//! Names are compared without regard to case, as in HTTP, but one judge checks how custom names are spelled. Each
//! request is judged, not only the first.

mod custom;
mod own;

use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.http.custom-headers", judge: custom::sent_with_every_probe },
    Judge { clause: "probe.http.repeated-headers", judge: custom::all_values_of_a_name },
    Judge { clause: "probe.http.user-agent-default", judge: own::user_agent },
    Judge { clause: "probe.http.accept-default", judge: own::accept },
    Judge { clause: "probe.http.header-set", judge: own::nothing_else },
    Judge { clause: "probe.http.headers-override", judge: own::overridden },
    Judge { clause: "probe.http.headers-remove", judge: own::removed },
];

/// The values of a header in words; `none` is the text for no values.
fn list<'v>(values: impl IntoIterator<Item = &'v str>, none: &str) -> String {
    let values: Vec<&str> = values.into_iter().collect();
    if values.is_empty() { none.to_owned() } else { format!("`{}`", values.join("`, `")) }
}
