//! JSON Schemas of the shared documents, for editors and for readers in other languages.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{Change, Counts, Endpoint, Plan, Script, Size, Span, Step, Times, WitnessLine};

/// The schema of a plan.
#[must_use]
pub fn plan() -> Schema {
    schemars::schema_for!(Plan)
}

/// The schema of a change of plan.
#[must_use]
pub fn change() -> Schema {
    schemars::schema_for!(Change)
}

/// The schema of a witness line.
#[must_use]
pub fn witness() -> Schema {
    schemars::schema_for!(WitnessLine)
}

/// Sets the pattern of a type that is written as a string.
macro_rules! string_schema {
    ($name:ident, $pattern:expr, $description:expr) => {
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "description": $description })
            }
        }
    };
}

string_schema!(Span, r"^([0-9.]+(ms|us|s|m|h))+$", "A span of time with units: 12s, 250ms, 1m30s.");
string_schema!(Times, r"^[0-9a-z.]*\.\.[0-9a-z.]*$", "A range of time: 5s..20s, 5s.. or ..20s.");
string_schema!(
    Endpoint,
    r"^(stop|exec .*|[^:@]+:.*|[^:@]+@(connections|listen))$",
    "An endpoint: listener:/path, listener:service, listener@connections, listener@listen, exec name, stop."
);

impl JsonSchema for Size {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size in bytes, plain or with a binary unit: 10241, 10KiB.",
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "pattern": "^[0-9]+ ?(B|KiB|MiB|GiB)?$" }]
        })
    }
}

impl JsonSchema for Counts {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Counts".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^([0-9]+|[0-9]+-[0-9]*|every [0-9]+)$" }
            ]
        });
        json_schema!({
            "description": "Counts: 5, 4-6 (both included), 4-, every 3, or a list of these.",
            "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }]
        })
    }
}

impl<A: JsonSchema> JsonSchema for Script<A> {
    fn schema_name() -> Cow<'static, str> {
        format!("ScriptOf{}", A::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let answer = generator.subschema_for::<A>();
        let step = generator.subschema_for::<Step<A>>();
        json_schema!({
            "description": "A list of steps, the first whose conditions hold answers; or one answer that is always given.",
            "anyOf": [answer, { "type": "array", "items": step, "minItems": 1 }]
        })
    }
}
