//! Divides the cases of a run into shards. Only the names and forecasts of the selected cases determine the shards, so
//! all processes with the same flags get the same result. A run on every node is divided by nodes instead: each shard
//! runs the cases on some of the nodes, so that only one shard has the costs of a node.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use probity_case::{Case, CaseName};
use probity_model::clause::Need;
use probity_report::run_log::Shard;

/// The maximum number of shards of a run. Any more shards would have no cases.
const MOST: u32 = 1_000;

/// The shard of each case. The cases are assigned in order of length, the longest first, each to the shard with the
/// least to do. Cases that would disturb others, or must not be disturbed, are all in one shard, because they can run
/// alone only within a shard.
pub(crate) fn divide<'c>(cases: impl Iterator<Item = &'c Case>, of: u32) -> BTreeMap<CaseName, u32> {
    let (together, mut groups): (Vec<&Case>, Vec<Vec<&Case>>) =
        cases.fold((Vec::new(), Vec::new()), |(mut together, mut groups), case| {
            if stays_together(case) {
                together.push(case)
            } else {
                groups.push(vec![case])
            }
            (together, groups)
        });
    if !together.is_empty() {
        groups.push(together);
    }
    groups.sort_by_key(|group| (Reverse(takes_us(group)), first_name(group).clone()));
    let mut loads = vec![0_u64; of.max(1) as usize];
    let mut shards = BTreeMap::new();
    for group in groups {
        let lightest = loads.iter().enumerate().min_by_key(|(_, load)| **load).map_or(0, |(at, _)| at);
        loads[lightest] += takes_us(&group);
        let index = u32::try_from(lightest).unwrap_or_default();
        shards.extend(group.into_iter().map(|case| (case.name.clone(), index)));
    }
    shards
}

/// Whether a node belongs to a shard of a run on every node. Only the name of the node determines this, because the nodes
/// that are ready can differ between the shards.
pub(crate) fn has_node(shard: Shard, node: &str) -> bool {
    // FNV-1a, whose lower bits alone are too regular for names that end with a number.
    let hash = node.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    (hash ^ (hash >> 32)) % u64::from(shard.of.max(1)) == u64::from(shard.index)
}

/// Whether a case must run alone, or acts on a node on which other cases run.
pub(crate) fn stays_together(case: &Case) -> bool {
    let of_nodes = [Need::NodeVerbs, Need::KubeletConfig, Need::CpConfig];
    case.quiet || of_nodes.iter().any(|need| case.needs.contains(need))
}

fn takes_us(group: &[&Case]) -> u64 {
    group.iter().map(|case| case.forecast().micros()).sum()
}

fn first_name<'c>(group: &[&'c Case]) -> &'c CaseName {
    static NONE: CaseName = CaseName(String::new());
    group.iter().map(|case| &case.name).min().unwrap_or(&NONE)
}

/// Reads `I/N` from a flag.
pub(crate) fn read(text: &str) -> Result<Shard, String> {
    let wrong = || "write it as I/N: four shards are 0/4 to 3/4".to_owned();
    let (index, of) = text.split_once('/').ok_or_else(wrong)?;
    let (index, of): (u32, u32) = (index.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    match of {
        0 => Err("there must be at least one shard".to_owned()),
        of if of > MOST => Err(format!("there are at most {MOST} shards")),
        of if index >= of => Err(format!("the {of} shards are 0/{of} to {}/{of}", of - 1)),
        of => Ok(Shard { index, of }),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn case(name: &str, takes: u32, more: &str) -> Case {
        let text = format!(
            "case: {name}\nstory: x\ntakes: {takes}s\n{more}pod: {{ spec: {{ containers: [{{ name: c }}] }} }}\n"
        );
        Case::read("case", &text).unwrap().remove(0)
    }

    fn loads(cases: &[Case], of: u32) -> Vec<u64> {
        let divided = divide(cases.iter(), of);
        let load = |index| {
            let here = cases.iter().filter(|case| divided[&case.name] == index);
            here.map(|case| case.forecast().micros() / 1_000_000).sum()
        };
        (0..of).map(load).collect()
    }

    #[test]
    fn every_case_of_the_book_is_in_one_shard_and_the_shards_take_about_as_long() {
        let book = crate::cases::book::Book::built_in().unwrap();
        let cases: Vec<Case> = book.cases().filter(|case| !stays_together(case)).cloned().collect();
        for of in [1, 2, 3, 7] {
            let divided = divide(cases.iter(), of);
            assert_eq!(divided.len(), cases.len());
            assert!(divided.values().all(|index| *index < of));
            let loads = loads(&cases, of);
            let longest = cases.iter().map(|case| case.forecast().micros() / 1_000_000).max().unwrap();
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(most - least <= longest, "{loads:?}");
        }
    }

    #[test]
    fn the_order_of_the_cases_does_not_matter() {
        let mut cases: Vec<Case> = (1..20).map(|n| case(&format!("a/{n}"), n % 5 + 1, "")).collect();
        let divided = divide(cases.iter(), 4);
        cases.reverse();
        assert_eq!(divide(cases.iter(), 4), divided);
    }

    #[test]
    fn cases_that_disturb_others_stay_together() {
        let mut cases: Vec<Case> = (1..9).map(|n| case(&format!("a/{n}"), 60, "")).collect();
        cases.push(case("z/quiet", 9, "quiet: true\n"));
        cases.push(case("b/restarts", 50, "needs: [node-verbs]\n"));
        let divided = divide(cases.iter(), 5);
        assert_eq!(divided[&cases[8].name], divided[&cases[9].name]);
    }

    #[test]
    fn more_shards_than_cases_leave_some_without() {
        assert_eq!(loads(&[case("a/one", 5, "")], 3), [5, 0, 0]);
    }

    #[test]
    fn every_node_is_in_one_shard_and_the_shards_have_about_as_many() {
        let nodes: Vec<String> = (0..1_000).map(|n| format!("worker-{n}.example.com")).collect();
        for of in [1, 2, 4, 10] {
            let count = |index| nodes.iter().filter(|node| has_node(Shard { index, of }, node)).count();
            let counts: Vec<usize> = (0..of).map(count).collect();
            assert_eq!(counts.iter().sum::<usize>(), 1_000);
            let fair = 1_000 / of as usize;
            assert!(counts.iter().all(|count| count.abs_diff(fair) <= fair / 3), "{counts:?}");
        }
    }

    #[test]
    fn a_shard_is_written_with_its_number_before_theirs() {
        assert_eq!(read("0/4"), Ok(Shard { index: 0, of: 4 }));
        for (text, why) in [
            ("4/4", "0/4 to 3/4"),
            ("1", "0/4 to 3/4"),
            ("a/4", "0/4 to 3/4"),
            ("0/0", "one shard"),
            ("0/9999", "most"),
        ] {
            assert!(read(text).unwrap_err().contains(why), "{text}");
        }
    }
}
