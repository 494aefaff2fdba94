//! `httpHeaders`: each header of the spec is sent.

use std::collections::BTreeSet;

use probity_model::{Clause, Seen, Timeline};

use super::list;
use crate::reading::arrivals::{Arrival, arrivals, is_custom_header};
use crate::reading::http::exchanges::scheme;

/// Each request has every header of the spec.
pub(super) fn sent_with_every_probe(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run) {
        let asked = arrival.hit.asked;
        let mut custom = arrival.get.headers.iter().filter(|(name, _)| is_custom_header(name)).peekable();
        if custom.peek().is_none() {
            continue;
        }
        let comes = |name, value: &str| asked.header(name).any(|sent| sent.trim() == value.trim());
        match custom.find(|(name, value)| !comes(name, value)) {
            None => judge_names(&arrival, seen),
            Some((name, value)) => {
                let (words, sent) = (arrival.get.words(), list(asked.header(name), "none"));
                seen.violated(format!("{words} sets {name}: {value}, but sent {sent}"), [asked.id]);
            }
        }
    }
}

/// Over HTTP/1.1 a name is sent in its canonical form, however the spec spells it. HTTP/2 has only lower-case names.
fn judge_names(arrival: &Arrival<'_, '_>, seen: &mut Seen) {
    let asked = arrival.hit.asked;
    let custom = arrival.get.headers.iter().map(|(name, _)| name).filter(|name| is_custom_header(name));
    let misspelled = custom.filter(|_| asked.is_http1()).find_map(|name| {
        let mut sent = asked.request.headers.iter().map(|(sent, _)| sent);
        sent.find(|sent| sent.eq_ignore_ascii_case(name) && **sent != canonical(name))
    });
    if let Some(sent) = misspelled {
        let (words, wanted) = (arrival.get.words(), canonical(sent));
        seen.violated(format!("{words} sent the name {sent} instead of {wanted}"), [asked.id]);
        return;
    }
    seen.fine([asked.id]);
    if let Some(scheme) = scheme(&arrival.get.spec.handler) {
        seen.facet("scheme", scheme);
    }
}

/// The canonical form of a name: each word begins with a capital letter and continues in lower case.
fn canonical(name: &str) -> String {
    let mut begins = true;
    let letter = |c: char| {
        let written = if begins { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        begins = c == '-';
        written
    };
    name.chars().map(letter).collect()
}

/// If a name occurs several times, all of its values arrive, in the order of the spec.
pub(super) fn all_values_of_a_name(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run) {
        let (get, asked) = (arrival.get, arrival.hit.asked);
        let names: BTreeSet<String> = get.headers.iter().map(|(name, _)| name.to_lowercase()).collect();
        for name in names.iter().filter(|name| is_custom_header(name)) {
            let same = get.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
            let wanted: Vec<&str> = same.map(|(_, value)| value.trim()).collect();
            if wanted.len() > 1 {
                let sent: Vec<&str> = asked.header(name).map(str::trim).collect();
                let finding = || {
                    let (words, wanted, sent) =
                        (get.words(), list(wanted.clone(), "none"), list(sent.clone(), "none"));
                    format!("{words} sets {name} to {wanted}, but sent {sent}")
                };
                seen.check(sent == wanted, finding, [asked.id]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
