//! What the API shows about pods: their objects, their status as published by the kubelet, and their events.

use probity_composer::NODE;
use probity_model::history::{Change, Happening, Sighting};
use probity_model::timeline::ProbeKind;
use serde_json::{Value, json};

use crate::Defect;
use crate::kubelet::was_not_started;
use crate::pod::{BackOff, Container, Kind, Pod, Results, State, View, Worker};
use crate::world::{Act, FIRST_NETWORK, MS, World};

impl World<'_> {
    /// Shows a revision of an object to the harness.
    pub(crate) fn show(&mut self, kind: &str, name: &str, change: Change, object: &Value) {
        self.revision += 1;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let sighting = Sighting {
            kind: kind.to_owned(),
            name: name.to_owned(),
            change,
            revision: self.revision.to_string(),
            object,
        };
        self.hear_watch(Happening::Sighting(sighting));
    }

    pub(crate) fn show_pod(&mut self, pod: usize, change: Change) {
        if self.is_unseen(pod) {
            return;
        }
        let (name, object) = (self.pods[pod].name.clone(), self.pods[pod].object.clone());
        self.show("Pod", &name, change, &object);
        for service in 0..self.services.len() {
            self.touch_service(service);
        }
        self.touch_budgets();
    }

    /// Shows a pod again although nothing about it changed.
    pub(crate) fn show_again(&mut self, pod: usize) {
        if !self.pods[pod].gone {
            self.show_pod(pod, Change::Modified);
        }
    }

    /// A pod is created.
    pub(crate) fn admit(&mut self, key: &str, mut object: Value) {
        self.fill_defaults(&mut object);
        let number = self.pods.len();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let namesake = self.pods.iter().position(|pod| pod.name == name);
        let number_of_uid = namesake.filter(|_| self.has(Defect::UidGoesWithName)).unwrap_or(number);
        let uid = format!("00000000-0000-4000-8000-{number_of_uid:012}");
        if object["spec"]["serviceAccountName"].is_null() {
            object["spec"]["serviceAccountName"] = json!("default");
        }
        let class = object["spec"]["priorityClassName"].as_str().unwrap_or_default();
        if let Some(priority) = self.priorities.get(class).copied() {
            object["spec"]["priority"] = json!(priority);
        }
        object["metadata"]["uid"] = json!(uid);
        object["metadata"]["generation"] = json!(self.first_generation(&object));
        object["metadata"]["creationTimestamp"] = json!(self.timestamp(self.now));
        object["status"] = self.status_of_new(&object["spec"]);
        let on_host = object["spec"]["hostNetwork"] == true;
        let last = if self.has(Defect::AddressOfTwoPods) { 10 + number / 2 } else { 10 + number };
        let ip = if on_host { "10.89.0.2".to_owned() } else { format!("{FIRST_NETWORK}{last}") };
        let plans = self.case.pods.get(key).map(|pod| pod.target.clone()).unwrap_or_default();
        let addresses = self.setting.addresses.clone();
        let containers = containers(&object["spec"], |name| {
            let text = serde_json::to_string(plans.get(name)?).ok()?;
            let fill =
                |text: String, (from, to): (&String, &String)| text.replace(&format!("{{{from}}}"), to);
            serde_json::from_str(&addresses.iter().fold(text, fill)).ok()
        });
        self.pods.push(Pod { ip, on_host, containers, ..new_pod(key, &name, &uid, object, self.now) });
        self.show_pod(number, Change::Added);
        self.schedule(number);
    }

    /// The pod is bound to the node, and the kubelet is notified.
    pub(crate) fn bind(&mut self, pod: usize) {
        if self.pods[pod].gone {
            return;
        }
        let since = self.scheduled_since(pod);
        let of = &mut self.pods[pod];
        of.object["spec"]["nodeName"] = json!(NODE);
        let created = std::mem::replace(&mut of.started, self.now);
        of.object["status"]["conditions"] = json!([{ "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": since }]);
        self.show_pod(pod, Change::Modified);
        self.heed_taints(pod);
        if self.refuses_system(pod) || self.refuses_amount(pod) || self.refuses_sysctls(pod) {
            return;
        }
        self.accept(pod, created);
    }

    /// The kubelet starts a pod that was created at this time, if it has room for it.
    pub(crate) fn accept(&mut self, pod: usize, created: i64) {
        if self.pods[pod].gone || self.rejects_for_shutdown(pod) || self.lacks_room(pod, created) {
            return;
        }
        self.add_workers(pod);
        self.set_deadline(pod, created);
        self.tolerate(pod);
        self.tire_of(pod);
        let delay = self.between(150 * MS, 900 * MS);
        self.later(delay, Act::Create(pod));
        self.touch(pod);
    }

    /// The kubelet's status of a pod changed: it will be published soon, together with any other changes in the
    /// meantime.
    pub(crate) fn touch(&mut self, pod: usize) {
        if !self.pods[pod].publishing && !self.pods[pod].gone {
            self.pods[pod].publishing = true;
            let delay = self.between(40 * MS, 500 * MS) + self.lateness(pod);
            self.later(delay, Act::Publish(pod));
        }
    }

    /// The pod's status reaches the API, if it changed.
    pub(crate) fn publish(&mut self, pod: usize) {
        self.pods[pod].publishing = false;
        if self.pods[pod].gone {
            return;
        }
        if let Some(whole) = self.pods[pod].within {
            return self.touch(whole);
        }
        let status = self.status(pod);
        if self.pods[pod].object["status"] != status {
            self.show_once_more(pod);
            self.correct(pod);
            self.pods[pod].object["status"] = status;
            if self.has(Defect::GenerationCountsStatus) {
                self.count_change(pod);
            }
            self.show_pod(pod, Change::Modified);
            self.remove_failed(pod);
        }
    }

    /// The pod's status as the kubelet has it.
    fn status(&self, pod: usize) -> Value {
        let of = &self.pods[pod];
        let old = &of.object["status"];
        let phase = self.shown_phase(pod);
        let mut status = json!({
            "phase": phase, "qosClass": "BestEffort", "hostIP": "10.89.0.2", "hostIPs": [{ "ip": "10.89.0.2" }],
            "startTime": self.timestamp(of.started), "observedGeneration": of.object["metadata"]["generation"],
        });
        let begun = of.containers.iter().any(|container| container.starts > 0);
        if begun || of.on_host {
            let again = of.containers.iter().any(|container| container.starts > 1);
            let moved = again && self.has(Defect::RestartChangesAddress);
            let ip = if moved { "10.244.9.9" } else { of.ip.as_str() };
            status["podIP"] = json!(ip);
            status["podIPs"] = json!([{ "ip": ip }]);
            if self.has(Defect::TwoAddressesOfOneFamily) {
                status["podIPs"] = json!([{ "ip": ip }, { "ip": "10.244.8.8" }]);
            }
        }
        for (field, init) in [("initContainerStatuses", true), ("containerStatuses", false)] {
            let list: Vec<Value> = of
                .containers
                .iter()
                .filter(|container| (container.kind != Kind::Main) == init)
                .map(|container| self.container_status(pod, container))
                .collect();
            if !list.is_empty() {
                status[field] = json!(list);
            }
        }
        status["conditions"] = self.conditions(pod, phase, &old["conditions"]);
        self.add_ephemeral(pod, &mut status);
        self.show_allocation(pod, &mut status);
        status["qosClass"] = old["qosClass"].clone();
        if begun && self.has(Defect::ClassLost) {
            status["qosClass"] = Value::Null;
        }
        self.misplace_inits(pod, &mut status);
        self.miscount(&mut status);
        self.misreport(pod, &mut status);
        self.mistell(pod, &mut status);
        self.contradict(pod, &mut status);
        status
    }

    pub(crate) fn container_status(&self, pod: usize, container: &Container) -> Value {
        let view = &container.view;
        let ended = |ended: &crate::pod::Ended| {
            let mut state = json!({
                "exitCode": ended.code, "reason": end_reason(container, ended.code),
                "startedAt": self.timestamp(ended.started), "finishedAt": self.timestamp(ended.finished), "containerID": ended.id,
            });
            if !ended.message.is_empty() {
                state["message"] = json!(ended.message);
            }
            json!({ "terminated": state })
        };
        let state = match &view.state {
            State::Waiting(reason) => self.waiting(container, reason),
            State::Running(since) => json!({ "running": { "startedAt": self.timestamp(*since) } }),
            State::Ended(how) => ended(how),
        };
        let mut status = json!({
            "name": container.name, "image": self.image_name(container), "imageID": self.image_id(container),
            "ready": view.ready, "started": self.shown_started(container), "restartCount": view.restarts, "state": state,
            "lastState": view.last.as_ref().map_or_else(|| json!({}), ended),
        });
        if !view.id.is_empty() {
            status["containerID"] = json!(view.id);
        }
        // Most clusters do not have the field in the spec, so their statuses do not have it either.
        if !view.id.is_empty() && container.spec["lifecycle"]["stopSignal"].is_string() {
            status["stopSignal"] = json!(self.stop_signal_of(&container.spec));
        }
        self.show_given(pod, container, &mut status);
        self.misshow(container, &mut status);
        self.misidentify(container, &mut status);
        if container.kind == Kind::Init
            && self.restarts_as_one(pod)
            && self.has(Defect::RestartAllInitsUncounted)
        {
            status["restartCount"] = json!(0);
        }
        self.misidentify_ended(&self.pods[pod].uid, &mut status);
        self.misstate(pod, container, &mut status);
        self.contradict_container(container, &mut status);
        status
    }

    fn shown_started(&self, container: &Container) -> bool {
        let view = &container.view;
        let running = matches!(view.state, State::Running(_));
        if self.has(Defect::StartedFieldEarly) && running {
            return true;
        }
        if self.has(Defect::AbsentStartupIsNotStarted) && container.probe(ProbeKind::Startup).is_none() {
            return false;
        }
        if self.has(Defect::StartedFieldLate) && container.probe(ProbeKind::Startup).is_some() {
            return view.started && view.started_since.is_some_and(|since| self.now - since >= 5_000 * MS);
        }
        view.started && !(container.kind == Kind::Init && self.has(Defect::RunningInitUnstarted))
    }

    /// A client deletes a pod with this grace period in seconds. A pod that is not running is removed immediately.
    pub(crate) fn ask_to_go(&mut self, pod: usize, grace: i64) {
        let object = &self.pods[pod].object;
        let over = match object["status"]["phase"].as_str() {
            Some("Failed") => !self.has(Defect::FailedPodsKeepGrace),
            phase => phase == Some("Succeeded"),
        };
        let idle = over || object["spec"]["nodeName"].is_null();
        let grace = if idle && !self.has(Defect::IdlePodsWait) { 0 } else { grace };
        match self.pods[pod].deleted {
            _ if self.pods[pod].gone => {}
            Some((since, old)) => self.ask_again(pod, (since, old), grace),
            None => {
                self.write_deadline(pod, self.now, grace);
                if self.is_held(pod) {
                    self.await_collector(pod);
                } else if self.held.is_none() && !self.is_lost(pod) {
                    self.stop_pod(pod);
                }
            }
        }
    }

    /// The grace period of a terminating pod can only be shortened.
    fn ask_again(&mut self, pod: usize, (since, old): (i64, i64), grace: i64) {
        let ignored = self.has(Defect::SecondDeletionIgnored) && grace > 0;
        if !ignored && (grace < old || self.has(Defect::SecondDeletionExtends)) {
            self.write_deadline(pod, since, grace);
        }
    }

    /// Records the deletion deadline of a pod, and removes a pod whose grace period is zero.
    pub(crate) fn write_deadline(&mut self, pod: usize, since: i64, grace: i64) {
        let after = if self.has(Defect::DeadlineWithoutGrace) { 0 } else { grace * 1000 * MS };
        let at = self.timestamp((since + after).max(self.now));
        let waits = self.has(Defect::ForcedWaitsForKubelet);
        if self.pods[pod].deleted.is_none() {
            self.count_change(pod);
        }
        let of = &mut self.pods[pod];
        of.deleted = Some((since, grace));
        of.object["metadata"]["deletionTimestamp"] = json!(at);
        of.object["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        self.show_pod(pod, Change::Modified);
        if grace == 0 && !waits && !self.has_finalizers(pod) {
            self.pods[pod].gone = true;
            self.pods[pod].gone_at = Some(self.now);
            self.show_pod(pod, Change::Deleted);
        }
    }

    /// The last container has ended, and the API server removes the pod unless a finalizer keeps it.
    pub(crate) fn drop_pod(&mut self, pod: usize) {
        if !self.pods[pod].gone {
            self.end_ephemeral(pod);
            self.publish(pod);
            if self.has_finalizers(pod) {
                self.pods[pod].object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
                self.show_pod(pod, Change::Modified);
                return;
            }
            self.pods[pod].gone = true;
            self.pods[pod].gone_at = Some(self.now);
            if !self.pods[pod].is_static || !self.has(Defect::MirrorOutlivesManifest) {
                self.show_pod(pod, Change::Deleted);
            }
            self.bring_back(pod);
            self.retry_resizes();
        }
    }
}

