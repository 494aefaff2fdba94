//! Statuses that a kubelet believes to have written, although they were not written, or not yet. There is one shadow
//! for each pod with a status that a defect ever struck. The shadow applies the kubelet's patches to the API server's
//! version, so that the kubelet reads back what it wrote and does not repair what a defect has changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::merge;
use super::writer::Deed;

/// The shadows of all pods, by namespace and name.
#[derive(Clone, Default)]
pub(super) struct Shadows(Arc<Mutex<HashMap<(String, String), Shadow>>>);

/// One pod whose statuses the proxy writes itself.
#[derive(Clone)]
pub(super) struct Shadow {
    /// The UID, because another pod may have the same name.
    pub(super) uid: String,
    /// All of the kubelet's patches, merged into one.
    pub(super) sum: Value,
    /// Whether any status was written since the first strike.
    pub(super) is_written: bool,
    /// The queue from which the pod's statuses are written, in order.
    pub(super) deeds: UnboundedSender<Deed>,
}

impl Shadow {
    /// A shadow of a pod whose status the kubelet has not written since the defect.
    #[must_use]
    pub(super) fn new(uid: &str, deeds: UnboundedSender<Deed>) -> Self {
        Self { uid: uid.to_owned(), sum: json!({}), is_written: false, deeds }
    }

    /// Changes `pod` to what the kubelet believes it to be.
    pub(super) fn show(&self, pod: &mut Value) {
        if let Some(status) = self.sum.get("status") {
            merge::lay_over(pod, &json!({"status": status}));
        }
    }

    /// The types of the conditions that the kubelet writes; all others belong to other components.
    #[must_use]
    pub(super) fn own_conditions(&self) -> Vec<String> {
        let conditions = self.sum.pointer("/status/conditions").and_then(Value::as_array);
        let kinds = conditions.into_iter().flatten().filter_map(|condition| condition.get("type")?.as_str());
        kinds.map(str::to_owned).collect()
    }
}

impl Shadows {
    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), Shadow>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the shadow of a pod, if it has one.
    pub(super) fn with<T>(
        &self,
        namespace: &str,
        pod: &str,
        what: impl FnOnce(&mut Shadow) -> T,
    ) -> Option<T> {
        self.lock().get_mut(&(namespace.to_owned(), pod.to_owned())).map(what)
    }

    /// Whether the pod has a shadow.
    #[must_use]
    pub(super) fn has(&self, namespace: &str, pod: &str) -> bool {
        self.with(namespace, pod, |_| ()).is_some()
    }

    /// Gives the pod a shadow if it has no shadow, or the shadow of an earlier pod with the same name.
    pub(super) fn ensure(&self, namespace: &str, pod: &str, uid: &str, make: impl FnOnce() -> Shadow) {
        let mut shadows = self.lock();
        let key = (namespace.to_owned(), pod.to_owned());
        if shadows.get(&key).is_none_or(|shadow| shadow.uid != uid) {
            shadows.insert(key, make());
        }
    }

    /// Forgets a pod that was removed. Its last deeds are still carried out.
    pub(super) fn forget(&self, namespace: &str, pod: &str) {
        self.lock().remove(&(namespace.to_owned(), pod.to_owned()));
    }

    /// Changes a pod to what the kubelet believes it to be. Returns whether anything has changed.
    pub(super) fn show(&self, pod: &mut Value) -> bool {
        let uid = pod.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
        let Some((namespace, name)) = super::learn::name_of(pod) else { return false };
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.with(&namespace, &name, |shadow| {
            let is_it = uid.as_deref() == Some(&shadow.uid);
            if is_it {
                shadow.show(pod);
            }
            is_it
        })
        .unwrap_or(false)
    }
}
