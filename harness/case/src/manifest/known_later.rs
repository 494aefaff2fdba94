//! Placeholders whose values are known only when other pods or objects exist.

use std::collections::BTreeMap;

use probity_script::Plan;
use serde_json::Value;

use crate::case::CasePod;

/// The placeholders about pods, up to the key of the pod.
const OF_PODS: [&str; 4] = ["ip:", "uid:", "node:", "most-memory:"];
/// The placeholder for the address of a Service, up to its name.
const OF_SERVICES: &str = "service-ip:";
/// The part of a node's memory, in percent, that `{most-memory:KEY}` stands for. Two pods that request this part do not
/// fit on the node. One of them fits if all other pods request less than the rest.
const MOST: u64 = 60;

/// The placeholders in a pod and its plans. Their values must be known before the pod can be sent.
#[must_use]
pub fn placeholders(pod: &CasePod) -> Vec<String> {
    placeholders_in(&pod.pod, &pod.target)
}

/// The key of the pod whose address, UID or node a placeholder is about.
#[must_use]
pub fn pod_of_placeholder(name: &str) -> Option<&str> {
    OF_PODS.into_iter().find_map(|prefix| name.strip_prefix(prefix))
}

/// The value of `{most-memory:KEY}` if the node of the pod has this much allocatable memory.
#[must_use]
pub fn most_memory(allocatable: &str) -> Option<String> {
    let number = allocatable.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = allocatable.strip_prefix(number)?;
    let part = number.parse::<u64>().ok()?.checked_mul(MOST)? / 100;
    Some(format!("{part}{unit}"))
}

/// The placeholders in an object with pods and in their plans.
#[must_use]
pub fn placeholders_in(object: &Value, plans: &BTreeMap<String, Plan>) -> Vec<String> {
    let text = object.to_string() + &serde_json::to_string(plans).unwrap_or_default();
    let starts = OF_PODS.into_iter().chain([OF_SERVICES]).map(|prefix| format!("{{{prefix}"));
    let mut found: Vec<String> = starts
        .flat_map(|start| text.match_indices(&start).map(|(at, _)| at).collect::<Vec<_>>())
        .filter_map(|at| text.get(at + 1..)?.split_once('}').map(|(name, _)| name.to_owned()))
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_the_memory_is_more_than_a_half() {
        assert_eq!(most_memory("4000Mi").as_deref(), Some("2400Mi"));
        assert_eq!(most_memory("3924532Ki").as_deref(), Some("2354719Ki"));
        assert_eq!(most_memory("1000").as_deref(), Some("600"));
        assert_eq!(most_memory("much"), None);
    }
}
