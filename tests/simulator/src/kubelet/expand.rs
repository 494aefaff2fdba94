//! Variables in the command of an exec probe, which the kubelet replaces before it runs the command.
//!
//! The kubelet uses only the container's `env` as it is written: a variable whose value comes from another source is an
//! empty text, and a name that is not in `env` stays unchanged. No shell is involved.

use probity_model::timeline::ProbeKind;
use serde_json::Value;

use crate::Defect;
use crate::world::{At, World};

impl World<'_> {
    /// The command of an exec probe, as it is executed.
    pub(super) fn expanded(&self, at: At, kind: ProbeKind, command: Vec<String>) -> Vec<String> {
        let of_sidecar = self.is_sidecar(at) && self.has(Defect::ExecCommandOfSidecarNotExpanded);
        let of_other = kind != ProbeKind::Readiness
            && command.iter().any(|word| word.contains('$'))
            && self.has(Defect::ExecCommandOfReadinessOnlyExpanded);
        if of_sidecar || of_other || self.has(Defect::ExecCommandNotExpanded) {
            return command;
        }
        let spec = &self.pods[at.pod].containers[at.container].spec;
        let name = self.pods[at.pod].name.as_str();
        let value = |variable: &str| match written(spec, variable) {
            Some(entry)
                if entry.get("valueFrom").is_some() && self.has(Defect::ExecCommandSeesAllSources) =>
            {
                Some(name.to_owned())
            }
            Some(entry) => Some(self.value_in_command(spec, entry["value"].as_str().unwrap_or_default())),
            None if self.has(Defect::ExecCommandLosesUnknownNames) => Some(String::new()),
            None => None,
        };
        let words = command.iter().map(|word| expand(word, &value));
        if self.has(Defect::ExecCommandByShell) {
            let words: Vec<String> = words.map(|word| by_shell(&word, &value)).collect();
            return words.join(" ").split_whitespace().map(str::to_owned).collect();
        }
        words.collect()
    }
}

/// The last entry of a container's environment for a name.
pub(super) fn written<'s>(spec: &'s Value, name: &str) -> Option<&'s Value> {
    spec["env"].as_array()?.iter().rev().find(|entry| entry["name"] == name)
}

/// Replaces `$(NAME)`; `$$` stands for a literal `$`.
pub(crate) fn expand(word: &str, value: &impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            text.push('$');
            rest = after;
        } else if let Some((name, after)) = after.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            text.push_str(&value(name).unwrap_or_else(|| format!("$({name})")));
            rest = after;
        } else {
            text.push('$');
            rest = after;
        }
    }
    text + rest
}

/// What a shell would produce from a word that is one variable.
fn by_shell(word: &str, value: &impl Fn(&str) -> Option<String>) -> String {
    match word.strip_prefix('$').filter(|name| !name.starts_with('(')) {
        Some(name) => value(name).unwrap_or_default(),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn only_whole_references_to_known_names_are_replaced() {
        let value = |name: &str| (name == "A").then(|| "one two".to_owned());
        for (word, expanded) in [
            ("$(A)", "one two"),
            ("x$(A)y$(B)", "xone twoy$(B)"),
            ("$$(A)", "$(A)"),
            ("$A", "$A"),
            ("$(A", "$(A"),
            ("a$", "a$"),
            ("$$$(A)", "$one two"),
        ] {
            assert_eq!(expand(word, &value), expanded, "{word}");
        }
    }
}
