//! Which defects each clause detects: those planted in the simulated kubelet, which the simulator's tests write to
//! `defects.txt`, and those of a real kubelet, which `ci/saboteur` writes to `real-defects.txt`. This module only reads
//! these two files.

use std::collections::BTreeMap;

static PLANTED: &str = include_str!("defects.txt");
static REAL: &str = include_str!("real-defects.txt");

/// The planted defects that each clause detects, by clause id, in the order of the list of defects. A clause that does
/// not detect any defect is left out.
#[must_use]
pub fn defects() -> BTreeMap<&'static str, Vec<&'static str>> {
    read(PLANTED)
}

/// The defects of a real kubelet that each clause detects.
#[must_use]
pub fn real_defects() -> BTreeMap<&'static str, Vec<&'static str>> {
    read(REAL)
}

/// Reads the matrix: a defect at the start of a line, and below it, indented, the clauses that detect it.
fn read(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut noticed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut defect = "";
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match line.strip_prefix(' ') {
            Some(clause) => noticed.entry(clause.trim()).or_default().push(defect),
            None => defect = line.trim(),
        }
    }
    noticed
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_model::clause::Level;

    use super::*;

    #[test]
    fn a_clause_has_the_defects_below_which_it_stands() {
        let text = "# said\n\nLate\n    probe.a\n    probe.b\n\nLost\n    probe.b\n\nUnnoticed\n";
        let expected = BTreeMap::from([("probe.a", vec!["Late"]), ("probe.b", vec!["Late", "Lost"])]);
        assert_eq!(read(text), expected);
    }

    #[test]
    fn what_is_written_down_speaks_of_clauses_that_exist() {
        let catalogue = crate::catalogue().unwrap();
        let known: Vec<&str> = catalogue.iter().map(|clause| clause.id.as_str()).collect();
        let noticing = defects().into_keys().chain(real_defects().into_keys());
        let unknown: Vec<&str> = noticing.filter(|clause| !known.contains(clause)).collect();
        assert!(defects().len() > 60 && unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn each_must_clause_is_violated_by_a_real_defect_or_says_why_none_can_do_it() {
        let (catalogue, broken) = (crate::catalogue().unwrap(), real_defects());
        let musts =
            catalogue.iter().filter(|clause| clause.level == Level::Must && clause.untestable.is_none());
        let wrong: Vec<String> = musts
            .filter_map(|clause| {
                match (broken.contains_key(clause.id.as_str()), &clause.without_real_defect) {
                    (false, None) => {
                        Some(format!("no real defect violates {}, and no reason is given", clause.id))
                    }
                    (true, Some(_)) => Some(format!("{} is violated, and still has a reason", clause.id)),
                    _ => None,
                }
            })
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
