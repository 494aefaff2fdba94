//! The log of a container as a second source: the witness writes the same lines to it.

use probity_model::history::{Heard, Way};
use probity_script::WitnessLine;
use probity_script::witness::Entry;

/// The witness lines of a log. Other lines, including incomplete ones, are not evidence and are left out.
pub(crate) fn lines(
    log: &str,
    pod: &str,
    uid: &str,
    container: &str,
    node: &str,
) -> impl Iterator<Item = Heard> {
    log.lines().filter_map(move |line| {
        let line: WitnessLine = serde_json::from_str(line).ok()?;
        Some(Heard {
            pod: pod.to_owned(),
            uid: uid.to_owned(),
            container: container.to_owned(),
            node: node.to_owned(),
            by: Way::Log,
            received_us: None,
            entry: Entry::Line(Box::new(line)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_witness_line_is_left_out() {
        let good = r#"{"v":1,"boot":"b","attempt":0,"seq":3,"mono_us":1,"wall_us":2,"fact":{"mark":{"name":"m","by":"control"}}}"#;
        let log = format!("starting up\n{good}\n{}", &good[..40]);
        let found: Vec<_> = lines(&log, "p", "u", "c", "n").collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].by, Way::Log);
    }
}
