//! Which signal stops a container if neither the container nor its image names one.

use probity_model::history::Did;
use probity_model::timeline::{Life, Line};
use probity_model::{EventId, Seen};
use probity_script::witness::Fact;
use serde_json::Value;

use super::patches::TARGET_CONTAINER;

/// The id of the first process of a container: Linux, pid_namespaces(7).
const FIRST: u32 = 1;
/// The signal of a container for which nothing names another one: Kubernetes documentation, Pod Lifecycle, Stop Signals.
const DEFAULT: &str = "SIGTERM";
/// In the tag of a target image with a STOPSIGNAL other than SIGTERM, the part before the signal: `dev-sigusr1`.
pub(crate) const VARIANT: &str = "-sig";
/// The lists of containers in a pod's spec.
const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Whether the process of an instance is the first process of its container.
pub(crate) fn is_first_process(life: &Life<'_, '_>) -> bool {
    let first = life.lines.first();
    first.is_some_and(|line| matches!(&line.line.fact, Fact::Started(started) if started.pid == FIRST))
}

/// Whether only the kubelet can have sent the first stop signal of an instance, and this signal is the default one: the instance
/// is a target, and nothing names another signal.
fn has_default(life: &Life<'_, '_>) -> bool {
    let (name, spec) = (life.container.name.as_str(), life.container.spec);
    // A process in an ephemeral container that shares its processes may signal it, too.
    let shared =
        life.pod.ephemeral.iter().any(|of| of.spec.get(TARGET_CONTAINER).is_some_and(|with| *with == *name));
    let is_variant =
        |of: &Value| of["name"] == *name && of["image"].as_str().is_some_and(|image| image.contains(VARIANT));
    // The image may change.
    let changed = life.pod.revisions.iter().any(|shown| {
        let lists = LISTS.iter().filter_map(|list| shown.object["spec"][*list].as_array());
        lists.flatten().any(is_variant)
    });
    let own = life.container.lifecycle("stopSignal").is_some() || is_variant(spec) || changed;
    // A command in the container may signal it as well.
    let is_command = |hook: &&str| life.container.lifecycle(hook).is_some_and(|of| of.get("exec").is_some());
    let hooked = ["preStop", "postStart"].iter().any(is_command);
    let executed = life.run.deeds.iter().any(|(_, deed)| matches!(&deed.did, Did::Executed { .. }));
    !own && !shared && !hooked && !executed && life.container.plan().is_some() && is_first_process(life)
}

/// Reports that a container was stopped with another signal than the default one, since an event that caused the stop. Other
/// judges look at containers that name a signal, or whose images do. Returns whether it was reported.
pub(crate) fn accuse_signal(life: &Life<'_, '_>, since: EventId, stop: &Line<'_>, seen: &mut Seen) -> bool {
    let Fact::Signal(signal) = &stop.line.fact else { return false };
    let wrong = signal.signal != DEFAULT && has_default(life);
    if wrong {
        let finding = format!("{} was stopped with {}, not with {DEFAULT}", life.name(), signal.signal);
        seen.violated(finding, [since, stop.id]);
    }
    wrong
}