/// The reason of an end.
fn end_reason(container: &Container, code: i64) -> &'static str {
    match code {
        0 => "Completed",
        _ if was_not_started(container, code) => "StartError",
        137 if container.out_of_memory => "OOMKilled",
        _ => "Error",
    }
}

/// A new pod without an address and containers.
pub(crate) fn new_pod(key: &str, name: &str, uid: &str, object: Value, now: i64) -> Pod {
    Pod {
        key: key.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        first: object.clone(),
        before: object.clone(),
        object,
        ip: String::new(),
        on_host: false,
        started: now,
        deleted: None,
        containers: Vec::new(),
        within: None,
        publishing: false,
        written: 0,
        falls: std::collections::BTreeMap::new(),
        next_sync: 0,
        syncing: false,
        hooked_until: 0,
        sandbox: false,
        mount_wait: 0,
        mounts_at: 0,
        terminal: false,
        expired: false,
        evicted: None,
        tolerance: None,
        spared_until: 0,
        resetting: false,
        gone: false,
        gone_at: None,
        is_static: false,
        recorded: std::collections::BTreeMap::new(),
    }
}

pub(crate) fn containers(
    spec: &Value,
    plan: impl Fn(&str) -> Option<probity_script::Plan>,
) -> Vec<Container> {
    let list = |field: &str| spec[field].as_array().cloned().unwrap_or_default();
    let initializes = !list("initContainers").is_empty();
    let container = |kind: Kind, spec: Value| {
        let name = spec["name"].as_str().unwrap_or_default().to_owned();
        let waiting = State::Waiting(if initializes { "PodInitializing" } else { "ContainerCreating" });
        Container {
            plan: plan(&name),
            name,
            kind,
            workers: ProbeKind::ALL
                .iter()
                .filter(|kind| spec.get(kind.field()).is_some())
                .map(|kind| Worker::new(*kind))
                .collect(),
            image: spec["image"].clone(),
            spec,
            enacted: None,
            enacted_late: None,
            state: waiting.clone(),
            last: None,
            starts: 0,
            failed_starts: 0,
            pulled: None,
            tries: 0,
            absent: false,
            replaced: false,
            life: None,
            view: View {
                id: String::new(),
                state: waiting,
                last: None,
                restarts: 0,
                started: false,
                started_since: None,
                ready: false,
            },
            results: Results::default(),
            back_off: BackOff::default(),
            waits_until: 0,
            void_start: None,
            killing: None,
            restarting: false,
            reset: false,
            out_of_memory: false,
            was_ready: false,
            spoiled: false,
            failing: false,
            forgotten: 0,
            survived: None,
            turn: None,
        }
    };
    let init = list("initContainers").into_iter().map(|spec| match spec["restartPolicy"] == "Always" {
        true => container(Kind::Sidecar, spec),
        false => container(Kind::Init, spec),
    });
    init.chain(list("containers").into_iter().map(|spec| container(Kind::Main, spec))).collect()
}
