//! Answers that are written as one word, as a number, or as a map of settings.
//!
//! `answer: hang`, `answer: 503` and `answer: { status: 503, delay: 2s }` are values of the same type. Serde's own way
//! to express this (`untagged`) loses the position and the cause of an error. So this module distinguishes the three
//! forms by the kind of value in the document, and then reads each form with precise errors.

/// Defines the written forms of an enum of plain words with one variant for settings.
///
/// `word_or_settings! { Answer: "what is expected", { "hang" => Hang }, or ["a status number"], settings Reply(HttpReply),
/// numbers Some((200, 599)), number |n| ... }`. `or` names the forms that are not words, for the error about an unknown
/// word. The range of numbers that `number` accepts is for the schema.
macro_rules! word_or_settings {
    ($name:ident, $expected:literal, { $($word:literal => $variant:ident),+ $(,)? }, or [$($form:literal),+],
     settings $with:ident($settings:ty), numbers $numbers:expr, number $number:expr) => {
        impl $name {
            /// The words that stand for an answer without settings.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for this answer. `None` if it has settings.
            #[must_use]
            pub fn word(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some($word),)+
                    Self::$with(_) => None,
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::$with(settings) => settings.serialize(serializer),
                    word => serializer.serialize_str(word.word().unwrap_or_default()),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct AnswerVisitor;
                impl<'de> serde::de::Visitor<'de> for AnswerVisitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<$name, E> {
                        match word {
                            $($word => Ok($name::$variant),)+
                            _ => Err(E::unknown_variant(word, &[$($word,)+ $($form),+])),
                        }
                    }
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$name, E> {
                        let from_number: fn(u64) -> Result<$settings, String> = $number;
                        from_number(number).map($name::$with).map_err(E::custom)
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$name, A::Error> {
                        let settings = serde::de::value::MapAccessDeserializer::new(map);
                        <$settings as serde::Deserialize>::deserialize(settings).map($name::$with)
                    }
                }
                deserializer.deserialize_any(AnswerVisitor)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let settings = generator.subschema_for::<$settings>();
                let numbers: Option<(u64, u64)> = $numbers;
                let mut forms = vec![schemars::json_schema!({ "enum": Self::WORDS }), settings];
                if let Some((least, most)) = numbers {
                    forms.push(schemars::json_schema!({ "type": "integer", "minimum": least, "maximum": most }));
                }
                schemars::json_schema!({ "description": $expected, "anyOf": forms })
            }
        }
    };
}

pub(crate) use word_or_settings;
