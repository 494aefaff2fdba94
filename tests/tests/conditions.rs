//! The conditions under which an answer is due: number, time, host, attempt, event and chance.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use probity_script::Fact;
use probity_tests::target::Target;
use probity_tests::wire::{ask, get};

fn target(script: &str) -> Target {
    Target::start(&format!("{{ seed: 7, listeners: {{ web: {{ port: 0, paths: {{ /: {script} }} }} }} }}"))
}

fn status(address: SocketAddr) -> u16 {
    ask(address, get("/")).reply().status
}

fn statuses(target: &Target, count: usize) -> Vec<u16> {
    let address = target.address("web");
    (0..count).map(|_| status(address)).collect()
}

#[test]
fn a_sequence_of_probes_is_answered_in_its_order() {
    let target = target("[{ answer: 500, times: 2 }, { answer: 503, times: 1 }, { answer: 200 }]");
    assert_eq!(statuses(&target, 5), [500, 500, 503, 200, 200]);
    let steps: Vec<_> =
        (1..=5).map(|nth| target.story(nth)).map(|s| (s.request.probe, s.answer.step)).collect();
    assert_eq!(steps, [(1, 0), (2, 0), (3, 1), (4, 2), (5, 2)]);
}

#[test]
fn ranges_and_every_kth_probe_are_told_apart() {
    let target = target(
        "[{ answer: 503, when: { probe: 4-6 } }, { answer: 500, when: { probe: every 3 } }, { answer: 418, when: { probe: [8, 10-] } }, { answer: 200 }]",
    );
    assert_eq!(statuses(&target, 11), [200, 200, 500, 503, 503, 503, 200, 418, 500, 418, 418]);
}

#[test]
fn a_sequence_in_time_changes_when_it_is_planned() {
    let target = target("[{ answer: 503, for: 700ms }, { answer: 200 }]");
    let address = target.address("web");
    let deadline = Instant::now() + Duration::from_secs(15);
    let mut asked = 0;
    while status(address) != 200 {
        asked += 1;
        assert!(Instant::now() < deadline, "it never changes");
        std::thread::sleep(Duration::from_millis(20)); // a probe's period
    }
    assert!(asked > 0, "the first step was never seen");
    let opened = target.listening("web", "open", 1);
    let first_good = target.wait_for("the first 200", |line| match &line.fact {
        Fact::Answer(answer) if answer.answer == "200" => Some((line.mono_us, answer.step)),
        _ => None,
    });
    let last_bad = target.lines().iter().rev().find_map(|line| match &line.fact {
        Fact::Request(request) if request.probe == asked => Some(line.mono_us),
        _ => None,
    });
    // The port opens after the process's start, so 700 ms after the start is less than 700 ms after the opening.
    assert!(last_bad.is_some_and(|at| at < opened.mono_us + 700_000), "{last_bad:?} {}", opened.mono_us);
    assert_eq!(first_good.1, 1);
}

#[test]
fn a_window_in_time_has_a_beginning_and_an_end() {
    let target = target(
        "[{ answer: 503, when: { elapsed: '300ms..900ms' } }, { answer: 200, when: { elapsed: 900ms.. } }, { answer: 418 }]",
    );
    let address = target.address("web");
    let deadline = Instant::now() + Duration::from_secs(15);
    let mut seen = vec![status(address)];
    while seen.last() != Some(&200) {
        assert!(Instant::now() < deadline, "the last window never comes: {seen:?}");
        std::thread::sleep(Duration::from_millis(20)); // a probe's period
        let next = status(address);
        if seen.last() != Some(&next) {
            seen.push(next);
        }
    }
    // On a very busy machine the first requests may come too late for the first window, but never out of order.
    assert!([vec![418, 503, 200], vec![503, 200]].contains(&seen), "{seen:?}");
}

#[test]
fn the_host_header_chooses() {
    let target = target(
        "[{ answer: 404, when: { host: app.example } }, { answer: 503, when: { host: 'b.example:81' } }, { answer: 200 }]",
    );
    for (host, expected) in [
        ("Host: app.example\r\n", 404),
        ("HOST: APP.example:8080\r\n", 404),
        ("Host: b.example:81\r\n", 503),
        ("Host: b.example\r\n", 200),
        ("Host: other\r\n", 200),
        ("", 200),
    ] {
        let reply = ask(target.address("web"), format!("GET / HTTP/1.0\r\n{host}\r\n")).reply();
        assert_eq!(reply.status, expected, "{host}");
    }
}

#[test]
fn the_life_of_the_container_chooses() {
    let journal = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let journal = journal.path().to_string_lossy().into_owned();
    let plan = "listeners: { web: { port: 0, paths: { /: [{ answer: 500, when: { attempt: 0 } }, { answer: 503, when: { attempt: 2- } }, { answer: 200 }] } } }";
    for (life, expected) in (0..).zip([500, 200, 503, 503]) {
        let target = Target::start_with(plan, &[("AGNHOST_JOURNAL", &journal)]);
        assert_eq!(status(target.address("web")), expected, "life {life}");
        assert!(target.lines().iter().all(|line| line.attempt == life));
    }
}

#[test]
fn a_mark_made_by_one_step_moves_another_endpoint() {
    let target = Target::start(
        "listeners: { web: { port: 0, paths: { /fault: [{ answer: 202, times: 1, mark: fault }, { answer: 200 }], /ready: [{ answer: 503, when: { since: { fault: ..700ms } } }, { answer: 418, when: { since: { fault: 700ms.. } } }, { answer: 200 }] } } }",
    );
    let address = target.address("web");
    let ready = || ask(address, get("/ready")).reply().status;
    assert_eq!(ready(), 200);
    assert_eq!(ask(address, get("/fault")).reply().status, 202);
    let mark = target.wait_for("the mark", |line| match &line.fact {
        Fact::Mark(mark) => Some(mark.clone()),
        _ => None,
    });
    assert_eq!((mark.name.as_str(), mark.by.as_str()), ("fault", "web:/fault"));
    assert_eq!(ready(), 503);
    let deadline = Instant::now() + Duration::from_secs(15);
    while ready() != 418 {
        assert!(Instant::now() < deadline, "the mark never gets old");
        std::thread::sleep(Duration::from_millis(20)); // a probe's period
    }
}

#[test]
fn the_same_seed_meets_the_same_luck() {
    let run = |seed: u64| {
        let target = Target::start(&format!(
            "{{ seed: {seed}, listeners: {{ web: {{ port: 0, paths: {{ /: [{{ answer: 500, when: {{ chance: 0.5 }} }}, {{ answer: 200 }}] }} }} }} }}"
        ));
        statuses(&target, 64)
    };
    let first = run(11);
    assert_eq!(first, run(11));
    assert_ne!(first, run(12));
    let failed = first.iter().filter(|status| **status == 500).count();
    assert!((10..54).contains(&failed), "{failed} of 64 at a chance of one half");
}
