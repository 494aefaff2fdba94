#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;
use probity_model::EventId;
use probity_model::verdict::{Doubt, Evidence, Skip};

fn verdict(word: u8) -> Verdict {
    let evidence = || Evidence::from_events([EventId(1)]).unwrap();
    let (finding, why) = ("finding".to_owned(), "why".to_owned());
    match word {
        0 => Verdict::Skipped { reason: Skip::Filtered, why },
        1 => Verdict::Holds { evidence: evidence() },
        2 => Verdict::Diverges { finding, evidence: evidence() },
        3 => Verdict::Inconclusive { doubt: Doubt::Straddles, why, events: Vec::new() },
        4 => Verdict::Error { why },
        _ => Verdict::Violated { finding, evidence: evidence() },
    }
}

fn votes() -> impl Strategy<Value = Vec<(bool, Verdict)>> {
    prop::collection::vec((any::<bool>(), (0_u8..6).prop_map(verdict)), 0..8)
}

fn poll(votes: &[(bool, Verdict)], from: usize) -> Poll<'_> {
    votes
        .iter()
        .enumerate()
        .map(|(at, (intended, verdict))| Vote { place: from + at, intended: *intended, verdict })
        .collect()
}

fn word(votes: &[(bool, Verdict)]) -> &'static str {
    poll(votes, 0).outcome().map_or("none", |vote| vote.verdict.word())
}

proptest! {
    #[test]
    fn grouping_does_not_matter(a in votes(), b in votes(), c in votes()) {
        let (x, y, z) = (poll(&a, 0), poll(&b, 10), poll(&c, 20));
        prop_assert_eq!(x.and(y).and(z), x.and(y.and(z)));
    }

    #[test]
    fn order_does_not_matter(a in votes(), b in votes()) {
        let (x, y) = (poll(&a, 0), poll(&b, 10));
        prop_assert_eq!(x.and(y), y.and(x));
    }

    #[test]
    fn nothing_added_changes_nothing(a in votes()) {
        prop_assert_eq!(poll(&a, 0).and(Poll::default()), poll(&a, 0));
    }

    #[test]
    fn nothing_holds_that_no_history_showed(a in votes()) {
        let shown = a.iter().any(|(_, verdict)| matches!(verdict, Verdict::Holds { .. }));
        prop_assert!(word(&a) != "holds" || shown);
    }

    #[test]
    fn a_violation_is_never_outvoted(a in votes(), at in any::<prop::sample::Index>(), intended in any::<bool>()) {
        let mut all = a;
        all.insert(at.index(all.len() + 1), (intended, verdict(5)));
        prop_assert_eq!(word(&all), "violated");
    }

    #[test]
    fn one_more_skipped_vote_changes_no_word_but_that_of_a_doubt(a in votes()) {
        let mut all = a.clone();
        all.push((true, verdict(0)));
        prop_assert!(a.is_empty() || word(&all) == word(&a) || word(&a) == "inconclusive");
    }
}

#[test]
fn a_doubt_from_elsewhere_does_not_outweigh_a_case_written_for_it() {
    assert_eq!(word(&[(true, verdict(1)), (false, verdict(3))]), "holds");
    assert_eq!(word(&[(true, verdict(3)), (false, verdict(1))]), "inconclusive");
    assert_eq!(word(&[(false, verdict(1)), (false, verdict(3))]), "inconclusive");
    assert_eq!(word(&[(false, verdict(3))]), "inconclusive");
    assert_eq!(
        word(&[(true, verdict(0)), (false, verdict(3))]),
        "skipped",
        "its own case would set it aside"
    );
    assert_eq!(word(&[(true, verdict(0)), (false, verdict(3)), (false, verdict(1))]), "inconclusive");
}

#[test]
fn what_was_seen_elsewhere_counts_as_much() {
    assert_eq!(word(&[(true, verdict(1)), (false, verdict(5))]), "violated");
    assert_eq!(word(&[(true, verdict(1)), (false, verdict(2))]), "diverges");
}

#[test]
fn of_nothing_nothing_is_said() {
    assert_eq!(word(&[]), "none");
    assert_eq!(word(&[(true, verdict(0))]), "skipped");
}
