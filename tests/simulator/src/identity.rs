//! The name and the operating system of a pod, its users and privileges, and the files that its containers share.

use probity_composer::NODE;
use probity_model::history::Change;
use probity_script::Consumer;
use serde_json::{Value, json};

use crate::Defect;
use crate::amounts::thousandths;
use crate::kubelet::expand::expand;
use crate::node_facts::ALLOCATABLE;
use crate::pod::{Container, Kind, Pod, micros};
use crate::resize::requested;
use crate::users::FIELD as USERS;
use crate::world::{At, LifeAt, MS, World};

/// The longest name.
const LONGEST: usize = 253;
/// The default path of a termination message.
const MESSAGE: &str = "/dev/termination-log";

impl World<'_> {
    /// The problem with the name of a new pod, if there is one.
    pub(crate) fn name_problem(&self, name: &str) -> Option<String> {
        let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let part = |part: &str| {
            part.starts_with(edge) && part.ends_with(edge) && part.chars().all(|c| edge(c) || c == '-')
        };
        let path = "metadata.name: Invalid value";
        match () {
            () if name.len() > LONGEST && !self.has(Defect::ApiAcceptsLongNames) => {
                Some(format!("{path}: \"{name}\": must be no more than 253 characters"))
            }
            () if !name.split('.').all(part) && !self.has(Defect::ApiAcceptsAnyName) => Some(format!(
                "{path}: \"{name}\": a lowercase RFC 1123 subdomain must consist of lower case letters"
            )),
            () if name.contains('.') && self.has(Defect::ApiRefusesSubdomains) => {
                Some(format!("{path}: \"{name}\": must not contain dots"))
            }
            () => None,
        }
    }

    /// The problems with the operating system and the users in a pod's spec.
    pub(crate) fn identity_problems(&self, spec: &Value, of: &str, problems: &mut Vec<String>) {
        if let Some(name) = spec["os"]["name"].as_str() {
            let known = ["linux", "windows"].contains(&name) || self.has(Defect::ApiAcceptsAnySystem);
            if !known || (name == "windows" && self.has(Defect::ApiRefusesWindows)) {
                problems.push(format!("{of}.os.name: Unsupported value: \"{name}\""));
            }
        }
        for field in ["hostNetwork", "hostPID", "hostIPC"] {
            let mixed = spec[USERS] == false && spec[field] == true && !self.has(Defect::ApiMixesNamespaces);
            if mixed && !(field == "hostPID" && self.has(Defect::ApiMixesProcesses)) {
                problems.push(format!("{of}.{field}: Forbidden: when `hostUsers` is false"));
            }
        }
    }

    /// The kubelet rejects a pod for another operating system; returns whether it did.
    pub(crate) fn refuses_system(&mut self, pod: usize) -> bool {
        let foreign =
            self.pods[pod].object["spec"]["os"]["name"].as_str().is_some_and(|name| name != "linux");
        if !foreign || self.has(Defect::ForeignPodsRun) {
            return false;
        }
        if !self.has(Defect::ForeignPodsWait) {
            self.pods[pod].terminal = true;
            self.pods[pod].object["status"]["phase"] = json!("Failed");
            self.pods[pod].object["status"]["reason"] = json!("PodOSNotSupported");
            let (name, object) = (self.pods[pod].name.clone(), self.pods[pod].object.clone());
            self.show("Pod", &name, Change::Modified, &object);
        }
        true
    }

    /// The kubelet rejects a pod that was created for the node and requests more than the node has; returns whether it
    /// did.
    pub(crate) fn refuses_amount(&mut self, pod: usize) -> bool {
        if self.pods[pod].first["spec"]["nodeName"] != NODE {
            return false;
        }
        let exceeds = |(resource, all): &(&str, &str)| {
            self.needed(pod, resource) > thousandths(&json!(all)).unwrap_or_default()
        };
        let Some((resource, _)) = ALLOCATABLE.into_iter().find(exceeds) else { return false };
        if self.has(Defect::BoundBeyondMemoryRuns) && resource == "memory" {
            return false;
        }
        let with_sidecar = self.pods[pod].containers.iter().any(|of| of.kind == Kind::Sidecar);
        if with_sidecar && self.has(Defect::BoundBeyondWithSidecarRuns) {
            return false;
        }
        self.pods[pod].terminal = true;
        self.pods[pod].object["status"]["phase"] = json!("Failed");
        if !self.has(Defect::RejectionWithoutReason) {
            self.pods[pod].object["status"]["reason"] = json!(format!("OutOf{resource}"));
        }
        if !self.has(Defect::EndWithoutMessage) {
            let message = format!("Pod was rejected: Node didn't have enough resource: {resource}");
            self.pods[pod].object["status"]["message"] = json!(message);
        }
        let (name, object) = (self.pods[pod].name.clone(), self.pods[pod].object.clone());
        self.show("Pod", &name, Change::Modified, &object);
        true
    }

    /// How much of a resource a new pod needs. An init container does not run together with the main containers.
    fn needed(&self, pod: usize, resource: &str) -> i64 {
        let of = &self.pods[pod];
        let inits = of.containers.iter().filter(|one| one.kind == Kind::Init);
        let counted = inits.filter(|_| !self.has(Defect::BoundBeyondWithInitRuns));
        let own = counted.filter_map(|one| thousandths(&one.spec["resources"]["requests"][resource]));
        requested(of, resource).max(own.max().unwrap_or_default())
    }

    /// The root file system of a container in its list of mounts.
    pub(crate) fn root_mount(&self, container: &Value) -> String {
        let asked = container["securityContext"]["readOnlyRootFilesystem"] == true;
        let own_path = container["terminationMessagePath"].as_str().is_some_and(|path| path != MESSAGE);
        let read_only = asked && !(own_path && self.has(Defect::RootWritableForMessages));
        format!("1 1 0:1 / / {},relatime - overlay overlay rw", if read_only { "ro" } else { "rw" })
    }

    /// The files with which the kernel shows a process its users and its privileges, with their content.
    pub(crate) fn identity_files(&self, pod: usize, container: usize) -> [(String, String); 3] {
        let of = &self.pods[pod];
        let is = |spec: &Value| spec["securityContext"]["privileged"] == true;
        let all = of.containers.iter().any(|other| is(&other.spec)) && self.has(Defect::PrivilegedForAll);
        let privileged = all || (is(&of.containers[container].spec) && !self.has(Defect::PrivilegedIgnored));
        let kind = of.containers[container].kind;
        let bound: u64 = match () {
            () if privileged => 0x01ff_ffff_ffff,
            () if kind == Kind::Sidecar && self.has(Defect::SidecarsKeepCapabilities) => 0xa804_25fb,
            () if self.has(Defect::DropAllWins) => 0,
            () => added(&of.containers[container].spec),
        };
        let allowed = of.containers[container].spec["securityContext"]["allowPrivilegeEscalation"] != false;
        let gains = allowed || (kind == Kind::Init && self.has(Defect::InitsGainPrivileges));
        let [users, groups] = self.id_maps(pod);
        let processors = self.processors_of(At { pod, container });
        let unfiltered = privileged || (kind != Kind::Main && self.has(Defect::SeccompOfPodLost));
        let status = format!(
            "CapBnd:\t{bound:016x}\nNoNewPrivs:\t{}\nSeccomp:\t{}\nCpus_allowed_list:\t{processors}\n",
            u8::from(!gains),
            if unfiltered { 0 } else { 2 }
        );
        [
            ("/proc/self/status".to_owned(), status),
            ("/proc/self/uid_map".to_owned(), users),
            ("/proc/self/gid_map".to_owned(), groups),
        ]
    }

    /// Whether a process sees a file: a file in a volume exists once a container has written it.
    pub(crate) fn has_file(&self, life: LifeAt, path: &str) -> bool {
        let of = &self.pods[life.at.pod];
        let ignored = self.has(Defect::SidecarSubPathIgnored);
        let expands = !self.has(Defect::SubPathExprUnexpanded);
        let place = |of: &Container, path: &str| {
            let whole = self.loses_part(of).then(|| with_whole_volumes(&of.spec));
            let spec = whole.as_ref().unwrap_or(&of.spec);
            place(spec, path, (ignored && of.kind == Kind::Sidecar, expands))
        };
        let Some(wanted) = place(&of.containers[life.at.container], path) else { return true };
        let mut volumes = of.object["spec"]["volumes"].as_array().into_iter().flatten();
        if volumes.any(|volume| volume["name"] == wanted.0.as_str() && volume.get("hostPath").is_some()) {
            return true;
        }
        if life.attempt > 0 && self.has(Defect::VolumesEmptiedByRestart) {
            return false;
        }
        let hidden = self.hidden_until(of, &wanted.0);
        of.containers.iter().enumerate().any(|(number, writer)| {
            let Some(own) = &writer.life else { return false };
            let apart = number != life.at.container && self.has(Defect::VolumesApart);
            let writes = own.plan.process.consume.iter().any(|consumer| match consumer {
                Consumer::Disk { path, after, .. } => {
                    let written = own.began + after.map_or(0, micros) + 20 * MS;
                    place(writer, path).as_ref() == Some(&wanted)
                        && self.now > written
                        && hidden.is_none_or(|hidden| written > hidden)
                }
                _ => false,
            });
            writes && !apart
        })
    }

    /// When a defective kubelet mounted a volume of a pod again, which hides all earlier files in it.
    fn hidden_until(&self, pod: &Pod, volume: &str) -> Option<i64> {
        let mut volumes = pod.object["spec"]["volumes"].as_array().into_iter().flatten();
        let in_memory = volumes.any(|of| of["name"] == volume && of["emptyDir"]["medium"] == "Memory");
        self.node.restarted.filter(|_| in_memory && self.has(Defect::MemoryVolumeMountedAgain))
    }

    /// Whether the mounts of a container contain whole volumes because it was restarted.
    fn loses_part(&self, of: &Container) -> bool {
        let mut mounts = of.spec["volumeMounts"].as_array().into_iter().flatten();
        let mounts_part = mounts.any(|mount| PARTS.iter().any(|part| mount[*part].is_string()));
        of.attempt() > 0 && mounts_part && self.has(Defect::SubPathLostOnRestart)
    }
}

