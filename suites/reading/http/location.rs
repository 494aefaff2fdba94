//! The URL to which a `Location` leads, as the HTTP client of the reference implementation parses it.
//!
//! Only a `Location` that all clients read in the same way is used. Any other is [`Reference::Odd`], and no judge
//! decides anything from it.

/// The ports of the schemes (RFC 9110, section 4.2).
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// The parts of a URL that matter for a redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    /// The host as written, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query.
    pub(crate) target: String,
}

/// The meaning of a `Location`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// This URL.
    To(Url),
    /// Nothing: it cannot be read as a URL.
    Malformed,
    /// Something that clients read in different ways.
    Odd,
}

impl Url {
    /// Where a `Location` in the answer to a request for this URL leads.
    pub(crate) fn resolve(&self, location: &str) -> Reference {
        let location = location.split('#').next().unwrap_or_default();
        if location.starts_with(':') || broken_escape(location) {
            return Reference::Malformed;
        }
        if !location.chars().all(|c| c.is_ascii_graphic()) {
            return Reference::Odd;
        }
        if let Some(rest) = location.strip_prefix("//") {
            return with_authority(&self.scheme, rest);
        }
        let head = location.split(['/', '?']).next().unwrap_or_default();
        if let Some((scheme, _)) = head.split_once(':') {
            let word = scheme.chars().all(|c| c.is_ascii_alphanumeric());
            return match location.split_once("://") {
                Some((_, rest)) if word => with_authority(&scheme.to_ascii_lowercase(), rest),
                _ => Reference::Odd,
            };
        }
        let path = self.target.split('?').next().unwrap_or_default();
        let target = match location.chars().next() {
            Some('/') => location.to_owned(),
            Some('?') => format!("{path}{location}"),
            _ => format!("{}/{location}", path.rsplit_once('/').map_or("", |(folder, _)| folder)),
        };
        if target.split(['/', '?']).any(|part| part == "." || part == "..") {
            return Reference::Odd;
        }
        Reference::To(Self { target, ..self.clone() })
    }
}

/// What follows `scheme://`.
fn with_authority(scheme: &str, rest: &str) -> Reference {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let target = if tail.starts_with('/') { tail.to_owned() } else { format!("/{tail}") };
    let default = if scheme == "https" { HTTPS_PORT } else { HTTP_PORT };
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => match bracketed.split_once(']') {
            Some((host, port)) => (host, port),
            None => return Reference::Malformed,
        },
        None => {
            let (host, port) = authority.split_at(authority.rfind(':').unwrap_or(authority.len()));
            // Go up to 1.25 takes what follows the last colon for the port, as in an IPv6 address without brackets.
            // Go 1.26 rejects such a URL.
            if host.contains(':') && port.chars().skip(1).all(|c| c.is_ascii_digit()) {
                return Reference::Odd;
            }
            (host, port)
        }
    };
    if host.is_empty() || authority.contains('@') {
        return Reference::Odd;
    }
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => default,
        Some("") => default,
        Some(digits) if digits.chars().all(|c| c.is_ascii_digit()) => match digits.parse() {
            Ok(port) => port,
            Err(_) => return Reference::Odd,
        },
        _ => return Reference::Malformed,
    };
    Reference::To(Url { scheme: scheme.to_owned(), host: host.to_owned(), port, target })
}

/// Whether a `%` in the path is not followed by two hexadecimal digits.
fn broken_escape(location: &str) -> bool {
    let path = location.split('?').next().unwrap_or_default();
    path.match_indices('%').any(|(at, _)| {
        let digits = path.get(at + 1..at + 3).unwrap_or_default();
        digits.len() < 2 || !digits.chars().all(|c| c.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests;
