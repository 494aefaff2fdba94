//! HTTP hooks: the kubelet sends each request as the definition of the hook says.
//!
//! A hook is judged only if a target of its pod always listens on its port, so that each request leaves a record. The
//! path of the hook must be one that no client rewrites, and the case must do nothing to a node, except that a pod may
//! lose its sandbox. Then only postStart hooks are judged, because nobody can answer a request to a sandbox that is gone.

use std::collections::BTreeSet;

use probity_model::history::{Did, REMOVE_SANDBOX};
use probity_model::mechanisms::{NEAR, YOUNG};
use probity_model::timeline::{Asked, At, Attempt, Connection, ContainerLife, Life, PodLife, Port};
use probity_model::{Clause, Seen, Timeline};
use probity_script::answer::{ConnectionAnswer, ListenState};
use probity_script::{ClientCertificate, Listener, Protocol};
use serde_json::Value;

use crate::reading::arrivals::{from_a_pod, is_custom_header, on_node_network};
use crate::reading::hooks::is_of_hook;
use crate::reading::mains::lives_of;
use crate::reading::ports::opens;

/// An HTTP hook of a container.
pub(super) struct HookRequest<'t, 'h> {
    /// The pod that has the hook.
    pub(super) pod: &'t PodLife<'h>,
    pub(super) container: &'t ContainerLife<'h>,
    pub(super) hook: &'static str,
    get: &'t Value,
    pub(super) port: u16,
    /// The pod to which the request must go: its own pod, unless the hook has a host.
    pub(super) to: &'t PodLife<'h>,
}

/// Each request of a hook has the method, port, scheme, path, query and headers that its definition asks for.
pub(super) fn sent_as_written(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let removes = |did: &Did| matches!(did, Did::NodeVerb { verb, .. } if verb == REMOVE_SANDBOX);
    if run.deeds.iter().any(|(_, deed)| deed.did.acts_on_node() && !removes(&deed.did)) {
        return;
    }
    let mut all = hook_requests(run);
    all.retain(|hook| hook.hook == "postStart" || !run.lost_a_sandbox());
    for hook in &all {
        let same =
            |other: &&HookRequest<'_, '_>| other.pod.uid == hook.pod.uid && other.path() == hook.path();
        if all.iter().filter(same).count() == 1 {
            judge_requests(hook, seen);
            for life in lives_of(run, hook.pod, hook.container) {
                judge_absence(hook, &life, seen);
                judge_lost_request(clause, hook, &life, seen);
            }
        }
        judge_handshakes(run, hook, seen);
    }
}

/// Each HTTP hook of the run, with its pod, its container, its name and its request.
pub(super) fn http_hooks<'t, 'h>(
    run: &'t Timeline<'h>,
) -> impl Iterator<Item = (&'t PodLife<'h>, &'t ContainerLife<'h>, &'static str, &'t Value)> {
    run.containers().flat_map(|(pod, container)| {
        ["postStart", "preStop"]
            .into_iter()
            .filter_map(move |hook| Some((pod, container, hook, container.lifecycle(hook)?.get("httpGet")?)))
    })
}

/// The HTTP hooks without a host.
fn hook_requests<'t, 'h>(run: &'t Timeline<'h>) -> Vec<HookRequest<'t, 'h>> {
    let hooks = http_hooks(run).filter(|(.., get)| get.get("host").is_none());
    let own =
        hooks.filter_map(|(pod, container, hook, get)| HookRequest::of((pod, container), (hook, get), pod));
    own.collect()
}

fn judge_requests(hook: &HookRequest<'_, '_>, seen: &mut Seen) {
    for (asked, connection) in hook.arrivals() {
        match hook.wrong_in(asked, connection) {
            Some(wrong) => seen.violated(format!("{} {wrong}", hook.words()), [asked.id]),
            None => {
                seen.fine([asked.id]);
                hook.show_facets(seen);
            }
        }
    }
}

