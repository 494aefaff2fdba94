//! The probes that a kubelet has counted, read through the API server.
//!
//! Only `prober_probe_total` is read, and for which pods there are histograms of `prober_probe_duration_seconds`. Only the
//! pods of the case are of interest, but a kubelet counts for all pods of its node.
//! This needs permission to get nodes/proxy. That permission allows much more than reading counters (the kubelet's
//! whole API), so `probity rbac` does not include it: grant it manually for these cases; without the permission, the
//! step reports that it is missing.

use kube::core::Request;
use probity_model::history::ProbeCount;

use crate::api::client::ClusterClient;
use crate::error::ClusterError;

/// The counter that is read.
const COUNTER: &str = "prober_probe_total";
/// The line of each histogram that contains the number of its probes.
const DURATIONS: &str = "prober_probe_duration_seconds_count";

/// What a kubelet has measured of the probes of some pods.
pub(crate) struct ProbeMetrics {
    /// The counters of the pods.
    pub(crate) counts: Vec<ProbeCount>,
    /// The number of counters for all pods of the node.
    pub(crate) on_node: u64,
    /// For each histogram of the durations of a probe, the name of its pod.
    pub(crate) durations: Vec<String>,
}

impl ClusterClient {
    /// What the kubelet of a node has measured of the probes of these pods of a namespace.
    pub(crate) async fn probe_metrics(
        &self,
        node: &str,
        namespace: &str,
        pods: &[String],
    ) -> Result<ProbeMetrics, ClusterError> {
        let request = Request::new("/api/v1/nodes").get_subresource("proxy/metrics/probes", node);
        let text = self.request_bytes("read the kubelet's counters of probes", request).await?;
        let text = String::from_utf8_lossy(&text);
        let on_node = text.lines().filter(|line| labels_of(line, COUNTER).is_some()).count();
        Ok(ProbeMetrics {
            counts: counts(&text, namespace).filter(|count| pods.contains(&count.pod)).collect(),
            on_node: u64::try_from(on_node).unwrap_or(u64::MAX),
            durations: durations(&text, namespace).filter(|pod| pods.contains(pod)).collect(),
        })
    }
}

/// The pods of the histograms of a namespace, one for each histogram.
fn durations<'t>(text: &'t str, namespace: &'t str) -> impl Iterator<Item = String> + 't {
    text.lines().filter_map(move |line| {
        let labels = pairs(labels_of(line, DURATIONS)?.0);
        let label = |name: &str| labels.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone());
        (label("namespace")? == namespace).then(|| label("pod"))?
    })
}

/// The counters of a namespace in a text of the Prometheus exposition format. Other lines are left out.
fn counts<'t>(text: &'t str, namespace: &'t str) -> impl Iterator<Item = ProbeCount> + 't {
    text.lines().filter_map(move |line| {
        let (labels, value) = labels_of(line, COUNTER)?;
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

/// The labels of a line of a metric, and the rest of the line.
fn labels_of<'t>(line: &'t str, metric: &str) -> Option<(&'t str, &'t str)> {
    line.strip_prefix(metric)?.strip_prefix('{')?.rsplit_once('}')
}

/// The value of a counter: a whole number that is written as a float.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole(value: &str) -> Option<u64> {
    let value: f64 = value.parse().ok()?;
    ((0.0..9e15).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}

/// `name="value"` pairs; the values are quoted as in JSON.
fn pairs(labels: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = labels;
    while let Some((name, after)) = rest.split_once('=') {
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<String>();
        let Some(Ok(value)) = values.next() else { break };
        pairs.push((name.trim_start_matches(',').trim().to_owned(), value));
        rest = after.get(values.byte_offset()..).unwrap_or_default();
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
        let counted: Vec<_> = found.iter().map(|one| (one.result.as_str(), one.count)).collect();
        assert_eq!(counted, [("failed", 3), ("successful", 12)]);
        assert_eq!((found[0].uid.as_str(), found[0].probe.as_str()), ("u1", "Liveness"));
    }

    #[test]
    fn the_pod_of_each_histogram_of_the_namespace_is_taken() {
        assert_eq!(durations(TEXT, "ours").collect::<Vec<_>>(), ["web"]);
        assert_eq!(durations(TEXT, "theirs").count(), 0);
    }

    #[test]
    fn a_label_may_have_quotes_commas_and_braces() {
        let found = pairs(r#"a="x\"},y=\\",b="2""#);
        assert_eq!(found, [("a".to_owned(), r#"x"},y=\"#.to_owned()), ("b".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn what_is_not_a_whole_number_is_not_a_count() {
        assert_eq!((whole("4"), whole("4.5"), whole("NaN"), whole("-1")), (Some(4), None, None, None));
        assert_eq!(whole("1e+06").unwrap(), 1_000_000);
    }
}
