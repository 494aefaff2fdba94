use probity_composer::Told;
use probity_script::witness::{Closed, Ending, Fact, Listening};
use serde_json::json;

use crate::reading::scene::Scene;

const SILENT: &str = "probe.tcp.no-payload";
const FORMS: &str = "probe.tcp.port-forms";

fn scene(clause: &str) -> Scene {
    Scene::new(clause, "readinessProbe", &json!({ "tcpSocket": { "port": 8080 } }), &json!({}))
}

fn lived(took: f64, ending: Ending) -> &'static str {
    let mut scene = scene(SILENT);
    scene.run.tcp(2.0, &Told { took, ending, ..Told::get("", "") });
    scene.at(6.0)
}

#[test]
fn a_connection_that_ends_at_once_holds() {
    assert_eq!(lived(0.001, Ending::PeerClosed), "holds");
    assert_eq!(lived(3.0, Ending::PeerClosed), "violated");
    assert_eq!(lived(0.001, Ending::WeClosed), "inconclusive");
}

#[test]
fn a_connection_that_is_kept_on_a_busy_node_is_doubt() {
    let mut scene = scene(SILENT);
    scene.run.tcp(2.0, &Told { took: 3.0, ending: Ending::PeerClosed, ..Told::get("", "") });
    scene.run.noise(2.1, 4.9);
    assert_eq!(scene.at(6.0), "inconclusive");
}

#[test]
fn bytes_are_a_violation() {
    let mut scene = scene(SILENT);
    scene.run.tcp(2.0, &Told { ending: Ending::WeClosed, ..Told::get("", "") });
    let accepted = Fact::Accepted(probity_script::witness::Accepted {
        conn: 9,
        listener: "web".to_owned(),
        peer: "10.0.0.1:40009".to_owned(),
        local: "10.0.0.7:8080".to_owned(),
        step: 0,
        answer: "serve".to_owned(),
    });
    scene.run.fact(3.0, accepted);
    let how = Ending::PeerClosed;
    scene.run.fact(
        3.001,
        Fact::Closed(Closed { conn: 9, how, received: 3, sent: 0, lived_us: 1000, error: None }),
    );
    assert_eq!(scene.at(6.0), "violated");
}

#[test]
fn a_port_is_found_or_it_is_not() {
    let mut there = scene(FORMS);
    there.run.tcp(2.0, &Told::get("", ""));
    assert_eq!(there.at(4.0), "holds");
    let mut nowhere = scene(FORMS);
    let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
    nowhere.run.fact(1.1, Fact::Listening(Listening { listener, address, state: "open".to_owned() }));
    nowhere.run.running(40.0, false, true, 0);
    assert_eq!(nowhere.at(60.0), "violated");
    assert_eq!(scene(FORMS).at(2.0), "inconclusive");
}
