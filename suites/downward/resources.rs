//! The requests and limits that a container is told.

use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::offers::{Offer, offers, views};
use crate::reading::dumps::Look;
use crate::reading::quantities::thousandths;

/// Thousandths of one, by the Kubernetes documentation on resource units.
const WHOLE: i128 = 1_000;

/// What a container must be told: the amount divided by the divisor, rounded up. None where the spec says nothing.
fn expected(look: &Look<'_, '_>, source: &Value) -> Option<String> {
    let (list, resource) = source["resource"].as_str()?.split_once('.')?;
    let name = source["containerName"].as_str().unwrap_or(&look.life.container.name);
    let spec = look.life.pod.container(name)?.spec;
    let amount = thousandths(spec.get("resources")?.get(list)?.get(resource)?.as_str()?)?;
    let divisor = source["divisor"].as_str().and_then(thousandths).filter(|divisor| *divisor > 0);
    let divisor = divisor.unwrap_or(WHOLE);
    Some(amount.saturating_add(divisor - 1).checked_div(divisor)?.to_string())
}

/// The words of an offer for a reader.
fn words(look: &Look<'_, '_>, offer: &Offer<'_>) -> String {
    format!("{} of {}", offer.name, look.life.name())
}

/// A request or limit of the spec is told in the unit that is asked for.
pub(super) fn as_in_the_spec(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &views(run) {
        for offer in &offers(look) {
            let Some(source) = offer.resource() else { continue };
            let Some(expected) = expected(look, source) else { continue };
            let told = offer.seen.map(|told| told.trim_end_matches('\n'));
            let resource = source["resource"].as_str().unwrap_or_default();
            let finding =
                || format!("{} is to show {resource}, {expected}, but it is {told:?}", words(look, offer));
            let right = told == Some(expected.as_str());
            seen.check(right, finding, [look.line.id]);
            if right {
                seen.facet(offer.form.word(), resource);
            }
        }
    }
}
