//! Redirects: which of them the kubelet follows, how many in a row, and how the others count.

mod elsewhere;
mod followed;
mod limit;
#[cfg(test)]
mod tests;

use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.http.redirect.same-host-followed", judge: followed::same_host_followed },
    Judge { clause: "probe.http.redirect.same-host-other-port", judge: followed::other_port_followed },
    Judge { clause: "probe.http.redirect.http-to-https", judge: followed::https_followed },
    Judge {
        clause: "probe.http.redirect.cross-host-not-followed",
        judge: elsewhere::other_hosts_are_not_asked,
    },
    Judge {
        clause: "probe.http.redirect.cross-host-by-name",
        judge: elsewhere::another_name_is_another_host,
    },
    Judge { clause: "probe.http.redirect.limit", judge: limit::too_many_are_a_warning },
    Judge { clause: "probe.http.redirect.missing-location", judge: elsewhere::nowhere_is_a_warning },
    Judge { clause: "probe.http.redirect.headers-kept", judge: followed::headers_are_kept },
];
