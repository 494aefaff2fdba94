//! Manifest files of users: one document or several, with one workload to test.
//!
//! Lines keep their numbers in the file, so that every error has its place, whichever document it is in.

use std::io::Read;
use std::path::Path;

use probity_cluster::Refusal;
use probity_document as document;
use probity_script::problem::{Problem, pin, unpin};
use probity_trial::Workload;
use serde_json::Value;

use crate::cases::rejected_pods::{causes, parts, resolved, sentence};
use crate::exit_status::Failure;
use crate::input_files;
use crate::output::did_you_mean;

/// The kinds of objects that have pods.
const KINDS: [&str; 7] = ["Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"];

/// A file, with the workloads in it.
pub(crate) struct Manifests {
    source: String,
    workloads: Vec<(Workload, String)>,
    others: Vec<String>,
}

/// The workload to try.
pub(crate) struct ChosenWorkload {
    /// Its file.
    pub(crate) source: String,
    /// The workload.
    pub(crate) workload: Workload,
    /// The other objects of the file, which are ignored.
    pub(crate) others: Vec<String>,
    text: String,
}

/// Reads a file, or standard input for `-`.
/// Fails if it cannot be read, or one of its documents is not a Kubernetes object.
pub(crate) fn read(path: &Path) -> Result<Manifests, Failure> {
    let (source, text) = text_of(path)?;
    of_text(&source, &text)
}

/// The name of a file, or of standard input for `-`, and its text.
pub(crate) fn text_of(path: &Path) -> Result<(String, String), Failure> {
    let (source, bytes) = if path == Path::new("-") {
        ("standard input".to_owned(), read_bounded(std::io::stdin().lock()))
    } else {
        (path.display().to_string(), std::fs::File::open(path).and_then(read_bounded))
    };
    let wrong = |why: String| Failure::wrong_use(Problem::whole(&source, why).to_string());
    let bytes =
        bytes.map_err(|error| wrong(format!("it cannot be read: {}", input_files::in_words(&error))))?;
    let text =
        String::from_utf8(bytes).map_err(|_| wrong("it is not text: the file must be UTF-8".to_owned()))?;
    Ok((source, text))
}

