//! References to variables in the command of a container: `$(NAME)` in its `command` and its `args`.

use std::cell::Cell;
use std::collections::BTreeSet;

use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;
use serde_json::Value;

use super::environment::{OF_API_SERVER, PORT_OF_API_SERVER, of_objects};
use crate::reading::dumps::{Look, looks};
use crate::reading::expansion::expand;
use crate::reading::volumes::list;

/// A reference that is escaped, according to the Kubernetes API reference.
const ESCAPED: &str = "$$(";

/// The kind of the variable to which a reference refers: where its value comes from.
fn kind(look: &Look<'_, '_>, of_objects: &BTreeSet<String>, name: &str) -> Option<&'static str> {
    let own = list(look.life.container.spec, "env").filter(|of| of["name"] == name).last();
    let exists = look.dump.env.contains_key(name);
    match own {
        Some(own) if exists => Some(if own.get("valueFrom").is_some() { "valueFrom" } else { "value" }),
        None if !exists => Some("unknown"),
        None if of_objects.contains(name) => Some("envFrom"),
        None if [OF_API_SERVER, PORT_OF_API_SERVER].contains(&name) => Some("service"),
        // Its value, or its source, is not known here. The image may set it, for example.
        _ => None,
    }
}

/// A word of the command in the spec as the process should receive it, and the kinds of the references in the word. `None` if
/// this is not known.
fn expanded(
    look: &Look<'_, '_>,
    of_objects: &BTreeSet<String>,
    word: &str,
) -> Option<(String, BTreeSet<&'static str>)> {
    let (kinds, unknown) = (Cell::new(BTreeSet::new()), Cell::new(false));
    let value = |name: &str| {
        let mut all = kinds.take();
        match kind(look, of_objects, name) {
            Some(kind) => {
                all.insert(kind);
            }
            None => unknown.set(true),
        }
        kinds.set(all);
        look.dump.env.get(name).cloned()
    };
    let text = expand(word, &value);
    let mut kinds = kinds.take();
    kinds.extend(word.contains(ESCAPED).then_some("escaped"));
    (!unknown.get()).then_some((text, kinds))
}

/// A process receives the values of the variables of its container in place of the references in its command.
pub(super) fn have_values(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in looks(run).iter().filter(|look| !look.dump.env.is_empty()) {
        let spec = look.life.container.spec;
        let started = look.life.attempt.lines.iter().find_map(|line| match &line.line.fact {
            Fact::Started(started) => Some((line.id, &started.args)),
            _ => None,
        });
        let (Some((id, args)), Some(of_objects)) = (started, of_objects(run, look)) else { continue };
        let of_objects: BTreeSet<String> = of_objects.into_keys().collect();
        let words = list(spec, "command").chain(list(spec, "args")).filter_map(Value::as_str);
        let words: Vec<&str> = words.collect();
        // Without a command in the spec, the process also has the words of its image, which come first.
        let own = args.len().checked_sub(words.len()).and_then(|first| args.get(first..)).unwrap_or_default();
        for (word, is) in words.into_iter().zip(own) {
            let Some((wanted, kinds)) = expanded(look, &of_objects, word) else { continue };
            if kinds.is_empty() {
                continue;
            }
            let finding = || {
                let name = look.life.name();
                format!("the argument {word:?} of {name} should become {wanted:?}, but it became {is:?}")
            };
            let right = *is == wanted;
            seen.check(right, finding, [id, look.line.id]);
            if right {
                kinds.into_iter().for_each(|kind| seen.facet("reference", kind));
            }
        }
    }
}
