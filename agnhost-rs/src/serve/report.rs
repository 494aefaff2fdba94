//! What the target reports about itself in a body. A dump is also recorded in the witness, so that a judge sees what the
//! client saw.

use probity_script::Fact;
use probity_script::answer::Report;
use serde_json::json;

use crate::identity;
use crate::stage::Stage;

/// The report as JSON.
pub(super) fn text(report: Report, stage: &Stage, probe: u64) -> String {
    let value = match report {
        Report::Identity => {
            let own = stage.witness().identity();
            let names = identity::from_environment();
            json!({ "host": identity::host(), "boot": own.boot, "attempt": own.attempt, "request": probe, "names": names })
        }
        Report::Counters => json!(stage.counters()),
        Report::Dump => {
            let dump = crate::lifecycle::dump::take();
            let value = json!(dump);
            stage.witness().record(&Fact::Dump(dump));
            value
        }
    };
    value.to_string()
}
