//! Health checks with their answers.

use probity_model::timeline::{ContainerLife, ProbeAnswer};
use probity_model::{Clause, Seen, Timeline};

use super::answers::of_others;
use super::http::reaction::CountsAs;

/// How an answer must be counted if only SERVING is a success.
pub(crate) fn by_serving(serving: bool) -> CountsAs {
    if serving { CountsAs::Success } else { CountsAs::Failure }
}

/// Judges each run of health checks by the meaning of their answers. `means` gets the answer as the target records it,
/// and whether it is SERVING.
pub(crate) fn judge_checks(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    means: impl Fn(&ContainerLife<'_>, &str, bool) -> Option<CountsAs>,
) {
    for answers in of_others(run) {
        answers.judge(clause, seen, |exchange| {
            let ProbeAnswer::Checked { word, serving } = answers.answer(exchange)? else { return None };
            let counts_as = means(answers.course.container, word, serving)?;
            Some((counts_as, format!("were answered with `{word}`")))
        });
    }
}
