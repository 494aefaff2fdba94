//! Which cases are meant: by a part of their name, by profile, and without those that are to be skipped.
//!
//! The words are those of Rust's test programs. Whether a cluster has what a case needs is asked elsewhere.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use probity_case::Case;
use probity_case::Profile;
use probity_model::clause::Need;
use probity_script::problem::nearest;

/// Which cases are meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Choice {
    /// Only cases whose name contains one of these texts
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
    /// Filters are whole names
    #[arg(long)]
    pub(crate) exact: bool,
    /// Leave out cases whose name contains this text; may be given more than once
    #[arg(long, value_name = "FILTER")]
    pub(crate) skip: Vec<String>,
    /// Only cases of these profiles; extended includes core
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PROFILE")]
    pub(crate) profile: Vec<ProfileWord>,
}

/// A profile as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileWord {
    /// What every conforming cluster must do, in seconds
    Core,
    /// All that a plain cluster can show within a minute: core and more
    Extended,
    /// What needs a node of its own, or verbs on it
    Node,
    /// What takes minutes
    Slow,
}

impl ProfileWord {
    fn includes(self, profile: Profile) -> bool {
        match self {
            Self::Core => profile == Profile::Core,
            Self::Extended => matches!(profile, Profile::Core | Profile::Extended),
            Self::Node => profile == Profile::Node,
            Self::Slow => profile == Profile::Slow,
        }
    }
}

/// The profiles that were asked for, as a report names them.
pub(crate) fn profiles(words: &[ProfileWord]) -> Vec<Profile> {
    let words = if words.is_empty() { &[ProfileWord::Extended] } else { words };
    let all = [Profile::Core, Profile::Extended, Profile::Node, Profile::Slow];
    all.into_iter().filter(|profile| words.iter().any(|word| word.includes(*profile))).collect()
}

/// The word for a profile.
pub(crate) fn profile_word(profile: Profile) -> &'static str {
    match profile {
        Profile::Core => "core",
        Profile::Extended => "extended",
        Profile::Node => "node",
        Profile::Slow => "slow",
    }
}

/// The word for a need.
pub(crate) fn need_word(need: Need) -> &'static str {
    match need {
        Need::PrivilegedNamespace => "privileged-namespace",
        Need::NodeVerbs => "node-verbs",
        Need::MultiNode => "multi-node",
        Need::KubeletConfig => "kubelet-config",
        Need::NodesProxy => "nodes-proxy",
        Need::ClusterScope => "cluster-scope",
    }
}

impl Choice {
    /// Whether a case is meant by its name.
    pub(crate) fn names(&self, case: &Case) -> bool {
        let name = case.name.0.as_str();
        let hit = |text: &String| if self.exact { name == text } else { name.contains(text.as_str()) };
        (self.filter.is_empty() || self.filter.iter().any(hit)) && !self.skip.iter().any(hit)
    }

    /// Whether a case is meant in a run. Without any profile it is what a plain cluster can show; a case that is named
    /// in full runs whatever its profile is.
    pub(crate) fn runs(&self, case: &Case) -> bool {
        let named = self.exact && !self.filter.is_empty();
        let profiles: &[ProfileWord] = match self.profile.as_slice() {
            [] if named => return self.names(case),
            [] => &[ProfileWord::Extended],
            some => some,
        };
        self.names(case) && profiles.iter().any(|word| word.includes(case.profile))
    }

    /// Whether a case is meant in a list, where no profile means all.
    pub(crate) fn lists(&self, case: &Case) -> bool {
        if self.profile.is_empty() { self.names(case) } else { self.runs(case) }
    }

    /// Why nothing is meant, with the nearest name if there is one.
    pub(crate) fn nothing<'c>(&self, cases: impl Iterator<Item = &'c Case> + Clone) -> String {
        let by_name = cases.clone().filter(|case| self.names(case)).count();
        if by_name > 0 {
            return format!(
                "{by_name} case(s) have such a name, but none of them is of the profile asked for; `probity list` \
                 shows the profiles"
            );
        }
        let near = self
            .filter
            .iter()
            .find_map(|wrong| nearest(wrong, cases.clone().map(|case| case.name.0.as_str())));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("no case has such a name{hint} (`probity list` shows them all)")
    }
}

/// What the user gave, which decides before any cluster is asked whether a case can run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Means {
    /// A command for verbs on nodes.
    pub(crate) node_command: bool,
}

/// What a case needs that the user did not give, in a sentence.
pub(crate) fn lacks(needs: &BTreeSet<Need>, means: Means) -> Option<String> {
    let wanted = needs.iter().find(|need| matches!(need, Need::NodeVerbs | Need::KubeletConfig))?;
    let missing = !means.node_command;
    missing.then(|| {
        format!("it needs {}: give a command that reaches the nodes with --node-command", need_word(*wanted))
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn case(name: &str, profile: &str) -> Case {
        let text = format!(
            "case: {name}\nstory: x\nprofile: {profile}\npod: {{ spec: {{ containers: [{{ name: c }}] }} }}\n"
        );
        Case::read("case", &text).unwrap().remove(0)
    }

    fn chosen(choice: &Choice) -> Vec<String> {
        [("a/one", "core"), ("a/one-more", "extended"), ("b/node", "node"), ("b/slow", "slow")]
            .into_iter()
            .map(|(name, profile)| case(name, profile))
            .filter(|case| choice.runs(case))
            .map(|case| case.name.0)
            .collect()
    }

    #[test]
    fn profiles_add_up_and_node_and_slow_are_asked_for_by_name() {
        let of = |profile: &[ProfileWord]| chosen(&Choice { profile: profile.to_vec(), ..Choice::default() });
        assert_eq!(of(&[]), ["a/one", "a/one-more"]);
        assert_eq!(of(&[ProfileWord::Core]), ["a/one"]);
        assert_eq!(of(&[ProfileWord::Core, ProfileWord::Slow]), ["a/one", "b/slow"]);
    }

    #[test]
    fn names_are_parts_or_whole_and_skipping_wins() {
        let of = |filter: &str, exact, skip: &str| {
            let skip = if skip.is_empty() { Vec::new() } else { vec![skip.to_owned()] };
            chosen(&Choice { filter: vec![filter.to_owned()], exact, skip, profile: Vec::new() })
        };
        assert_eq!(of("one", false, ""), ["a/one", "a/one-more"]);
        assert_eq!(of("a/one", true, ""), ["a/one"]);
        assert_eq!(of("one", false, "more"), ["a/one"]);
        assert_eq!(of("b/slow", true, ""), ["b/slow"], "a case that is named in full runs");
    }
}
