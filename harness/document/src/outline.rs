//! The outline of a document: the place of each of its parts. With it, the part that a sentence is about can be found.

use std::fmt;

use probity_script::problem::{KEY, Place};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{options, place, written_at};

/// Every part of a document with its place.
pub(super) struct Outline {
    root: Part,
}

/// A part: its place and its contents.
struct Part {
    place: Place,
    inside: Inside<Part>,
}

enum Inside<P> {
    Scalar(String),
    List(Vec<P>),
    Map(Vec<Entry<P>>),
}

/// A key with its place, and its value.
struct Entry<P> {
    key: String,
    key_place: Place,
    value: P,
}

impl Outline {
    /// The outline of a text, if it is a valid document.
    pub(super) fn of(text: &str) -> Option<Self> {
        let root: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options()).ok()?;
        Some(Self { root: settle(text, root) })
    }

    /// The place of the part that a path leads to. The path starts at the container that begins at `from`, or at the
    /// document without `from`. If the path is too long, the result is the last part that exists. If the path ends with
    /// [`KEY`], the result is the place of the key and not of the value.
    pub(super) fn part(&self, from: Option<Place>, path: &[String]) -> Option<Place> {
        let base = match from {
            None => &self.root,
            Some(from) => self.root.container_at(from, path.first()?)?,
        };
        base.follow(path)
    }

    /// The value of the key at a place: the place of the value, and its text if it is a scalar.
    pub(super) fn value_of_key_at(&self, key: Place) -> Option<(Place, String)> {
        self.root.value_of_key_at(key)
    }
}

impl Part {
    fn children(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match &self.inside {
            Inside::Scalar(_) => Box::new(std::iter::empty()),
            Inside::List(parts) => Box::new(parts.iter()),
            Inside::Map(entries) => Box::new(entries.iter().map(|entry| &entry.value)),
        }
    }

    /// The place of the key of the child with this name, and the child. An element of a list has no key, so its own place
    /// is used.
    fn child(&self, name: &str) -> Option<(Place, &Self)> {
        match &self.inside {
            Inside::Scalar(_) => None,
            Inside::List(parts) => {
                name.parse().ok().and_then(|at: usize| parts.get(at)).map(|p| (p.place, p))
            }
            Inside::Map(entries) => {
                let entry = entries.iter().find(|entry| entry.key == name)?;
                Some((entry.key_place, &entry.value))
            }
        }
    }

    /// The place to show for a part whose key is at `key`: the part itself if it is a scalar, otherwise the key.
    fn shown_at(&self, key: Place) -> Place {
        match &self.inside {
            Inside::Scalar(text) if !text.is_empty() => self.place,
            _ => key,
        }
    }

    fn begins_at(&self, place: Place) -> bool {
        (self.place.line, self.place.column) == (place.line, place.column)
    }

    fn container_at(&self, from: Place, first: &str) -> Option<&Self> {
        if self.begins_at(from) && self.child(first).is_some() {
            return Some(self);
        }
        self.children().find_map(|child| child.container_at(from, first))
    }

    fn follow(&self, path: &[String]) -> Option<Place> {
        let (path, of_key) = match path.split_last() {
            Some((last, rest)) if last == KEY => (rest, true),
            _ => (path, false),
        };
        let (mut part, mut found) = (self, None);
        for name in path {
            let Some((key, child)) = part.child(name) else { break };
            (part, found) = (child, Some(if of_key { key } else { child.shown_at(key) }));
        }
        found
    }

    fn value_of_key_at(&self, key: Place) -> Option<(Place, String)> {
        if let Inside::Map(entries) = &self.inside {
            let at = |entry: &&Entry<Self>| {
                (entry.key_place.line, entry.key_place.column) == (key.line, key.column)
            };
            if let Some(Entry { value, .. }) = entries.iter().find(at) {
                let Inside::Scalar(text) = &value.inside else { return None };
                return Some((value.place, text.clone()));
            }
        }
        self.children().find_map(|child| child.value_of_key_at(key))
    }
}

/// A part as it is read, before its place is converted.
enum Raw {
    Scalar,
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

fn settle(text: &str, raw: Spanned<Raw>) -> Part {
    let at = place(text, raw.referenced);
    let inside = match raw.value {
        // An omitted value has a place, but nothing is written there.
        Raw::Scalar if raw.referenced.span().is_empty() => Inside::Scalar(String::new()),
        Raw::Scalar => {
            let written = written_at(text, at);
            Inside::Scalar(written.trim_matches(['"', '\'']).to_owned())
        }
        Raw::List(parts) => Inside::List(parts.into_iter().map(|part| settle(text, part)).collect()),
        Raw::Map(entries) => Inside::Map(
            entries
                .into_iter()
                .map(|(key, value)| Entry {
                    key_place: place(text, key.referenced),
                    key: key.value,
                    value: settle(text, value),
                })
                .collect(),
        ),
    };
    Part { place: at, inside }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

/// All kinds of scalars are treated the same: their text is taken from the document.
macro_rules! scalars {
    ($($visit:ident: $kind:ty),+) => { $(
        fn $visit<E: de::Error>(self, _: $kind) -> Result<Raw, E> {
            Ok(Raw::Scalar)
        }
    )+ };
}

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    scalars!(visit_bool: bool, visit_u64: u64, visit_i64: i64, visit_u128: u128, visit_i128: i128, visit_f64: f64, visit_str: &str);

    fn visit_unit<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar)
    }

    fn visit_none<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = seq.next_element()? {
            parts.push(part);
        }
        Ok(Raw::List(parts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}
