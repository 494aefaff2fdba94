//! How the lines of a history are written and read.
#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::Composer;
use probity_model::{Event, History};
use serde_json::json;

#[test]
fn what_is_written_is_read_again() {
    let mut run = Composer::new(&["a.b"]);
    run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0);
    run.probe(2.0, "/ready", 200);
    run.noise(2.0, 3.0).gap(3.0, 4.0, "Pod");
    let history = run.done();
    assert_eq!(History::read(&history.write().unwrap()).unwrap(), history);
}

#[test]
fn an_event_without_anything_that_happened_is_refused_by_a_sentence() {
    let refused = serde_json::from_str::<Event>(r#"{"us":1,"else":{}}"#).unwrap_err().to_string();
    assert!(refused.starts_with("an event has one of the fields deed, sighting"), "{refused}");
    let event = r#"{"us":1,"gap":{"of":"recorder","from_us":0,"to_us":1,"why":"away"},"later":true}"#;
    assert!(serde_json::from_str::<Event>(event).is_ok(), "fields may be added");
}
