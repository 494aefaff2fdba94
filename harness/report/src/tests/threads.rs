//! Reports do not depend on the number of threads, and what is kept of a history is enough.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::{Citations, Essentials, Histories, JudgedHistory, Outline};

/// More cases than a clause cites, with every verdict, a doubt, a damaged history and one that another program wrote.
fn long_run() -> Run {
    let mut run = Run::new();
    for at in 0..40 {
        let probes = if at % 7 == 3 { LATE } else { ON_TIME };
        run = run.ended(&format!("demo/case-{at}"), &[RESTARTS, ON_TIME_ID], probes, u64::from(at % 11 == 5));
    }
    run = run.ended("demo/nothing-shown", &[ON_TIME_ID], &[], 0);
    run.histories[2].contents = Err("it is cut off".to_owned());
    if let Ok(read) = &mut run.histories[4].contents {
        read.sha256 = "6b".to_owned();
    }
    run
}

/// Histories that count how many of them are in memory at the same time.
struct Counted<'r> {
    run: &'r Run,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Histories for Counted<'_> {
    fn read_history(&self, file: &str) -> Result<Cow<'_, ReadHistory>, String> {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        self.run.histories.read_history(file)
    }

    fn has_history(&self, file: &str) -> bool {
        self.run.histories.has_history(file)
    }
}

#[test]
fn any_number_of_threads_gives_the_same_report() {
    let run = long_run();
    let text = |threads| {
        let report = Report::build(&registry(), &run.log(), &run.histories, Workers::of(threads)).unwrap();
        serde_json::to_string(&report).unwrap()
    };
    let one = text(1);
    assert!(one.contains("it is cut off") && one.contains("its digest differs"));
    for threads in [2, 3, 8, 64] {
        assert_eq!(text(threads), one, "{threads} threads");
    }
}

#[test]
fn a_clause_cites_the_first_histories_with_its_verdict() {
    let report = long_run().report();
    for (id, first) in [(RESTARTS, "demo/case-5"), (ON_TIME_ID, "demo/case-3")] {
        let evidence = &clause(&report, id).evidence;
        assert_eq!(evidence[0].case.0, first);
        assert!(evidence.iter().all(|of| !of.events.is_empty() && of.events.len() <= 8));
    }
}

#[test]
fn no_more_histories_are_judged_at_a_time_than_there_are_threads() {
    let run = long_run();
    let log = run.log();
    let counted = Counted { run: &run, now: AtomicUsize::new(0), most: AtomicUsize::new(0) };
    let outline = Outline::of(&log).unwrap();
    let ended = outline.judge(&registry(), &counted, Workers::of(3), |_, _| {
        counted.now.fetch_sub(1, Ordering::SeqCst);
        Ok::<(), ()>(())
    });
    assert_eq!(ended.unwrap().len(), 41);
    assert!(counted.most.load(Ordering::SeqCst) <= 3);
}

#[test]
fn the_essentials_of_a_run_give_its_exit_status() {
    let runs = [long_run(), small_run(), Run::new().ended("demo/calm", &[ON_TIME_ID], &[], 0)];
    for run in runs {
        let log = run.log();
        let outline = Outline::of(&log).unwrap();
        let mut essentials = Essentials::default();
        let judge = |named: &crate::NamedHistory<'_>| {
            let read = run.histories.read_history(named.file)?;
            let mut judged = JudgedHistory::of(&registry(), named, &read, &Citations::none());
            essentials.reduce(&mut judged);
            Ok(judged)
        };
        let judged = outline.histories().iter().map(judge).collect();
        assert_eq!(outline.report(&registry(), judged).exit_facts(), run.report().exit_facts());
    }
}
