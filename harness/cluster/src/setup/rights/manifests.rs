//! The table of rights as manifests for `kubectl apply`.

use std::fmt::Write as _;

use super::{Need, RULES, Rule};

/// The rights as manifests: in one namespace, or (without one) for a run that creates its own.
#[must_use]
pub fn rbac_yaml(namespace: Option<&str>) -> String {
    let home = namespace.unwrap_or("probity");
    let mut yaml = String::from(
        "# The rights that a run of probity uses, and what for. Lines marked optional may be left out.\n\
         # What is commented out opens more than its cases use: grant it only where that does no harm.\n",
    );
    if namespace.is_none() {
        let _ = write!(yaml, "apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {home} }}\n---\n");
    }
    let _ = write!(
        yaml,
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{ name: probity, namespace: {home} }}\n"
    );
    let inside = RULES.iter().filter(|rule| rule.namespaced);
    let wide = RULES
        .iter()
        .filter(|rule| !rule.namespaced && (namespace.is_none() || rule.need != Need::ToMakeNamespaces));
    if namespace.is_some() {
        role(&mut yaml, "Role", home, inside);
        role(&mut yaml, "ClusterRole", home, wide);
    } else {
        role(&mut yaml, "ClusterRole", home, wide.chain(inside));
    }
    yaml
}

fn role<'r>(yaml: &mut String, kind: &str, home: &str, rules: impl Iterator<Item = &'r Rule>) {
    let place = if kind == "Role" { format!(", namespace: {home}") } else { String::new() };
    let _ = write!(
        yaml,
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{ name: probity{place} }}\nrules:\n"
    );
    for rule in rules {
        let (word, mark) = match rule.need {
            Need::Always | Need::ToMakeNamespaces => ("", ""),
            Need::Optional => ("optional: ", ""),
            Need::ByHand => ("by hand: ", "# "),
        };
        let _ = writeln!(yaml, "  # {word}{}", rule.purpose);
        let _ = writeln!(
            yaml,
            "  {mark}- {{ apiGroups: [\"{}\"], resources: [\"{}\"], verbs: [{}] }}",
            rule.group,
            rule.resource,
            rule.verbs.join(", ")
        );
    }
    let _ = write!(
        yaml,
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}Binding\nmetadata: {{ name: probity{place} }}\nroleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: probity }}\nsubjects: [{{ kind: ServiceAccount, name: probity, namespace: {home} }}]\n"
    );
}
