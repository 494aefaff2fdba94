//! Fields of raw objects, read by JSON pointer.

use serde_json::Value;

/// Reads the value at a pointer such as `/metadata/name`. An absent value, or a value of another type, counts as empty.
pub(crate) trait Fields {
    /// A text.
    fn text(&self, pointer: &str) -> &str;
    /// The items of a list.
    fn items(&self, pointer: &str) -> std::slice::Iter<'_, Value>;
    /// The name of an object.
    fn name(&self) -> &str {
        self.text("/metadata/name")
    }
}

impl Fields for Value {
    fn text(&self, pointer: &str) -> &str {
        self.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn items(&self, pointer: &str) -> std::slice::Iter<'_, Value> {
        self.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default().iter()
    }
}
