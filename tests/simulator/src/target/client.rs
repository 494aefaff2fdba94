//! The requests that targets send: the requests of their clients, and the requests to their dependencies.

use probity_script::Fact;
use probity_script::witness;

use crate::call::{Call, CallResult, Request};
use crate::pod::micros;
use crate::world::{Act, LifeAt, MS, World};

/// A request of a process in progress, with its future record and its destination.
pub(crate) struct Errand {
    of: LifeAt,
    call: witness::Call,
    reached: Option<LifeAt>,
    began: i64,
}

impl World<'_> {
    /// A client of a process sends its next request.
    pub(crate) fn ask(&mut self, life: LifeAt, number: usize, count: u64) {
        let Some(of) = self.life(life).filter(|of| !of.shut) else { return };
        let Some(client) = of.plan.process.clients.get(number).cloned() else { return };
        let began = of.began + client.after.map_or(0, micros);
        if self.now - began >= micros(client.lasts) {
            return;
        }
        self.later(micros(client.pace()), Act::Ask(life, number, count + 1));
        let _ = self.fetch(life, &client.name, &client.url, self.now + micros(client.patience()));
    }

    /// Fetches a URL for a process, and records the call. Returns when the call was complete, and the status or the
    /// reason why there is none.
    pub(super) fn fetch(
        &mut self,
        life: LifeAt,
        by: &str,
        url: &str,
        deadline: i64,
    ) -> (i64, Result<u16, String>) {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let (place, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let (host, port) =
            place.rsplit_once(':').map_or((place, 80), |(host, port)| (host, port.parse().unwrap_or(80)));
        let agent = "agnhost-rs/0.1.0";
        let headers = [("Host", place), ("User-Agent", agent), ("Connection", "close")];
        let peer = self.pods[life.at.pod].ip.clone();
        self.reached = None;
        let (at, result) = self.call(&Call {
            request: Some(Request::get(path, &headers)),
            limit: 64 << 10,
            ..Call::new(peer, host.to_owned(), port, deadline)
        });
        let (mut status, mut answered_by) = (None, None);
        let error = match result {
            CallResult::Response(response) => {
                status = Some(response.status);
                let report: Option<serde_json::Value> = serde_json::from_str(&response.body).ok();
                answered_by = report.and_then(|report| report["host"].as_str().map(str::to_owned));
                None
            }
            CallResult::Refused => Some("connection refused".to_owned()),
            CallResult::TimedOut { .. } => Some("no answer in time".to_owned()),
            CallResult::Broken(why) => Some(why),
            CallResult::Connected | CallResult::Parted | CallResult::Health(_) => {
                Some("no answer".to_owned())
            }
        };
        let outcome = status.ok_or_else(|| error.clone().unwrap_or_default());
        let took_us = u64::try_from(at - self.now).unwrap_or(0);
        let (by, url) = (by.to_owned(), url.to_owned());
        let call = witness::Call { by, url, status, answered_by, error, took_us };
        let number = self.errands.last_key_value().map_or(0, |(number, _)| number + 1);
        let reached = self.reached.take();
        self.errands.insert(number, Errand { of: life, call, reached, began: self.now });
        self.at(at, Act::Called(number));
        (at, outcome)
    }

    /// A request is complete, and the process that sent it records it.
    pub(crate) fn called(&mut self, number: u64) {
        if let Some(errand) = self.errands.remove(&number) {
            self.note(errand.of, Fact::Call(errand.call));
        }
    }

    /// A process is gone, and so are the connections of the clients that it had not answered.
    pub(super) fn break_errands(&mut self, life: LifeAt) {
        let now = self.now;
        let broken = self.errands.iter_mut().filter(|(_, errand)| errand.reached == Some(life));
        let numbers: Vec<u64> = broken
            .map(|(number, errand)| {
                errand.call.status = None;
                errand.call.answered_by = None;
                errand.call.error = Some("the connection was closed before an answer came".to_owned());
                errand.call.took_us = u64::try_from(now - errand.began).unwrap_or(0);
                *number
            })
            .collect();
        for number in numbers {
            self.later(MS / 2, Act::Called(number));
        }
    }
}
