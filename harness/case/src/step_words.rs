//! Steps as sentences, for readers of a case and users who watch a run.

use serde_json::Value;

use crate::step::Step;
use crate::wait_conditions::Wait;

/// The maximum number of characters of a value. A longer value is cut.
const LONGEST: usize = 160;
/// The maximum number of characters of a patch. A longer patch is cut. The limit is high because judges read rejected
/// patches from the sentence.
const LONGEST_PATCH: usize = 1000;

impl Step {
    /// The word for the step in a case file.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Wait(_) => "wait",
            Self::Watch(_) => "watch",
            Self::Change(_) => "change",
            Self::Reset(_) => "reset",
            Self::Mark(_) => "mark",
            Self::Create(_) => "create",
            Self::Delete(_) => "delete",
            Self::Patch(_) => "patch",
            Self::Evict(_) => "evict",
            Self::Exec(_) => "exec",
            Self::Scale(_) => "scale",
            Self::Update(_) => "update",
            Self::Ephemeral(_) => "ephemeral",
            Self::Node(_) => "node",
            Self::Taint(_) => "taint",
            Self::Untaint(_) => "untaint",
            Self::Cordon(_) => "cordon",
            Self::Drain(_) => "drain",
            Self::Advertise(_) => "advertise",
            Self::Metrics(_) => "metrics",
            Self::Try(_) => "try",
        }
    }

    /// The step in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let (pod, container) = self.speaks_of();
        let pod = pod.map_or("the pod".to_owned(), |key| format!("the pod {key}"));
        let of_target = match (container, self.speaks_of().0) {
            (Some(name), Some(key)) => format!(" of {name} in the pod {key}"),
            (Some(name), None) => format!(" of {name}"),
            (None, Some(key)) => format!(" in the pod {key}"),
            (None, None) => String::new(),
        };
        let inside = container.map(|name| format!("the container {name} of ")).unwrap_or_default();
        match self {
            Self::Wait(wait) => wait.in_words(),
            Self::Watch(span) => format!("watch for {span}"),
            Self::Change(of) => format!("change the plan{of_target} to {}", written(&of.to)),
            Self::Reset(_) => format!("reset the plan{of_target}"),
            Self::Mark(of) => format!("set the mark {}{}", of.name, of_target.replacen(" of ", " in ", 1)),
            Self::Create(_) => format!("create {pod}"),
            Self::Evict(of) => match &of.workload {
                Some(key) => format!("evict a pod of the workload {key}"),
                None => format!("evict {pod}"),
            },
            Self::Delete(of) => {
                let grace =
                    of.grace.map(|grace| format!(" with a grace period of {grace} s")).unwrap_or_default();
                match &of.workload {
                    Some(key) => format!("delete a pod of the workload {key}{grace}"),
                    None => format!("delete {pod}{grace}"),
                }
            }
            Self::Patch(of) => {
                let what = match (&of.kind, &of.name) {
                    (Some(kind), Some(name)) => format!("{kind} {name}"),
                    _ => pod,
                };
                let part = of.subresource.as_ref().map(|part| format!(" ({part})")).unwrap_or_default();
                format!("patch {what}{part} with {}", cut(&flow_with(&of.patch, true), LONGEST_PATCH))
            }
            Self::Exec(of) => format!("run `{}` in {inside}{pod}", of.command.join(" ")),
            Self::Scale(of) => format!("scale the {} {} to {}", of.kind, of.name, of.replicas),
            Self::Update(of) => {
                let plans = of.target.keys().map(|name| format!("a new plan for {name}"));
                let patch = of.patch.as_ref().map(|patch| format!("the patch {}", written(patch)));
                let parts: Vec<String> = plans.chain(patch).collect();
                format!("update the workload {} with {}", of.workload, parts.join(" and "))
            }
            Self::Ephemeral(of) => {
                let name = of.container["name"].as_str().unwrap_or_default();
                format!("add the ephemeral container {name} to {pod}")
            }
            Self::Node(of) => {
                let input = of.input.as_ref().map(|input| format!(" with {}", written(input)));
                format!("{} on the node of {pod}{}", of.verb, input.unwrap_or_default())
            }
            Self::Taint(of) => {
                let value = if of.value.is_empty() { String::new() } else { format!("={}", of.value) };
                format!("taint the node of {pod} with {}{value}:{}", of.key, of.effect)
            }
            Self::Untaint(of) => format!("remove the taint {}:{} from the node of {pod}", of.key, of.effect),
            Self::Cordon(_) => format!("cordon the node of {pod}"),
            Self::Drain(of) => {
                format!("drain the node of {pod} with kubectl, for at most {} s", of.timeout())
            }
            Self::Advertise(of) => {
                format!("advertise {} of {} for the node of {pod}", of.amount, of.resource)
            }
            Self::Metrics(_) => format!("read the probe counters of the kubelet of {pod}"),
            Self::Try(of) => format!("submit as a dry run: {}", of.name),
        }
    }
}

