//! Services: the EndpointSlices and Endpoints that a controller writes for them, and the proxy that reads the
//! EndpointSlices.

use probity_model::history::Change;
use serde_json::{Value, json};

use crate::Defect;
use crate::world::{Act, MS, SECOND, World};

/// A service.
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) object: Value,
    pub(crate) ip: String,
    slice: Value,
    legacy: Value,
    touched: bool,
    /// The state of the proxy: the position of each pod, whether the pod is ready, and whether it serves while it
    /// terminates.
    proxied: Vec<(usize, bool, bool)>,
    told: bool,
}

impl World<'_> {
    /// A service is created.
    pub(crate) fn create_service(&mut self, mut object: Value) {
        let number = self.services.len();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let ip = format!("10.96.0.{}", 10 + number);
        let headless = object["spec"]["clusterIP"] == "None";
        object["metadata"]["uid"] = json!(format!("00000000-0000-4000-9000-{number:012}"));
        if !headless {
            object["spec"]["clusterIP"] = json!(ip);
            object["spec"]["clusterIPs"] = json!([ip]);
        }
        object["spec"]["type"] = json!("ClusterIP");
        for port in object["spec"]["ports"].as_array_mut().into_iter().flatten() {
            if port.get("targetPort").is_none() {
                port["targetPort"] = port["port"].clone();
            }
            if port.get("protocol").is_none() {
                port["protocol"] = json!("TCP");
            }
        }
        self.show("Service", &name, Change::Added, &object);
        let (slice, legacy) = (Value::Null, Value::Null);
        self.services.push(Service {
            name,
            object,
            ip,
            slice,
            legacy,
            touched: false,
            proxied: Vec::new(),
            told: false,
        });
        self.touch_service(number);
    }

    /// Something about pods changed: the controller will soon update this Service.
    pub(crate) fn touch_service(&mut self, service: usize) {
        if !self.services[service].touched {
            self.services[service].touched = true;
            let delay = self.between(30 * MS, 250 * MS) + self.slice_lateness(service);
            self.later(delay, Act::Reconcile(service));
        }
    }

    fn selects(&self, service: &Service, pod: usize) -> bool {
        let of = &self.pods[pod];
        let (first, now) = (&of.first["metadata"]["labels"], &of.object["metadata"]["labels"]);
        let stays = first != now && self.has(Defect::ServicesKeepFirstLabels);
        let labels = if stays { first } else { now };
        let selector = service.object["spec"]["selector"].as_object();
        selector.is_some_and(|all| all.iter().all(|(name, value)| labels.get(name) == Some(value)))
    }

    /// The pods that belong to a service by their labels, address and phase, as the API shows them.
    fn members(&self, service: usize) -> Vec<usize> {
        let of = &self.services[service];
        let fits = |pod: &usize| {
            let pod_of = &self.pods[*pod];
            let phase = pod_of.object["status"]["phase"].as_str().unwrap_or_default();
            let addressed = pod_of.object["status"]["podIP"].is_string();
            let going = pod_of.deleted.is_some() && self.has(Defect::SliceDropsTerminating);
            !pod_of.gone
                && !going
                && addressed
                && !matches!(phase, "Succeeded" | "Failed")
                && self.selects(of, *pod)
        };
        (0..self.pods.len()).filter(fits).collect()
    }

    /// An endpoint's conditions: ready, serving, terminating.
    fn endpoint(&self, service: usize, pod: usize) -> (bool, bool, bool) {
        let object = &self.pods[pod].object;
        let conditions = object["status"]["conditions"].as_array();
        let counts = if self.has(Defect::SliceIgnoresGates) { "ContainersReady" } else { "Ready" };
        let shown = conditions.into_iter().flatten().any(|c| c["type"] == counts && c["status"] == "True");
        let shown = shown || self.has_conditions_of_gates(object);
        let was = self.was(service, pod);
        let stuck = service > 0 && self.has(Defect::OnlyFirstServiceTold);
        let mut serving = self.misled(service, pod, shown);
        if (self.has(Defect::SliceKeepsReady) || stuck) && was.is_some_and(|(ready, _)| ready) {
            serving = true;
        }
        let terminating = object["metadata"].get("deletionTimestamp").is_some();
        let forced = self.services[service].object["spec"]["publishNotReadyAddresses"] == true
            && !self.has(Defect::PublishNotReadyIgnored)
            && !(terminating && self.has(Defect::TerminatingUnpublished));
        let gone = terminating && !self.has(Defect::SliceReadyWhileTerminating) && !stuck;
        let ready = forced || (serving && !gone);
        if self.has(Defect::SliceKeepsServing) && was.is_some_and(|(_, serving)| serving) {
            serving = true;
        }
        (ready, serving && !(terminating && self.has(Defect::SliceTerminatingServesNobody)), terminating)
    }

    /// Whether a defective controller considers a pod ready because its containers are ready and the conditions of all its
    /// gates exist, whatever their status is.
    fn has_conditions_of_gates(&self, object: &Value) -> bool {
        let find = |kind: &Value| {
            let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
            all.find(|condition| condition["type"] == *kind)
        };
        let gates = object["spec"]["readinessGates"].as_array();
        let ready = find(&json!("ContainersReady")).is_some_and(|condition| condition["status"] == "True");
        let exist = |gates: &Vec<Value>| gates.iter().all(|gate| find(&gate["conditionType"]).is_some());
        ready && gates.is_some_and(exist) && self.has(Defect::SliceNeedsGatesToExist)
    }

    /// The additional delay of a defective controller for a Service.
    fn slice_lateness(&self, service: usize) -> i64 {
        let turns = |to: bool| {
            self.pods.iter().enumerate().any(|(place, pod)| {
                let was = self.was(service, place).is_some_and(|(ready, _)| ready);
                !pod.gone && was != to && is_shown_ready(&pod.object) == to
            })
        };
        match () {
            () if self.has(Defect::EndpointRemovedLate) && turns(false) => 4 * SECOND,
            () if self.has(Defect::EndpointReadyLate) && turns(true) => 6 * SECOND,
            () => 0,
        }
    }

    /// The readiness of a pod as a defective controller sees it.
    fn misled(&self, service: usize, pod: usize, ready: bool) -> bool {
        let falls = self.pods[pod].falls.get(&service).copied().unwrap_or(0);
        let was = self.was(service, pod).is_some_and(|(ready, _)| ready);
        match ready {
            true => !(falls > 0 && self.has(Defect::EndpointNeverReadyAgain)),
            false => falls > 0 && was && self.has(Defect::SecondFallUnnoticed),
        }
    }

    /// The previous entry of a pod's endpoint in the slice.
    fn was(&self, service: usize, pod: usize) -> Option<(bool, bool)> {
        let endpoints = self.services[service].slice["endpoints"].as_array()?;
        let entry =
            endpoints.iter().find(|entry| entry["targetRef"]["uid"] == self.pods[pod].uid.as_str())?;
        Some((entry["conditions"]["ready"] == true, entry["conditions"]["serving"] == true))
    }

    /// The controller writes the current state.
    pub(crate) fn reconcile(&mut self, service: usize) {
        self.services[service].touched = false;
        let members = self.members(service);
        let mut endpoints = Vec::new();
        let (mut ready_addresses, mut other_addresses) = (Vec::new(), Vec::new());
        for pod in members.iter().copied() {
            let (ready, serving, terminating) = self.endpoint(service, pod);
            if self.was(service, pod).is_some_and(|(was, _)| was) && !ready {
                *self.pods[pod].falls.entry(service).or_default() += 1;
            }
            let of = &self.pods[pod];
            let target =
                json!({ "kind": "Pod", "name": of.name, "namespace": self.setting.namespace, "uid": of.uid });
            endpoints.push(json!({
                "addresses": [of.ip], "nodeName": of.object["spec"]["nodeName"], "targetRef": target,
                "conditions": { "ready": ready, "serving": serving, "terminating": terminating },
            }));
            let address =
                json!({ "ip": of.ip, "nodeName": of.object["spec"]["nodeName"], "targetRef": target });
            match (ready, terminating) {
                (true, _) => ready_addresses.push(address),
                (false, false) => other_addresses.push(address),
                (false, true) => {}
            }
        }
        let of = &self.services[service];
        let name = format!("{}-abcde", of.name);
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {
                "name": name, "namespace": self.setting.namespace,
                "labels": { "kubernetes.io/service-name": of.name, "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io" },
            },
            "endpoints": endpoints, "ports": self.ports_of(&of.object, &members),
        });
        let service_name = of.name.clone();
        if slice != of.slice {
            let change = if of.slice.is_null() { Change::Added } else { Change::Modified };
            self.show("EndpointSlice", &name, change, &slice);
            self.services[service].slice = slice;
            let delay = self.between(40 * MS, 300 * MS);
            self.later(delay, Act::Proxy(service));
        }
        if self.case.watch.iter().any(|kind| kind == "Endpoints") {
            self.write_legacy(service, &service_name, &ready_addresses, &other_addresses);
        }
    }

    fn write_legacy(&mut self, service: usize, name: &str, ready: &[Value], other: &[Value]) {
        let mut subset = json!({ "ports": self.services[service].object["spec"]["ports"] });
        if !ready.is_empty() {
            subset["addresses"] = json!(ready);
        }
        if !other.is_empty() {
            subset["notReadyAddresses"] = json!(other);
        }
        let subsets = if ready.is_empty() && other.is_empty() { json!([]) } else { json!([subset]) };
        let legacy = json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": { "name": name, "namespace": self.setting.namespace }, "subsets": subsets,
        });
        if legacy != self.services[service].legacy {
            let change =
                if self.services[service].legacy.is_null() { Change::Added } else { Change::Modified };
            self.show("Endpoints", name, change, &legacy);
            self.services[service].legacy = legacy;
        }
    }

    /// The proxy applies the state of the slice.
    pub(crate) fn proxy(&mut self, service: usize) {
        let endpoints = self.services[service].slice["endpoints"].as_array().cloned().unwrap_or_default();
        let place = |entry: &Value| {
            let uid = entry["targetRef"]["uid"].as_str()?;
            let pod = self.pods.iter().position(|pod| pod.uid == uid)?;
            let conditions = &entry["conditions"];
            let lingers = conditions["serving"] == true && conditions["terminating"] == true;
            let lingers = lingers && !self.has(Defect::ProxyDropsTerminating);
            Some((pod, conditions["ready"] == true, lingers))
        };
        let proxied: Vec<_> = endpoints.iter().filter_map(place).collect();
        let ready = proxied.iter().filter(|(_, ready, _)| *ready).count();
        let known = self.services[service].proxied.iter().filter(|(_, ready, _)| *ready).count();
        if self.has(Defect::ProxyKeepsSending) && self.services[service].told && ready <= known {
            return;
        }
        self.services[service].told |= ready > 0;
        self.services[service].proxied = proxied;
    }

    /// The destination of a connection to a service's address: the address and port of a pod.
    pub(crate) fn routed(&mut self, ip: &str, port: u16) -> Option<Option<(String, u16)>> {
        let service = self.services.iter().position(|service| service.ip == ip)?;
        let of = &self.services[service];
        let ports = of.object["spec"]["ports"].as_array();
        let Some(target) =
            ports.into_iter().flatten().find(|p| p["port"] == port).map(|p| p["targetPort"].clone())
        else {
            return Some(None);
        };
        let ready: Vec<usize> =
            of.proxied.iter().filter(|(_, ready, _)| *ready).map(|(pod, ..)| *pod).collect();
        let lingering = of.proxied.iter().filter(|(_, _, lingers)| *lingers).map(|(pod, ..)| *pod).collect();
        let choice: Vec<usize> = if ready.is_empty() { lingering } else { ready };
        if choice.is_empty() {
            return Some(None);
        }
        let at = self.between(0, i64::try_from(choice.len()).unwrap_or(1));
        let pod = &self.pods[choice[usize::try_from(at).unwrap_or(0)]];
        let named = |name: &str| {
            let ports =
                pod.containers.iter().filter_map(|container| container.spec["ports"].as_array()).flatten();
            ports.into_iter().find(|port| port["name"] == name)?["containerPort"].as_u64()
        };
        let number =
            target.as_u64().or_else(|| named(target.as_str()?)).and_then(|port| u16::try_from(port).ok());
        Some(number.map(|number| (pod.ip.clone(), number)))
    }
}

/// Whether an object shows a pod as ready.
fn is_shown_ready(object: &Value) -> bool {
    let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
