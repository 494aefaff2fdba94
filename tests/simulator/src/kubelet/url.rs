//! URLs of HTTP probes, and the references in redirects, parsed as a Go client parses them.

/// A URL.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Url {
    pub(super) scheme: String,
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) target: String,
}

impl Url {
    pub(super) fn place(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }

    pub(super) fn text(&self) -> String {
        format!("{}://{}{}", self.scheme, self.place(), self.target)
    }

    /// Resolves a reference relative to this URL; `None` if the reference is invalid.
    pub(super) fn join(&self, reference: &str) -> Option<(Self, bool)> {
        let percent = |at: usize| {
            reference.get(at + 1..at + 3).is_some_and(|hex| hex.chars().all(|c| c.is_ascii_hexdigit()))
        };
        let sound = !reference.contains(|c: char| c.is_ascii_control())
            && reference.match_indices('%').all(|(at, _)| percent(at))
            && !reference.starts_with(':');
        if !sound {
            return None;
        }
        let scheme = reference.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
            !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        });
        let rest = scheme.map_or(reference, |scheme| &reference[scheme.len() + 1..]);
        let rest = rest.split('#').next().unwrap_or_default();
        let scheme_of = scheme.map_or_else(|| self.scheme.clone(), str::to_ascii_lowercase);
        if let Some(rest) = rest.strip_prefix("//") {
            let (place, target) = rest.find(['/', '?']).map_or((rest, "/"), |at| rest.split_at(at));
            let (host, port) = match place.rsplit_once(':') {
                Some((host, port)) => (host, Some(port.parse().ok()?)),
                None => (place, None),
            };
            if host.contains(['[', ' ', ']']) {
                return None;
            }
            let target = if target.starts_with('?') { format!("/{target}") } else { target.to_owned() };
            return Some((Self { scheme: scheme_of, host: host.to_owned(), port, target }, true));
        }
        if scheme.is_some() {
            return Some((
                Self { scheme: scheme_of, host: String::new(), port: None, target: rest.to_owned() },
                true,
            ));
        }
        let path = self.target.split('?').next().unwrap_or_default();
        let target = match rest.chars().next() {
            None => self.target.clone(),
            Some('/') => rest.to_owned(),
            Some('?') => format!("{path}{rest}"),
            Some(_) => format!("{}/{rest}", path.rsplit_once('/').map_or("", |(folder, _)| folder)),
        };
        Some((Self { target, ..self.clone() }, false))
    }
}

#[cfg(test)]
mod tests {
    use super::Url;

    fn from(reference: &str) -> Option<(String, bool)> {
        let (scheme, host, port) = ("http".to_owned(), "10.0.0.7".to_owned(), Some(8080));
        let url = Url { scheme, host, port, target: "/a/b?c".to_owned() };
        url.join(reference).map(|(url, absolute)| (url.text(), absolute))
    }

    #[test]
    fn references_are_read_from_where_they_stand() {
        for (reference, text, absolute) in [
            ("/x?y", "http://10.0.0.7:8080/x?y", false),
            ("x", "http://10.0.0.7:8080/a/x", false),
            ("?z", "http://10.0.0.7:8080/a/b?z", false),
            ("https://10.0.0.7:8443/ok#top", "https://10.0.0.7:8443/ok", true),
            ("http://other.invalid", "http://other.invalid/", true),
            ("//10.0.0.8/x", "http://10.0.0.8/x", true),
        ] {
            assert_eq!(from(reference), Some((text.to_owned(), absolute)), "{reference}");
        }
    }

    #[test]
    fn what_is_no_reference_leads_nowhere() {
        for reference in ["/%zz", ":", "http://[::1/x", "http://host:port/x", "/a\u{1}b"] {
            assert_eq!(from(reference), None, "{reference}");
        }
    }
}
