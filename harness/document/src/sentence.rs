//! The parser's errors as sentences for people who write plans, not for people who write parsers.

use probity_script::problem::unpin;
use serde_saphyr::Error;

/// The sentence for an error, from the kind of document and the text at the place.
pub(super) fn of(error: &Error, what: &str, written: &str) -> String {
    match error {
        Error::Message { msg, .. } => unpin(msg).0.to_owned(),
        Error::SerdeUnknownField { field, .. } => format!("there is no setting `{field}` here"),
        Error::SerdeUnknownVariant { variant, .. } if is_quoted_number(variant) => {
            format!("this must be a number, but \"{variant}\" is a string: remove the quotes")
        }
        Error::SerdeUnknownVariant { variant, .. } => {
            format!("`{variant}` is not one of the words allowed here")
        }
        Error::SerdeMissingField { field, .. } => format!("the setting `{field}` is missing"),
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            format!("{} does not fit here; expected {expected}", seen(unexpected))
        }
        Error::SerdeInvalidLength { len, expected, .. } => format!("{len} parts are not {expected}"),
        Error::InvalidScalar { ty, .. } => format!("`{written}` is not {}", wanted(ty)),
        Error::InvalidBooleanStrict { .. } => format!("`{written}` is neither true nor false"),
        Error::NonFiniteFloat { value, .. } => format!("`{value}` is not a number that can be used"),
        Error::NullIntoString { .. } => "a string is missing here; write \"\" for an empty one".to_owned(),
        Error::Unexpected { expected, .. } => format!("expected {}", shape(expected)),
        Error::DuplicateMappingKey { key, .. } => match key {
            Some(key) => format!("`{key}` is given twice"),
            None => "a setting is given twice".to_owned(),
        },
        Error::MultipleDocuments { .. } => {
            format!("a second document begins here; a file contains one {what}")
        }
        Error::UnknownAnchor { .. } => "this alias refers to an anchor that does not exist".to_owned(),
        Error::UnsupportedTag { tag, .. } => format!("tags such as `{tag}` are not supported"),
        Error::MergeKeyNotAllowed { .. } => {
            "merge keys (<<) are not supported; repeat the settings".to_owned()
        }
        Error::Budget { breach, .. } => {
            format!("the document is too large, too deeply nested, or has too many aliases: {breach:?}")
        }
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "the aliases of the document expand to too much text".to_owned()
        }
        Error::Eof { .. } => "the document ends too early".to_owned(),
        Error::ExternalMessage { msg, .. } => format!("this is neither YAML nor JSON: {msg}"),
        Error::AliasError { error, .. } => of(error.without_snippet(), what, written),
        Error::WithSnippet { error, .. } => of(error, what, written),
        other => without_place(&other.render()),
    }
}

/// Whether a word is a quoted number. None of the allowed words looks like a number.
pub(super) fn is_quoted_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|c| c.is_ascii_digit())
}

/// What was found instead, in plain words, from serde's description.
fn seen(unexpected: &str) -> &str {
    match unexpected {
        "unit value" | "Option value" => "an empty value",
        "map" => "a map",
        "sequence" => "a list",
        other => other,
    }
}

/// What a scalar should have been.
fn wanted(kind: &str) -> String {
    let range = match kind {
        "u8" => "255",
        "u16" => "65535",
        "u32" => "4294967295",
        "u64" => "18446744073709551615",
        "i32" => return "a whole number that fits into 32 bits".to_owned(),
        "f32" | "f64" => return "a number".to_owned(),
        "bool" | "boolean" => return "true or false".to_owned(),
        other => return format!("a value of type {other}"),
    };
    format!("a whole number from 0 to {range}")
}

/// The shape that the parser wanted.
fn shape(expected: &str) -> &str {
    match expected {
        "mapping start" => "a map of settings, such as { name: value }",
        "sequence start" => "a list, such as [one, two] or lines that begin with a dash",
        "string scalar" | "scalar" => "a plain value",
        other => other,
    }
}

/// Removes the place from the end of the parser's sentence, because it is shown separately.
fn without_place(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    first.rfind(" at line ").map_or(first, |at| &first[..at]).to_owned()
}
