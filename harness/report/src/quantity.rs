//! Similar quantities: the same measurement under different names.

/// A quantity without the names that differ from pod to pod: `from the start of pod/target` becomes `from the start of
/// …`.
#[must_use]
pub fn likened(quantity: &str) -> String {
    let is_name =
        |word: &str| word.contains('/') || word.starts_with('`') || word.chars().any(|c| c.is_ascii_digit());
    let words: Vec<&str> = quantity.split(' ').map(|word| if is_name(word) { "…" } else { word }).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::likened;

    #[test]
    fn names_and_numbers_make_no_other_quantity() {
        assert_eq!(likened("from the start of pod-1/target to `b`"), "from the start of … to …");
    }
}
