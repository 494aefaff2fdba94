//! The case of a reproduction: written from a manifest, with a plan that is marked as a guess, or read from a
//! case file.
//!
//! The case is read back from the written text, so running the file again runs the same case.

use std::path::Path;

use probity_case::Case;
use probity_script::problem::Problem;
use probity_trial::{NoteKind, StandIn};
use serde_json::{Map, Value, json};

use super::plain_plan;
use crate::cases::book;
use crate::cases::case_text;
use crate::exit_status::Failure;
use crate::output::did_you_mean;
use crate::trials::manifests::{self, ChosenWorkload};

/// A case that should reproduce a bug.
pub(crate) struct Reproduction {
    /// The name of the file that it was created from.
    pub(crate) source: String,
    /// The case file.
    pub(crate) text: String,
    /// The cases in it.
    pub(crate) cases: Vec<Case>,
    /// The guesses: things that a manifest does not describe.
    pub(crate) guesses: Vec<String>,
    /// What differs from the manifest.
    pub(crate) differs: Vec<String>,
    /// The workload, if the case was written from one.
    pub(crate) workload: Option<ChosenWorkload>,
}

impl Reproduction {
    /// Writes a case from the manifest in a file, or reads a case file, or the known bug with this name.
    /// Fails if it is none of them, or if no target can stand in for the pod.
    pub(crate) fn of(file: &Path, workload: Option<&str>) -> Result<Self, Failure> {
        let named = |case: &Case| file.to_str() == Some(case.name.0.as_str());
        if let Some(known) =
            probity_suites::regressions()?.into_iter().find(|known| known.cases.iter().any(named))
        {
            return Self::as_written(known.source, known.text.to_owned(), known.cases, workload);
        }
        if file != Path::new("-") && !file.exists() {
            return Err(unknown(file)?);
        }
        // The file is read only once, because it may be a pipe.
        let (source, text) = manifests::text_of(file)?;
        if is_case(&text) {
            let read = book::of_text(source, text, &book::registry()?.catalogue)?;
            return Self::as_written(read.source, read.text, read.cases, workload);
        }
        Self::of_workload(manifests::of_text(&source, &text)?.choose(workload)?)
    }

    /// A case that runs as it is written. Fails if a workload is named, because a case has none to choose from.
    fn as_written(
        source: String,
        text: String,
        cases: Vec<Case>,
        workload: Option<&str>,
    ) -> Result<Self, Failure> {
        if workload.is_some() {
            let why = "this is a case, which has no workloads to choose from; omit --workload";
            return Err(Failure::wrong_use(format!("{source}: {why}")));
        }
        let (guesses, differs) = (Vec::new(), Vec::new());
        Ok(Self { source, text, cases, guesses, differs, workload: None })
    }

    fn of_workload(workload: ChosenWorkload) -> Result<Self, Failure> {
        let stand_in = StandIn::reproducing(&workload.workload).map_err(|why| workload.misfit(&why))?;
        let (guesses, differs) = (guesses(&stand_in), differences(&stand_in));
        let text = written(&workload, &stand_in, &guesses, &differs);
        let failed = |problem: Box<Problem>| {
            Failure::failed(format!(
                "failed to write a case for it; please report this with the file\n{problem}"
            ))
        };
        let cases = Case::read("case", &text).map_err(failed)?;
        Ok(Self { source: workload.source.clone(), text, cases, guesses, differs, workload: Some(workload) })
    }
}

/// The failure for an argument that is neither a file nor a known bug.
/// Fails if the built-in book contradicts itself, which its own tests rule out.
fn unknown(file: &Path) -> Result<Failure, Failure> {
    let name = file.display().to_string();
    if probity_suites::cases()?.iter().flat_map(|file| &file.cases).any(|case| case.name.0 == name) {
        let why = format!("`{name}` is a case of the book; use `probity run --exact {name}`");
        return Ok(Failure::wrong_use(why));
    }
    let bugs = probity_suites::regressions()?;
    let names = bugs.iter().flat_map(|file| &file.cases).map(|case| case.name.0.as_str());
    let full = if name.contains('/') { name.clone() } else { format!("regressions/{name}") };
    let hint = did_you_mean(&full, names);
    Ok(Failure::wrong_use(format!(
        "no file and no known bug is called `{name}`{hint} (`probity list --profile regressions` shows the known bugs)"
    )))
}

