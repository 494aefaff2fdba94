//! The requests and limits that the downward API passes to a container.

use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::offers::{Offer, offers, views};
use crate::reading::dumps::Look;
use crate::reading::quantities::{WHOLE, thousandths};

/// Resources of which a container without a limit gets the allocatable amount of its node.
const OF_NODE: [&str; 2] = ["limits.cpu", "limits.memory"];

/// The amount in the spec of the container that a variable or file refers to.
fn given<'l>(look: &'l Look<'_, '_>, source: &Value) -> Option<&'l str> {
    let (list, resource) = source["resource"].as_str()?.split_once('.')?;
    let name = source["containerName"].as_str().unwrap_or(&look.life.container.name);
    look.life.pod.container(name)?.spec.get("resources")?.get(list)?.get(resource)?.as_str()
}

/// The value that a container must get: an amount divided by the divisor, rounded up.
fn divided(amount: &str, source: &Value) -> Option<String> {
    let amount = thousandths(amount)?;
    let divisor = source["divisor"].as_str().and_then(thousandths).filter(|divisor| *divisor > 0);
    let divisor = divisor.unwrap_or(WHOLE);
    Some(amount.saturating_add(divisor - 1).checked_div(divisor)?.to_string())
}

/// A variable or file in words, for a reader.
fn words(look: &Look<'_, '_>, offer: &Offer<'_>) -> String {
    format!("{} of {}", offer.name, look.life.name())
}

/// A container gets a request or limit from the spec, in the unit of the divisor.
pub(super) fn as_in_the_spec(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        for offer in &offers(look) {
            let Some(source) = offer.resource() else { continue };
            let Some(expected) = given(look, source).and_then(|given| divided(given, source)) else {
                continue;
            };
            let told = offer.seen.map(|told| told.trim_end_matches('\n'));
            let resource = source["resource"].as_str().unwrap_or_default();
            let finding =
                || format!("{} should show {resource}, {expected}, but it is {told:?}", words(look, offer));
            let right = told == Some(expected.as_str());
            seen.check(right, finding, [look.line.id]);
            if right {
                seen.facet(offer.form.word(), resource);
            }
        }
    }
}

/// A container without a limit gets the allocatable amount of its node.
pub(super) fn of_the_node(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        let Some(node) = run.history.header.nodes.get(&look.life.pod.node) else { continue };
        for offer in &offers(look) {
            let Some(source) = offer.resource().filter(|source| given(look, source).is_none()) else {
                continue;
            };
            let resource = source["resource"].as_str().unwrap_or_default();
            // Pod-level resources take precedence over the amounts of the node.
            if !OF_NODE.contains(&resource) || look.life.pod.spec.get("resources").is_some() {
                continue;
            }
            let amount = resource.split_once('.').and_then(|(_, resource)| node.allocatable.get(resource));
            let Some(expected) = amount.and_then(|amount| divided(amount, source)) else { continue };
            let told = offer.seen.map(|told| told.trim_end_matches('\n'));
            let right = told == Some(expected.as_str());
            let finding = || {
                format!(
                    "{} should show {resource} of its node, {expected}, but it is {told:?}",
                    words(look, offer)
                )
            };
            seen.check(right, finding, [look.line.id]);
            if right {
                seen.facet(offer.form.word(), resource);
            }
        }
    }
}
