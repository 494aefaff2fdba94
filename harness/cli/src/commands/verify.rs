//! `probity verify`: checks runs of other people, without a cluster.

use probity_report::{ConformanceLevel, VerifyFacts};

use crate::arguments::VerifyArgs;
use crate::cases::book;
use crate::exit_status::{Exit, Failure};
use crate::verifying::{Given, Verified, Verifier};
use crate::{output, provenance};

/// Checks each run, even if an earlier one fails.
pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let verifier =
        Verifier { registry: book::registry()?, book: provenance::book_facts()?, tool: provenance::tool() };
    let mut facts = VerifyFacts::default();
    for path in &args.runs {
        let name = path.display().to_string();
        match Given::open(path).map(|given| verifier.verify(&given)) {
            Ok(found) => {
                output::out(&found.in_words(&name))?;
                facts = facts.and(found.exit_facts());
                if let Some(missed) = args.level.and_then(|level| missed(level.into(), &found)) {
                    output::err(&format!("probity verify: {name}: {missed}\n"));
                    facts.below_level = true;
                }
            }
            Err(failure) => {
                output::err(&format!("probity verify: {failure}\n"));
                facts.not_a_run |= failure.exit == Exit::Usage;
                facts.failed |= failure.exit != Exit::Usage;
            }
        }
    }
    Ok(facts.status())
}

/// Why a run does not have the requested level.
fn missed(level: ConformanceLevel, found: &Verified) -> Option<String> {
    let reached = found.certificate().map_or(ConformanceLevel::None, |certificate| certificate.level);
    (reached < level).then(|| format!("its conformance level is {reached}, but {level} was requested"))
}
