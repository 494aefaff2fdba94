//! Variants of the target's image: other images that contain the same program and have the same name with a longer tag.
//!
//! `probity image` writes them all into one archive. A container of a case requests one with `image: "{image:WORD}"`.

use probity_script::problem::pin;
use serde_json::Value;

use crate::names::there_is;

/// The words that a case can use, each with what is different in the variant.
pub const VARIANTS: [(&str, &str); 2] =
    [("2", "the same behavior under another digest"), ("sigusr1", "STOPSIGNAL SIGUSR1")];

const START: &str = "{image:";

/// The lists of a pod's spec that have containers with images.
const LISTS: [&str; 2] = ["initContainers", "containers"];

/// The word in an image that requests a variant, whether or not that variant exists.
#[must_use]
pub fn asked_in(image: &str) -> Option<&str> {
    image.strip_prefix(START)?.strip_suffix('}')
}

/// The image of a variant of this image. None if the image has no tag that can be extended.
#[must_use]
pub fn reference(image: &str, word: &str) -> Option<String> {
    let last = image.rsplit('/').next()?;
    let tagged = last.contains(':') && !image.contains('@');
    tagged.then(|| format!("{image}-{word}"))
}

/// The images of all variants, by placeholder. An image without a tag has no variants.
pub fn references(image: &str) -> impl Iterator<Item = (String, String)> {
    VARIANTS.into_iter().filter_map(|(word, _)| Some((format!("image:{word}"), reference(image, word)?)))
}

/// Whether a container requests a variant.
pub(super) fn is_asked_by(container: &Value) -> bool {
    container["image"].as_str().is_some_and(|image| asked_in(image).is_some())
}

/// The words of the variants that the containers of a pod's spec request.
pub(crate) fn asked_of(spec: &Value) -> impl Iterator<Item = &str> {
    let containers = LISTS.into_iter().filter_map(|list| spec[list].as_array()).flatten();
    containers.filter_map(|container| asked_in(container["image"].as_str()?))
}

/// Rejects a variant that does not exist, in the spec of a pod or in a patch of one.
pub(crate) fn check(spec: &Value, path: &[String]) -> Result<(), String> {
    let known = VARIANTS.map(|(word, _)| word);
    for list in LISTS {
        for (at, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            let word = container["image"].as_str().and_then(asked_in);
            let Some(word) = word.filter(|word| !known.contains(word)) else { continue };
            let why = format!("the target's image has no variant `{word}`{}", there_is(word, known));
            let at = [list, &at.to_string(), "image"].map(str::to_owned);
            return Err(pin(&why, &[path, &at].concat()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_has_a_longer_tag_and_an_image_without_a_tag_has_none() {
        let of = |image: &str| reference(image, "sigusr1");
        assert_eq!(
            of("probity.local/agnhost-rs:dev").as_deref(),
            Some("probity.local/agnhost-rs:dev-sigusr1")
        );
        assert_eq!(of("localhost:5000/a:v1").as_deref(), Some("localhost:5000/a:v1-sigusr1"));
        assert_eq!(of("localhost:5000/a"), None);
        assert_eq!(of("probity.local/a:dev@sha256:0"), None);
    }

    #[test]
    fn only_a_placeholder_asks_for_a_variant() {
        assert_eq!(asked_in("{image:sigusr1}"), Some("sigusr1"));
        assert_eq!(asked_in("{image:odd}"), Some("odd"));
        assert_eq!(asked_in("probity.local/agnhost-rs:dev"), None);
    }
}
