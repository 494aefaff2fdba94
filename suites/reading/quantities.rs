//! Quantities of resources: the same amount can be written in several ways, such as `1` and `1000m`.

use serde_json::Value;

/// The suffixes of quantities as factors of thousandths, according to the Kubernetes documentation on resource units.
const SUFFIXES: [(&str, i128); 10] = [
    ("Ki", 1_024_000),
    ("Mi", 1_048_576_000),
    ("Gi", 1_073_741_824_000),
    ("Ti", 1_099_511_627_776_000),
    ("k", 1_000_000),
    ("M", 1_000_000_000),
    ("G", 1_000_000_000_000),
    ("T", 1_000_000_000_000_000),
    ("m", 1),
    ("", WHOLE),
];
/// One, in thousandths, according to the Kubernetes documentation on resource units.
pub(crate) const WHOLE: i128 = 1_000;

/// A quantity in thousandths. None if it is written in a rarer way, or is not a whole number of thousandths.
pub(crate) fn thousandths(quantity: &str) -> Option<i128> {
    let of = |(suffix, factor): &(&str, i128)| Some((quantity.strip_suffix(*suffix)?, *factor));
    let (number, factor) = SUFFIXES.iter().find_map(of)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    let parts = i128::from(10_u8).checked_pow(u32::try_from(part.len()).ok()?)?;
    let all = digits.checked_mul(factor)?;
    (all.checked_rem(parts)? == 0).then(|| all.checked_div(parts))?
}

/// Whether two quantities are the same amount. A manifest may have a number where the API server shows a text.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    let amount = |of: &Value| match of {
        Value::Number(number) => thousandths(&number.to_string()),
        _ => of.as_str().and_then(thousandths),
    };
    one == other || amount(one).is_some_and(|one| amount(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_amounts() {
        assert_eq!(thousandths("100m"), Some(100));
        assert_eq!(thousandths("1.5"), Some(1500));
        assert_eq!(thousandths("64Mi"), thousandths("67108864"));
        assert_eq!(thousandths("0.5Gi"), thousandths("512Mi"));
        assert_eq!(thousandths("0.0001"), None, "it is less than a thousandth");
        assert_eq!(thousandths("many"), None);
        assert!(is_same(&json!("1"), &json!("1000m")));
        assert!(is_same(&json!(1), &json!("1")));
        assert!(is_same(&json!("1e3"), &json!("1e3")), "it is written in the same way");
        assert!(!is_same(&json!("1"), &json!("1m")));
        assert!(!is_same(&json!("1"), &json!(null)));
    }
}
