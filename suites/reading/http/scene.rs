//! A scene for tests: a pod with one container, one HTTP probe of `/r` each second, and a plan.

use probity_composer::Told;
use serde_json::{Value, json};

use crate::reading::scene::Scene;

impl Scene {
    /// A container with this probe of `/r` and these paths, which runs and is not ready at 1.2 s.
    pub(crate) fn http(clause: &str, probe: &str, paths: &Value) -> Self {
        Self::with(
            clause,
            &json!({ probe: { "httpGet": { "path": "/r", "port": 8080 }, "periodSeconds": 1, "failureThreshold": 1 } }),
            paths,
        )
    }

    /// A container with these fields and these paths.
    pub(crate) fn with(clause: &str, fields: &Value, paths: &Value) -> Self {
        let listeners = json!({
            "web": { "port": 8080, "paths": paths },
            "other": { "port": 8081, "paths": paths },
            "secure": { "port": 8443, "tls": {}, "paths": paths },
        });
        Self::of(clause, fields, &json!({ "listeners": listeners }), true)
    }

    /// Adds a probe at each of these seconds. Each probe makes these requests, one after the other.
    pub(crate) fn probes(&mut self, seconds: std::ops::Range<u32>, requests: &[Told]) -> &mut Self {
        for second in seconds {
            self.probe(f64::from(second), requests);
        }
        self
    }

    /// One probe, which makes these requests.
    pub(crate) fn probe(&mut self, mut at: f64, requests: &[Told]) -> &mut Self {
        for told in requests {
            self.run.http(at, told);
            at += told.took + 0.01;
        }
        self
    }

    /// Shows the container as ready or not ready from this time on.
    pub(crate) fn ready(&mut self, at: f64, ready: bool) -> &mut Self {
        self.run.running(at, ready, true, 0);
        self
    }
}

/// A request that a redirect of the request for `from` led to.
pub(crate) fn led(target: &str, from: &str, answer: impl ToString) -> Told {
    let mut told = Told::get(target, answer);
    told.headers.push(("Referer".to_owned(), format!("http://10.0.0.7:8080{from}")));
    told
}

/// A redirect to this Location.
pub(crate) fn redirect(status: u16, location: &str) -> Value {
    json!({ "status": status, "headers": [format!("Location: {location}")] })
}
