//! Scripts: which answer is due at which moment.
//!
//! A script is a list of steps. The first step whose conditions hold when a probe arrives gives the answer. The last
//! step has no conditions, so there is always an answer. `for` and `times` are a short way to write a sequence, in time
//! or in numbers of probes. Each such step begins when the previous step ends.
//!
//! The choice is a pure function of the [`Moment`]. Even chance follows from the moment: it is derived from the plan's
//! seed and the probe's number, so the same plan gives the same answers everywhere.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor, value};
use serde::{Deserialize, Serialize, Serializer};

use crate::problem::pin;
use crate::{Counts, Span, Times};

/// The facts about a probe from which its answer is chosen.
#[derive(Clone, Debug)]
pub struct Moment<'a> {
    /// The attempt of the container, counted from 0 as Kubernetes counts restarts.
    pub attempt: u64,
    /// Time since the process started.
    pub elapsed: Span,
    /// The number of this probe at its endpoint in this attempt of the container, counted from 1.
    pub probe: u64,
    /// The Host header or `:authority`, if there is one.
    pub host: Option<&'a str>,
    /// How long ago each event happened, by the event's name (`sigterm`, or a mark).
    pub since: &'a BTreeMap<String, Span>,
    /// The plan's seed mixed with the endpoint's name; see [`crate::Plan::dice`].
    pub dice: u64,
}

/// One step of a script: an answer and when it is due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step<A> {
    /// The answer.
    pub answer: A,
    /// The step lasts this long, counted from the end of the previous step. For the first step, it counts from the start
    /// of the process.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Span>,
    /// The step lasts for this many probes, counted from the end of the previous step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// Further conditions, all of which must hold.
    #[serde(default, skip_serializing_if = "When::is_always")]
    pub when: When,
    /// The mark that is set when this step answers, for `since` conditions elsewhere in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// The conditions of a step. All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct When {
    /// Time since the process started, such as `5s..20s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed: Option<Times>,
    /// The number of the probe at this endpoint, counted from 1: `4-6`, `every 3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<Counts>,
    /// The attempt of the container, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Counts>,
    /// The Host header. Upper and lower case are the same, and the port is compared only if it is written here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Time since an event: `sigterm`, or a mark set by a step or by a control call.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub since: BTreeMap<String, Times>,
    /// The probability, from 0 to 1, that the step answers. The random number is derived from the plan's seed for each
    /// probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
}

impl When {
    fn is_always(&self) -> bool {
        *self == Self::default()
    }

    fn holds(&self, moment: &Moment<'_>, step: usize) -> bool {
        self.elapsed.is_none_or(|times| times.contains(moment.elapsed))
            && self.probe.as_ref().is_none_or(|counts| counts.contains(moment.probe))
            && self.attempt.as_ref().is_none_or(|counts| counts.contains(moment.attempt))
            && self.host.as_ref().is_none_or(|host| moment.host.is_some_and(|seen| same_host(host, seen)))
            && self
                .since
                .iter()
                .all(|(event, times)| moment.since.get(event).is_some_and(|ago| times.contains(*ago)))
            && self.chance.is_none_or(|chance| draw(moment, step) < chance)
    }
}

/// Compares hosts. A host in the plan without a port matches any port.
fn same_host(wanted: &str, seen: &str) -> bool {
    let name = |host: &str| host.rsplit_once(':').map_or(host.len(), |(name, _)| name.len());
    wanted.eq_ignore_ascii_case(seen)
        || (!wanted.contains(':') && wanted.eq_ignore_ascii_case(seen.get(..name(seen)).unwrap_or(seen)))
}

/// A number from 0 to 1, which is the same for the same probe of the same plan (SplitMix64).
fn draw(moment: &Moment<'_>, step: usize) -> f64 {
    let mut z = moment.dice
        ^ moment.attempt.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ moment.probe.wrapping_mul(0xD1B5_4A32_D192_ED03)
        ^ (step as u64).wrapping_mul(0x8CB9_2BA7_2F3D_8DD7);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// An ordered list of steps, of which exactly one answers at any moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Script<A> {
    steps: Vec<Step<A>>,
    windows: Vec<Window>,
}

/// The part of the sequence that a `for` or `times` step covers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Window {
    Open,
    Elapsed(Span),
    Probes(u64),
}

/// The step that answers.
#[derive(Debug, PartialEq)]
pub struct Due<'a, A> {
    /// Its place in the script, counted from 0.
    pub index: usize,
    /// The step itself.
    pub step: &'a Step<A>,
}

/// The answer that was chosen for one probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<A> {
    /// The probe's number.
    pub probe: u64,
    /// The step's place in the script, counted from 0.
    pub step: usize,
    /// Its answer.
    pub answer: A,
    /// The mark that this step sets.
    pub mark: Option<String>,
}

impl<A: Clone> Script<A> {
    /// Chooses the answer to a probe.
    #[must_use]
    pub fn choose(&self, moment: &Moment<'_>) -> Choice<A> {
        let Due { index, step } = self.due(moment);
        Choice { probe: moment.probe, step: index, answer: step.answer.clone(), mark: step.mark.clone() }
    }
}

