//! Facets: the values for which a clause must be observed before it holds.
//!
//! A sentence such as "any code from 200 to 399 is a success" is about many codes, and one correct code says little
//! about the other codes. A clause lists the values that it needs in each dimension; if a run never observed one of
//! these values, the clause is undecided.
//!
//! Most facets follow from the cited events. A probe shows its mechanism, its kind, its container and its life; an
//! answer shows its status. A judge itself names all other facets; see [`Seen::facet`](crate::verdict::Seen::facet).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::version::minor;

/// The dimensions that follow from cited events, each with its values; an empty list allows any value.
pub const DERIVED: &[(&str, &[&str])] = &[
    ("mechanism", &["http", "tcp", "grpc", "exec"]),
    ("probe", &["startup", "liveness", "readiness"]),
    ("container", &["main", "sidecar", "init"]),
    ("life", &["first", "after-crash", "after-liveness-kill", "after-startup-kill"]),
    ("start", &["well", "failing"]),
    ("direction", &["rise", "fall"]),
    ("status", &[]),
    ("grpc", &[]),
    ("exit-code", &[]),
];

/// What a clause needs: the values of each dimension.
pub type Needed = BTreeMap<String, Vec<String>>;

/// The first minor version of Kubernetes that has some values, by dimension and value.
pub type Since = BTreeMap<String, BTreeMap<String, String>>;

/// One value of one dimension, such as `status 204`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facet {
    /// The dimension, such as `status`.
    pub of: String,
    /// The value, such as `204`.
    pub value: String,
}

impl Facet {
    /// A value of a dimension.
    pub fn new(of: impl Into<String>, value: impl Into<String>) -> Self {
        Self { of: of.into(), value: value.into() }
    }
}

impl fmt::Display for Facet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.of, self.value)
    }
}

/// What was observed for a facet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sight {
    /// Nothing.
    Unseen,
    /// The requirement was met for the facet.
    Kept,
    /// Upstream's known deviation was observed for the facet.
    Diverged,
    /// The requirement was violated for the facet.
    Broken,
}

/// A facet and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FacetSeen {
    /// The dimension.
    pub of: String,
    /// The value.
    pub value: String,
    /// What was observed.
    pub seen: Sight,
}

impl FacetSeen {
    /// What was observed for a facet.
    #[must_use]
    pub fn new(facet: Facet, seen: Sight) -> Self {
        Self { of: facet.of, value: facet.value, seen }
    }
}

/// All facets that are needed, in the order in which the clause lists them.
pub fn all(needed: &Needed) -> impl Iterator<Item = Facet> {
    needed.iter().flat_map(|(of, values)| values.iter().map(move |value| Facet::new(of, value)))
}

/// Why a list of facets cannot be observed: a derived dimension does not have one of the values. `None` if the facets
/// can be observed.
#[must_use]
pub fn problem(needed: &Needed) -> Option<String> {
    needed.iter().find_map(|(of, values)| {
        let (_, known) = DERIVED.iter().find(|(dimension, _)| dimension == of)?;
        let strange = values.iter().find(|value| !known.is_empty() && !known.contains(&value.as_str()))?;
        Some(format!("`{of}` has no value `{strange}`; it has {}", known.join(", ")))
    })
}

/// Why the versions of some facets are wrong: there is no such facet, or the version is not a minor version. `None` if they
/// are right.
#[must_use]
pub fn problem_of_since(needed: &Needed, since: &Since) -> Option<String> {
    let mut each =
        since.iter().flat_map(|(of, values)| values.iter().map(move |(value, first)| (of, value, first)));
    each.find_map(|(of, value, first)| {
        let known = needed.get(of).is_some_and(|values| values.contains(value));
        match minor(first) {
            _ if !known => Some(format!("`{of} {value}` is not one of the facets")),
            None => Some(format!("`{first}` is not a minor version such as 1.34")),
            Some(_) => None,
        }
    })
}

/// Combines the observations of several histories: the worst observation counts for each facet. Facets that were not
/// observed are listed as unseen.
#[must_use]
pub fn joined<'s>(needed: &Needed, seen: impl IntoIterator<Item = &'s FacetSeen>) -> Vec<FacetSeen> {
    let mut worst: BTreeMap<(&str, &str), Sight> = BTreeMap::new();
    for one in seen {
        let known = worst.entry((&one.of, &one.value)).or_insert(Sight::Unseen);
        *known = (*known).max(one.seen);
    }
    let sight = |facet: &Facet| worst.get(&(&facet.of, &facet.value)).copied().unwrap_or(Sight::Unseen);
    all(needed)
        .map(|facet| {
            let seen = sight(&facet);
            FacetSeen::new(facet, seen)
        })
        .collect()
}

/// The facets that were not observed, in words; `None` if all facets were observed.
#[must_use]
pub fn missing(table: &[FacetSeen]) -> Option<String> {
    let unseen: Vec<_> = table.iter().filter(|one| one.seen == Sight::Unseen).cloned().collect();
    in_words(&unseen)
}

/// Facets in words, dimension by dimension: `life after-crash, status 204 and 299`. `None` if there are none.
#[must_use]
pub fn in_words(facets: &[FacetSeen]) -> Option<String> {
    let mut of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in facets {
        of.entry(&one.of).or_default().push(&one.value);
    }
    let words: Vec<String> = of.iter().map(|(of, values)| format!("{of} {}", values.join(" and "))).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed() -> Needed {
        let values = |of: &[&str]| of.iter().map(|value| (*value).to_owned()).collect();
        BTreeMap::from([
            ("probe".to_owned(), values(&["liveness", "readiness"])),
            ("status".to_owned(), values(&["204"])),
        ])
    }

    fn seen(of: &str, value: &str, seen: Sight) -> FacetSeen {
        FacetSeen::new(Facet::new(of, value), seen)
    }

    #[test]
    fn what_nobody_saw_is_missing_and_the_worst_counts() {
        let table = joined(
            &needed(),
            &[
                seen("probe", "liveness", Sight::Broken),
                seen("probe", "liveness", Sight::Kept),
                seen("status", "500", Sight::Kept),
            ],
        );
        let sights: Vec<Sight> = table.iter().map(|one| one.seen).collect();
        assert_eq!(sights, [Sight::Broken, Sight::Unseen, Sight::Unseen]);
        assert_eq!(missing(&table).as_deref(), Some("probe readiness, status 204"));
        assert_eq!(missing(&table[..1]), None);
    }

    #[test]
    fn a_version_is_that_of_a_facet() {
        let of = |dimension: &str, value: &str, first: &str| {
            let values = BTreeMap::from([(value.to_owned(), first.to_owned())]);
            problem_of_since(&needed(), &Since::from([(dimension.to_owned(), values)]))
        };
        assert_eq!(of("status", "204", "1.34"), None);
        assert_eq!(of("status", "299", "1.34").as_deref(), Some("`status 299` is not one of the facets"));
        assert_eq!(of("life", "first", "1.34").as_deref(), Some("`life first` is not one of the facets"));
        let why = of("status", "204", "soon");
        assert_eq!(why.as_deref(), Some("`soon` is not a minor version such as 1.34"));
    }

    #[test]
    fn a_derived_dimension_takes_its_own_values_only() {
        assert_eq!(problem(&needed()), None);
        let mut wrong = needed();
        wrong.insert("container".to_owned(), vec!["sidekick".to_owned()]);
        assert_eq!(
            problem(&wrong).as_deref(),
            Some("`container` has no value `sidekick`; it has main, sidecar, init")
        );
    }
}
