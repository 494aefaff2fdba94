//! The planned answer to one request, completed with what only the running target knows: the result of a dependency and
//! the text of a report.

use bytes::Bytes;
use probity_script::Fact;
use probity_script::answer::HttpAnswer;
use probity_script::wire::{
    BodyContent, BodyTurns, ComposedAnswer, HttpRequestFacts, LARGEST_PIECE, PlannedResponse, WireAction,
    compose_http, dependency_missing,
};
use probity_script::witness::Call;

use super::context::{ChosenAnswer, ConnectionContext};
use super::report;
use crate::client;

/// The filler of bodies for which the plan has only a size.
static FILLER: [u8; LARGEST_PIECE as usize] = [b'a'; LARGEST_PIECE as usize];

/// The bytes of a body and the steps in which they are sent.
pub(super) struct PlannedBody {
    text: Option<Bytes>,
    pub(super) turns: BodyTurns,
}

impl PlannedBody {
    /// Takes the body out of a response.
    pub(super) fn of(response: &mut PlannedResponse) -> Self {
        let turns = response.turns();
        let text = match &mut response.content {
            BodyContent::Text(text) => Some(Bytes::from(std::mem::take(text))),
            BodyContent::Filler(_) | BodyContent::Endless | BodyContent::Report(_) => None,
        };
        Self { text, turns }
    }

    /// The bytes of one step, at most [`LARGEST_PIECE`].
    pub(super) fn piece(&self, range: std::ops::Range<u64>) -> &[u8] {
        match &self.text {
            Some(text) => &text[range.start as usize..range.end as usize],
            None => &FILLER[..(range.end - range.start) as usize],
        }
    }

    /// The same bytes, in a form that outlives the body.
    pub(super) fn bytes(&self, range: std::ops::Range<u64>) -> Bytes {
        match &self.text {
            Some(text) => text.slice(range.start as usize..range.end as usize),
            None => Bytes::from_static(&FILLER[..(range.end - range.start) as usize]),
        }
    }
}

impl ConnectionContext {
    /// Composes the answer that was chosen for a request. If it has a dependency, requests the dependency first.
    pub(super) async fn compose(
        &self,
        chosen_answer: &ChosenAnswer,
        request: HttpRequestFacts<'_>,
    ) -> ComposedAnswer<PlannedResponse> {
        let instead = self.ask_dependency(chosen_answer).await;
        let answer = instead.as_ref().unwrap_or(&chosen_answer.answer);
        let local = self.local;
        let facts =
            HttpRequestFacts { hop: chosen_answer.hop, ip: local.ip(), port: local.port(), ..request };
        let mut composed = compose_http(answer, &facts);
        if let WireAction::Respond(response) = &mut composed.action
            && let BodyContent::Report(report) = response.content
        {
            response.content =
                BodyContent::Text(report::text(report, &self.listener.stage, chosen_answer.probe));
        }
        composed
    }

    /// Sends a request to the dependency of an answer. If the dependency fails, returns the answer that replaces the
    /// planned one.
    async fn ask_dependency(&self, chosen_answer: &ChosenAnswer) -> Option<HttpAnswer> {
        let depends = chosen_answer.answer.depends_on()?;
        let began = self.witness().clock().mono_us();
        let outcome = client::get(&depends.url, depends.patience().0).await;
        let outcome = outcome.map(|answer| answer.status).map_err(|error| error.to_string());
        self.witness().record(&Fact::Call(Call {
            by: chosen_answer
                .endpoint
                .as_ref()
                .map(|name| self.endpoint(name).to_string())
                .unwrap_or_default(),
            url: depends.url.clone(),
            status: outcome.as_ref().ok().copied(),
            answered_by: None,
            error: outcome.as_ref().err().cloned(),
            took_us: self.witness().clock().mono_us().saturating_sub(began),
        }));
        dependency_missing(outcome.as_ref().copied().map_err(String::as_str))
    }
}
