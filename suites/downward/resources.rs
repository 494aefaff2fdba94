//! The requests and limits that the downward API passes to a container.

use probity_model::timeline::Revision;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::offers::{Form, Offer, offers, views};
use crate::reading::dumps::Look;
use crate::reading::patches::{RESIZE, last_resize, of_part};
use crate::reading::quantities::{WHOLE, thousandths};
use crate::reading::statuses::status_of;

/// Resources of which a container without a limit gets the allocatable amount of its node.
const OF_NODE: [&str; 2] = ["limits.cpu", "limits.memory"];

/// The policy of a container for a resource that a resize cannot change without a restart.
const RESTARTS: &str = "RestartContainer";

/// An amount in the spec or in the status of a container.
fn amount_in<'v>(of: &'v Value, (list, resource): (&str, &str)) -> Option<&'v str> {
    of.get("resources")?.get(list)?.get(resource)?.as_str()
}

/// The amount that a variable or file must show: that in the spec of the container to which it refers. In a resized pod,
/// only variables about the own container are judged, because they have the amounts with which the instance started.
fn given<'l>(look: &'l Look<'_, '_>, offer: &Offer<'_>) -> Option<&'l str> {
    let source = offer.resource()?;
    let amount = source["resource"].as_str()?.split_once('.')?;
    let own = look.life.container.name.as_str();
    let name = source["containerName"].as_str().unwrap_or(own);
    if !is_resized(look) {
        return amount_in(look.life.pod.container(name)?.spec, amount);
    }
    if offer.form == Form::Variable && name == own { given_at_start(look, amount) } else { None }
}

/// Whether the pod of a container was resized.
fn is_resized(look: &Look<'_, '_>) -> bool {
    last_resize(look.life.run, look.life.pod).is_some()
}

/// The amount with which an instance of a container in a resized pod started. `None` if this is not known, because a resize
/// may have changed the amount later without a restart.
fn given_at_start<'l>(look: &'l Look<'_, '_>, (list, resource): (&str, &str)) -> Option<&'l str> {
    let (life, run) = (&look.life, look.life.run);
    let mut resizes = of_part(run, RESIZE);
    resizes.retain(|resize| resize.refused.is_none() && resize.pod.uid == life.pod.uid);
    let next = resizes.iter().position(|resize| run.before(&life.began, &resize.began));
    if next == Some(0) {
        return amount_in(life.container.spec, (list, resource));
    }
    let policies = life.container.spec.get("resizePolicy").and_then(Value::as_array);
    let mut policies = policies.into_iter().flatten();
    if !policies.any(|of| of["resourceName"] == resource && of["restartPolicy"] == RESTARTS) {
        return None;
    }
    let next = next.and_then(|next| resizes.get(next));
    let shows = |shown: &&Revision<'_>| {
        let status = shown.container(&life.container.name);
        status.is_some_and(|of| of.is_running() && of.restarts == life.number)
            && next.is_none_or(|next| run.before(&shown.at, &next.began))
    };
    let last = life.pod.revisions.iter().rfind(shows)?;
    amount_in(status_of(last, &life.container.name)?, (list, resource))
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
            let Some(expected) = given(look, offer).and_then(|given| divided(given, source)) else {
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
        // A resize can add a limit that the container did not have when it was created.
        let node = run.history.header.nodes.get(&look.life.pod.node).filter(|_| !is_resized(look));
        let Some(node) = node else { continue };
        for offer in &offers(look) {
            let Some(source) = offer.resource().filter(|_| given(look, offer).is_none()) else { continue };
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
