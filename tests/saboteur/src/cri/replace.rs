//! A container that is replaced without the kubelet's knowledge: the old instance is stopped, and a new one takes its
//! place under the old id. The ids have the same length, so they are exchanged directly in the bytes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use super::{
    fault::CriFault,
    grpc::{CallAnswer, frame, unframe},
    proxy::{Outgoing, Proxy},
    wire::Message,
};
use crate::defect::Fault;

/// The created containers, and their replacements.
#[derive(Debug, Default)]
pub(super) struct Replacements(Mutex<Ledger>);

#[derive(Debug, Default)]
struct Ledger {
    /// How each container was created: framed requests by container id.
    created: HashMap<String, Bytes>,
    /// The real id for each id that the kubelet knows.
    behind: HashMap<String, String>,
}

impl Replacements {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the request that created a container.
    pub(super) fn remember(&self, answer: &CallAnswer, framed: Bytes) {
        let Some(response) = answer.message().and_then(|bytes| Message::parse(&bytes).ok()) else { return };
        self.ledger().created.insert(response.text(1), framed);
    }

    /// Forgets a container that the kubelet has removed. If the container was replaced, the runtime has removed the new
    /// instance, and the old instance is shown again until the kubelet also removes it.
    pub(super) fn forget(&self, id: &str) {
        let mut ledger = self.ledger();
        ledger.created.remove(id);
        ledger.behind.remove(id);
    }

    /// A framed request of the kubelet as the runtime must receive it.
    pub(super) fn to_runtime(&self, framed: Bytes) -> Bytes {
        let ledger = self.ledger();
        ledger.behind.iter().fold(framed, |framed, (known, real)| exchange(framed, known, real))
    }

    /// An answer of the runtime as the kubelet must receive it: the old instance is gone, and the new one has its id.
    pub(super) fn to_kubelet(&self, answer: CallAnswer) -> CallAnswer {
        let ledger = self.ledger();
        if ledger.behind.is_empty() {
            return answer;
        }
        let Some(mut bytes) = answer.message() else { return answer };
        if let Ok(mut list) = Message::parse(&bytes) {
            list.change_each(1, |container| !ledger.behind.contains_key(&container.text(1)));
            bytes = list.encode();
        }
        let bytes = ledger.behind.iter().fold(bytes, |bytes, (known, real)| exchange(bytes, real, known));
        answer.with_message(&bytes)
    }
}

impl Proxy {
    /// If a defect requires this, replaces a container that was just started, after the delay of the defect.
    pub(super) fn replace_later(self: Arc<Self>, id: &str, start: Outgoing) {
        let pick = |fault: &Fault| match fault {
            Fault::Cri(CriFault::ReplacedUnseen(after)) => Some(after.0),
            _ => None,
        };
        let Some(target) = self.board.target_of_container(id) else { return };
        let Some(after) = self.board.strikes(pick, &target).first().copied() else { return };
        let id = id.to_owned();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            // A container that has ended by itself in the meantime cannot be replaced unseen.
            self.replace(&id, &start).await
        });
    }

    async fn replace(&self, id: &str, start: &Outgoing) -> Option<()> {
        let created = self.replacements.ledger().created.get(id).cloned()?;
        let mut stop = Message::default();
        stop.set_bytes(1, id.to_owned());
        let create = later_attempt(&created)?;
        let answer = start.to("CreateContainer").send(create).await.ok()?;
        let new = Message::parse(&answer.message()?).ok()?.text(1);
        let mut starting = Message::default();
        starting.set_bytes(1, new.clone());
        // From here on the old instance is hidden, so that its end is never shown.
        self.replacements.ledger().behind.insert(id.to_owned(), new);
        start.to("StopContainer").send(frame(&stop.encode())).await.ok()?;
        start.send(frame(&starting.encode())).await.ok()?.message().map(|_| ())
    }
}

/// The request for the same container under another attempt: the runtime rejects two containers with the same name.
fn later_attempt(created: &Bytes) -> Option<Bytes> {
    let mut request = Message::parse(&unframe(created)?).ok()?;
    request.change(2, |config| {
        config.change(1, |metadata| metadata.set_integer(2, metadata.integer(2) + 1000));
    });
    Some(frame(&request.encode()))
}

fn exchange(bytes: Bytes, from: &str, to: &str) -> Bytes {
    if from.len() != to.len() || from.is_empty() {
        return bytes;
    }
    let mut changed = bytes.to_vec();
    let mut at = 0;
    while let Some(found) = changed[at..].windows(from.len()).position(|window| window == from.as_bytes()) {
        at += found;
        changed[at..at + to.len()].copy_from_slice(to.as_bytes());
        at += to.len();
    }
    changed.into()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{CallAnswer, Message, Replacements, exchange};

    #[test]
    fn ids_are_exchanged_wherever_they_are() {
        assert_eq!(exchange(Bytes::from("a-old-old-b"), "old", "new"), "a-new-new-b");
        assert_eq!(exchange(Bytes::from("a-old"), "old", "newer"), "a-old");
    }

    #[test]
    fn a_list_shows_the_new_instance_under_the_old_id_and_hides_the_old_one() {
        let replacements = Replacements::default();
        replacements.ledger().behind.insert("id-a".into(), "id-b".into());
        let mut list = Message::default();
        for id in ["id-a", "id-b", "id-c"] {
            let mut container = Message::default();
            container.set_bytes(1, id);
            list.push(1, container.encode());
        }
        let seen = replacements.to_kubelet(CallAnswer::success(&list.encode())).message().unwrap_or_default();
        let ids: Vec<_> = Message::parse(&seen)
            .unwrap_or_default()
            .messages(1)
            .map(|container| container.text(1))
            .collect();
        assert_eq!(ids, ["id-a", "id-c"]);
    }
}