/// Reports connections to the port of an HTTPS hook on which TLS failed: the hook did not use TLS, or rejected the
/// certificate. Nothing is concluded from a port that probes also use.
fn judge_handshakes(run: &Timeline<'_>, hook: &HookRequest<'_, '_>, seen: &mut Seen) {
    let probed = run.probes().any(|(_, _, spec)| spec.handler.port() == Some(hook.port));
    if !hook.is_secure() || probed {
        return;
    }
    let connections = hook.attempts().flat_map(|attempt| &attempt.connections);
    for connection in connections.filter(|of| of.port() == Some(hook.port) && !from_a_pod(run, of)) {
        let Some((id, tls)) = connection.tls else { continue };
        if let Some(error) = &tls.error {
            seen.violated(format!("the handshake of {} failed: {error}", hook.words()), [connection.id, id]);
        }
    }
}

/// Reports an instance that was shown as running, or got its stop signal, before the request of the hook arrived. It
/// does so only if the process recorded something later, because its record is then complete up to that time.
fn judge_absence(hook: &HookRequest<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    let whole = hook.attempts().all(|attempt| attempt.holes.is_empty());
    let Some(by) = hook.due_by(life).filter(|_| life.is_numbered() && whole) else { return };
    let recorded_later = life.lines.iter().any(|line| line.id == by.id || life.run.before(&by, &line.at));
    if recorded_later {
        hook.judge_arrival(life, &by, seen);
    }
}

/// Reports an instance that is never shown as running, because the request of its postStart hook did not arrive: the
/// instance was stopped, or waited for too long. A process of its pod must have listened on the port since before the
/// container was started, because a refused request leaves no record. On a busy node, the process of a container runs only
/// some time after that.
fn judge_lost_request(clause: &Clause, hook: &HookRequest<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    let (run, sent) = (life.run, clause.tolerance_us("sent"));
    let whole = hook.attempts().all(|attempt| attempt.holes.is_empty());
    if !whole || !life.is_numbered() || hook.hook != "postStart" || hook.due_by(life).is_some() {
        return;
    }
    let by = match life.stop() {
        Some(stop) => life.before_deletion(&stop.at).then(|| At::of(stop)),
        None => {
            let latest = life.began.later(sent + life.noise(&life.began, &life.began.later(sent)));
            life.watched_for(&life.began, sent).then(|| At::new(life.began.id, latest))
        }
    };
    let Some(by) = by.filter(|by| run.before(&life.began, by)) else { return };
    let late = NEAR + life.noise(&life.began.earlier(YOUNG), &life.began);
    let earliest = At::new(life.began.id, life.began.earlier(late));
    let before = life.before().and_then(|before| before.ended.clone());
    let since = before.filter(|ended| run.before(&earliest, ended)).unwrap_or(earliest);
    let mut attempts = hook.attempts();
    let listened = attempts.any(|of| listened_throughout(of, hook.port, (&since, &by), run));
    if listened && !hook.has_arrived(life, &by) {
        let finding = format!("the request of {} did not arrive, although its port was open", hook.words());
        seen.violated(finding, [life.began.id, by.id]);
    }
}

/// Whether a process listened on a port before the first of two instants, and was not stopped before the second.
fn listened_throughout(attempt: &Attempt<'_>, port: u16, (from, to): (&At, &At), run: &Timeline<'_>) -> bool {
    let opened = attempt.lines.iter().any(|line| opens(line, port) && run.before(&line.at, from));
    let stop = attempt.stop().is_none_or(|stop| run.before(to, &stop.at));
    opened && stop && attempt.ended.as_ref().is_none_or(|ended| run.before(to, ended))
}

impl<'t, 'h> HookRequest<'t, 'h> {
    /// A hook whose request must go to a pod. `None` if the request may leave no record there, or arrives changed.
    pub(super) fn of(
        (pod, container): (&'t PodLife<'h>, &'t ContainerLife<'h>),
        (hook, get): (&'static str, &'t Value),
        to: &'t PodLife<'h>,
    ) -> Option<Self> {
        let port = Port::of(container.spec, get).number?;
        let found = Self { pod, container, hook, get, port, to };
        (found.is_plain() && found.is_served() && !on_node_network(to)).then_some(found)
    }

