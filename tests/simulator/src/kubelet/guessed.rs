//! Defects that look like improvements: what other clients do, and what a kubelet guesses about a server.

use probity_model::timeline::ProbeKind;

use super::prober::{Outcome, Run};
use super::url::Url;
use crate::Defect;
use crate::world::World;

impl World<'_> {
    /// The host and the port as the Host header names them.
    pub(super) fn named_place(&self, url: &Url) -> String {
        let usual = matches!((url.scheme.as_str(), url.port), ("http", Some(80)) | ("https", Some(443)));
        let unsaid = usual && self.has(Defect::DefaultPortUnsaid);
        if unsaid || self.has(Defect::HostHeaderLacksPort) { url.host.clone() } else { url.place() }
    }

    /// Changes the values of a header that occurs several times.
    pub(super) fn spoil_values(&self, values: &mut Vec<String>) {
        if self.has(Defect::EqualHeadersOnce) {
            let mut seen = std::collections::BTreeSet::new();
            values.retain(|value| seen.insert(value.clone()));
        }
    }

    /// Where a redirect leads, if that is not where its Location says.
    pub(super) fn led_by(&self, location: &str) -> String {
        let relative = !location.contains(':') && !location.starts_with(['/', '?']);
        let from_root = relative && self.has(Defect::RelativeRedirectFromRoot);
        if from_root { format!("/{location}") } else { location.to_owned() }
    }

    /// The result of an attempt after an error, if a defect discards it.
    pub(super) fn lose_result(&self, run: &Run, outcome: Outcome) -> Outcome {
        let lost = run.tries > 0 && self.has(Defect::ResultAfterErrorLost);
        if lost { Outcome::Erred("failure", "unexpected EOF".to_owned()) } else { outcome }
    }

    /// How a success with a warning counts.
    pub(super) fn counted_warning(&self, kind: ProbeKind) -> Option<bool> {
        let kept = kind == ProbeKind::Liveness && self.has(Defect::WarningKeepsFailures);
        let fails = kind == ProbeKind::Startup && self.has(Defect::RedirectFailsStartup);
        (!kept).then_some(!fails)
    }
}
