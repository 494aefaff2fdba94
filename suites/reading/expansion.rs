//! References to variables in the text of a variable or of a command, as Kubernetes writes them: `$(NAME)`.

/// A text with the values of the variables in place of the references to them. `$$` stands for a `$`. A reference to a
/// name without a value stays unchanged.
pub(crate) fn expand(text: &str, value: &impl Fn(&str) -> Option<String>) -> String {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        expanded.push_str(before);
        if let Some(after) = from.strip_prefix("$$") {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = from.strip_prefix("$(").and_then(|inner| inner.split_once(')')) {
            expanded.push_str(&value(name).unwrap_or_else(|| format!("$({name})")));
            rest = after;
        } else {
            expanded.push('$');
            rest = from.get(1..).unwrap_or_default();
        }
    }
    expanded + rest
}
