//! TCP probes as a mechanism: who can connect has succeeded, whatever comes after.

use probity_model::timeline::{Handler, Through};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::answers::{Answer, Answers, of_others};
use crate::reading::http::closed_port::refusals_fail;
use crate::reading::http::reaction::CountsAs;
use crate::reading::unreachable::{There, UnreachableProbe, own_port, there};

/// What a target does with a connection once it is open, and that cannot be mistaken for a refusal.
const OPEN: [&str; 5] = ["serve", "hold", "close", "echo", "garbage"];

/// A connection that was accepted.
fn opened(
    answers: &Answers<'_, '_>,
    exchange: &crate::reading::http::exchange::Exchange<'_, '_>,
) -> Option<String> {
    match answers.told(exchange)? {
        Answer::Opened(how) if OPEN.contains(&how.as_str()) => Some(how.clone()),
        _ => None,
    }
}

/// A connection that opens is a success, and one that is refused a failure.
pub(super) fn open_is_success(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in tcp(run) {
        answers.judge(run, clause, seen, |exchange| {
            opened(&answers, exchange).map(|_| (true, "connected".to_owned()))
        });
        refusals_fail(clause, &answers.course, seen);
    }
    for (pod, container, spec) in run.probes() {
        let Handler::Tcp { .. } = &spec.handler else { continue };
        if own_port(&spec.handler).is_some_and(|port| there(pod, port) == There::Nobody) {
            let why = "whose port nobody opened";
            UnreachableProbe { pod, container, spec }.judge(run, clause, seen, why, CountsAs::Failure);
        }
    }
}

/// A connection that is closed as soon as it is accepted is a success.
pub(super) fn closing_at_once_is_healthy(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in tcp(run) {
        answers.judge(run, clause, seen, |exchange| {
            let closed = opened(&answers, exchange)? == "close";
            closed.then(|| (true, "were closed at once".to_owned()))
        });
    }
}

/// Connections are successes while whoever asks on the same port for more gets an error, or nothing.
pub(super) fn blind_to_the_application(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in tcp(run) {
        let (attempt, port) = (answers.course.attempt, answers.course.spec.handler.port());
        let asked: Vec<(i64, bool)> = attempt
            .requests
            .iter()
            .filter(|asked| attempt.connection(asked).and_then(|connection| connection.port()) == port)
            .map(|asked| (asked.at.at.lo, asked.status().is_none_or(|status| status >= 500)))
            .collect();
        answers.judge(run, clause, seen, |exchange| {
            opened(&answers, exchange)?;
            let last = asked.iter().rfind(|(at, _)| *at <= exchange.at.at.lo)?;
            last.1.then(|| (true, "connected to an application in trouble".to_owned()))
        });
    }
}

/// The TCP probes.
fn tcp<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Answers<'t, 'h>> {
    let is_tcp = |answers: &Answers<'_, '_>| {
        matches!(answers.course.spec.handler, Handler::Tcp { .. })
            && answers
                .course
                .attempt
                .probes_of(answers.course.spec.kind)
                .all(|probe| matches!(probe.through, Through::Connection(_)))
    };
    of_others(run).into_iter().filter(is_tcp).collect()
}

#[cfg(test)]
mod tests {
    use probity_composer::Told;
    use probity_script::Fact;
    use probity_script::witness::Listening;
    use serde_json::json;

    use crate::reading::scene::Scene;

    const OPEN: &str = "probe.tcp.open-success";
    const CLOSE: &str = "probe.tcp.immediate-close-healthy";
    const BLIND: &str = "probe.tcp.blind-to-app";

    fn scene(clause: &str, probe: &str) -> Scene {
        let plan = json!({ "listeners": { "web": { "port": 8080 } } });
        Scene::new(clause, probe, &json!({ "tcpSocket": { "port": 8080 } }), &plan)
    }

    fn connected(clause: &str, answer: &str, ready: bool) -> &'static str {
        let mut scene = scene(clause, "readinessProbe");
        for second in 2..18 {
            scene.run.tcp(f64::from(second), &Told { connection: answer.to_owned(), ..Told::get("", "") });
        }
        scene.run.running(2.4, ready, true, 0);
        scene.at(18.0)
    }

    #[test]
    fn whoever_connects_succeeds() {
        assert_eq!(connected(OPEN, "serve", true), "holds");
        assert_eq!(connected(OPEN, "serve", false), "violated");
        assert_eq!(connected(OPEN, "reset", false), "inconclusive");
        assert_eq!(connected(CLOSE, "close", true), "holds");
        assert_eq!(connected(CLOSE, "close", false), "violated");
        assert_eq!(connected(CLOSE, "serve", false), "inconclusive");
    }

    #[test]
    fn a_port_that_closes_takes_the_readiness_away() {
        for (ready, word) in [(false, "holds"), (true, "violated")] {
            let mut scene = scene(OPEN, "readinessProbe");
            for second in 2..5 {
                scene
                    .run
                    .tcp(f64::from(second), &Told { connection: "serve".to_owned(), ..Told::get("", "") });
            }
            scene.run.running(2.4, true, true, 0);
            let (listener, address) = ("web".to_owned(), String::new());
            scene.run.fact(5.5, Fact::Listening(Listening { listener, address, state: "closed".to_owned() }));
            scene.run.running(6.2, ready, true, 0);
            assert_eq!(scene.at(20.0), word);
        }
    }

    fn nobody(ready: bool) -> &'static str {
        let mut scene =
            Scene::new(OPEN, "readinessProbe", &json!({ "tcpSocket": { "port": 8080 } }), &json!({}));
        scene.run.running(3.0, ready, true, 0);
        scene.run.event(3.1, "Warning", "Unhealthy", "Readiness probe failed: connection refused");
        scene.at(9.0)
    }

    #[test]
    fn a_port_that_nobody_opened_fails() {
        assert_eq!(nobody(false), "holds");
        assert_eq!(nobody(true), "violated");
    }

    #[test]
    fn a_liveness_probe_in_vain_must_kill() {
        let handler = json!({ "tcpSocket": { "port": 8080 } });
        assert_eq!(Scene::new(OPEN, "livenessProbe", &handler, &json!({})).at(60.0), "violated");
        assert_eq!(Scene::new(OPEN, "livenessProbe", &handler, &json!({})).at(3.0), "inconclusive");
    }

    #[test]
    fn an_application_in_trouble_does_not_matter() {
        for (killed, word) in [(false, "holds"), (true, "violated")] {
            let mut scene = scene(BLIND, "livenessProbe");
            scene.run.http(1.5, &Told::get("/r", 500));
            for second in 2..6 {
                scene
                    .run
                    .tcp(f64::from(second), &Told { connection: "serve".to_owned(), ..Told::get("", "") });
            }
            if killed {
                scene.killed(5.2);
            }
            assert_eq!(scene.at(20.0), word);
        }
    }
}
