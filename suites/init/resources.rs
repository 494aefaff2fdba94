//! The total requests of a pod: checked with a quota in dry runs, and with the QoS class that the API shows.
//!
//! Only CPU amounts in thousandths (`500m`) and quotas on `requests.cpu` are evaluated; other manifests are ignored.

use probity_model::history::{Happening, Tried};
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::admission::{Admission, stored_pods};

/// The quota resource that is evaluated.
const RESOURCE: &str = "requests.cpu";

/// What the parts of a pod request, in thousandths of a CPU.
struct Asked {
    /// The sum for the main containers.
    mains: i64,
    /// The sum for the sidecars.
    sidecars: i64,
    /// The highest amount while an init container runs, including the sidecars that run at the same time.
    inits: i64,
    /// Whether a sidecar runs at the same time as the init container with the highest amount.
    beside: bool,
    /// The number of regular init containers.
    count: usize,
}

impl Asked {
    /// Adds up a pod's spec. `None` if an amount cannot be evaluated.
    fn of(spec: &Value) -> Option<Self> {
        let list = |field: &str| spec[field].as_array().into_iter().flatten();
        let mains: Option<Vec<i64>> = list("containers").map(cpu).collect();
        let mut asked =
            Self { mains: mains?.into_iter().sum(), sidecars: 0, inits: 0, beside: false, count: 0 };
        for container in list("initContainers") {
            let own = cpu(container)?;
            if container["restartPolicy"] == "Always" {
                asked.sidecars += own;
            } else if own + asked.sidecars > asked.inits {
                asked.inits = own + asked.sidecars;
                asked.beside = asked.sidecars > 0;
            }
            asked.count += usize::from(container["restartPolicy"] != "Always");
        }
        Some(asked)
    }

    fn all(&self) -> i64 {
        self.inits.max(self.mains + self.sidecars)
    }

    /// The part of the pod that determines its total request, as a word.
    fn decided(&self) -> &'static str {
        match () {
            () if self.beside || self.inits <= self.mains + self.sidecars && self.sidecars > 0 => "sidecar",
            () if self.inits > self.mains => "init",
            () => "main",
        }
    }
}

/// The CPU that a container requests, in thousandths; 0 if the container requests none.
fn cpu(container: &Value) -> Option<i64> {
    match &container["resources"]["requests"]["cpu"] {
        Value::Null => Some(0),
        amount => thousandths(amount),
    }
}

fn thousandths(amount: &Value) -> Option<i64> {
    amount.as_str()?.strip_suffix('m')?.parse().ok()
}

/// A dry run under a quota: the amount that it requested, the amount that was left, and whether it was rejected because
/// of the quota.
struct Met<'h> {
    id: EventId,
    quota: EventId,
    tried: &'h Tried,
    asked: Asked,
    left: i64,
    refused: bool,
}

/// The dry runs of pods to which the quota applies (pods with a deadline and with requests), after the quota was in
/// force.
fn met<'h>(run: &Timeline<'h>) -> Vec<Met<'h>> {
    let quotas = run.history.events().filter_map(|(id, event)| match &event.what {
        Happening::Sighting(seen) if seen.kind == "ResourceQuota" => {
            let status = &seen.object["status"];
            let left = thousandths(&status["hard"][RESOURCE])? - used(&status["used"][RESOURCE])?;
            Some((id, left))
        }
        _ => None,
    });
    let quotas: Vec<(EventId, i64)> = quotas.collect();
    let met = run.tried.iter().filter_map(|(id, tried)| {
        let (quota, left) = *quotas.iter().rfind(|(quota, _)| quota < id)?;
        let spec = tried.manifest.get("spec")?;
        let asked = Asked::of(spec).filter(|asked| asked.all() > 0)?;
        spec.get("activeDeadlineSeconds")?;
        let refused = match tried.code {
            ..300 => false,
            403 if tried.message.contains("exceeded quota") => true,
            _ => return None,
        };
        Some(Met { id: *id, quota, tried, asked, left, refused })
    });
    met.collect()
}

/// The used amount of a quota. The API server writes zero as a plain number.
fn used(amount: &Value) -> Option<i64> {
    if amount == "0" { Some(0) } else { thousandths(amount) }
}

fn judge(run: &Timeline<'_>, seen: &mut Seen, of: impl Fn(&Asked) -> bool) {
    let admission = Admission::of(run);
    for met in met(run).into_iter().filter(|met| of(&met.asked)) {
        if admission.is_in_doubt(&met.tried.name, met.id, seen) {
            continue;
        }
        let fits = met.asked.all() <= met.left;
        let (name, all, left) = (&met.tried.name, met.asked.all(), met.left);
        if met.refused == fits {
            let done = if met.refused { "was rejected by" } else { "was admitted by" };
            let finding =
                format!("`{name}`, which requests {all}m in total, {done} a quota that had {left}m left");
            admission.accuse(met.refused, finding, [met.quota, met.id], seen);
        } else {
            seen.fine([met.quota, met.id]);
            seen.facet("fits", if fits { "yes" } else { "no" });
            seen.facet("decided", met.asked.decided());
        }
    }
}

/// If there are several init containers, the highest of their requests counts.
pub(super) fn highest_init(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge(run, seen, |asked| asked.count > 1 && asked.decided() == "init");
}

/// The request of a pod is the larger of two amounts: the total of its main containers, and the request of its
/// initialization.
pub(super) fn highest_of_pod(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge(run, seen, |_| true);
}

/// Under a quota, a pod with init containers is rejected if it requests more than is left, and accepted if it requests
/// less.
pub(super) fn quota_applies(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge(run, seen, |asked| asked.count > 0);
}

/// The QoS class of a pod follows from all of its stored containers.
pub(super) fn one_class(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let with_inits = |spec: &Value| spec["initContainers"].is_array();
    for pod in stored_pods(run).into_iter().filter(|pod| pod.is_dry_run && with_inits(pod.sent)) {
        let (Some(shown), Some(class)) = (pod.class, pod.class_of_containers()) else { continue };
        if shown != class {
            let name = pod.name;
            let finding = format!("the status shows `{name}` as {shown}, but its containers make it {class}");
            seen.violated(finding, pod.events);
        } else if pod.keeps_resources() {
            seen.fine(pod.events);
            seen.facet("class", class);
        } else {
            pod.doubt(seen);
        }
    }
}