impl<A> Script<A> {
    /// A script that always gives the same answer.
    #[must_use]
    pub fn always(answer: A) -> Self {
        let step = Step { answer, lasts: None, times: None, when: When::default(), mark: None };
        Self { steps: vec![step], windows: vec![Window::Open] }
    }

    /// A script of these steps.
    ///
    /// # Errors
    ///
    /// If some moment would have no answer, some step could never answer, or time and counts are mixed.
    pub fn new(steps: Vec<Step<A>>) -> Result<Self, String> {
        let Some((last, before)) = steps.split_last() else {
            return Err("a script needs at least one step".to_owned());
        };
        if last.lasts.is_some() || last.times.is_some() || !last.when.is_always() {
            let why = "there is no answer after the last step: end the script with a step without for, times and when";
            return Err(pin(why, &[before.len()]));
        }
        if let Some(at) =
            before.iter().position(|s| s.lasts.is_none() && s.times.is_none() && s.when.is_always())
        {
            let why = format!("step {} always answers, so the steps after it never do", at + 1);
            return Err(pin(&why, &[at]));
        }
        let windows = windows(&steps)?;
        Ok(Self { steps, windows })
    }

    /// The step that answers at this moment.
    #[must_use]
    pub fn due(&self, moment: &Moment<'_>) -> Due<'_, A> {
        let answers = |(index, (step, window)): (usize, (&Step<A>, &Window))| {
            let open = match *window {
                Window::Open => true,
                Window::Elapsed(until) => moment.elapsed < until,
                Window::Probes(last) => moment.probe <= last,
            };
            (open && step.when.holds(moment, index)).then_some(index)
        };
        let last = self.steps.len() - 1;
        let index = self.steps.iter().zip(&self.windows).enumerate().find_map(answers).unwrap_or(last);
        Due { index, step: &self.steps[index] }
    }

    /// The steps in order.
    #[must_use]
    pub fn steps(&self) -> &[Step<A>] {
        &self.steps
    }

    /// The events on which the steps depend.
    pub fn waits_for<'a>(&'a self) -> impl Iterator<Item = &'a str> + 'a {
        self.steps.iter().flat_map(|step| step.when.since.keys().map(String::as_str))
    }
}

/// Checks the numbers of each step, and adds up where the steps of a sequence end.
fn windows<A>(steps: &[Step<A>]) -> Result<Vec<Window>, String> {
    if let (Some(at), true) =
        (steps.iter().position(|s| s.times.is_some()), steps.iter().any(|s| s.lasts.is_some()))
    {
        let why =
            "a script is a sequence in time (for) or in probes (times), not both: use when for the rest";
        return Err(pin(why, &[at.to_string(), "times".to_owned()]));
    }
    let (mut elapsed, mut probes) = (Span::default(), 0_u64);
    steps
        .iter()
        .enumerate()
        .map(|(at, step)| {
            let wrong = |word: &str, why: &str| {
                let path: Vec<_> = std::iter::once(at.to_string().as_str())
                    .chain(word.split(' '))
                    .map(str::to_owned)
                    .collect();
                pin(&format!("step {}{why}", at + 1), &path)
            };
            if step.when.chance.is_some_and(|chance| !(0.0..=1.0).contains(&chance)) {
                return Err(wrong("when chance", ": a chance must be between 0 and 1"));
            }
            match (step.lasts, step.times) {
                (Some(Span(length)), _) if length.is_zero() => Err(wrong("for", " has no duration")),
                (_, Some(0)) => Err(wrong("times", " does not answer any probe")),
                (Some(length), _) => {
                    elapsed = Span(elapsed.0 + length.0);
                    Ok(Window::Elapsed(elapsed))
                }
                (_, Some(times)) => {
                    probes = probes.saturating_add(times);
                    Ok(Window::Probes(probes))
                }
                _ => Ok(Window::Open),
            }
        })
        .collect()
}

impl<A: Serialize> Serialize for Script<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.steps.serialize(serializer)
    }
}

/// A script is written as a list of steps, or as a bare answer that is always given.
impl<'de, A: Deserialize<'de>> Deserialize<'de> for Script<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScriptVisitor<A>(PhantomData<A>);
        impl<'de, A: Deserialize<'de>> Visitor<'de> for ScriptVisitor<A> {
            type Value = Script<A>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an answer, or a list of steps such as { answer: ..., for: 12s }")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Script<A>, E> {
                A::deserialize(value::StrDeserializer::new(word)).map(Script::always)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Script<A>, E> {
                A::deserialize(value::U64Deserializer::new(number)).map(Script::always)
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Script<A>, M::Error> {
                A::deserialize(value::MapAccessDeserializer::new(map)).map(Script::always)
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Script<A>, S::Error> {
                let mut steps = Vec::new();
                while let Some(step) = seq.next_element()? {
                    steps.push(step);
                }
                Script::new(steps).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(ScriptVisitor(PhantomData))
    }
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