/// Reads a little more than the largest document, which is then rejected because of its size.
fn read_bounded(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(document::LARGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The workloads in a text from this source.
pub(crate) fn of_text(source: &str, text: &str) -> Result<Manifests, Failure> {
    let mut found = Manifests { source: source.to_owned(), workloads: Vec::new(), others: Vec::new() };
    let documents = documents(text);
    for text in &documents {
        let value: Value = document::read(source, "manifest", text)?;
        if value["case"].is_string() && value["kind"].is_null() {
            let why = "this is a case, not a manifest; run it with `probity reproduce`, or with `probity run --suite`";
            return Err(Failure::from(Box::new(document::misfit(source, text, &pin(why, &["case"])))));
        }
        for (path, object) in objects(value, Vec::new()) {
            found.take(&object, &path, text)?;
        }
    }
    if documents.is_empty() {
        return Err(Failure::wrong_use(format!("{source}: the manifest is empty")));
    }
    if found.workloads.is_empty() {
        let others = if found.others.is_empty() { "empty lists".to_owned() } else { found.others.join(", ") };
        let kinds = found.others.iter().filter_map(|other| other.split(' ').next());
        let meant = kinds.map(|kind| did_you_mean(kind, KINDS)).find(|hint| !hint.is_empty());
        let hint = meant.unwrap_or_else(|| format!("; it needs one of {}", KINDS.join(", ")));
        let why = format!("there is no pod in it, only {others}{hint}");
        return Err(Failure::from(Box::new(document::misfit(source, &documents[0], &pin(&why, &["kind"])))));
    }
    Ok(found)
}

/// The objects of a document, each with its path: the items of a list, or else the document itself.
fn objects(mut document: Value, path: Vec<String>) -> Vec<(Vec<String>, Value)> {
    let kind = document["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
    let (Some(kind), Some(items)) = (kind, document.get_mut("items").map(Value::take)) else {
        return vec![(path, document)];
    };
    let Value::Array(items) = items else {
        document["items"] = items;
        return vec![(path, document)];
    };
    let inside = |(at, mut item): (usize, Value)| {
        // In a typed list, the items may omit their kind.
        if let Some(fields) = item.as_object_mut().filter(|_| !kind.is_empty()) {
            fields.entry("kind").or_insert_with(|| kind.clone().into());
        }
        let path = path.iter().cloned().chain(["items".to_owned(), at.to_string()]).collect();
        objects(item, path)
    };
    items.into_iter().enumerate().flat_map(inside).collect()
}

/// The documents of a text that are not empty. Each is preceded by as many empty lines as there are lines before it. Text
/// on the line of a separator belongs to the document after it.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for (at, line) in text.lines().enumerate() {
        let next = separates(line);
        if next {
            documents.push("\n".repeat(at));
        }
        if let Some(document) = documents.last_mut() {
            *document += if next && !says(line) { "" } else { line };
            *document += "\n";
        }
    }
    documents.into_iter().filter(|text| text.lines().any(says)).collect()
}

fn separates(line: &str) -> bool {
    line == "---" || line.starts_with("--- ") || line.starts_with("---\t")
}

/// Whether a line contains more than a comment and a separator.
fn says(line: &str) -> bool {
    let line = if separates(line) { &line[3..] } else { line };
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

impl Manifests {
    /// Adds an object of the file.
    fn take(&mut self, object: &Value, path: &[String], text: &str) -> Result<(), Failure> {
        let misfit = |why: String| {
            let (sentence, inside) = unpin(&why);
            let path: Vec<&String> = path.iter().chain(&inside).collect();
            let why = if path.is_empty() { why.clone() } else { pin(sentence, &path) };
            Failure::from(Box::new(document::misfit(&self.source, text, &why)))
        };
        match Workload::of(object).map_err(misfit)? {
            Some(mut workload) => {
                workload.path.splice(0..0, path.iter().cloned());
                self.workloads.push((workload, text.to_owned()));
            }
            None => {
                let name = object["metadata"]["name"].as_str().unwrap_or("without a name");
                self.others.push(format!("{} {name}", object["kind"].as_str().unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// The workload with this name, or the only one. Fails if none has this name, or if there are several and no name is
    /// given.
    pub(crate) fn choose(self, wanted: Option<&str>) -> Result<ChosenWorkload, Failure> {
        let Self { source, workloads, others } = self;
        let full = |(workload, _): &(Workload, String)| format!("{}/{}", workload.kind, workload.name);
        let list = workloads.iter().map(full).collect::<Vec<_>>().join(", ");
        let names: Vec<String> = workloads.iter().map(|(workload, _)| workload.name.clone()).collect();
        let fits = |one: &(Workload, String)| {
            wanted.is_none_or(|wanted| full(one).eq_ignore_ascii_case(wanted) || one.0.name == wanted)
        };
        let (mut fitting, rest): (Vec<_>, Vec<_>) = workloads.into_iter().partition(fits);
        match (fitting.pop(), wanted) {
            (Some((workload, text)), _) if fitting.is_empty() => {
                let rest = rest.iter().map(|(other, _)| format!("{} {}", other.kind, other.name));
                Ok(ChosenWorkload { source, workload, others: rest.chain(others).collect(), text })
            }
            (None, Some(wanted)) => {
                let near = did_you_mean(wanted, names.iter().map(String::as_str));
                let why = format!("{source}: there is no workload `{wanted}`{near}\nthe file has {list}");
                Err(Failure::wrong_use(why))
            }
            _ => Err(Failure::wrong_use(format!(
                "{source}: several workloads match; choose one with --workload: {list}"
            ))),
        }
    }
}

impl ChosenWorkload {
    /// The failure for a sentence about the workload, with the place in the file that the sentence is about.
    pub(crate) fn misfit(&self, why: &str) -> Failure {
        Failure::from(Box::new(document::misfit(&self.source, &self.text, why)))
    }

    /// Why the API server rejects the pod, with the place of the field if it occurs in the user's manifest.
    pub(crate) fn rejected(&self, refusal: &Refusal) -> String {
        let problem = |(field, why): &(String, String)| {
            let mut path = self.workload.path.clone();
            path.extend(resolved(&self.workload.template, &parts(field)));
            document::misfit(&self.source, &self.text, &pin(&sentence("pod", field, why), &path)).to_string()
        };
        causes(refusal).iter().map(problem).collect::<Vec<_>>().join("\n")
    }

    /// The workload in a few words.
    pub(crate) fn words(&self) -> String {
        let Workload { kind, name, .. } = &self.workload;
        let name = if name.is_empty() { "without a name" } else { name };
        match kind.as_str() {
            "Pod" => format!("the Pod {name}"),
            kind => format!("the pod template of the {kind} {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const TWO: &str = "\
# a comment
---
kind: Service
metadata: { name: web }
---
kind: Pod
metadata: { name: one }
spec: { containers: [{ name: c }] }
---
kind: Deployment
metadata: { name: two }
spec: { template: { spec: { containers: [{ name: c, imag: x }] } } }
";

    fn failure(result: Result<ChosenWorkload, Failure>) -> String {
        result.err().unwrap().to_string()
    }

    #[test]
    fn of_several_workloads_one_must_be_named() {
        let said = failure(of_text("f.yaml", TWO).unwrap().choose(None));
        assert!(said.ends_with("choose one with --workload: Pod/one, Deployment/two"), "{said}");
        let said = failure(of_text("f.yaml", TWO).unwrap().choose(Some("tow")));
        assert!(said.contains("did you mean `two`?"), "{said}");
        for name in ["two", "Deployment/two", "deployment/two"] {
            let found = of_text("f.yaml", TWO).unwrap().choose(Some(name)).unwrap();
            assert_eq!(found.words(), "the pod template of the Deployment two");
            assert_eq!(found.others, ["Pod one", "Service web"]);
        }
    }

    #[test]
    fn a_place_is_that_in_the_file_whichever_document_it_is_in() {
        let found = of_text("f.yaml", TWO).unwrap().choose(Some("two")).unwrap();
        let why = probity_trial::StandIn::of(&found.workload).unwrap_err();
        let said = found.misfit(&why).to_string();
        assert!(said.starts_with("f.yaml, line 12, column 53: a container has no field `imag`"), "{said}");
    }

    #[test]
    fn what_stands_behind_a_separator_belongs_to_its_document() {
        let text = "--- # a comment\n--- { kind: Pod, metadata: { name: one }, spec: { containers: [{ imag: x }] } }\n---\n";
        let found = of_text("f.yaml", text).unwrap().choose(None).unwrap();
        assert_eq!(found.words(), "the Pod one");
        let why = probity_trial::StandIn::of(&found.workload).unwrap_err();
        let said = found.misfit(&why).to_string();
        assert!(said.starts_with("f.yaml, line 2, column 66: a container has no field `imag`"), "{said}");
    }

    #[test]
    fn the_items_of_a_list_are_documents_of_their_own_at_their_places() {
        let text = "\
kind: List
items:
  - { kind: Service, metadata: { name: web } }
  - kind: Pod
    metadata: { name: one }
    spec: { containers: [{ name: c, imag: x }] }
";
        let found = of_text("f.yaml", text).unwrap().choose(None).unwrap();
        assert_eq!((found.words().as_str(), found.others.len()), ("the Pod one", 1));
        let why = probity_trial::StandIn::of(&found.workload).unwrap_err();
        let said = found.misfit(&why).to_string();
        assert!(said.starts_with("f.yaml, line 6, column 37: a container has no field `imag`"), "{said}");
        let wrong =
            of_text("f.yaml", "kind: List\nitems:\n  - { metadata: {} }\n").err().unwrap().to_string();
        assert!(wrong.starts_with("f.yaml, line 3, column 5: there is no `kind`"), "{wrong}");
        let typed = text
            .replace("kind: List", "kind: PodList")
            .replace("  - kind: Pod\n    metadata", "  - metadata");
        assert_eq!(of_text("f.yaml", &typed).unwrap().choose(None).unwrap().words(), "the Pod one");
        let none = of_text("f.yaml", "kind: List\nitems: []\n").err().unwrap().to_string();
        assert!(none.contains("there is no pod in it, only empty lists"), "{none}");
    }
}
