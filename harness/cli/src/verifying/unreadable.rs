//! The histories of a run that are missing, damaged or changed, and everything in a report that depends on them.
//!
//! Each of these histories is a contradiction already. The rest of the report would differ in hundreds of places only
//! because of them, and hide other contradictions.

use std::collections::BTreeSet;

use probity_report::{Judged, Outline, Report};
use serde_json::Value;

/// The fields of a report that depend on all cases.
const OF_ALL_CASES: [&str; 4] = ["result", "certificate", "fleet", "warnings"];

/// The cases whose histories are missing, damaged or changed.
pub(super) struct Unreadable {
    cases: BTreeSet<String>,
    histories: usize,
}

impl Unreadable {
    /// The cases of a run whose histories cannot be used.
    pub(super) fn of(outline: &Outline<'_>, judged: &Judged) -> Self {
        let mut found = Self { cases: BTreeSet::new(), histories: 0 };
        for (named, judged) in outline.histories().iter().zip(judged) {
            if !judged.as_ref().is_ok_and(|judged| judged.is_genuine) {
                found.cases.insert(named.case.0.clone());
                found.histories += 1;
            }
        }
        found
    }

    /// Whether all histories can be used.
    pub(super) fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// What is not compared, in a sentence.
    pub(super) fn note(&self) -> String {
        let histories = match self.histories {
            1 => "the history".to_owned(),
            count => format!("the {count} histories"),
        };
        format!(
            "not compared: everything that depends on {histories} that cannot be used (cases, clauses, totals, other \
             files)"
        )
    }

    /// Removes everything that depends on these cases from a report. `stored` is the report of the run, which says which
    /// clauses the cases judged.
    pub(super) fn leave_out_of(&self, report: &mut Value, stored: &Report) {
        if self.is_empty() {
            return;
        }
        let judged = |case: &str| self.cases.contains(case);
        let clauses: BTreeSet<&str> = stored
            .clauses
            .iter()
            .filter(|clause| clause.judged_in.iter().any(|one| judged(&one.case.0)))
            .map(|clause| clause.id.as_str())
            .collect();
        if let Some(fields) = report.as_object_mut() {
            fields.retain(|name, _| !OF_ALL_CASES.contains(&name.as_str()));
        }
        let mut retain = |list: &str, name: &str, left_out: &dyn Fn(&str) -> bool| {
            if let Some(items) = report.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|item| !item[name].as_str().is_some_and(left_out));
            }
        };
        retain("cases", "case", &judged);
        retain("clauses", "id", &|id| clauses.contains(id));
    }
}
