//! Hand-written histories of containers with HTTP hooks that have a host.

use probity_composer::{Composer, Told};
use probity_script::witness::{Fact, Listening};
use serde_json::{Value, json};

use crate::tests::verdict;

const HOST: &str = "container.hook.host-field";
const THERE: &str = "10.0.0.8";

/// A pod whose container serves the path of the hook and may have this hook.
fn spec(lifecycle: &Value) -> Value {
    let plan = json!({ "listeners": { "web": { "port": 8080, "paths": { "/register": 200 } } } }).to_string();
    let env = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
    json!({ "containers": [{ "name": "target", "env": env, "lifecycle": lifecycle }] })
}

/// The postStart hook of a pod has the address of another pod, which listens from 1.1 s on. Its request arrives in the
/// given pod at 3.2 s, and its container is shown as running at 4 s.
fn judged(host: &str, arrives: Option<&str>) -> &'static str {
    let mut run = Composer::new(&[HOST]);
    run.of("server", "target").create(0.0, &spec(&json!({}))).start(1.0, 0);
    let (listener, address, state) = ("web".to_owned(), "[::]:8080".to_owned(), "open".to_owned());
    run.fact(1.1, Fact::Listening(Listening { listener, address, state }));
    run.status(1.5, &json!({ "phase": "Running", "podIP": THERE }));
    let get = json!({ "host": host, "port": 8080, "path": "/register" });
    run.of("asks", "target").create(2.0, &spec(&json!({ "postStart": { "httpGet": get } }))).start(3.0, 0);
    if let Some(pod) = arrives {
        let headers = vec![("User-Agent".to_owned(), "kube-lifecycle/1.36".to_owned())];
        run.of(pod, "target").http(3.2, &Told { headers, ..Told::get("/register", 200) });
    }
    run.of("asks", "target").running(4.0, true, true, 0);
    run.of("server", "target").http(6.0, &Told::get("/other", 200));
    run.reading(20.0);
    verdict(&run.done(), HOST)
}

#[test]
fn a_request_arrives_at_its_host() {
    assert_eq!(judged(THERE, Some("server")), "holds");
    assert_eq!(judged(THERE, Some("asks")), "violated", "it went to its own pod");
    assert_eq!(judged(THERE, None), "violated", "it was never sent");
    assert_eq!(judged("10.0.0.99", Some("asks")), "inconclusive", "no pod has this address");
}
