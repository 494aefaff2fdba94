//! The metrics of the process in OpenMetrics, for users who run Prometheus. The witness is the better source.

use std::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::Control;
use crate::lifecycle::GateState;

/// The content type of OpenMetrics.
pub(super) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;

/// Reads all current numbers. They are maintained where they occur, so a scrape only copies them.
pub(super) fn page(control: &Control) -> Result<String, fmt::Error> {
    let (witness, meters) = (control.stage.witness(), &control.meters);
    let mut registry = Registry::with_prefix("agnhost");
    let identity = witness.identity();
    let who = vec![("boot", identity.boot.clone()), ("attempt", identity.attempt.to_string())];
    registry.register("process", "This instance of the process", Info::new(who));
    let lines = ConstCounter::new(witness.next_seq());
    registry.register("witness_lines", "Number of witness lines", lines);
    let lost = Family::<Labels, Counter>::default();
    for (outlet, lines) in witness.losses() {
        lost.get_or_create(&vec![("outlet", outlet.to_owned())]).inc_by(lines);
    }
    registry.register("witness_lost_lines", "Witness lines that an outlet lost", lost);
    let probes = Family::<Labels, Counter>::default();
    for (group, names) in control.stage.counters() {
        for (name, count) in names {
            probes.get_or_create(&vec![("group", group.clone()), ("name", name)]).inc_by(count);
        }
    }
    registry.register("probes", "The number of requests to an endpoint", probes);
    registry.register("connections_accepted", "Connections that listeners accepted", meters.accepted.clone());
    registry.register("connections_open", "Connections of listeners that are open", meters.open.clone());
    let gate = ConstGauge::new(i64::from(control.gate.now() == GateState::Open));
    registry.register("doors_open", "Whether listeners accept connections as planned", gate);
    let mut page = String::new();
    encode(&mut page, &registry)?;
    Ok(page)
}
