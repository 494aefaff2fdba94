use probity_model::history::{Change, Happening, Header, Heard, Sighting, Way};
use probity_script::witness::Entry;
use serde_json::{Value, json};

use super::{Book, Books};
use crate::Zero;
use crate::incoming::Incoming;

fn books() -> (Books, Book) {
    let books = Books::new(Zero::now());
    let book = books.open("a-b", Header::default());
    book.expect_pods("a-b-web-");
    (books, book)
}

fn sighting(kind: &str, name: &str, object: Value) -> Incoming {
    let (kind, name) = (kind.to_owned(), name.to_owned());
    let sighting = Sighting { kind, name, change: Change::Added, revision: "1".to_owned(), object };
    Incoming::Sighting { us: 1, sighting }
}

fn pod(name: &str, case: &str) -> Incoming {
    sighting("Pod", name, json!({ "metadata": { "name": name, "labels": { "probity.dev/case": case } } }))
}

fn event(pod: &str) -> Incoming {
    sighting("Event", "e", json!({ "involvedObject": { "name": pod }, "reason": "Scheduled" }))
}

fn heard(pod: &str, uid: &str) -> Incoming {
    let (boot, how) = ("b".to_owned(), "closed".to_owned());
    let entry = Entry::Left { boot, how, last_mono_us: 1, told: 1 };
    let (container, node) = ("target".to_owned(), "node1".to_owned());
    let (pod, uid, by) = (pod.to_owned(), uid.to_owned(), Way::Recorder);
    Incoming::Heard { us: 2, heard: Heard { pod, uid, container, node, by, received_us: None, entry } }
}

fn told(book: &Book) -> Vec<String> {
    book.look(|history| {
        let of = history.events().map(|(_, event)| match &event.what {
            Happening::Sighting(seen) => seen.kind.clone(),
            Happening::Witness(heard) => format!("{} {}", heard.pod, heard.uid),
            other => format!("{other:?}"),
        });
        of.collect()
    })
}

fn enter(books: &Books, all: Vec<Incoming>) {
    all.into_iter().for_each(|one| books.lock().enter(one));
}

#[test]
fn a_pod_with_the_label_of_a_case_is_the_cases_whoever_made_it() {
    let (books, book) = books();
    enter(&books, vec![pod("a-b-web-1-x", "a-b"), event("a-b-web-1-x"), heard("a-b-web-1-x", "u")]);
    assert_eq!(
        (told(&book), books.strays()),
        (vec!["Pod".into(), "Event".into(), "a-b-web-1-x u".into()], 0)
    );
}

#[test]
fn what_is_heard_of_a_pod_before_the_watch_shows_it_waits_for_it() {
    let (books, book) = books();
    enter(&books, vec![event("a-b-web-1-x"), heard("a-b-web-1-x", "u"), heard("a-b-web-1-y", "v")]);
    assert_eq!((told(&book), books.strays()), (vec![], 0));
    enter(&books, vec![pod("a-b-web-1-x", "a-b")]);
    assert_eq!(told(&book), ["Pod", "Event", "a-b-web-1-x u"]);
    drop(book.close());
    assert_eq!(books.strays(), 1, "who never came is counted");
}

#[test]
fn pods_that_nobody_expects_and_pods_of_closed_cases_are_strays() {
    let (books, book) = books();
    enter(&books, vec![heard("a-c-web-1-x", "u"), pod("a-c-web-1-x", "a-c"), heard("a-c-web-1-x", "u")]);
    assert_eq!((told(&book), books.strays()), (vec![], 3));
    drop(book.close());
    enter(&books, vec![pod("a-b-web-1-x", "a-b"), heard("a-b-web-1-x", "u")]);
    assert_eq!(books.strays(), 5);
}
