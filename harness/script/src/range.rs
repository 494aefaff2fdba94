//! Ranges of counts (`4-6`, `every 3`) and of time (`5s..20s`), the conditions of a step.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::Span;

/// A set of numbers: `5`, `4-6` (including both ends), `4-` (from the fourth on), `every 3`, or a list of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(Vec<Count>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Between(u64, u64),
    From(u64),
    Every(u64),
}

impl Counts {
    /// Whether the set contains `number`.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        self.0.iter().any(|count| match *count {
            Count::Between(first, last) => (first..=last).contains(&number),
            Count::From(first) => number >= first,
            Count::Every(nth) => number > 0 && number.is_multiple_of(nth),
        })
    }
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a count; write 5, 4-6, 4- or every 3");
        let number = |part: &str| part.trim().parse::<u64>().map_err(|_| wrong());
        let text = text.trim();
        if let Some(nth) = text.strip_prefix("every ") {
            return match number(nth)? {
                0 => Err("`every 0` never applies; write every 1 or more".to_owned()),
                nth => Ok(Self::Every(nth)),
            };
        }
        let Some((first, last)) = text.split_once('-') else {
            let only = number(text)?;
            return Ok(Self::Between(only, only));
        };
        let first = number(first)?;
        if last.trim().is_empty() {
            return Ok(Self::From(first));
        }
        match number(last)? {
            last if last < first => Err(format!("`{text}` ends before it starts")),
            last => Ok(Self::Between(first, last)),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Between(first, last) if first == last => write!(f, "{first}"),
            Self::Between(first, last) => write!(f, "{first}-{last}"),
            Self::From(first) => write!(f, "{first}-"),
            Self::Every(nth) => write!(f, "every {nth}"),
        }
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Count::to_string))
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountsVisitor;
        impl<'de> Visitor<'de> for CountsVisitor {
            type Value = Counts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count such as 5, 4-6, 4- or every 3, or a list of these")
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Counts, E> {
                Ok(Counts(vec![Count::Between(number, number)]))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Counts, E> {
                Ok(Counts(vec![text.parse().map_err(E::custom)?]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Counts, A::Error> {
                let mut counts = Vec::new();
                while let Some(part) = seq.next_element::<Counts>()? {
                    counts.extend(part.0);
                }
                if counts.is_empty() {
                    return Err(de::Error::custom("an empty list of counts never matches"));
                }
                Ok(Counts(counts))
            }
        }
        deserializer.deserialize_any(CountsVisitor)
    }
}

/// A range of time: `5s..20s`, `5s..` or `..20s`. It includes its start, but not its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The first instant in the range.
    pub from: Span,
    /// The first instant after the range; if absent, the range has no end.
    pub until: Option<Span>,
}

impl Times {
    /// Whether the range contains the instant, counted from the same origin.
    #[must_use]
    pub fn contains(&self, at: Span) -> bool {
        at >= self.from && self.until.is_none_or(|until| at < until)
    }
}

impl FromStr for Times {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, until) = text
            .split_once("..")
            .ok_or_else(|| format!("`{text}` is not a range of time; write 5s..20s, 5s.. or ..20s"))?;
        let bound =
            |part: &str| if part.trim().is_empty() { Ok(None) } else { part.parse::<Span>().map(Some) };
        let (from, until) = (bound(from)?.unwrap_or_default(), bound(until)?);
        if until.is_some_and(|until| until <= from) {
            return Err(format!("`{text}` ends before it starts"));
        }
        Ok(Self { from, until })
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => write!(f, "{}..{until}", self.from),
            None => write!(f, "{}..", self.from),
        }
    }
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn counts(json: &str) -> Result<Counts, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn counts_say_which_numbers_they_mean() {
        let meant = |json: &str| (0..10).filter(|n| counts(json).unwrap().contains(*n)).collect::<Vec<_>>();
        assert_eq!(meant("5"), [5]);
        assert_eq!(meant("\"4-6\""), [4, 5, 6]);
        assert_eq!(meant("\"8-\""), [8, 9]);
        assert_eq!(meant("\"every 3\""), [3, 6, 9]);
        assert_eq!(meant("[1, \"3-4\", \"every 5\"]"), [1, 3, 4, 5]);
    }

    #[test]
    fn counts_that_never_match_are_refused() {
        for json in ["\"6-4\"", "\"every 0\"", "[]", "\"second\"", "-1", "true"] {
            assert!(counts(json).is_err(), "{json}");
        }
    }

    #[test]
    fn times_include_their_beginning_and_not_their_end() {
        let times: Times = "5s..20s".parse().unwrap();
        let at = |text: &str| times.contains(text.parse().unwrap());
        assert!(!at("4999ms") && at("5s") && at("19999ms") && !at("20s"));
        assert!("..20s".parse::<Times>().unwrap().contains(Span::default()));
        assert!("20s..".parse::<Times>().unwrap().contains("1h".parse().unwrap()));
    }

    #[test]
    fn times_that_never_come_are_refused() {
        for text in ["20s..5s", "5s..5s", "5s", "a..b"] {
            assert!(text.parse::<Times>().is_err(), "{text}");
        }
    }
}
