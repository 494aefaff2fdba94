//! Spans of time and sizes, as people write them: `1m30s`, `250ms`, `10KiB`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A length of time, written with a unit: `12s`, `250ms`, `1m30s`, `1.5s`.
///
/// A bare number is rejected, because it could mean seconds or milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

const TIME_UNITS: [(&str, f64); 5] = [("ms", 1e-3), ("us", 1e-6), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// The longest span: ten years. A longer span is a mistake, and would cause overflows later.
const LONGEST_SECONDS: f64 = 315_360_000.0;

impl Span {
    /// The span as whole microseconds, the resolution of every clock reading in the witness.
    #[must_use]
    pub fn micros(self) -> u64 {
        u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX)
    }

    /// A span of whole microseconds.
    #[must_use]
    pub fn from_micros(micros: u64) -> Self {
        Self(Duration::from_micros(micros))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a span of time; write it with units, such as 12s, 250ms or 1m30s");
        let mut rest = text.trim();
        let mut seconds = 0.0;
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
            let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
            rest = &rest[digits..];
            let (unit, factor) =
                TIME_UNITS.iter().find(|(unit, _)| rest.starts_with(unit)).ok_or_else(wrong)?;
            seconds += number * factor;
            rest = &rest[unit.len()..];
        }
        if seconds > LONGEST_SECONDS {
            return Err(format!("`{text}` is longer than ten years"));
        }
        Ok(Self(Duration::from_micros((seconds * 1e6).round() as u64)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.micros();
        match micros {
            0 => write!(f, "0s"),
            m if m.is_multiple_of(1_000_000) => write!(f, "{}s", m / 1_000_000),
            m if m.is_multiple_of(1_000) => write!(f, "{}ms", m / 1_000),
            m => write!(f, "{m}us"),
        }
    }
}

/// A number of bytes, written plain (`10241`) or with a binary unit (`10KiB`, `1MiB`, `1GiB`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

const SIZE_UNITS: [(&str, u64); 5] =
    [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1), ("", 1)];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a size; write bytes, such as 10241, or a binary unit, such as 10KiB");
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
        let unit = text[digits..].trim();
        let (_, factor) = SIZE_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        number.checked_mul(*factor).map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n > 0 && n.is_multiple_of(1 << 20) => write!(f, "{}MiB", n >> 20),
            n if n > 0 && n.is_multiple_of(1 << 10) => write!(f, "{}KiB", n >> 10),
            n => write!(f, "{n}"),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 > 0 && self.0.is_multiple_of(1024) {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size in bytes, such as 10241 or 10KiB")
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Size, E> {
                Ok(Size(number))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_are_read_with_their_units() {
        for (text, micros) in [
            ("12s", 12_000_000),
            ("250ms", 250_000),
            ("1m30s", 90_000_000),
            ("1.5s", 1_500_000),
            ("7us", 7),
            ("0s", 0),
        ] {
            assert_eq!(text.parse::<Span>().unwrap().micros(), micros, "{text}");
        }
    }

    #[test]
    fn a_span_without_a_unit_is_refused() {
        for text in ["12", "", "s", "1.2.3s", "5 parsecs", "999999999h"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_plain_or_with_a_binary_unit() {
        for (text, bytes) in [("10241", 10241), ("10KiB", 10240), ("1MiB", 1 << 20), ("0", 0), ("3 B", 3)] {
            assert_eq!(text.parse::<Size>().unwrap(), Size(bytes), "{text}");
        }
        for text in ["", "KiB", "10kb", "-1", "99999999999GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn spans_survive_a_round_trip(micros in 0_u64..1_000_000_000_000) {
            let span = Span::from_micros(micros);
            prop_assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }

        #[test]
        fn sizes_survive_a_round_trip(bytes in 0_u64..1 << 50) {
            prop_assert_eq!(Size(bytes).to_string().parse::<Size>().unwrap(), Size(bytes));
        }
    }
}
