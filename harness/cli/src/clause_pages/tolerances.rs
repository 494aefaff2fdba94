//! The page of the tolerances that several clauses share: facts about the kubelet, the runtime, the controllers, and what a
//! target records.

use std::fmt::Display;

use probity_model::measure::seconds;
use probity_model::mechanisms::{COUNTS, MECHANISMS, Mechanism, SHARES};

use super::ROOT;
use super::sentences::top;
use crate::markdown::escaped;

/// The page.
pub(super) fn page() -> String {
    let mut text = top("harness/model/src/mechanisms.rs", "Tolerances that clauses share");
    text += &format!(
        "[The clause book](README.md). The slack and the tolerances of a single clause are listed with the clause. This page \
         lists the tolerances that several judges use, from [mechanisms.rs]({ROOT}/harness/model/src/mechanisms.rs), with \
         their reasons.\n"
    );
    text += &table("Times", MECHANISMS, |us| seconds(*us));
    text += &table("Fractions and multiples of other times", SHARES, ToString::to_string);
    text + &table("Numbers", COUNTS, ToString::to_string)
}

fn table<T: 'static, D: Display>(title: &str, all: &[Mechanism<T>], amount: fn(&T) -> D) -> String {
    let row = |one: &Mechanism<T>| {
        format!("| `{}` | {} | {} |\n", one.name, amount(&one.amount), escaped(one.because.trim()))
    };
    let rows: String = all.iter().map(row).collect();
    format!("\n## {title}\n\n| name | how much | reason |\n|---|---|---|\n{rows}")
}
