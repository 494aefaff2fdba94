//! The filters for cases: parts of names, profiles, and cases to skip.
//!
//! The flags have the same names as in Rust's test programs. Whether a cluster has what a case needs is checked
//! elsewhere.

use clap::{Args, ValueEnum};
use probity_case::{Case, Profile};

use crate::exit_status::Failure;
use crate::output::{counted, did_you_mean};

/// The filters for cases.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CaseFilter {
    /// Choose the cases whose names contain one of these texts
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
    /// Match FILTER and --skip against whole names
    #[arg(long)]
    pub(crate) exact: bool,
    /// Leave out the cases whose names contain this text; may be repeated
    #[arg(long, value_name = "FILTER")]
    pub(crate) skip: Vec<String>,
    /// Choose the cases of these profiles, separated by commas; by default, a run uses extended
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PROFILE")]
    pub(crate) profile: Vec<ProfileWord>,
}

/// A profile, as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileWord {
    /// Cases about behavior that every conforming cluster must show
    Core,
    /// The core profile, and all other cases that a plain cluster can run in a few minutes
    Extended,
    /// Cases that act on a node, such as restarting its kubelet; needs --node-command
    Node,
    /// Cases that affect the whole cluster: they make a node unavailable, or write outside the namespace of the run
    Cluster,
    /// Cases that take minutes
    Slow,
    /// Known bugs from public reports, one case for each
    Regressions,
}

impl ProfileWord {
    fn includes(self, profile: Profile) -> bool {
        match self {
            Self::Core => profile == Profile::Core,
            Self::Extended => matches!(profile, Profile::Core | Profile::Extended),
            Self::Node => profile == Profile::Node,
            Self::Cluster => profile == Profile::Cluster,
            Self::Slow => profile == Profile::Slow,
            Self::Regressions => profile == Profile::Regressions,
        }
    }
}

impl CaseFilter {
    /// Whether one of the names passes the filters.
    pub(crate) fn passes(&self, names: &[&str]) -> bool {
        let hit = |text: &String| names.iter().any(|name| self.hits(text, name));
        (self.filter.is_empty() || self.filter.iter().any(hit)) && !self.skip.iter().any(hit)
    }

    /// Whether a text of the command line matches a name.
    fn hits(&self, text: &str, name: &str) -> bool {
        if self.exact { name == text } else { name.contains(text) }
    }

