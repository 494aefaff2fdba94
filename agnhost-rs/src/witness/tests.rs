#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;

use probity_script::WitnessLine;
use probity_script::witness::Mark;

use super::*;

fn witness() -> Witness {
    let identity = Identity { boot: "abcd".to_owned(), attempt: 2, counter: None };
    Witness::new(Clock::start(), identity, 1 << 20)
}

fn mark(name: &str) -> Fact {
    Fact::Mark(Mark { name: name.to_owned(), by: "test".to_owned() })
}

/// An outlet that writes to a pipe, with the reader of the pipe.
fn piped(most: usize) -> (Arc<Outlet>, std::io::PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    nix::fcntl::fcntl(writer.as_fd(), nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
    let outlet = Outlet::unconnected("stdout", most);
    outlet.connect(writer.into());
    (outlet, reader)
}

#[test]
fn lines_are_numbered_without_holes_and_read_back_as_they_were() {
    let witness = witness();
    let stamps: Vec<_> = (0..3).map(|n| witness.record(&mark(&format!("m{n}")))).collect();
    let since = witness.since(0, usize::MAX, Duration::ZERO);
    let lines: Vec<WitnessLine> = since
        .concat()
        .split(|byte| *byte == b'\n')
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_slice(l).unwrap())
        .collect();
    assert_eq!(lines.iter().map(|line| line.seq).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(lines[1].fact, mark("m1"));
    assert_eq!(
        (lines[2].boot.as_str(), lines[2].attempt, lines[2].mono_us),
        ("abcd", 2, stamps[2].at.mono_us)
    );
}

#[test]
fn an_arrival_is_in_the_pipe_when_record_returns() {
    let witness = witness();
    let (outlet, mut reader) = piped(1 << 16);
    witness.add(outlet);
    witness.arrival(&mark("probe"));
    let mut bytes = [0; 4096];
    let count = reader.read(&mut bytes).unwrap();
    assert!(String::from_utf8_lossy(&bytes[..count]).contains("probe"));
}

#[test]
fn a_full_pipe_is_counted_and_told_and_never_waited_for() {
    let witness = witness();
    let (outlet, reader) = piped(8 * 1024);
    witness.add(Arc::clone(&outlet));
    let began = Instant::now();
    // 64 KiB fit into the pipe, and 8 KiB into the buffer. The rest must be lost.
    for n in 0..2_000 {
        witness.arrival(&mark(&format!("{n:0>100}")));
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let lost = outlet.lost();
    assert!(lost > 1_000, "{lost}");
    let lines = std::thread::spawn(move || {
        let wanted = |line: &String| line.contains("\"lost\"");
        BufReader::new(reader).lines().map(Result::unwrap).find(wanted).unwrap()
    });
    while !lines.is_finished() && began.elapsed() < Duration::from_secs(10) {
        witness.record(&mark("after"));
        std::thread::sleep(Duration::from_millis(5));
    }
    let line: WitnessLine = serde_json::from_str(&lines.join().unwrap()).unwrap();
    let Fact::Lost(told) = line.fact else { panic!("{line:?}") };
    // Until the reader makes room, the lines that are recorded in the loop are lost as well, and are reported with the
    // others.
    assert!(told.lines >= lost, "{told:?} after {lost}");
    assert_eq!((told.to.as_str(), told.lines), ("stdout", outlet.lost()));
}

#[test]
fn a_reader_waits_for_the_next_line() {
    let witness = witness();
    let other = witness.clone();
    let reader = std::thread::spawn(move || other.since(0, usize::MAX, Duration::from_secs(10)));
    std::thread::sleep(Duration::from_millis(50));
    witness.record(&mark("late"));
    assert!(String::from_utf8(reader.join().unwrap().concat()).unwrap().contains("late"));
    assert!(witness.since(1, usize::MAX, Duration::from_millis(10)).is_empty());
}

#[test]
fn the_last_lines_wait_for_a_reader_who_is_still_to_come() {
    let (witness, outlet) = (witness(), Outlet::unconnected("recorder", 1 << 16));
    witness.add(Arc::clone(&outlet));
    witness.record(&mark("last"));
    let (mut reader, writer) = std::io::pipe().unwrap();
    nix::fcntl::fcntl(writer.as_fd(), nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
    let coming = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        outlet.connect(writer.into());
    });
    witness.flush(Duration::from_secs(20));
    // Nothing is written from here on. Lines that are not in the pipe now would have been lost with the process.
    coming.join().unwrap();
    nix::fcntl::fcntl(reader.as_fd(), nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
    let mut bytes = [0; 4096];
    let count = reader.read(&mut bytes).unwrap();
    assert!(String::from_utf8_lossy(&bytes[..count]).contains("last"));
}

#[test]
fn a_dead_reader_is_counted() {
    let witness = witness();
    let (outlet, reader) = piped(1024);
    drop(reader);
    witness.add(Arc::clone(&outlet));
    (0..100).for_each(|_| {
        witness.arrival(&mark("x"));
    });
    assert!(outlet.lost() > 50);
    assert_eq!(witness.losses(), [("stdout", outlet.lost())]);
}
