//! The hooks of a container, as recorded by the target.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::{NEAR, START_OF_A_COMMAND, WHOLE_SECOND};
use probity_model::timeline::{Asked, At, ContainerLife, Life, Line, PodLife, Port};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen};
use probity_script::Protocol;
use probity_script::answer::{ConnectionAnswer, ListenState};
use serde_json::Value;

use super::ports::opens;

/// A run of a hook.
pub(crate) struct HookRun {
    /// When it began.
    pub(crate) began: At,
    /// When the target had finished it.
    pub(crate) ended: Option<At>,
    /// Its outcome: the exit status of a command, or the status of an answer.
    pub(crate) outcome: Option<u16>,
}

/// How a hook acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookKind {
    /// A command.
    Exec,
    /// A request.
    Http,
    /// A pause of this number of seconds.
    Sleep(i64),
}

impl HookKind {
    /// The word in a container's `lifecycle`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::Http => "httpGet",
            Self::Sleep(_) => "sleep",
        }
    }

    /// How this hook acts, if it leaves a record in its own container or needs none.
    pub(crate) fn of(hook: &Value) -> Option<Self> {
        if let Some(seconds) = hook.get("sleep").and_then(|sleep| sleep.get("seconds")?.as_i64()) {
            return Some(Self::Sleep(seconds));
        }
        if let Some(http) = hook.get("httpGet") {
            return http.get("host").is_none().then_some(Self::Http);
        }
        let program = hook.get("exec")?.get("command")?.get(0)?.as_str()?;
        (program == "/agnhost-rs").then_some(Self::Exec)
    }

    /// How soon a hook of this kind begins: within the slack of the clause. If the node was saturated at that time, the runtime
    /// may take longer to start a command.
    pub(crate) fn begins_in_time(
        self,
        clause: &Clause,
        life: &Life<'_, '_>,
        from: &Stamp,
        to: &Stamp,
    ) -> Bound {
        if self != Self::Exec || life.run.saturated_between(&life.node, from, to) == 0 {
            return clause.in_time();
        }
        let (slack, more) = (clause.slack_us(), START_OF_A_COMMAND);
        let words = format!("{} + {} to start a command on a saturated node", seconds(slack), seconds(more));
        Bound::at_most(slack + more, words)
    }
}

impl HookRun {
    /// The events of the beginning and the end of this run.
    pub(crate) fn events(&self) -> Vec<EventId> {
        [Some(self.began.id), self.ended.as_ref().map(|ended| ended.id)].into_iter().flatten().collect()
    }
}

/// Judges that a container's preStop hook ran before the stop signal, if the container itself records the hook: a
/// command, or a request that it certainly serves. Returns whether the hook is one of these.
pub(crate) fn judge_hook_before_stop(
    life: &Life<'_, '_>,
    since: EventId,
    stop: &Line<'_>,
    seen: &mut Seen,
) -> bool {
    let leaves_record = |hook: &&Value| match HookKind::of(hook) {
        Some(HookKind::Exec) => true,
        Some(HookKind::Http) => is_served(life, &hook["httpGet"], stop),
        Some(HookKind::Sleep(_)) | None => false,
    };
    let Some(hook) = life.container.lifecycle("preStop").filter(leaves_record) else { return false };
    let clocks = &life.run.clocks;
    match hook_run(life, hook).filter(|_| life.holes.is_empty()) {
        None if life.holes.is_empty() => {
            let finding = format!("{} received its stop signal, but its preStop hook never ran", life.name());
            seen.violated(finding, [since, stop.id]);
        }
        Some(run) if clocks.order(&stop.at, &run.began) == Order::Before => {
            let finding = format!("{} received its stop signal before its preStop hook ran", life.name());
            seen.violated(finding, [stop.id, run.began.id]);
        }
        // The kubelet does not wait for the whole body of an answer.
        Some(run) if hook.get("exec").is_some() && is_cut_short(life, &run, stop) => {
            let finding = format!("{} received its stop signal while its preStop hook ran", life.name());
            seen.violated(finding, run.events().into_iter().chain([stop.id]));
        }
        _ => {}
    }
    true
}

