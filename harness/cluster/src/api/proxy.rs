//! The proxy between the harness and the API server, chosen as kubectl chooses it.
//!
//! A `proxy-url` in the kubeconfig always applies. Without one, `HTTPS_PROXY` applies, unless the API server has a
//! loopback address or `NO_PROXY` names its host. kube's own choice is replaced, because kube compares `NO_PROXY` with
//! the host of the proxy instead of the host of the API server.

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use kube::config::Kubeconfig;

use crate::error::ClusterError;

/// The port of an API server whose address has none.
const USUAL_PORT: u16 = 443;

/// A proxy, and where it was configured.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) uri: Uri,
    source: &'static str,
}

impl fmt::Display for Proxy {
    /// The proxy without its user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host) = (self.uri.scheme_str().unwrap_or_default(), self.uri.host().unwrap_or_default());
        let port = self.uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        write!(f, "the proxy {scheme}://{host}{port} ({})", self.source)
    }
}

/// The `proxy-url` of a context.
pub(super) fn named(kubeconfig: &Kubeconfig, context: &str) -> Option<String> {
    let context = kubeconfig.contexts.iter().find(|one| one.name == context)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter().find(|one| one.name == context.cluster)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|url| !url.is_empty())
}

/// The proxy for an API server: the one named in the kubeconfig, or the one that the variables of the environment name.
/// Fails if it cannot be used.
pub(super) fn choose(
    api_server: &Uri,
    named: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, ClusterError> {
    if let Some(url) = named {
        return read(url, "proxy-url in the kubeconfig").map(Some);
    }
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let Some((source, url)) =
        ["HTTPS_PROXY", "https_proxy"].iter().find_map(|name| Some((*name, set(name)?)))
    else {
        return Ok(None);
    };
    let exempt = ["NO_PROXY", "no_proxy"].iter().find_map(set).unwrap_or_default();
    if is_exempt(api_server, &exempt) { Ok(None) } else { read(&url, source).map(Some) }
}

fn read(url: &str, source: &'static str) -> Result<Proxy, ClusterError> {
    // The URL can contain a password, so the error does not show it.
    let unusable = |error: &str| ClusterError::Proxy {
        proxy: format!("the proxy of {source}"),
        error: error.to_owned(),
    };
    let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let uri: Uri = whole.parse().map_err(|_| unusable("its URL is not valid"))?;
    match uri.scheme_str() {
        Some("http" | "https") => Ok(Proxy { uri, source }),
        _ => Err(unusable("its URL must begin with http:// or https://; other proxies are not supported")),
    }
}

/// Whether an API server is reached without the proxy: its address is a loopback address, or the value of `NO_PROXY`
/// contains it.
fn is_exempt(api_server: &Uri, no_proxy: &str) -> bool {
    let host = without_brackets(api_server.host().unwrap_or_default()).to_ascii_lowercase();
    let port = api_server.port_u16().unwrap_or(USUAL_PORT);
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let entries = no_proxy.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(str::to_ascii_lowercase).any(|entry| match (entry.split_once('/'), address) {
        _ if entry == "*" => true,
        (Some((network, bits)), Some(address)) => is_in(address, network, bits).unwrap_or(false),
        (Some(_), None) => false,
        (None, _) => is_named(&host, port, address, &entry),
    })
}

/// Whether an entry names a host: by its address, by its name, or by a domain that contains it.
fn is_named(host: &str, port: u16, address: Option<IpAddr>, entry: &str) -> bool {
    if let Ok(listed) = without_brackets(entry).parse::<IpAddr>() {
        return address == Some(listed);
    }
    let (name, of_port) = match entry.rsplit_once(':') {
        Some((name, of_port)) => (without_brackets(name), of_port.parse().ok()),
        None => (entry, None),
    };
    if of_port.is_some_and(|of_port: u16| of_port != port) {
        return false;
    }
    let name = name.trim_start_matches('*');
    let domain = name.trim_start_matches('.');
    let is_below = host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    !domain.is_empty() && (is_below || host == name)
}

/// Whether an address is in a network such as `10.0.0.0/8`. `None` if this is not the name of a network.
fn is_in(address: IpAddr, network: &str, bits: &str) -> Option<bool> {
    let (network, bits): (IpAddr, u32) = (network.parse().ok()?, bits.parse().ok()?);
    let (network, address, width) = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (u128::from(network.to_bits()), u128::from(address.to_bits()), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
        _ => return Some(false),
    };
    let host_bits: u32 = u32::checked_sub(width, bits)?;
    Some((network ^ address).checked_shr(host_bits).unwrap_or(0) == 0)
}

fn without_brackets(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const SERVER: &str = "https://api.example.com:6443";

    fn chosen(server: &str, named: Option<&str>, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        choose(&server.parse().unwrap(), named, variable).unwrap().map(|proxy| proxy.to_string())
    }

    #[test]
    fn a_proxy_of_the_environment_is_used_and_its_password_is_not_shown() {
        let said = chosen(SERVER, None, &[("https_proxy", "http://me:secret@proxy:3128")]);
        assert_eq!(said.as_deref(), Some("the proxy http://proxy:3128 (https_proxy)"));
        let said = chosen(SERVER, None, &[("HTTPS_PROXY", "proxy:3128"), ("https_proxy", "http://other")]);
        assert_eq!(said.as_deref(), Some("the proxy http://proxy:3128 (HTTPS_PROXY)"));
        assert_eq!(chosen(SERVER, None, &[("HTTP_PROXY", "http://proxy")]), None);
    }

    #[test]
    fn no_proxy_names_the_api_server_and_not_the_proxy() {
        let without = |server: &str, no_proxy: &str| {
            let variables = [("HTTPS_PROXY", "http://proxy.corp.com:3128"), ("NO_PROXY", no_proxy)];
            chosen(server, None, &variables).is_none()
        };
        for entries in ["example.com", ".example.com", "*.example.com", "a,, API.example.com:6443", "*"] {
            assert!(without(SERVER, entries), "{entries}");
        }
        for entries in
            ["", "proxy.corp.com", ".corp.com", "ample.com", "api.example.com:443", "10.0.0.0/8", ".", "/"]
        {
            assert!(!without(SERVER, entries), "{entries}");
        }
        assert!(without("https://10.1.2.3", "10.0.0.0/8") && without("https://10.1.2.3", "10.1.2.3:443"));
        assert!(!without("https://11.1.2.3", "10.0.0.0/8") && !without("https://10.1.2.3", "10.1.2.3/33"));
        assert!(
            without("https://[fd00::7]:6443", "fd00::/8") && without("https://[fd00::7]:6443", "[fd00::7]")
        );
        assert!(without("https://10.1.2.3", "0.0.0.0/0") && without("https://[fd00::7]", "::/0"));
    }

    #[test]
    fn a_cluster_on_this_machine_needs_no_proxy_unless_its_kubeconfig_names_one() {
        let variables = [("HTTPS_PROXY", "http://proxy")];
        for server in ["https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443"] {
            assert_eq!(chosen(server, None, &variables), None, "{server}");
            let said = chosen(server, Some("http://named"), &[("NO_PROXY", "*")]);
            assert_eq!(said.as_deref(), Some("the proxy http://named (proxy-url in the kubeconfig)"));
        }
    }

    #[test]
    fn a_proxy_of_another_kind_is_an_error_without_its_password() {
        let error = choose(&SERVER.parse().unwrap(), Some("socks5://me:secret@proxy"), |_| None).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("proxy-url in the kubeconfig") && said.contains("http://"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
