//! Small composed runs with their reports, for tests of everything that is generated from a report: files, pages, comparisons.
//!
//! The book has a clause for each verdict. [`everything`] shows all of them, and its cluster writes hostile text, which
//! [`Run::hostile`] defines. A test that needs other runs adds cases to [`Run::new`].

#![expect(clippy::expect_used, reason = "tests: what is read here is written here")]

mod judges;
mod run;

pub use judges::registry;
pub use run::Run;

/// The clause that holds if probes are on time, and is violated if they are late.
pub const ON_TIME: &str = "demo.on-time";

/// The clause that is violated by a warning of the cluster; the finding contains the warning's text.
pub const HOSTILE: &str = "demo.hostile";

/// The clause that is never decided.
pub const UNDECIDED: &str = "demo.undecided";

/// The clause about which no case gives evidence.
pub const NOBODY_ASKS: &str = "demo.nobody-asks";

/// The text that a hostile cluster puts into all names: markup for HTML, for Markdown, and for CI systems.
pub const MARKUP: &str = "</script></td><script>alert(1)</script><img src=x onerror='alert(2)'>\" onclick=\"alert(3) | `code` *bold* \
                          </pre></details> @everyone";

/// Times of probes whose distances the clause accepts as one period.
pub const PUNCTUAL: &[f64] = &[2.0, 3.0, 4.2];

/// Times of probes; one probe is late.
pub const LATE: &[f64] = &[2.0, 3.0, 6.0];

/// A run with every verdict.
#[must_use]
pub fn everything() -> Run {
    Run::new()
        .case("calm", ON_TIME, PUNCTUAL)
        .case("hostile", HOSTILE, PUNCTUAL)
        .case("quiet", UNDECIDED, PUNCTUAL)
        .broken("broken", "the image could not be pulled")
        .left_out("left-out", NOBODY_ASKS, "a filter leaves it out")
}

/// A run whose worst result is a doubt.
#[must_use]
pub fn undecided() -> Run {
    Run::new().case("calm", ON_TIME, PUNCTUAL).case("quiet", UNDECIDED, PUNCTUAL)
}
