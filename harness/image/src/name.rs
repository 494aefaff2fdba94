//! Fully qualified image names. Short forms (`agnhost-rs`, `agnhost-rs:dev`) are rejected. Every tool completes them in
//! its own way, so an image with a short name would have different names on different nodes.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// `registry/repository:tag`, for example `probity.local/agnhost-rs:dev`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageName {
    repository: String,
    tag: String,
}

impl ImageName {
    /// Joins a repository including its registry, such as `probity.local/agnhost-rs`, and a tag, such as `dev`.
    pub fn new(repository: &str, tag: &str) -> Result<Self, Error> {
        format!("{repository}:{tag}").parse()
    }

    /// The name without its tag: `probity.local/agnhost-rs`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Only the tag: `dev`.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.repository, self.tag)
    }
}

impl FromStr for ImageName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        split(name)
            .map(|(repository, tag)| Self { repository: repository.to_owned(), tag: tag.to_owned() })
            .map_err(|problem| Error::Name { name: name.to_owned(), problem })
    }
}

/// Splits a name into repository and tag, or returns the problem with the name.
fn split(name: &str) -> Result<(&str, &str), String> {
    if name.contains('@') {
        return Err("a digest cannot be part of a name here, because it follows from the content".to_owned());
    }
    let last = name.rfind('/').ok_or("the registry is missing")?;
    let colon = name[last..].rfind(':').map(|at| at + last).ok_or("the tag is missing")?;
    let (repository, tag) = (&name[..colon], &name[colon + 1..]);
    let (registry, path) = repository.split_once('/').ok_or("the registry is missing")?;
    check_registry(registry)?;
    for part in path.split('/') {
        check_path_part(part)?;
    }
    check_tag(tag)?;
    if repository.len() > 255 {
        return Err(format!("{} characters before the tag; the maximum is 255", repository.len()));
    }
    Ok((repository, tag))
}

/// Checks the registry. A first part without a dot, a port or `localhost` would be taken for a path on Docker Hub.
fn check_registry(registry: &str) -> Result<(), String> {
    let (host, port) = registry.split_once(':').map_or((registry, None), |(host, port)| (host, Some(port)));
    if !(host.contains('.') || port.is_some() || host == "localhost") {
        return Err(format!("{registry:?} is not a registry (it has no dot)"));
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if !host.split('.').all(label) || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(format!("{registry:?} is not a host name with an optional port"));
    }
    Ok(())
}

/// Allows lowercase letters and digits, separated by one dot, one or two underscores, or dashes.
fn check_path_part(part: &str) -> Result<(), String> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let edges = part.starts_with(word) && part.ends_with(word);
    let separators = part
        .split(word)
        .filter(|s| !s.is_empty())
        .all(|s| matches!(s, "." | "_" | "__") || s.bytes().all(|b| b == b'-'));
    if edges && separators {
        return Ok(());
    }
    Err(format!("{part:?} may contain only lower-case letters and digits, with . _ __ or - between them"))
}

/// Allows up to 128 letters, digits, dots, dashes and underscores, not starting with a dot or a dash.
fn check_tag(tag: &str) -> Result<(), String> {
    let allowed = tag.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if allowed && (1..=128).contains(&tag.len()) && !tag.starts_with(['.', '-']) {
        return Ok(());
    }
    Err(format!("{tag:?} is not a tag (1 to 128 letters, digits, . _ -, not starting with . or -)"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_full_name_keeps_its_parts() {
        for name in ["probity.local/agnhost-rs:dev", "localhost:5000/a/b__c/d-e.f:V1_x", "localhost/x:1"] {
            assert_eq!(name.parse::<ImageName>().unwrap().to_string(), name);
        }
        let name = ImageName::new("probity.local:5000/agnhost-rs", "dev").unwrap();
        assert_eq!((name.repository(), name.tag()), ("probity.local:5000/agnhost-rs", "dev"));
    }

    #[test]
    fn what_is_not_a_full_name_is_refused_with_the_reason() {
        for (name, word) in [
            ("agnhost-rs:dev", "registry is missing"),
            ("library/agnhost-rs:dev", "no dot"),
            ("probity.local/agnhost-rs", "tag is missing"),
            ("probity.local:5000/agnhost-rs", "tag is missing"),
            ("probity.local/Agnhost:dev", "lower-case"),
            ("probity.local/a..b:dev", "lower-case"),
            ("probity.local//b:dev", "lower-case"),
            ("probity.local/a:-dev", "not a tag"),
            ("probity.local/a:", "not a tag"),
            ("probity.local:port/a:dev", "host name"),
            ("probity..local/a:dev", "host name"),
            ("probity.local/a@sha256:0", "digest"),
        ] {
            let said = name.parse::<ImageName>().unwrap_err().to_string();
            assert!(said.contains(word), "{name}: {said}");
        }
    }
}
