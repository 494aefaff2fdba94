//! What a kubelet has counted of its probes, read through the API server.
//!
//! Only `prober_probe_total` is read, and of it only what belongs to the case: a kubelet counts for all pods of its node.
//! It takes the right to get nodes/proxy. That right opens much more than counters (it reaches every door of a kubelet),
//! so `probity rbac` does not ask for it: who wants these cases grants it knowingly, and without it the step says so.

use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body;
use probity_model::history::ProbeCount;

use crate::ask::{DEADLINE, broken, chain, silent};
use crate::connect::Ground;
use crate::error::SendError;
use crate::kinds::escape;

/// The counter that is read.
const COUNTER: &str = "prober_probe_total";

impl Ground {
    /// The counters that the kubelet of a node has of these pods of a namespace.
    pub(crate) async fn probe_counts(
        &self,
        node: &str,
        namespace: &str,
        pods: &[String],
    ) -> Result<Vec<ProbeCount>, SendError> {
        let doing = "reading the kubelet's counters of probes";
        let target = format!("/api/v1/nodes/{}/proxy/metrics/probes", escape(node));
        let request = Request::builder().uri(target).header("accept", "text/plain").body(Body::empty());
        let request = request.map_err(|error| broken(doing, error))?;
        let whole = async {
            let body = self.open(doing, request).await?.into_body();
            let bytes = body.collect().await.map_err(|error| broken(doing, chain(&error)))?.to_bytes();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = tokio::time::timeout(DEADLINE, whole).await.unwrap_or_else(|_| Err(silent(doing)))?;
        Ok(counts(&text, namespace).filter(|count| pods.contains(&count.pod)).collect())
    }
}

/// The counters of a namespace in a text of the Prometheus exposition format. Lines that are no such counter are left out.
fn counts<'t>(text: &'t str, namespace: &'t str) -> impl Iterator<Item = ProbeCount> + 't {
    text.lines().filter_map(move |line| {
        let rest = line.strip_prefix(COUNTER)?.strip_prefix('{')?;
        let (labels, value) = rest.rsplit_once('}')?;
        let labels = pairs(labels);
        let label = |name: &str| labels.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone());
        (label("namespace")? == namespace).then_some(())?;
        Some(ProbeCount {
            pod: label("pod")?,
            uid: label("pod_uid")?,
            container: label("container")?,
            probe: label("probe_type")?,
            result: label("result")?,
            count: whole(value.split_whitespace().next()?)?,
        })
    })
}

/// A counter's value: written as a float, and whole all the same.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole(value: &str) -> Option<u64> {
    let value: f64 = value.parse().ok()?;
    ((0.0..9e15).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}

/// `name="value"` pairs, with `\"`, `\\` and `\n` in values.
fn pairs(labels: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = labels;
    while let Some((name, after)) = rest.split_once("=\"") {
        let mut value = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next() {
                Some((at, '"')) => break Some(at + 1),
                Some((_, '\\')) => match letters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, letter)) => value.push(letter),
                    None => break None,
                },
                Some((_, letter)) => value.push(letter),
                None => break None,
            }
        };
        let Some(end) = end else { break };
        pairs.push((name.trim_start_matches(',').trim().to_owned(), value));
        rest = after.get(end..).unwrap_or_default();
    }
    pairs
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const TEXT: &str = r#"# HELP prober_probe_total [BETA] Cumulative number of probes
# TYPE prober_probe_total counter
prober_probe_total{container="c",namespace="ours",pod="web",pod_uid="u1",probe_type="Liveness",result="failed"} 3
prober_probe_total{container="c",namespace="ours",pod="web",pod_uid="u1",probe_type="Liveness",result="successful"} 1.2e+01
prober_probe_total{container="c",namespace="theirs",pod="web",pod_uid="u2",probe_type="Liveness",result="successful"} 7
prober_probe_duration_seconds_count{container="c",namespace="ours",pod="web",probe_type="Liveness"} 12
prober_probe_total{container="c",namespace="ours"
"#;

    #[test]
    fn only_counters_of_the_namespace_are_taken() {
        let found: Vec<_> = counts(TEXT, "ours").collect();
        let told: Vec<_> = found.iter().map(|one| (one.result.as_str(), one.count)).collect();
        assert_eq!(told, [("failed", 3), ("successful", 12)]);
        assert_eq!((found[0].uid.as_str(), found[0].probe.as_str()), ("u1", "Liveness"));
    }

    #[test]
    fn a_label_may_have_quotes_commas_and_braces() {
        let found = pairs(r#"a="x\"},y=\\",b="2""#);
        assert_eq!(found, [("a".to_owned(), r#"x"},y=\"#.to_owned()), ("b".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn what_is_no_whole_number_is_no_count() {
        assert_eq!((whole("4"), whole("4.5"), whole("NaN"), whole("-1")), (Some(4), None, None, None));
        assert_eq!(whole("1e+06").unwrap(), 1_000_000);
    }
}
