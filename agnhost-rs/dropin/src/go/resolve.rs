//! Resolves `host:port` to addresses, with the error texts of Go's resolver.
//!
//! IPv4 comes first, because Go prefers it if only one address is used. Port names such as `http` are not looked up: no
//! test uses them, and the image has no table of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

/// Splits `host:port` or `[v6]:port`; the error is Go's.
pub(crate) fn split_host_port(target: &str) -> Result<(&str, &str), String> {
    let fail = |what: &str| Err(format!("address {target}: {what}"));
    let Some(colon) = target.rfind(':') else {
        return fail("missing port in address");
    };
    let (host, port) = (&target[..colon], &target[colon + 1..]);
    match host.strip_prefix('[') {
        Some(inner) => match inner.strip_suffix(']') {
            Some(inner) if !inner.contains(['[', ']']) => Ok((inner, port)),
            _ if target.ends_with(']') => fail("missing port in address"),
            _ => fail("missing ']' in address"),
        },
        None if host.contains(':') => fail("too many colons in address"),
        None if host.contains(['[', ']']) => fail("unexpected bracket in address"),
        None => Ok((host, port)),
    }
}

/// All addresses of a host with a port, IPv4 first. An empty host is this machine.
pub(crate) fn addresses(network: &str, host: &str, port: &str) -> Result<Vec<SocketAddr>, String> {
    let number = port_number(network, port)?;
    if host.is_empty() {
        return Ok(vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), number)]);
    }
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, number)]);
    }
    let mut found: Vec<SocketAddr> =
        (host, number).to_socket_addrs().map_err(|_| format!("lookup {host}: no such host"))?.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    if found.is_empty() { Err(format!("lookup {host}: no such host")) } else { Ok(found) }
}

fn port_number(network: &str, port: &str) -> Result<u16, String> {
    if port.is_empty() {
        return Ok(0);
    }
    match port.parse::<i64>() {
        Ok(number) => u16::try_from(number).map_err(|_| format!("address {port}: invalid port")),
        Err(_) => Err(format!("lookup {network}/{port}: unknown port")),
    }
}

#[cfg(test)]
mod tests {
    use super::{addresses, split_host_port};

    #[test]
    fn an_address_without_port_is_told_so() {
        assert_eq!(split_host_port("foo"), Err("address foo: missing port in address".to_owned()));
        assert_eq!(split_host_port("[::1]"), Err("address [::1]: missing port in address".to_owned()));
        assert_eq!(split_host_port("::1:80"), Err("address ::1:80: too many colons in address".to_owned()));
        assert_eq!(split_host_port("[::1]:80"), Ok(("::1", "80")));
    }

    #[test]
    fn a_port_that_is_a_word_is_unknown() {
        assert_eq!(addresses("tcp", "127.0.0.1", "abc"), Err("lookup tcp/abc: unknown port".to_owned()));
        assert_eq!(addresses("tcp", "127.0.0.1", "99999"), Err("address 99999: invalid port".to_owned()));
    }
}