    /// Fails if a filter matches no case. Otherwise, nobody would notice a mistyped filter next to a correct one.
    pub(crate) fn check<'c>(&self, cases: impl Iterator<Item = &'c Case> + Clone) -> Result<(), Failure> {
        self.check_names("case", "`probity list`", cases.map(|case| case.name.0.as_str()))
    }

    /// Fails if a filter matches none of these names, with the closest name or part of a name. `what` has these names,
    /// and the command `list` shows them.
    pub(crate) fn check_names<'n>(
        &self,
        what: &str,
        list: &str,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<(), Failure> {
        let unknown = |text: &&String| !names.clone().any(|name| self.hits(text, name));
        let complain = |text: &String| {
            let parts = names.clone().filter(|_| !self.exact).flat_map(|name| name.split(['/', '.']));
            let hint = did_you_mean(text, names.clone().chain(parts));
            format!("no {what} matches `{text}`{hint} ({list} shows all names)")
        };
        let complaints: Vec<String> = self.filter.iter().filter(unknown).map(complain).collect();
        if complaints.is_empty() { Ok(()) } else { Err(Failure::wrong_use(complaints.join("\n"))) }
    }

    /// The profiles of a run: extended unless others are given.
    fn words(&self) -> &[ProfileWord] {
        if self.profile.is_empty() { &[ProfileWord::Extended] } else { &self.profile }
    }

    /// The profiles of a run, as a report names them.
    pub(crate) fn profiles(&self) -> Vec<Profile> {
        let included = |profile: &Profile| self.words().iter().any(|word| word.includes(*profile));
        Profile::ALL.into_iter().filter(included).collect()
    }

    /// Whether a run includes a case. A case that is named in full runs regardless of its profile.
    pub(crate) fn runs(&self, case: &Case) -> bool {
        let named = self.profile.is_empty() && self.filter.contains(&case.name.0);
        self.passes(&[&case.name.0]) && (named || self.profiles().contains(&case.profile))
    }

    /// Whether a list includes a case. If no profile is given, the list includes all cases except the known bugs, which
    /// only a filter selects.
    pub(crate) fn lists(&self, case: &Case) -> bool {
        let asked = case.profile != Profile::Regressions || !self.filter.is_empty();
        if self.profile.is_empty() { asked && self.passes(&[&case.name.0]) } else { self.runs(case) }
    }

    /// Why no case is selected, although each filter matches a case.
    pub(crate) fn nothing<'c>(&self, cases: impl Iterator<Item = &'c Case> + Clone) -> String {
        let all = Self { skip: Vec::new(), ..self.clone() };
        let skipped = cases.clone().filter(|case| all.runs(case)).count();
        if skipped > 0 {
            return format!("--skip leaves out {}, so none remains", counted(skipped, "case"));
        }
        let by_name = cases.filter(|case| self.passes(&[&case.name.0])).count();
        if by_name > 0 {
            return format!(
                "the filters match {}, but none in the requested profile; `probity list` shows the profiles",
                counted(by_name, "case")
            );
        }
        "the filters and --skip leave no case (`probity list` shows all names)".to_owned()
    }
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

    fn chosen(filter: &CaseFilter) -> Vec<String> {
        [("a/one", "core"), ("a/one-more", "extended"), ("b/node", "node"), ("b/slow", "slow")]
            .into_iter()
            .map(|(name, profile)| case(name, profile))
            .filter(|case| filter.runs(case))
            .map(|case| case.name.0)
            .collect()
    }

    #[test]
    fn profiles_add_up_and_node_and_slow_are_asked_for_by_name() {
        let of = |profile: &[ProfileWord]| {
            chosen(&CaseFilter { profile: profile.to_vec(), ..CaseFilter::default() })
        };
        assert_eq!(of(&[]), ["a/one", "a/one-more"]);
        assert_eq!(of(&[ProfileWord::Core]), ["a/one"]);
        assert_eq!(of(&[ProfileWord::Core, ProfileWord::Slow]), ["a/one", "b/slow"]);
    }

    #[test]
    fn names_are_parts_or_whole_and_skipping_wins() {
        let of = |filter: &str, exact, skip: &str| {
            let skip = if skip.is_empty() { Vec::new() } else { vec![skip.to_owned()] };
            chosen(&CaseFilter { filter: vec![filter.to_owned()], exact, skip, profile: Vec::new() })
        };
        assert_eq!(of("one", false, ""), ["a/one", "a/one-more"]);
        assert_eq!(of("a/one", true, ""), ["a/one"]);
        assert_eq!(of("one", false, "more"), ["a/one"]);
        assert_eq!(of("b/slow", true, ""), ["b/slow"], "a case that is named in full runs");
        assert_eq!(of("b/slow", false, ""), ["b/slow"], "with and without --exact");
        assert!(of("slow", false, "").is_empty(), "a part of its name is not enough");
    }

    #[test]
    fn each_filter_must_match_and_skipping_everything_is_said() {
        let cases = [case("a/one", "core"), case("b/startup", "core")];
        let filter = |filter: &[&str], exact, skip: &[&str]| {
            let texts = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect();
            CaseFilter { filter: texts(filter), exact, skip: texts(skip), profile: Vec::new() }
        };
        assert!(filter(&["one", "b/"], false, &[]).check(cases.iter()).is_ok());
        let said = filter(&["one", "strtup", "zzz"], false, &[]).check(cases.iter()).unwrap_err().sentence;
        assert_eq!(
            said,
            "no case matches `strtup`; did you mean `startup`? (`probity list` shows all names)\n\
             no case matches `zzz` (`probity list` shows all names)"
        );
        let said = filter(&["a/on"], true, &[]).check(cases.iter()).unwrap_err().sentence;
        assert!(said.contains("did you mean `a/one`?"), "{said}");
        let said = filter(&["one"], false, &["a/"]).nothing(cases.iter());
        assert_eq!(said, "--skip leaves out 1 case, so none remains");
    }
}
