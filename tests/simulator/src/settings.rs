//! ConfigMaps and Secrets: the references to them in the environment and the volumes of pods, and how pods wait for
//! missing objects.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use probity_case::PatchStep;
use probity_case::manifest::object_name;
use probity_model::history::Did;
use serde_json::{Value, json};

use crate::Defect;
use crate::pod::{Container, Kind, State};
use crate::world::{Act, At, MS, SECOND, World};

/// How long the kubelet waits before it retries to mount a volume; the wait doubles each time.
const MOUNT_WAIT: i64 = 500 * MS;
/// The waiting reason of a container whose environment cannot be built.
const NOT_CREATED: &str = "CreateContainerConfigError";
/// How soon a container that cannot be created is shown in that state.
const SHOWN: i64 = 50 * MS;

fn list<'v>(of: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    of[field].as_array().into_iter().flatten()
}

/// A text that is encoded in base64.
fn decoded(text: &str) -> String {
    BASE64.decode(text.as_bytes()).map(|of| String::from_utf8_lossy(&of).into_owned()).unwrap_or_default()
}

/// The fields of references to ConfigMaps and Secrets: as a volume, as a variable, and as all variables.
const SOURCES: [(&str, &str); 6] = [
    ("configMap", "ConfigMap"),
    ("secret", "Secret"),
    ("configMapKeyRef", "ConfigMap"),
    ("secretKeyRef", "Secret"),
    ("configMapRef", "ConfigMap"),
    ("secretRef", "Secret"),
];

/// The kind of object to which a source refers, and the field with the object's name.
fn source(of: &Value) -> Option<(&'static str, &Value)> {
    SOURCES.into_iter().find_map(|(field, kind)| Some((kind, of.get(field)?)))
}

