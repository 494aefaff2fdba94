//! postStart requests that another container of the pod answers: the container of the hook waits for these, too.

use probity_model::timeline::{Asked, At, Life};
use serde_json::Value;

use super::hook_requests::{HookRequest, bare, http_hooks};
use crate::reading::hooks::HookRun;

/// The postStart request of an instance, and its answer, if another container of the pod answered it. A request that did not
/// get an answer may have failed. If another hook of the pod has the same path, the two cannot be told apart.
pub(super) fn answered_elsewhere(life: &Life<'_, '_>, hook: &Value) -> Option<HookRun> {
    let get = hook.get("httpGet")?;
    let own = HookRequest::of((life.pod, life.container), ("postStart", get), life.pod)?;
    let path = |get: &Value| bare(get["path"].as_str().unwrap_or_default()).to_owned();
    let same =
        http_hooks(life.run).filter(|(pod, .., other)| pod.uid == life.pod.uid && path(other) == own.path());
    if same.count() > 1 {
        return None;
    }
    // The kubelet may send the request before the process has recorded its start.
    let before = life.before().and_then(|before| before.ended.clone());
    let after = life.next().map(|next| next.began.clone());
    let of_instance = |asked: &Asked<'_>| {
        let earlier = before.as_ref().is_some_and(|ended| life.run.before(&asked.at, ended));
        let later = after.as_ref().is_some_and(|began| life.run.before(began, &asked.at));
        !earlier && !later
    };
    let mut arrived = own.arrivals().map(|(asked, _)| asked).filter(|asked| of_instance(asked));
    let asked = arrived.next()?;
    let answer = asked.answer.as_ref()?;
    Some(HookRun { began: At::of(asked), ended: Some(answer.at.clone()), outcome: asked.status() })
}