/// The fields of a mount that contains only a part of its volume.
const PARTS: [&str; 2] = ["subPath", "subPathExpr"];

/// A container whose mounts contain whole volumes.
fn with_whole_volumes(container: &Value) -> Value {
    let mut container = container.clone();
    for mount in container["volumeMounts"].as_array_mut().into_iter().flatten() {
        PARTS.into_iter().for_each(|part| mount[part] = Value::Null);
    }
    container
}

/// The numbers of the capabilities that the containers of the cases add: Linux, capabilities(7).
const CAPABILITIES: [(&str, u64); 5] =
    [("DAC_OVERRIDE", 1), ("NET_BIND_SERVICE", 10), ("SYS_MODULE", 16), ("SYS_ADMIN", 21), ("MKNOD", 27)];

/// The capabilities that a container adds, one bit for each.
fn added(container: &Value) -> u64 {
    let all = container["securityContext"]["capabilities"]["add"].as_array().into_iter().flatten();
    let bits = all.filter_map(|one| CAPABILITIES.into_iter().find(|(name, _)| one == name));
    bits.fold(0, |all, (_, bit)| all | (1 << bit))
}

/// The volume that contains a path of a container, and the path below it. The mount may contain only a part of the volume,
/// unless this is ignored. An expression for this part is expanded if `expands` is true.
fn place(container: &Value, path: &str, (whole, expands): (bool, bool)) -> Option<(String, String)> {
    let value = |name: &str| {
        let own = container["env"].as_array()?.iter().find(|of| of["name"] == name)?;
        own["value"].as_str().filter(|_| expands).map(str::to_owned)
    };
    container["volumeMounts"].as_array()?.iter().find_map(|mount| {
        let below = path.strip_prefix(mount["mountPath"].as_str()?)?;
        let named = mount["subPath"].as_str().filter(|_| !whole).map(str::to_owned);
        let part = named.or_else(|| mount["subPathExpr"].as_str().map(|of| expand(of, &value)));
        let below = part.map_or_else(|| below.to_owned(), |part| format!("/{part}{below}"));
        Some((mount["name"].as_str()?.to_owned(), below))
    })
}
