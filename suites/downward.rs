//! The downward API: what a container learns about its pod from environment variables and from files.

mod age;
mod fields;
mod offers;
mod refused;
mod resources;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "downward.two-ways", judge: fields::both_ways_agree },
        Judge { clause: "downward.fieldref-both", judge: fields::fields_of_both },
        Judge { clause: "downward.env-only", judge: fields::fields_of_variables },
        Judge { clause: "downward.volume-only", judge: fields::fields_of_files },
        Judge { clause: "downward.resourcefieldref", judge: resources::as_in_the_spec },
        Judge { clause: "downward.fallback-allocatable", judge: resources::of_the_node },
        Judge { clause: "downward.no-client-needed", judge: fields::without_a_token },
    ]
}

#[cfg(test)]
mod tests;
