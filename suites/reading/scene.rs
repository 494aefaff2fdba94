//! A scene for tests: a pod with one container, one probe of any mechanism each second, and a plan.

use probity_composer::Composer;
use serde_json::{Value, json};

use crate::tests::verdict;

/// A history that a test builds.
pub(crate) struct Scene {
    pub(crate) run: Composer,
    clause: String,
}

impl Scene {
    /// A container with a probe of this handler and this plan, which runs at 1.2 s. The container is not ready and,
    /// with a startup probe, not started either.
    pub(crate) fn new(clause: &str, kind: &str, handler: &Value, plan: &Value) -> Self {
        let mut probe = handler.clone();
        probe["periodSeconds"] = json!(1);
        probe["failureThreshold"] = json!(1);
        Self::of(clause, &json!({ kind: probe }), plan, kind != "startupProbe")
    }

    /// A container with these fields and this plan, which runs and is not ready at 1.2 s.
    pub(crate) fn of(clause: &str, fields: &Value, plan: &Value, started: bool) -> Self {
        let mut container = fields.clone();
        container["name"] = json!("target");
        container["env"] = json!([{ "name": "AGNHOST_PLAN", "value": plan.to_string() }]);
        let mut run = Composer::new(&[clause]);
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).running(1.2, false, started, 0);
        Self { run, clause: clause.to_owned() }
    }

    /// The container is killed because of its liveness probe.
    pub(crate) fn killed(&mut self, at: f64) -> &mut Self {
        self.run.signal(at, "SIGTERM");
        let message = "Container target failed liveness probe, will be restarted";
        self.run.event(at + 0.01, "Normal", "Killing", message);
        self
    }

    /// The verdict, if nothing else happens until then.
    pub(crate) fn at(mut self, end: f64) -> &'static str {
        self.run.reading(end);
        verdict(&self.run.done(), &self.clause)
    }
}
