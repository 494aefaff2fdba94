//! HTTP/1.1 as text: heads are read, changed and written. Unchanged parts keep their bytes.

use std::net::Ipv4Addr;

use super::fault::{Judge, Outcome, Request};

/// The head of a request or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The first line.
    pub(super) start: String,
    /// The header fields as received, in their order.
    pub(super) fields: Vec<(String, String)>,
}

/// Where the head ends, if it is complete.
#[must_use]
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

impl Head {
    /// Reads a head. `None` if it is not HTTP.
    #[must_use]
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.strip_suffix("\r\n\r\n")?.split("\r\n");
        let start = lines.next().filter(|line| line.contains("HTTP/"))?.to_owned();
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim().to_owned()))
        };
        Some(Self { start, fields: lines.map(field).collect::<Option<_>>()? })
    }

    /// Writes it.
    #[must_use]
    pub(super) fn bytes(&self) -> Vec<u8> {
        let fields: String = self.fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("{}\r\n{fields}\r\n", self.start).into_bytes()
    }

    /// The first value of a header field.
    #[must_use]
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Removes a header field.
    pub(super) fn remove(&mut self, name: &str) {
        self.fields.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
    }

    /// Sets a header field, in its place or at the end.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        match self.fields.iter_mut().find(|(given, _)| given.eq_ignore_ascii_case(name)) {
            Some((_, old)) => value.clone_into(old),
            None => self.fields.push((name.to_owned(), value.to_owned())),
        }
    }

    /// The target of a request.
    #[must_use]
    pub(super) fn target(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or("/")
    }

    /// The path of a request, without its query.
    #[must_use]
    pub(super) fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or("/")
    }

    /// The status of an answer.
    #[must_use]
    pub(super) fn status(&self) -> Option<u16> {
        self.start.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok()
    }

    /// Changes a request.
    pub(super) fn alter(&mut self, change: &Request) {
        let mut words = self.start.splitn(3, ' ').map(str::to_owned);
        let (method, target, version) = (words.next(), words.next(), words.next());
        let (path, query) = match target.as_deref().and_then(|target| target.split_once('?')) {
            Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
            None => (target.unwrap_or_default(), None),
        };
        let path = change.path.clone().unwrap_or(path);
        let target = match query.filter(|_| !change.without_query) {
            Some(query) => format!("{path}?{query}"),
            None => path,
        };
        let method = change.method.clone().or(method).unwrap_or_default();
        let version = change.version.clone().or(version).unwrap_or_default();
        self.start = format!("{method} {target} {version}");
        alter_fields(&mut self.fields, change);
    }

    /// Judges an answer with different rules.
    pub(super) fn judge(&mut self, judge: &Judge) {
        let Some(status) = self.status() else { return };
        let fits = |rule: &&super::fault::StatusRule| {
            (rule.from..=rule.up_to.unwrap_or(rule.from)).contains(&status)
        };
        let Some(rule) = judge.statuses.iter().find(fits) else { return };
        let version = self.start.split(' ').next().unwrap_or("HTTP/1.1");
        self.start = format!("{version} {} judged", rule.to);
        let had_no_body = status == 204 || status == 304;
        if had_no_body && self.get("content-length").is_none() {
            self.set("Content-Length", "0");
        }
    }
}

fn alter_fields(fields: &mut Vec<(String, String)>, change: &Request) {
    let is = |given: &str, name: &str| given.eq_ignore_ascii_case(name);
    fields.retain(|(name, _)| !change.remove.iter().any(|gone| is(name, gone)));
    for header in &change.set {
        match fields.iter_mut().find(|(name, _)| is(name, &header.name)) {
            Some((_, value)) => value.clone_from(&header.value),
            None => fields.push((header.name.clone(), header.value.clone())),
        }
    }
    fields.extend(change.add.iter().map(|header| (header.name.clone(), header.value.clone())));
    if change.first_of_each {
        let mut seen = Vec::new();
        fields.retain(|(name, _)| {
            let name = name.to_ascii_lowercase();
            let is_first = !seen.contains(&name);
            seen.push(name);
            is_first
        });
    }
    if change.reversed {
        fields.reverse();
    }
}

/// An answer that the proxy itself creates.
#[must_use]
pub(super) fn instead(outcome: Outcome) -> Vec<u8> {
    let status = match outcome {
        Outcome::Success => "200 OK",
        Outcome::Failure => "503 Service Unavailable",
    };
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
}

/// Whether an answer is complete according to its head. Without a length, it lasts until the connection ends.
#[must_use]
pub(super) fn is_whole(head: &Head, body: &[u8]) -> bool {
    if matches!(head.status(), Some(204 | 304)) {
        return true;
    }
    if head.get("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return body.ends_with(b"0\r\n\r\n");
    }
    head.get("content-length")
        .and_then(|length| length.parse::<u64>().ok())
        .is_some_and(|length| u64::try_from(body.len()).is_ok_and(|have| have >= length))
}

/// Where a redirect leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// With TLS.
    pub(super) secure: bool,
    /// The host; `None` if it is not given.
    pub(super) host: Option<String>,
    /// The port; `None` if it is not given.
    pub(super) port: Option<u16>,
    /// Path and query.
    pub(super) target: String,
}

/// Reads a `Location`. `secure` is whether the answered request used TLS.
#[must_use]
pub(super) fn place(location: &str, secure: bool) -> Place {
    let (secure, rest) = match location.split_once("://") {
        Some((scheme, rest)) => (scheme.eq_ignore_ascii_case("https"), rest),
        None => match location.strip_prefix("//") {
            Some(rest) => (secure, rest),
            None => return Place { secure, host: None, port: None, target: rooted(location) },
        },
    };
    let cut = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(cut);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()),
        None => (authority, None),
    };
    let port = port.or(Some(if secure { 443 } else { 80 }));
    Place { secure, host: Some(host.to_owned()), port, target: rooted(target) }
}

fn rooted(target: &str) -> String {
    if target.starts_with('/') { target.to_owned() } else { format!("/{target}") }
}

impl Place {
    /// The address of its host, if the host is an address or absent. Names are not resolved here.
    #[must_use]
    pub(super) fn address(&self, own: Ipv4Addr) -> Option<Ipv4Addr> {
        self.host.as_ref().map_or(Some(own), |host| host.parse().ok())
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
