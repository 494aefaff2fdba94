//! What a status shows about a container that is not running.

use probity_model::mechanisms::TO_CORRECT;
use probity_model::timeline::{ContainerLife, ContainerSeen, PodLife, Revision, State};
use probity_model::verdict::Doubt;
use probity_model::{Seen, Timeline};

use super::statuses::of_kubelet;

/// Reports statuses in which a container does not run, but is shown as `word`, such as ready. The kubelet may receive the
/// result of a container's last probe after the container has ended, and corrects the status at its next sync. That is
/// rare: a single status that is corrected within `TO_CORRECT` is a doubt. Several of them, or one that is not corrected in
/// time, are a violation.
pub(crate) fn judge_at_rest<'p, 'h: 'p>(
    run: &Timeline<'_>,
    containers: impl Iterator<Item = (&'p PodLife<'h>, &'p ContainerLife<'h>)>,
    (word, claims): (&str, impl Fn(&Revision<'_>, &ContainerSeen<'_>) -> bool),
    seen: &mut Seen,
) {
    let mut brief = Vec::new();
    for (pod, container) in containers {
        let at_rest = |shown: &Revision<'_>| {
            let status = shown.container(&container.name)?;
            let rests = matches!(status.state, State::Waiting { .. } | State::Terminated { .. });
            rests.then(|| claims(shown, &status))
        };
        let mut shown = of_kubelet(pod).peekable();
        while let Some(wrong) = shown.next() {
            if at_rest(wrong) != Some(true) {
                continue;
            }
            let finding = format!("{}/{} is shown as {word}, but is not running", pod.key, container.name);
            let corrected = shown.peek().is_some_and(|next| {
                at_rest(next) == Some(false) && !run.longer_than(pod, (&wrong.at, &next.at), TO_CORRECT)
            });
            match corrected {
                true => brief.push((finding, wrong.id)),
                false => seen.violated(finding, [wrong.id]),
            }
        }
    }
    if let [(finding, id)] = brief.as_slice() {
        return seen.doubt(
            Doubt::Ambiguous,
            format!("{finding}, but only in one status, which was soon corrected"),
            [*id],
        );
    }
    brief.into_iter().for_each(|(finding, id)| seen.violated(finding, [id]));
}