/// Whether the request of a hook certainly leaves a record in its own container: the container serves every request on
/// this port, and listened there before the stop signal. A node that was busy for a whole grace period may have delayed
/// the request until the kubelet no longer waited for it.
fn is_served(life: &Life<'_, '_>, get: &Value, stop: &Line<'_>) -> bool {
    let is_plain = |path: &str| path.chars().all(|c| c.is_ascii_alphanumeric() || c == '/');
    let is_as_usual = get.get("httpHeaders").is_none()
        && get.get("scheme").is_none_or(|scheme| scheme == "HTTP")
        && get.get("path").and_then(Value::as_str).is_some_and(is_plain);
    let number = Port::of(life.container.spec, get).number;
    let (Some(port), Some(plan)) = (number.filter(|_| is_as_usual), life.container.plan()) else {
        return false;
    };
    let mut listeners = plan.listeners.values().filter(|listener| listener.port == port);
    let (Some(listener), None) = (listeners.next(), listeners.next()) else { return false };
    let serves = listener.protocol == Protocol::Http
        && listener.tls.is_none()
        && listener.bind.is_none()
        && listener.listen.steps().iter().all(|step| step.answer == ListenState::Open)
        && listener.connections.steps().iter().all(|step| step.answer == ConnectionAnswer::Serve);
    let opened = life.lines.iter().any(|line| opens(line, port) && life.run.before(&line.at, &stop.at));
    let grace = life.pod.grace();
    let noise = life.noise(&stop.at.earlier(grace), &stop.at);
    serves && opened && noise + WHOLE_SECOND < grace
}

/// Reports that a stop signal came although the preStop hook of its container left no record. `asked` is the request to
/// terminate the pod, and `grace` the grace period that it began.
pub(crate) fn judge_missing_hook(
    life: &Life<'_, '_>,
    asked: &At,
    grace: i64,
    stop: &Line<'_>,
    seen: &mut Seen,
) {
    let finding = format!("{} received its stop signal, but its hook never ran", life.name());
    let waited = life.run.clocks.between(asked, &stop.at);
    // The kubelet waits for a hook only until the end of the grace period, even if the hook could not start by then.
    if waited.is_none_or(|waited| waited.hi > grace - NEAR) {
        let why = format!("{finding}; the grace period may have ended before the hook could start");
        seen.doubt(Doubt::Ambiguous, why, [asked.id, stop.id]);
    } else {
        seen.violated(finding, [asked.id, stop.id]);
    }
}

/// Whether a hook still ran long after the stop signal, although its container's grace period had not ended when the
/// signal arrived.
fn is_cut_short(life: &Life<'_, '_>, run: &HookRun, stop: &Line<'_>) -> bool {
    let clocks = &life.run.clocks;
    let noise = life.run.stalled_at(&stop.at);
    let early = clocks
        .between(&run.began, &stop.at)
        .is_some_and(|span| span.hi + noise < life.pod.grace() - WHOLE_SECOND);
    let ran_on = run.ended.as_ref().is_some_and(|ended| {
        // The target records the end of a command only after it has ended.
        clocks
            .between(&stop.at, ended)
            .is_some_and(|span| span.lo > NEAR + noise + life.run.stalled_at(ended))
    });
    early && ran_on && life.before_deletion(&stop.at)
}

/// Whether a container should listen on the port that its hook uses.
pub(crate) fn listens(container: &ContainerLife<'_>, get: &Value) -> bool {
    let port = Port::of(container.spec, get).number;
    let plan = container.plan();
    plan.is_some_and(|plan| plan.listeners.values().any(|listener| Some(listener.port) == port))
}

/// Whether a hook is a request to a closed port of its pod: all containers are targets, and none of them listens on
/// this port.
pub(crate) fn is_refused(pod: &PodLife<'_>, hook: &Value) -> bool {
    let port = hook["httpGet"]["port"].as_u64();
    let closed = |container: &ContainerLife<'_>| {
        let plan = container.plan();
        plan.is_some_and(|plan| {
            plan.listeners.values().all(|listener| Some(u64::from(listener.port)) != port)
        })
    };
    let own = pod.spec.get("hostNetwork").is_none() && port.is_some();
    own && HookKind::of(hook) == Some(HookKind::Http) && pod.containers.iter().all(closed)
}

/// Whether a request shows that a hook of a kubelet sent it: the User-Agent of Kubernetes' `pkg/kubelet/lifecycle`.
pub(crate) fn is_of_hook(asked: &Asked<'_>) -> bool {
    asked.header("user-agent").any(|agent| agent.starts_with("kube-lifecycle/"))
}

/// The first run of the hook in an instance.
pub(crate) fn hook_run(life: &Life<'_, '_>, hook: &Value) -> Option<HookRun> {
    if let Some(http) = hook.get("httpGet") {
        let path = http.get("path").and_then(Value::as_str).unwrap_or("/");
        let asked = life.requests.iter().find(|asked| asked.request.target == path && is_of_hook(asked))?;
        // A kubelet that gave up before anything was sent has cut the hook off.
        let sent = asked.answer.as_ref().filter(|answer| answer.error.is_none() || answer.written > 0);
        let ended = sent.map(|answer| answer.at.clone());
        return Some(HookRun { began: At::of(asked), ended, outcome: asked.status() });
    }
    let command: Vec<&str> =
        hook.get("exec")?.get("command")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let run = life.commands.iter().find(|executed| executed.seen.command.args == command)?;
    let ended = run.ended.as_ref();
    let outcome = ended.and_then(|ended| ended.exit).map(u16::from);
    Some(HookRun { began: At::of(run), ended: ended.map(|ended| ended.at.clone()), outcome })
}