/// Whether this is the text of a case file.
fn is_case(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("case:"))
}

/// The assumptions of the plan, one per line.
fn guesses(pod: &StandIn) -> Vec<String> {
    let mut all = Vec::new();
    for (container, plan) in &pod.pod.target {
        for line in case_text::of_plan(plan) {
            all.push(format!("{container}: {}", line.trim()));
        }
    }
    all.push(
        "every process starts immediately, answers immediately, and exits immediately when it receives a stop signal".to_owned(),
    );
    all
}

/// The differences from the manifest, one per line.
fn differences(pod: &StandIn) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for note in &pod.notes {
        let word = match note.kind {
            NoteKind::Replaced => "replaced",
            NoteKind::Dropped => "left out",
            NoteKind::Added => continue,
        };
        all.push(format!("{word}: {}: {}", note.field, note.why));
    }
    all
}

/// The text of the case.
fn written(workload: &ChosenWorkload, pod: &StandIn, guesses: &[String], differs: &[String]) -> String {
    let whose = workload.words();
    let mut text =
        format!("# Written by `probity reproduce` from {whose} in {}.\n", comment(&workload.source));
    text += "# The behavior of the application is a guess, because no manifest describes it. Write under `target` what it does.\n";
    guesses.iter().for_each(|line| text += &format!("#   {}\n", comment(line)));
    if !differs.is_empty() {
        text += "# Different from the manifest:\n";
    }
    differs.iter().for_each(|line| text += &format!("#   {}\n", comment(line)));
    let story = format!("This is {whose}, with a target in place of each image.");
    let spec = json!({ "spec": pod.pod.pod["spec"] });
    let plans: Map<String, Value> =
        pod.pod.target.iter().map(|(name, plan)| (name.clone(), plain_plan::of(plan))).collect();
    for (field, value) in [
        ("case", json!(format!("reproduce/{}", name(&workload.workload.name)))),
        ("story", json!(story)),
        ("pod", spec),
        ("target", Value::Object(plans)),
    ] {
        let part = serde_saphyr::to_string(&json!({ field: value })).unwrap_or_default();
        text += &format!("{}\n", part.trim_end());
    }
    text
}

/// A name that is valid as part of a case name.
fn name(workload: &str) -> String {
    let plain: String = workload.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "pod".to_owned() } else { plain.to_owned() }
}

/// A text without line breaks that would end its comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const POD: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: { name: shop }
spec:
  template:
    spec:
      activeDeadlineSeconds: 600
      volumes: [{ name: data, emptyDir: {} }]
      containers:
        - name: web
          image: shop:1
          command: [/shop]
          volumeMounts: [{ name: data, mountPath: /data }]
          ports: [{ name: http, containerPort: 8080 }]
          livenessProbe: { httpGet: { path: /live, port: http } }
          readinessProbe: { exec: { command: [cat, /tmp/ready] }, periodSeconds: 2 }
";

    fn reproduction(text: &str) -> Reproduction {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.yaml");
        std::fs::write(&path, text).unwrap();
        Reproduction::of(&path, None).unwrap()
    }

    #[test]
    fn a_pasted_workload_becomes_a_case_with_a_plan_that_is_called_a_guess() {
        let made = reproduction(POD);
        let [case] = made.cases.as_slice() else { panic!("one case") };
        assert_eq!(case.name.0, "reproduce/shop");
        let spec = &case.pods["pod"].pod["spec"];
        assert_eq!(spec["activeDeadlineSeconds"], 600);
        assert_eq!(spec["containers"][0]["livenessProbe"]["httpGet"]["path"], "/live");
        assert!(spec["containers"][0].get("image").is_none() && spec.get("volumes").is_none());
        assert!(case.pods["pod"].target["web"].exec.contains_key("readiness-web"));
        assert!(made.guesses.iter().any(|line| line.contains("/live answers 200")), "{:?}", made.guesses);
        assert!(made.differs.iter().any(|line| line.starts_with("replaced: containers[web].command, image")));
        for line in made.guesses.iter().chain(&made.differs) {
            assert!(made.text.contains(&format!("#   {line}\n")), "{line} in {}", made.text);
        }
    }

    #[test]
    fn the_file_that_is_written_is_the_case_that_runs() {
        let made = reproduction(POD);
        let again = reproduction(&made.text);
        assert_eq!(again.cases, made.cases);
        assert!(again.workload.is_none() && again.guesses.is_empty());
    }
}