impl Wait {
    /// The condition of a wait, in words.
    fn in_words(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut say = |said: Option<String>| parts.extend(said);
        let not = |is: bool| if is { "" } else { "not " };
        let times = |times: u64| if times == 1 { "once".to_owned() } else { format!("{times} times") };
        say(self.ready.map(|ready| format!("is {}ready", not(ready))));
        say(self.started.map(|started| format!("is {}started", not(started))));
        say(self
            .running
            .map(|running| if running { "runs" } else { "has ended and is not running" }.to_owned()));
        say(self.asked.as_ref().map(|asked| {
            let attempt = asked.attempt.map(|attempt| format!(" in attempt {attempt}")).unwrap_or_default();
            format!("received requests at {} {}{attempt}", asked.at, times(asked.times))
        }));
        say(self.restarts.map(|restarts| format!("was restarted at least {}", times(restarts))));
        say(self.phase.as_ref().map(|phase| format!("is in phase {phase}")));
        say(self.condition.as_ref().map(|of| {
            let reason = of.reason.as_ref().map(|reason| format!(" for {reason}")).unwrap_or_default();
            format!("has the condition {} with status {}{reason}", of.kind, of.status)
        }));
        say(self.waiting.as_ref().map(|reason| format!("is waiting with the reason {reason}")));
        say(self.event.as_ref().map(|event| {
            let says = event.says.as_ref().map(|says| format!(" saying \"{says}\"")).unwrap_or_default();
            format!("has an event {}{says}", event.reason)
        }));
        say(self.signal.as_ref().map(|signal| format!("saw {signal}")));
        say(self.dumped.as_ref().map(|dumped| match &dumped.says {
            Some(says) => format!("shows \"{says}\" in {}", dumped.file),
            None => format!("shows no file {}", dumped.file),
        }));
        say(self.gone.map(|gone| format!("is {}gone", not(gone))));
        say(self.serving.as_ref().map(|serving| {
            format!("is {}ready in the endpoints of the Service {}", not(serving.ready), serving.service)
        }));
        say(self.available.map(|available| format!("has {available} available pods")));
        say(self.updated.map(|updated| format!("has {updated} updated pods")));
        say(self.finished.as_ref().map(|kind| format!("is {kind}")));
        say(self.stalled.map(|stalled| format!("is {}stalled", not(stalled))));
        let within = self.within.map(|span| format!(", for at most {span}")).unwrap_or_default();
        format!("wait until {} {}{within}", self.whom(), parts.join(" and "))
    }

    fn whom(&self) -> String {
        let container = self.container.as_ref().map(|name| format!("{name} of ")).unwrap_or_default();
        let Some(workload) = &self.workload else {
            return match &self.pod {
                Some(key) => format!("{container}the pod {key}"),
                None => format!("{container}the pod"),
            };
        };
        let new = match self.new {
            Some(true) => "new ",
            Some(false) => "old ",
            None => "",
        };
        match (self.is_of_pods(), self.all) {
            (false, _) => format!("the workload {workload}"),
            (true, Some(true)) => format!("{container}each {new}pod of the workload {workload}"),
            (true, _) => format!("{container}a {new}pod of the workload {workload}"),
        }
    }
}