    /// Reports an instance whose request did not arrive by this time. The kubelet may send the request before the
    /// process has recorded its start, but not before the previous instance has ended.
    pub(super) fn judge_arrival(&self, life: &Life<'_, '_>, by: &At, seen: &mut Seen) {
        if !self.has_arrived(life, by) {
            let before = if self.hook == "postStart" {
                "the container was shown as running"
            } else {
                "the stop signal"
            };
            let finding = format!("the request of {} did not arrive before {before}", self.words());
            seen.violated(finding, [life.began.id, by.id]);
        }
    }

    /// Whether the request for an instance arrived by this time.
    fn has_arrived(&self, life: &Life<'_, '_>, by: &At) -> bool {
        let before = life.before().and_then(|before| before.ended.clone());
        let in_time = |asked: &Asked<'_>| {
            let earlier = before.as_ref().is_some_and(|ended| life.run.before(&asked.at, ended));
            !earlier && !life.run.before(by, &asked.at)
        };
        self.arrivals().any(|(asked, _)| in_time(asked))
    }

    /// The time by which the request for an instance must have arrived. For postStart, this is when the container is
    /// shown as running. For preStop, it is the stop signal of the only deletion of the pod, which must have a grace
    /// period.
    pub(super) fn due_by(&self, life: &Life<'_, '_>) -> Option<At> {
        if self.hook == "postStart" {
            let running = life.revisions().find(|(_, status)| status.is_running());
            return running.map(|(shown, _)| At::of(shown));
        }
        let stop = life.stop().filter(|stop| !life.before_deletion(&stop.at))?;
        let graces: BTreeSet<i64> =
            self.pod.revisions.iter().filter_map(|shown| shown.deletion_grace()).collect();
        // If the container has probes, one of them may have stopped it before the deletion.
        let only =
            graces.len() == 1 && graces.iter().all(|grace| *grace > 0) && life.container.probes.is_empty();
        only.then(|| At::of(stop))
    }

    pub(super) fn words(&self) -> String {
        format!("the {} hook of {}/{}", self.hook, self.pod.key, self.container.name)
    }

    /// The path of the hook with its query, without the first slash.
    fn target(&self) -> &'t str {
        self.get["path"].as_str().unwrap_or_default().trim_start_matches('/')
    }

    pub(super) fn path(&self) -> &'t str {
        bare(self.target())
    }

    /// Whether a client sends the path of the hook unchanged, and with the User-Agent of hooks.
    fn is_plain(&self) -> bool {
        let own_agent = self.headers().any(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._~-?=&".contains(c);
        !own_agent && self.target().chars().all(plain)
    }

    /// Whether a target of the pod to which the request goes always serves the scheme of the hook on its port, to any
    /// client.
    fn is_served(&self) -> bool {
        let plans = self.to.containers.iter().filter_map(|container| container.plan());
        let listeners: Vec<Listener> = plans
            .flat_map(|plan| plan.listeners.into_values())
            .filter(|listener| listener.port == self.port)
            .collect();
        let [listener] = listeners.as_slice() else { return false };
        let mut listens = listener.listen.steps().iter().map(|step| &step.answer);
        let mut serves = listener.connections.steps().iter().map(|step| &step.answer);
        let open = listener.protocol == Protocol::Http
            && listens.all(|state| *state == ListenState::Open)
            && serves.all(|answer| *answer == ConnectionAnswer::Serve);
        let served = match &listener.tls {
            Some(tls) => self.is_secure() && tls.client_certificate == ClientCertificate::None,
            None => !self.is_secure(),
        };
        open && served
    }

    /// The processes of the pod to which the request goes.
    fn attempts(&self) -> impl Iterator<Item = &Attempt<'_>> {
        attempts_in(self.to)
    }

    /// The requests of the hook that arrived where they should.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = (&Asked<'_>, &Connection<'_>)> {
        self.arrivals_in(self.to)
    }

    /// The requests of the hook that arrived in a pod: they have its path, and may arrive at any container of the pod.
    pub(super) fn arrivals_in<'a>(
        &'a self,
        pod: &'a PodLife<'_>,
    ) -> impl Iterator<Item = (&'a Asked<'a>, &'a Connection<'a>)> {
        let requests =
            attempts_in(pod).flat_map(|attempt| attempt.requests.iter().map(move |asked| (attempt, asked)));
        let own = requests.filter(|(_, asked)| {
            is_of_hook(asked) && !asked.followed() && bare(&asked.request.target) == self.path()
        });
        own.filter_map(|(attempt, asked)| Some((asked, attempt.connection(asked)?)))
    }

    fn is_secure(&self) -> bool {
        self.get["scheme"] == "HTTPS"
    }

    fn headers(&self) -> impl Iterator<Item = (&'t str, &'t str)> + use<'t> {
        let all = self.get["httpHeaders"].as_array().into_iter().flatten();
        all.filter_map(|header| Some((header["name"].as_str()?, header["value"].as_str()?)))
    }

    /// What is wrong with a request of the hook. [`judge_handshakes`] reports a wrong scheme: no request arrives then.
    fn wrong_in(&self, asked: &Asked<'_>, connection: &Connection<'_>) -> Option<String> {
        let request = asked.request;
        let target = request.target.trim_start_matches('/');
        match () {
            () if request.method != "GET" => Some(format!("used the method {}", request.method)),
            () if connection.port() != Some(self.port) => {
                let port = connection.port().unwrap_or_default();
                Some(format!("went to port {port} instead of {}", self.port))
            }
            () if target != self.target() => {
                Some(format!("requested `/{target}` instead of `/{}`", self.target()))
            }
            () => {
                let mut names = self.headers().map(|(name, _)| name);
                names.find_map(|name| self.wrong_header(name, asked))
            }
        }
    }

    /// All values of a header must arrive, in order. A request has only one Host, which is called `:authority` in
    /// HTTP/2. Other headers that HTTP clients treat specially are not judged.
    fn wrong_header(&self, name: &str, asked: &Asked<'_>) -> Option<String> {
        let is_host = name.eq_ignore_ascii_case("host");
        let same = |(other, _): &(&str, &str)| other.eq_ignore_ascii_case(name);
        let mut wanted: Vec<&str> = self.headers().filter(same).map(|(_, value)| value.trim()).collect();
        if is_host {
            wanted.truncate(1);
        } else if !is_custom_header(name) {
            return None;
        }
        let alias = if is_host { ":authority" } else { "" };
        let sent: Vec<&str> = asked.header(name).chain(asked.header(alias)).map(str::trim).collect();
        let list = |values: &[&str]| match values {
            [] => "nothing".to_owned(),
            values => format!("`{}`", values.join("`, `")),
        };
        (sent != wanted).then(|| format!("sets {name} to {}, but sent {}", list(&wanted), list(&sent)))
    }

    fn scheme(&self) -> &'static str {
        if self.is_secure() { "HTTPS" } else { "HTTP" }
    }

    fn show_facets(&self, seen: &mut Seen) {
        seen.facet("hook", self.hook);
        seen.facet("scheme", self.scheme());
        seen.facet("container", self.container.kind.word());
        if self.target().contains('?') {
            seen.facet("with", "query");
        }
        if self.headers().next().is_some() {
            seen.facet("with", "headers");
        }
    }
}

/// The processes of a pod.
fn attempts_in<'a>(pod: &'a PodLife<'_>) -> impl Iterator<Item = &'a Attempt<'a>> {
    pod.containers.iter().flat_map(|container| &container.attempts)
}

/// A path without its query and its first slash.
pub(super) fn bare(target: &str) -> &str {
    let target = target.trim_start_matches('/');
    target.split_once('?').map_or(target, |(path, _)| path)
}
