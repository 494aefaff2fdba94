//! The states of a port, as its target records them.

use probity_model::timeline::{Line, ProbedLife};
use probity_script::Fact;
use probity_script::witness::Listening;

/// The states of the probe's port, in their order.
pub(crate) fn listening<'t, 'h>(
    life: &ProbedLife<'t, 'h>,
) -> impl Iterator<Item = (&'h str, &'t Line<'h>)> + use<'t, 'h> {
    let port = life.spec.handler.port();
    let at = move |state: &Listening| {
        let of = state.address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        of.is_some() && of == port
    };
    // A port that closes has no address any more, only its listener's name.
    let mut names: Vec<&'h str> = Vec::new();
    life.attempt.lines.iter().filter_map(move |line| match &line.line.fact {
        Fact::Listening(state) if at(state) => {
            names.push(&state.listener);
            Some((state.state.as_str(), line))
        }
        Fact::Listening(state) if names.contains(&state.listener.as_str()) => {
            Some((state.state.as_str(), line))
        }
        _ => None,
    })
}