/// A value as it would be written in a case on one line, cut if it is too long.
fn written(value: &impl serde::Serialize) -> String {
    cut(&flow(&serde_json::to_value(value).unwrap_or_default()), LONGEST)
}

fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest).chain("…".chars()).collect()
}

/// A value in the flow style of YAML, without fields that are null.
#[must_use]
pub fn flow(value: &Value) -> String {
    flow_with(value, false)
}

/// A value in the flow style of YAML, with or without fields that are null. In a patch, null removes a field.
fn flow_with(value: &Value, nulls: bool) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| nulls || !value.is_null());
            let fields: Vec<String> =
                fields.map(|(name, value)| format!("{name}: {}", flow_with(value, nulls))).collect();
            if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(|value| flow_with(value, nulls)).collect();
            format!("[{}]", values.join(", "))
        }
        Value::String(text) if text.contains([',', '{', '}', '[', ']']) || text.is_empty() => {
            format!("\"{text}\"")
        }
        Value::String(text) => text.clone(),
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use crate::step::Step;

    #[test]
    fn each_step_is_a_sentence() {
        let words = |step: Value| serde_json::from_value::<Step>(step).unwrap().in_words();
        for (step, sentence) in [
            (
                json!({ "wait": { "ready": true, "asked": { "at": "web:/live", "times": 3, "attempt": 1 }, "within": "40s" } }),
                "wait until the pod is ready and received requests at web:/live 3 times in attempt 1, for at most 40s",
            ),
            (
                json!({ "wait": { "workload": "web", "new": true, "all": true, "signal": "SIGTERM" } }),
                "wait until each new pod of the workload web saw SIGTERM",
            ),
            (
                json!({ "wait": { "workload": "web", "available": 3 } }),
                "wait until the workload web has 3 available pods",
            ),
            (
                json!({ "wait": { "pod": "a", "condition": { "type": "Ready", "status": "False", "reason": "PodFailed" } } }),
                "wait until the pod a has the condition Ready with status False for PodFailed",
            ),
            (
                json!({ "wait": { "container": "c", "waiting": "ErrImagePull" } }),
                "wait until c of the pod is waiting with the reason ErrImagePull",
            ),
            (json!({ "delete": {} }), "delete the pod"),
            (json!({ "delete": { "pod": "a", "grace": 5 } }), "delete the pod a with a grace period of 5 s"),
            (json!({ "delete": { "workload": "web" } }), "delete a pod of the workload web"),
            (
                json!({ "change": { "container": "c", "to": { "listeners": { "web": { "paths": { "/a": 503 } } } } } }),
                "change the plan of c to { listeners: { web: { paths: { /a: [{ answer: { status: 503 } }] } } } }",
            ),
            (json!({ "mark": { "name": "broken", "container": "c" } }), "set the mark broken in c"),
            (
                json!({ "patch": { "pod": "a", "patch": { "spec": { "activeDeadlineSeconds": null } } } }),
                "patch the pod a with { spec: { activeDeadlineSeconds: null } }",
            ),
            (json!({ "node": { "verb": "restart-kubelet" } }), "restart-kubelet on the node of the pod"),
            (
                json!({ "node": { "verb": "configure-kubelet", "input": { "maxPods": 9 } } }),
                "configure-kubelet on the node of the pod with { maxPods: 9 }",
            ),
            (
                json!({ "taint": { "pod": "a", "key": "probity.dev/away", "value": "v", "effect": "NoExecute" } }),
                "taint the node of the pod a with probity.dev/away=v:NoExecute",
            ),
            (json!({ "cordon": {} }), "cordon the node of the pod"),
            (
                json!({ "advertise": { "resource": "probity.dev/room", "amount": 2 } }),
                "advertise 2 of probity.dev/room for the node of the pod",
            ),
            (
                json!({ "drain": { "pod": "a", "timeout": 9 } }),
                "drain the node of the pod a with kubectl, for at most 9 s",
            ),
            (
                json!({ "wait": { "workload": "job", "finished": "Failed" } }),
                "wait until the workload job is Failed",
            ),
        ] {
            assert_eq!(words(step), sentence);
        }
    }
}
