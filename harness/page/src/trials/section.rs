//! The section with the trials: a row for each fault and, below it, its promises, the requests of the clients, the evidence
//! and the timeline.

use probity_model::Timeline;
use probity_report::{Histories, event_in_words};

use super::requests::{self, ClientRequest, RequestOutcome};
use super::tables::{promises, put_periods};
use super::{Standing, Trial, Trials};
use crate::clause_detail::timeline;
use crate::html::Html;
use crate::index::{Index, Marks};
use crate::shell::icon;
use crate::words::{counted, cut};

/// The maximum length of a text that comes from a file of the run, in characters.
pub(super) const LONGEST: usize = 400;

/// The section. It is empty if the run is not a run of `probity try`. The histories are read to describe the evidence and
/// the requests. A run has only a few faults.
pub(crate) fn html(index: &Index<'_>, histories: &dyn Histories) -> Html {
    let mut page = Html::default();
    let Some(trials) = index.trials else { return page };
    page.raw("<section id=\"trials\" aria-labelledby=\"trials-title\">\n<div class=\"head\"><h2 id=\"trials-title\">Trials</h2>");
    page.put(
        "<p class=\"quiet\">What the probe settings of {} promise, and what was observed</p></div>\n",
        &[&named(trials)],
    );
    if let Some(why) = &trials.problem {
        page.put("<p class=\"quiet\">The promises cannot be shown: {}</p>\n", &[&cut(why, LONGEST)]);
    }
    if !trials.list.is_empty() {
        page.raw("<table class=\"list\" id=\"trial-table\">\n<caption class=\"unseen\">Faults, with the promises that were kept</caption>\n")
            .raw("<thead><tr><th scope=\"col\">Promises</th><th scope=\"col\">Fault</th><th scope=\"col\">Kept</th>")
            .raw("<th scope=\"col\">Requests of clients</th></tr></thead>\n<tbody>\n");
        for trial in &trials.list {
            put_trial(&mut page, index, histories, trial);
        }
        page.raw("</tbody></table>\n");
    }
    page.raw("</section>\n");
    page
}

fn named(trials: &Trials) -> String {
    if trials.workload.is_empty() { "a pod".to_owned() } else { cut(&trials.workload, LONGEST) }
}

/// The promises in a few words, for the top of the page.
pub(crate) fn fact(top: &mut Html, index: &Index<'_>) {
    let Some(trials) = index.trials.filter(|trials| !trials.list.is_empty()) else { return };
    let all = [Standing::Kept, Standing::Broken, Standing::Unsure, Standing::NotRun];
    let counts = all.map(|one| (one, trials.list.iter().map(|trial| trial.count(one)).sum::<usize>()));
    let worst = trials.list.iter().map(Trial::standing);
    let color = Standing::WORST_FIRST.into_iter().find(|one| worst.clone().any(|found| found == *one));
    let words: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(one, count)| format!("{count} {}", one.word()))
        .collect();
    top.put(
        "<div><dt>Promises of the settings</dt><dd class=\"{}\"><a href=\"#trials\">{}</a></dd></div>\n",
        &[&color.unwrap_or(Standing::Unpromised).color(), &words.join(", ")],
    );
}

/// What the history of a fault shows to a reader.
struct Shown {
    /// The place of its case in [`Index::cases`].
    case: usize,
    requests: Vec<ClientRequest>,
    /// The numbers of the evidence, each with its event in words.
    evidence: Vec<(u32, String)>,
}

impl Shown {
    /// `None` if there is no history, or if it cannot be read.
    fn of(index: &Index<'_>, histories: &dyn Histories, trial: &Trial) -> Option<Self> {
        let case = index.case_of_name(&trial.case)?;
        let file = &index.cases.get(case)?.report.history.as_ref()?.file;
        let read = histories.read_history(file).ok()?;
        let words = |id| cut(&event_in_words(&read.history, id), LONGEST);
        let evidence = trial.events().into_iter().map(|id| (id.0, words(id))).collect();
        Some(Self { case, requests: requests::of(&Timeline::of(&read.history)), evidence })
    }
}

fn put_trial(page: &mut Html, index: &Index<'_>, histories: &dyn Histories, trial: &Trial) {
    let shown = Shown::of(index, histories, trial);
    let requests: &[ClientRequest] = match &shown {
        Some(shown) => &shown.requests,
        None => &[],
    };
    row(page, trial, requests);
    page.raw("<tr class=\"detail\"><td colspan=\"4\"><div class=\"body\">\n");
    page.add(&promises(trial));
    put_periods(page, trial, requests);
    match &shown {
        Some(shown) => {
            put_evidence(page, shown);
            let events = trial.events().into_iter().collect();
            timeline(page, index, &[Marks { case: shown.case, events }]);
        }
        None => {
            page.raw("<p class=\"quiet\">There is no history of this fault to draw.</p>\n");
        }
    }
    page.raw("</div></td></tr>\n");
}

fn row(page: &mut Html, trial: &Trial, requests: &[ClientRequest]) {
    let standing = trial.standing();
    let promised = trial.rows.len() - trial.count(Standing::Unpromised);
    page.put("<tr class=\"row\" id=\"trial/{}\" data-verdict=\"{}\">", &[&trial.fault, &standing.color()]);
    page.raw("<td class=\"verdict\">");
    icon(page, standing.color());
    page.put("<span class=\"{}\">{}</span></td>", &[&standing.color(), &standing.word()])
        .put("<th scope=\"row\"><a class=\"open\" href=\"#trial/{}\">{}</a>", &[&trial.fault, &trial.fault])
        .put("<p>{}</p></th>", &[&cut(&trial.story, LONGEST)])
        .put("<td class=\"level\">{} of {}</td>", &[&trial.count(Standing::Kept), &promised])
        .put("<td class=\"number\">{}</td></tr>\n", &[&results(requests)]);
}

/// How many requests had each result.
fn results(requests: &[ClientRequest]) -> String {
    let count =
        |outcome: RequestOutcome| requests.iter().filter(|request| request.outcome == outcome).count();
    let counts = RequestOutcome::ALL.into_iter().filter(|outcome| count(*outcome) > 0);
    let words: Vec<String> =
        counts.map(|outcome| format!("{} {}", count(outcome), outcome.words())).collect();
    if words.is_empty() { "none recorded".to_owned() } else { words.join(", ") }
}

/// The evidence in words. The script turns the numbers into buttons that go to the events in the timeline.
fn put_evidence(page: &mut Html, shown: &Shown) {
    if shown.evidence.is_empty() {
        return;
    }
    page.put("<h4>Evidence: {}</h4>\n", &[&counted(shown.evidence.len(), "event")])
        .put("<ol class=\"events\" data-case=\"{}\">\n", &[&shown.case]);
    for (id, what) in &shown.evidence {
        page.put("<li data-event=\"{}\"><code>#{}</code> {}</li>\n", &[id, id, what]);
    }
    page.raw("</ol>\n");
}
