use crate::reading::http::location::*;

fn from_r(location: &str) -> String {
    let url = |scheme: &str, host: &str, port, target: &str| Url {
        scheme: scheme.to_owned(),
        host: host.to_owned(),
        port,
        target: target.to_owned(),
    };
    match url("http", "10.0.0.7", 8080, "/a/r?x=1").resolve(location) {
        Reference::To(Url { scheme, host, port, target }) => format!("{scheme} {host} {port} {target}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn references_resolve_against_what_was_asked_for() {
    for (location, meant) in [
        ("/ok", "http 10.0.0.7 8080 /ok"),
        ("ok?y=2#end", "http 10.0.0.7 8080 /a/ok?y=2"),
        ("?y=2", "http 10.0.0.7 8080 /a/r?y=2"),
        ("//other/x", "http other 80 /x"),
        ("https://10.0.0.7:8443/ok", "https 10.0.0.7 8443 /ok"),
        ("HTTPS://[fd00::7]", "https fd00::7 443 /"),
        ("ftp://10.0.0.7/x", "ftp 10.0.0.7 80 /x"),
    ] {
        assert_eq!(from_r(location), meant, "{location}");
    }
}

#[test]
fn what_is_no_url_is_malformed_and_what_is_odd_is_left_alone() {
    for location in [
        "http://10.0.0.7/%zz",
        ":nothing",
        "http://[fd00::7/x",
        "http://10.0.0.7:port/x",
        "http://fd00::7:port/x",
        "/%4",
    ] {
        assert_eq!(from_r(location), "Malformed", "{location}");
    }
    for location in ["../x", "mailto:someone", "http://user@host/", "http:///x", "/a b", "http://h:99999/"] {
        assert_eq!(from_r(location), "Odd", "{location}");
    }
}

#[test]
fn an_ipv6_address_without_brackets_is_odd() {
    for location in ["http://fd00::7:8080/fail", "//fd00::7/x", "http://fd00::/", "http://user:word@host:80/"]
    {
        assert_eq!(from_r(location), "Odd", "{location}");
    }
}
