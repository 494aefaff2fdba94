//! The recorder's metrics in the text format of OpenMetrics, generated for each scrape.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::state::RecorderState;

/// All metrics as a text.
pub(super) fn text(state: &RecorderState) -> String {
    let (counts, next, first, held, (connected, silent)) = state.look(|merged| {
        let memory = merged.memory();
        (merged.counts(), merged.next(), memory.first(), memory.held(), merged.present())
    });
    let loaded = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let mut registry = Registry::with_prefix("probity_recorder");
    for (name, help, value) in [
        ("lines", "Witness lines received", counts.lines),
        ("beats", "Beats taken", counts.beats),
        ("missing_lines", "Lines that will never arrive", counts.missing),
        ("duplicate_lines", "Duplicate lines that were dropped", counts.duplicates),
        ("joins", "Connections that sent a greeting", counts.joined),
        ("leaves", "Greeted connections that ended", counts.left),
        ("silences", "Number of times that a target fell silent", counts.silences),
        ("nonsense", "Number of times that bytes were dropped", counts.nonsense),
        ("stalls", "Number of times that the recorder itself was stalled", counts.stalls),
        ("entries", "Entries of the merged stream", next),
        ("forgotten_entries", "Entries that are no longer in memory", first),
        ("turned_away", "Connections closed because there were too many", loaded(&state.turned_away)),
        ("strangers", "Connections closed because they had no valid token", loaded(&state.strangers)),
        ("refused_queries", "Queries without the token", loaded(&state.refused)),
        ("unfiled_entries", "Entries that were lost to the file", loaded(&state.unfiled)),
    ] {
        registry.register(name, help, ConstCounter::new(value));
    }
    for (name, help, value) in [
        ("connections", "Open connections on the ingest port", state.connections.taken()),
        ("targets", "Targets with an open connection", connected as u64),
        ("silent_targets", "Targets with an open connection that are silent", silent as u64),
        ("followers", "Readers that follow the stream", state.followers.taken()),
        ("memory_bytes", "Bytes of the memory", held as u64),
        (
            "worst_stall_microseconds",
            "The longest time that the recorder itself was stalled",
            counts.worst_stall_us,
        ),
    ] {
        registry.register(name, help, ConstGauge::new(value));
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}