impl World<'_> {
    /// A ConfigMap or a Secret is created.
    pub(crate) fn create_settings(&mut self, manifest: &Value) {
        let text = |path: &Value| path.as_str().unwrap_or_default().to_owned();
        self.add_keys((&text(&manifest["kind"]), &text(&manifest["metadata"]["name"])), manifest, false);
    }

    /// A client patches a ConfigMap or a Secret.
    pub(crate) fn patch_settings(&mut self, of: &PatchStep) {
        let kind = of.kind.clone().unwrap_or_default();
        let name = object_name(self.case, of.name.as_deref().unwrap_or_default());
        self.add_keys((&kind, &name), &of.patch, true);
        self.did(Did::Patched { kind, name, patch: of.patch.clone(), subresource: String::new() });
    }

    /// Adds the keys of an object or of a later change, or removes them. A key that did not exist before has no first
    /// value.
    fn add_keys(&mut self, (kind, name): (&str, &str), content: &Value, later: bool) {
        let text_only = content["binaryData"].is_object() && self.has(Defect::BinaryDataIgnored);
        let stays = self.has(Defect::RemovedKeyStays)
            || (later && kind == "Secret" && self.has(Defect::RemovedSecretKeyStays));
        let keys = self.settings.entry((kind.to_owned(), name.to_owned())).or_default();
        for field in ["data", "stringData", "binaryData"] {
            let binary = field == "binaryData";
            if binary && text_only {
                continue;
            }
            for (key, value) in content[field].as_object().into_iter().flatten() {
                if value.is_null() && field == "data" {
                    if !stays {
                        keys.remove(key);
                    }
                    continue;
                }
                let value = value.as_str().unwrap_or_default();
                let value = if binary { decoded(value) } else { value.to_owned() };
                let first = if later { String::new() } else { value.clone() };
                keys.entry(key.clone()).or_insert_with(|| [first, String::new()])[1] = value;
            }
        }
    }

    /// The readable files of a pod's volume that come from ConfigMaps, Secrets and tokens, each with its content.
    pub(crate) fn settings_files(&self, spec: &Value, volume: &Value) -> Vec<(String, String)> {
        let mut files = Vec::new();
        for of in list(&volume["projected"], "sources").chain([volume]) {
            files.extend(self.token_file(volume, &of["serviceAccountToken"]));
            let Some((kind, from)) = source(of) else { continue };
            let map = kind == "ConfigMap";
            let stays = self.has(match () {
                () if volume.get("projected").is_some() => Defect::ProjectedFilesStay,
                () if map => Defect::MountedMapStays,
                () => Defect::MountedSecretStays,
            });
            let misses = stays || (from["optional"] == true && self.has(Defect::LateOptionalKeyUnseen));
            if map && !files.is_empty() && self.has(Defect::ProjectedMapLost) {
                continue;
            }
            let name = from["name"].as_str().or(from["secretName"].as_str()).unwrap_or_default();
            let Some(keys) = self.settings.get(&(kind.to_owned(), name.to_owned())) else { continue };
            let all = keys.keys().map(|key| json!({ "key": key, "path": key }));
            let whole: Vec<Value> = all.filter(|_| from.get("items").is_none()).collect();
            let mut mode = Value::Null;
            for item in list(from, "items").chain(&whole) {
                let value = item["key"].as_str().and_then(|key| keys.get(key));
                let value = value.filter(|[first, _]| !(misses && first.is_empty()));
                let path = item["path"].as_str();
                let deep = path.is_some_and(|path| path.contains('/'));
                let value = value.filter(|_| !(deep && self.has(Defect::DeepFilesMissing)));
                let moded = self.with_mode_before(map, item, &mut mode);
                let value = value.filter(|_| self.can_read(spec, volume, &moded));
                if let (Some([first, last]), Some(path)) = (value, path) {
                    files.push((path.to_owned(), if stays { first.clone() } else { last.clone() }));
                }
            }
        }
        files
    }

    /// An item of a volume. With a defect, an item of a ConfigMap that has no mode gets the mode of the item before it.
    fn with_mode_before(&self, of_map: bool, item: &Value, before: &mut Value) -> Value {
        let mut moded = item.clone();
        let bare = of_map && item["mode"].is_null() && !before.is_null();
        if bare && self.has(Defect::MapModeCarriedOver) {
            moded["mode"] = before.clone();
        }
        *before = moded["mode"].clone();
        moded
    }

    /// The file of a token in a projected volume: the claims that a target records of it.
    fn token_file(&self, volume: &Value, token: &Value) -> Option<(String, String)> {
        let first = list(&volume["projected"], "sources").find_map(|of| of.get("serviceAccountToken"));
        let shared = first.filter(|_| self.has(Defect::TokensShared));
        let claims = json!({ "aud": [shared.unwrap_or(token)["audience"]] });
        Some((token["path"].as_str()?.to_owned(), claims.to_string()))
    }

    /// The variables that a container gets from whole ConfigMaps and Secrets.
    pub(crate) fn variables_of_objects(&self, spec: &Value) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for of in list(spec, "envFrom") {
            let Some((kind, from)) = source(of) else { continue };
            let name = from["name"].as_str().unwrap_or_default();
            let Some(keys) = self.settings.get(&(kind.to_owned(), name.to_owned())) else { continue };
            let lost = kind == "Secret" && self.has(Defect::EnvFromSecretUnprefixed);
            let prefix = of["prefix"].as_str().filter(|_| !lost).unwrap_or_default();
            let is_word = |key: &str| key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
            for (key, [_, last]) in keys {
                if !is_word(key) && self.has(Defect::OddKeysSkipped) {
                    continue;
                }
                let name = format!("{prefix}{key}");
                let yields = || {
                    self.has(Defect::FirstEnvFromWins)
                        || (kind == "Secret" && self.has(Defect::SecretYieldsToMap))
                };
                if !(all.contains_key(&name) && yields()) {
                    all.insert(name, last.clone());
                }
            }
        }
        all
    }

    /// The value of the key of a ConfigMap or a Secret to which a variable refers.
    pub(crate) fn value_of_key(&self, of: &Value) -> Option<String> {
        let (kind, from) = source(of)?;
        let name = from["name"].as_str()?;
        let [_, last] = self.settings.get(&(kind.to_owned(), name.to_owned()))?.get(from["key"].as_str()?)?;
        Some(last.clone())
    }

    /// Why a container must not start as its user: it would run as root, but must not.
    fn root_problem(&self, pod: usize, container: usize) -> Option<String> {
        let own = &self.pods[pod].containers[container].spec["securityContext"];
        let of_pod = &self.pods[pod].object["spec"]["securityContext"];
        let field = |name: &str| if own[name].is_null() { &of_pod[name] } else { &own[name] };
        let main = self.pods[pod].containers[container].kind == Kind::Main;
        let unchecked = (own["runAsNonRoot"].is_null() && self.has(Defect::NonRootOfPodUnchecked))
            || (!main && self.has(Defect::RootInitsUnchecked));
        let breaks = *field("runAsNonRoot") == true && *field("runAsUser") == 0 && !unchecked;
        breaks.then(|| "container's runAsUser breaks non-root policy".to_owned())
    }

    /// The missing object or key that a reference needs.
    fn lack(&self, of: &Value) -> Option<String> {
        let (kind, source) = source(of)?;
        let name = source["name"].as_str().or(source["secretName"].as_str())?;
        let keys = self.settings.get(&(kind.to_owned(), name.to_owned()));
        let excused = source["optional"] == true && !self.needs_optional(of, keys.is_some());
        if excused || self.has(Defect::SettingsIgnored) {
            return None;
        }
        let why = match keys {
            None => format!("{kind} \"{name}\" not found"),
            Some(keys) => {
                let items = list(source, "items").map(|item| &item["key"]).chain([&source["key"]]);
                let key = items.filter_map(Value::as_str).find(|key| !keys.contains_key(*key))?;
                format!("couldn't find key {key} in {kind} {name}")
            }
        };
        Some(if self.has(Defect::SettingsLackUnnamed) { "something does not exist".to_owned() } else { why })
    }

    /// Why a volume of a pod cannot be mounted.
    fn mount_problem(&self, pod: usize) -> Option<String> {
        let mut volumes = list(&self.pods[pod].object["spec"], "volumes");
        let (volume, why) = volumes.find_map(|volume| Some((volume, self.lack(volume)?)))?;
        let name = if self.has(Defect::SettingsLackUnnamed) { &Value::Null } else { &volume["name"] };
        Some(format!("MountVolume.SetUp failed for volume {name} : {why}"))
    }

    /// Why the environment of a container cannot be built.
    fn environment_problem(&self, pod: usize, container: usize) -> Option<String> {
        self.lack_of_environment(&self.pods[pod].containers[container].spec)
    }

    /// What a waiting container shows: the reason and, if its environment cannot be built, the cause.
    pub(crate) fn waiting(&self, container: &Container, reason: &str) -> Value {
        let mut waiting = json!({ "reason": reason });
        let explained = reason == NOT_CREATED && !self.has(Defect::ConfigErrorUnexplained);
        if explained && let Some(why) = self.lack_of_environment(&container.spec) {
            waiting["message"] = json!(why);
        }
        json!({ "waiting": waiting })
    }

    /// What the environment in the spec of a container needs, but does not exist.
    fn lack_of_environment(&self, spec: &Value) -> Option<String> {
        let all = list(spec, "envFrom").filter(|_| !self.has(Defect::EnvFromIgnored));
        let variables = list(spec, "env").filter_map(|variable| variable.get("valueFrom"));
        all.chain(variables).find_map(|of| self.lack(of))
    }

    /// Whether the volumes of a pod are mounted. A volume that cannot be mounted is reported and retried.
    pub(crate) fn mounts_volumes(&mut self, pod: usize) -> bool {
        let Some(message) = self.mount_problem(pod) else { return true };
        if self.now < self.pods[pod].mounts_at {
            return false;
        }
        if !self.has(Defect::SettingsLackUnreported) {
            self.record_about((pod, None), "Warning", "FailedMount", &message);
        }
        let of = &mut self.pods[pod];
        of.mount_wait = if of.mount_wait == 0 { MOUNT_WAIT } else { of.mount_wait * 2 };
        of.mounts_at = self.now + of.mount_wait;
        let again = of.mounts_at;
        if !self.has(Defect::SettingsNotTriedAgain) {
            self.at(again, Act::Create(pod));
        }
        if self.has(Defect::VolumeLackShownAsError) {
            for container in &mut self.pods[pod].containers {
                container.state = State::Waiting("CreateContainerError");
            }
            self.later(SHOWN, Act::Sync(pod));
        }
        false
    }

    /// Whether a container waits because its environment refers to something that does not exist, or because it must not
    /// run as its user.
    pub(crate) fn waits_for_settings(&mut self, pod: usize, container: usize) -> bool {
        let problem = self.environment_problem(pod, container);
        let Some(why) = problem.or_else(|| self.root_problem(pod, container)) else { return false };
        let reason = match () {
            () if self.has(Defect::SettingsLackShownAsCreating) => "ContainerCreating",
            () if self.has(Defect::SettingsLackShownAsRunError) => "RunContainerError",
            () => NOT_CREATED,
        };
        let of = &mut self.pods[pod].containers[container];
        of.state = State::Waiting(reason);
        of.restarting = true;
        self.record(pod, container, "Normal", "Pulled", "Container image already present on machine");
        if !self.has(Defect::SettingsLackUnreported) {
            self.record(pod, container, "Warning", "Failed", &format!("Error: {why}"));
        }
        self.later(SHOWN, Act::Sync(pod));
        if !self.has(Defect::SettingsNotTriedAgain) {
            self.retry_after_error(At { pod, container });
        }
        true
    }

    /// The kubelet will retry a container after an error.
    pub(crate) fn retry_after_error(&mut self, at: At) {
        let delay = self.between(10 * SECOND, 15 * SECOND);
        self.later(delay, Act::Retry(at));
    }

    /// The kubelet retries a container that could not be created.
    pub(crate) fn retry(&mut self, at: At) {
        let of = &mut self.pods[at.pod].containers[at.container];
        if of.starts == 0 {
            of.tries += 1;
            of.restarting = false;
            self.create_containers(at.pod);
        }
    }
}
