//! The dependencies for which a process waits before it opens its ports. In the simulator, only a URL or a file can be
//! missing; everything else exists.

use probity_script::witness::Waited;
use probity_script::{Dependency, ExitFrom, Fact};

use crate::call::{Call, CallResult, Request};
use crate::world::{Act, LifeAt, MS, SECOND, World};

/// The interval between two checks.
const AGAIN: i64 = 100 * MS;
/// The maximum duration of a check.
const PATIENCE: i64 = SECOND;

impl World<'_> {
    /// A process checks whether its next dependency is available. If it is the last dependency, the process then
    /// continues.
    pub(crate) fn look_for(&mut self, life: LifeAt, which: usize, tries: u64) {
        let Some(of) = self.life(life) else { return };
        let Some(dependency) = of.plan.process.wait_for.get(which).cloned() else {
            self.plan_exit(life, ExitFrom::Waited);
            self.try_all(life);
            self.open(life);
            return;
        };
        let what = match dependency {
            Dependency::Http(url) if !self.answers(life, &url) => {
                self.later(AGAIN, Act::Await(life, which, tries + 1));
                return;
            }
            Dependency::File(path) if !self.has_file(life, &path) => {
                self.later(AGAIN, Act::Await(life, which, tries + 1));
                return;
            }
            Dependency::Http(url) => format!("http {url}"),
            Dependency::Tcp(address) => format!("tcp {address}"),
            Dependency::Dns(name) => format!("dns {name}"),
            Dependency::File(path) => format!("file {path}"),
        };
        let took_us = (tries - 1) * AGAIN.unsigned_abs();
        self.note(life, Fact::Waited(Waited { what, tries, took_us }));
        self.later(MS, Act::Await(life, which + 1, 1));
    }

    /// Whether a URL is answered successfully. This is not recorded.
    fn answers(&mut self, life: LifeAt, url: &str) -> bool {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let (place, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let (host, port) =
            place.rsplit_once(':').map_or((place, 80), |(host, port)| (host, port.parse().unwrap_or(80)));
        let peer = self.pods[life.at.pod].ip.clone();
        let request = Some(Request::get(path, &[("Host", place), ("User-Agent", "agnhost-rs/0.1.0")]));
        let call = Call { request, ..Call::new(peer, host.to_owned(), port, self.now + PATIENCE) };
        matches!(self.call(&call).1, CallResult::Response(response) if response.status < 400)
    }
}
