//! Placeholders whose values are known only when other pods or objects exist.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

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

/// Replaces a placeholder with its value. An IPv6 address gets brackets where it is the host of a URL, which begins
/// after `//`, or is followed by a port, unless the text has brackets itself.
pub(super) fn fill_one(text: &str, placeholder: &str, word: &str) -> String {
    if word.parse::<Ipv6Addr>().is_err() {
        return text.replace(placeholder, word);
    }
    let mut parts = text.split(placeholder);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for after in parts {
        let port = after.strip_prefix(':').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let host = filled.ends_with("//") || (port && !filled.ends_with('['));
        let (open, close) = if host { ("[", "]") } else { ("", "") };
        for part in [open, word, close, after] {
            filled.push_str(part);
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_gets_brackets_in_a_url_and_before_a_port() {
        let fill = |text: &str, word: &str| fill_one(text, "{ip:a}", word);
        for (text, filled) in [
            ("{ip:a}", "fd00::7"),
            ("Location: http://{ip:a}:8080/x", "Location: http://[fd00::7]:8080/x"),
            ("http://{ip:a}/x http://{ip:a}", "http://[fd00::7]/x http://[fd00::7]"),
            ("http://[{ip:a}]:8080/", "http://[fd00::7]:8080/"),
            ("{ip:a}:80", "[fd00::7]:80"),
            ("{ip:a}: the address", "fd00::7: the address"),
        ] {
            assert_eq!(fill(text, "fd00::7"), filled, "{text}");
            assert_eq!(fill(text, "10.0.0.7"), text.replace("{ip:a}", "10.0.0.7"));
        }
    }

    #[test]
    fn most_of_the_memory_is_more_than_a_half() {
        assert_eq!(most_memory("4000Mi").as_deref(), Some("2400Mi"));
        assert_eq!(most_memory("3924532Ki").as_deref(), Some("2354719Ki"));
        assert_eq!(most_memory("1000").as_deref(), Some("600"));
        assert_eq!(most_memory("much"), None);
    }
}
