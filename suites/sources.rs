//! The addresses of the documents that are the sources of clauses, read from `sources.yaml`.

use std::collections::BTreeMap;

use probity_document as document;
use probity_model::clause::Source;
use probity_script::problem::Problem;

const SOURCE: &str = "suites/sources.yaml";
static WRITTEN: &str = include_str!("sources.yaml");

/// The source documents of clauses, with their addresses.
pub struct Sources(BTreeMap<String, Option<String>>);

/// All of them.
///
/// # Errors
///
/// If the list is invalid, which cannot happen in a build that passes its tests.
pub fn sources() -> Result<Sources, Box<Problem>> {
    document::read(SOURCE, "list of sources", WRITTEN).map(Sources)
}

impl Sources {
    /// The address of a document.
    #[must_use]
    pub fn document(&self, source: &Source) -> Option<&str> {
        self.0.get(&source.document)?.as_deref()
    }

    /// The address of the file in the Kubernetes repository that the anchor of a source names, if the anchor names a
    /// file.
    #[must_use]
    pub fn file(&self, source: &Source) -> Option<String> {
        let (path, _) = split(source.anchor.as_deref()?);
        let code = ["pkg/", "staging/"].iter().any(|root| path.starts_with(root));
        code.then(|| format!("https://github.com/kubernetes/kubernetes/blob/v{}.0/{path}", source.edition))
    }
}

/// An anchor: a path and, after a comma, a symbol.
fn split(anchor: &str) -> (&str, Option<&str>) {
    anchor.split_once(", ").map_or((anchor, None), |(path, symbol)| (path, Some(symbol)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Documents that are linked as a whole: either the requirement is in the introduction, or the headings have no
    /// anchors.
    const WHOLE: [&str; 3] = [
        "Kubernetes documentation, Downward API",
        "Kubernetes documentation, Considerations for large clusters",
        "H. Jacobs, Kubernetes Liveness Probes are Dangerous",
    ];

    #[test]
    fn each_clause_links_the_section_or_the_file_that_it_comes_from() {
        let sources = sources().unwrap();
        let catalogue = crate::catalogue().unwrap();
        let exact = |source: &Source| {
            sources.document(source).is_some_and(|address| address.contains('#'))
                || sources.file(source).is_some()
                || WHOLE.contains(&source.document.as_str())
        };
        let vague: Vec<String> = catalogue
            .iter()
            .filter(|clause| !exact(&clause.source))
            .map(|clause| format!("{}: {}", clause.id, clause.source.document))
            .collect();
        assert!(vague.is_empty(), "these clauses link neither a section nor a file: {vague:#?}");
    }

    #[test]
    fn every_document_that_a_clause_names_is_known() {
        let sources = sources().unwrap_or_else(|problem| panic!("{problem}"));
        let catalogue = crate::catalogue().unwrap();
        let unknown: Vec<String> = catalogue
            .iter()
            .filter(|clause| !sources.0.contains_key(&clause.source.document))
            .map(|clause| format!("{}: {}", clause.id, clause.source.document))
            .collect();
        assert!(unknown.is_empty(), "suites/sources.yaml lacks the source of {unknown:#?}");
        let unused: Vec<&String> = sources
            .0
            .keys()
            .filter(|document| catalogue.iter().all(|clause| clause.source.document != **document))
            .collect();
        assert!(unused.is_empty(), "no clause comes from {unused:?}");
    }

    #[test]
    fn a_file_of_the_reference_implementation_is_found_in_its_repository() {
        let source = |anchor: &str| Source {
            document: "reference implementation".to_owned(),
            edition: "1.36".to_owned(),
            anchor: Some(anchor.to_owned()),
        };
        let sources = sources().unwrap();
        assert_eq!(
            sources.file(&source("pkg/kubelet/prober/worker.go, run")).unwrap(),
            "https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/prober/worker.go"
        );
        assert_eq!(sources.file(&source("ExecAction")), None);
    }
}
