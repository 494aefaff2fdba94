//! The clusters for which a clause is promised, and the facets that they can show.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Clause, Need};
use crate::facets::Needed;
use crate::history::NodeFacts;
use crate::stage::Stage;
use crate::version::minor;

impl Clause {
    /// Why the clause is not promised for a cluster: the API server has another version, or all kubelets have another
    /// version. `None` if the clause is promised.
    #[must_use]
    pub fn not_promised(&self, server: &str, nodes: &BTreeMap<String, NodeFacts>) -> Option<String> {
        if !self.holds_for(server) {
            return Some(format!("not promised for {server}"));
        }
        let kubelets: BTreeSet<&str> = nodes.values().map(|node| node.kubelet.as_str()).collect();
        let unbound = !kubelets.is_empty() && kubelets.iter().all(|kubelet| !self.binds_kubelet(kubelet));
        unbound.then(|| {
            let versions = Vec::from_iter(kubelets).join(" and ");
            format!("not promised for kubelets of version {versions}")
        })
    }

    /// Whether the clause is promised for a kubelet of this version, as far as the version is known. Clauses about the
    /// spec are about the API server, unless they are about the configuration of a kubelet.
    #[must_use]
    pub fn binds_kubelet(&self, version: &str) -> bool {
        let is_about_kubelets = self.stage != Some(Stage::Spec) || self.needs.contains(&Need::KubeletConfig);
        !is_about_kubelets || self.holds_for(version)
    }

    /// The facets that must be observed on a cluster before the clause holds there: those that its API server and all its
    /// kubelets have, as far as their versions are known.
    #[must_use]
    pub fn facets_on(&self, server: &str, nodes: &BTreeMap<String, NodeFacts>) -> Cow<'_, Needed> {
        if self.facets_since.is_empty() {
            return Cow::Borrowed(&self.facets);
        }
        let kubelets = nodes.values().map(|node| node.kubelet.as_str());
        let versions: Vec<_> =
            [server].into_iter().chain(kubelets).filter_map(|of| minor(of.trim_start_matches('v'))).collect();
        let has = |of: &str, value: &str| {
            let since = self.facet_since(of, value).and_then(minor);
            since.is_none_or(|since| versions.iter().all(|version| since <= *version))
        };
        let mut needed = self.facets.clone();
        needed.iter_mut().for_each(|(of, values)| values.retain(|value| has(of, value)));
        Cow::Owned(needed)
    }

    fn facet_since(&self, of: &str, value: &str) -> Option<&str> {
        self.facets_since.get(of)?.get(value).map(String::as_str)
    }

    /// The dimensions of the facets, each with its values in words.
    pub fn facets_in_words(&self) -> impl Iterator<Item = (&str, String)> {
        self.facets.iter().map(move |(of, values)| {
            let word = |value: &String| match self.facet_since(of, value) {
                Some(since) => format!("{value} (Kubernetes {since} or later)"),
                None => value.clone(),
            };
            (of.as_str(), values.iter().map(word).collect::<Vec<_>>().join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::clause::Catalogue;

    fn clause(more: &str) -> Clause {
        let text = format!(
            "- {{ id: a.b, level: must, says: x, tested: y, source: {{ document: d, edition: '1' }}, {more} }}"
        );
        let mut catalogue = Catalogue::default();
        catalogue.add_chapter("clauses", &text).unwrap();
        catalogue.iter().next().unwrap().clone()
    }

    /// Why the clause is not promised for an API server of version 1.36 with these kubelets.
    fn why(clause: &Clause, kubelets: &[&str]) -> Option<String> {
        let facts = |kubelet: &&str| NodeFacts { kubelet: (*kubelet).to_owned(), ..NodeFacts::default() };
        let nodes = kubelets.iter().enumerate().map(|(at, kubelet)| (format!("node{at}"), facts(kubelet)));
        clause.not_promised("v1.36.3", &nodes.collect())
    }

    #[test]
    fn a_promise_that_is_younger_than_all_kubelets_is_not_promised() {
        let young = clause("since: '1.35', stage: status");
        let told = why(&young, &["v1.33.9", "v1.34.2", "v1.34.2"]).unwrap();
        assert_eq!(told, "not promised for kubelets of version v1.33.9 and v1.34.2");
        assert_eq!(why(&young, &["v1.34.2", "v1.35.0"]), None, "one of them is bound");
        assert_eq!(why(&young, &["v1.34.2", ""]), None, "a version is not known");
        assert_eq!(why(&young, &[]), None);
        assert_eq!(young.not_promised("v1.34.0", &BTreeMap::new()).unwrap(), "not promised for v1.34.0");
    }

    #[test]
    fn a_facet_that_is_younger_than_the_cluster_is_not_needed() {
        let clause = clause("facets: { change: [rise, fall] }, facets-since: { change: { fall: '1.34' } }");
        let needed = |server: &str, kubelet: &str| {
            let facts = NodeFacts { kubelet: kubelet.to_owned(), ..NodeFacts::default() };
            let nodes = BTreeMap::from([("node".to_owned(), facts)]);
            clause.facets_on(server, &nodes)["change"].join(" ")
        };
        assert_eq!(needed("v1.34.0", "v1.34.2"), "rise fall");
        assert_eq!(needed("v1.36.3", ""), "rise fall", "the version of the kubelet is not known");
        assert_eq!(needed("v1.33.9", "v1.33.9"), "rise");
        assert_eq!(needed("v1.34.0", "v1.33.9"), "rise");
        let words: Vec<_> = clause.facets_in_words().collect();
        assert_eq!(words, [("change", "rise, fall (Kubernetes 1.34 or later)".to_owned())]);
    }

    #[test]
    fn a_promise_of_the_api_server_does_not_depend_on_kubelets() {
        assert_eq!(why(&clause("since: '1.35', stage: spec"), &["v1.34.2"]), None);
        let configured = clause("since: '1.35', stage: spec, needs: [kubelet-config]");
        assert!(why(&configured, &["v1.34.2"]).is_some());
    }
}
