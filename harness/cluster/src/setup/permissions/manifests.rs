//! The table of permissions as manifests for `kubectl apply`.

use std::fmt::Write as _;

use super::{Need, RULES, Rule};

/// The name of the account and of its roles.
const ACCOUNT: &str = "probity";

/// The permissions as manifests: in one namespace or, if none is given, for a run that creates its own namespace.
#[must_use]
pub fn rbac_yaml(namespace: Option<&str>) -> String {
    let home = namespace.unwrap_or("probity");
    let mut yaml = String::from(
        "# The permissions that a run of probity uses, each with its purpose. You can leave out lines marked optional.\n\
         # Permissions that are commented out allow more than their cases use: grant them only where this is acceptable.\n",
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
    let rules = |rules: &mut dyn Iterator<Item = &Rule>| rules.map(rule_yaml).collect::<String>();
    if namespace.is_some() {
        write_role(&mut yaml, "Role", (ACCOUNT, Some(home)), home, &rules(&mut inside.into_iter()));
        write_role(&mut yaml, "ClusterRole", (ACCOUNT, None), home, &rules(&mut wide.into_iter()));
    } else {
        write_role(&mut yaml, "ClusterRole", (ACCOUNT, None), home, &rules(&mut wide.chain(inside)));
    }
    yaml
}

/// A rule in a role, with its purpose.
pub(crate) fn rule_yaml(rule: &Rule) -> String {
    let (word, mark) = match rule.need {
        Need::Always | Need::ToMakeNamespaces => ("", ""),
        Need::Optional => ("optional: ", ""),
        Need::ByHand => ("by hand: ", "# "),
    };
    format!(
        "  # {word}{}\n  {mark}- {{ apiGroups: [\"{}\"], resources: [\"{}\"], verbs: [{}] }}\n",
        rule.purpose,
        rule.group,
        rule.resource,
        rule.verbs.join(", ")
    )
}

/// Writes a role with its name, its namespace if it has one, and its rules, and binds it to the account in the namespace
/// `home`.
pub(crate) fn write_role(
    yaml: &mut String,
    kind: &str,
    (name, namespace): (&str, Option<&str>),
    home: &str,
    rules: &str,
) {
    let place = namespace.map(|namespace| format!(", namespace: {namespace}")).unwrap_or_default();
    let _ = write!(
        yaml,
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{ name: {name}{place} }}\nrules:\n{rules}"
    );
    let _ = write!(
        yaml,
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}Binding\nmetadata: {{ name: {name}{place} }}\nroleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: {name} }}\nsubjects: [{{ kind: ServiceAccount, name: {ACCOUNT}, namespace: {home} }}]\n"
    );
}
