//! Copies of cases of the book under other names, so that each row has its own pods.

use std::{fs, io, path::Path};

/// The part of a case's name that names the variant of its matrix, such as `/container-kind=sidecar`.
pub(super) fn variant(case: &str) -> &str {
    case.find('=').and_then(|equals| case[..equals].rfind('/')).map_or("", |slash| &case[slash..])
}

/// The text of a case under another name. Its matrix contains only the variant of the case's name.
///
/// # Errors
///
/// When the book has no such file.
pub(super) fn copy(book: &Path, case: &str, name: &str) -> io::Result<String> {
    let variant = variant(case);
    let plain = &case[..case.len() - variant.len()];
    let path = book.join(format!("{plain}.yaml"));
    let text = fs::read_to_string(&path)
        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    let name = &name[..name.len() - variant.len()];
    // The names of objects contain the name of their case, and specifications refer to them by name.
    let of_objects = |case: &str| format!("{}-", case.replace('/', "-"));
    let (from, to) = (of_objects(plain), of_objects(name));
    let mut lines: Vec<String> = Vec::new();
    let mut in_matrix = false;
    for line in text.lines() {
        in_matrix = line.starts_with("matrix:") || (in_matrix && line.starts_with(' '));
        if line.starts_with("matrix:") {
            lines.extend(matrix(variant));
        } else if line.starts_with("case:") {
            lines.push(format!("case: {name}"));
        } else if !in_matrix {
            lines.push(with_own_labels(&line.replace(&from, &to), name));
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// The keys of labels by which the book's Services and budgets select their pods.
const SELECTING: [&str; 5] = ["serves: ", "under: ", "also: ", "starts: ", "asks: "];

/// The line with label values that no other copy has. Otherwise, a Service or a budget would select the pods of all
/// copies in the namespace.
fn with_own_labels(line: &str, name: &str) -> String {
    let number = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(number.len());
    let number = number[..end].trim_end_matches('-');
    SELECTING.iter().fold(line.to_owned(), |line, key| match line.split_once(key) {
        Some((before, after)) if before.ends_with(' ') => {
            let end = after.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(after.len());
            let (value, rest) = after.split_at(end);
            if value.is_empty() { line } else { format!("{before}{key}{value}-{number}{rest}") }
        }
        _ => line,
    })
}

/// The matrix with only this variant; `None` for the plain case.
fn matrix(variant: &str) -> Option<String> {
    let (axis, value) = variant.strip_prefix('/')?.split_once('=')?;
    Some(format!("matrix: {{ {axis}: [{value}] }}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{copy, variant};

    fn book() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites"))
    }

    #[test]
    fn a_variant_is_what_the_matrix_adds_to_a_name() {
        assert_eq!(variant("a/b"), "");
        assert_eq!(variant("a/b/container-kind=sidecar"), "/container-kind=sidecar");
    }

    #[test]
    fn a_copy_has_the_name_of_its_row_and_one_variant() {
        let case = "probe_config/grace-of-probes";
        let plain = copy(book(), case, "row/001-0-x").unwrap_or_default();
        assert!(plain.starts_with("case: row/001-0-x\n") && !plain.contains("matrix:"), "{plain}");
        let kind = "/container-kind=sidecar";
        let sidecar =
            copy(book(), &format!("{case}{kind}"), &format!("row/001-0-x{kind}")).unwrap_or_default();
        assert!(sidecar.starts_with("case: row/001-0-x\n"), "{sidecar}");
        assert!(sidecar.contains("matrix: { container-kind: [sidecar] }\n"), "{sidecar}");
    }

    #[test]
    fn a_copy_refers_to_its_own_objects() {
        let text = copy(book(), "reports/settings", "row/001-0-x").unwrap_or_default();
        assert!(
            text.contains("name: row-001-0-x-greetings,") && !text.contains("reports-settings-"),
            "{text}"
        );
    }

    #[test]
    fn a_copy_selects_its_own_pods() {
        let text = copy(book(), "probe_types/endpoints-traffic", "row/001-0-x").unwrap_or_default();
        assert_eq!(text.matches("serves: endpoints-traffic-001-0 }").count(), 2, "{text}");
        assert!(text.contains("service: also, ready: true"), "{text}");
        let text = copy(book(), "disruption/limits", "row/001-0-x").unwrap_or_default();
        assert!(!text.contains("under: disruption-limits }"), "{text}");
    }

    #[test]
    fn a_case_that_the_book_does_not_have_is_named() {
        let missing = copy(book(), "probe_config/no-such", "row/x").err().map(|error| error.to_string());
        assert!(missing.is_some_and(|error| error.contains("no-such.yaml")));
    }
}
