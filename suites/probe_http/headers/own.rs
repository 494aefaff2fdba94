//! The headers that a probe has by itself: User-Agent and Accept, which a spec may replace or remove.

use probity_model::verdict::Doubt;
use probity_model::version::minor;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::arrivals::{Arrival, arrivals};

/// The headers that can be replaced.
const OWN: [&str; 2] = ["User-Agent", "Accept"];

/// Without another one, User-Agent tells the kubelet's version. Where the version cannot be read, nothing is concluded
/// from a User-Agent that has the right form.
pub(super) fn user_agent(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run).into_iter().filter(|arrival| arrival.get.sets("User-Agent").next().is_none())
    {
        let asked = arrival.hit.asked;
        let sent: Vec<&str> = asked.header("user-agent").collect();
        let version = match sent.as_slice() {
            [agent] => agent.strip_prefix("kube-probe/").and_then(minor),
            _ => None,
        };
        let node = run.history.header.nodes.get(&arrival.hit.attempt.node);
        let kubelet = node.and_then(|node| minor(node.kubelet.trim_start_matches('v')));
        let words = arrival.get.words();
        match (version, kubelet) {
            (None, _) => {
                let finding = format!("{words} came with the User-Agent {}", list(&sent));
                seen.violated(finding, [asked.id]);
            }
            (Some(version), Some(kubelet)) if version == kubelet => seen.fine([asked.id]),
            (Some(_), Some((major, minor))) => {
                let finding = format!(
                    "{words} came with the User-Agent {} from a kubelet {major}.{minor}",
                    list(&sent)
                );
                seen.violated(finding, [asked.id]);
            }
            (Some(_), None) if run.history.header.judges.contains(&clause.id) => {
                let why = "the kubelet's version is not known: the harness may not read nodes";
                seen.doubt(Doubt::Ambiguous, why, [asked.id]);
            }
            (Some(_), None) => seen.applies(),
        }
    }
}

/// Without another one, Accept is `*/*`.
pub(super) fn accept(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run).into_iter().filter(|arrival| arrival.get.sets("Accept").next().is_none()) {
        expect(&arrival, "Accept", &["*/*"], seen);
    }
}

/// Besides Host, User-Agent and Accept nothing is sent; upstream adds `Connection: close`.
pub(super) fn nothing_else(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run).into_iter().filter(|arrival| arrival.get.headers.is_empty()) {
        let asked = arrival.hit.asked;
        if !asked.request.protocol.starts_with("HTTP/1") {
            continue;
        }
        let mut names: Vec<String> =
            asked.request.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort_unstable();
        let closes = asked.header("connection").any(|value| value.eq_ignore_ascii_case("close"));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["accept", "host", "user-agent"] => seen.fine([asked.id]),
            ["accept", "connection", "host", "user-agent"] if closes => {
                let finding = format!("{} came with `Connection: close` too", arrival.get.words());
                seen.diverges(finding, [asked.id]);
            }
            names => {
                let finding =
                    format!("{} came with these headers: {}", arrival.get.words(), names.join(", "));
                seen.violated(finding, [asked.id]);
            }
        }
    }
}

/// A value in the spec takes the place of the usual one.
pub(super) fn overridden(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run) {
        for name in OWN {
            let written: Vec<&str> = arrival.get.sets(name).collect();
            if let [value] = written.as_slice()
                && !value.trim().is_empty()
            {
                expect(&arrival, name, &[value.trim()], seen);
            }
        }
    }
}

/// An empty value in the spec removes the header.
pub(super) fn removed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run) {
        for name in OWN {
            let written: Vec<&str> = arrival.get.sets(name).collect();
            if written == [""] {
                expect(&arrival, name, &[], seen);
            }
        }
    }
}

fn expect(arrival: &Arrival<'_, '_>, name: &str, wanted: &[&str], seen: &mut Seen) {
    let asked = arrival.hit.asked;
    let sent: Vec<&str> = asked.header(name).map(str::trim).collect();
    if sent == wanted {
        seen.fine([asked.id]);
    } else {
        let finding =
            format!("{} came with {name} {} instead of {}", arrival.get.words(), list(&sent), list(wanted));
        seen.violated(finding, [asked.id]);
    }
}

fn list(values: &[&str]) -> String {
    if values.is_empty() { "(none)".to_owned() } else { format!("`{}`", values.join("`, `")) }
}

#[cfg(test)]
mod tests {
    use probity_composer::{Composer, Told};
    use probity_model::history::Header;
    use serde_json::{Value, json};

    use crate::tests::verdict;

    const AGENT: &str = "probe.http.user-agent-default";
    const ACCEPT: &str = "probe.http.accept-default";
    const SET: &str = "probe.http.header-set";
    const OVERRIDE: &str = "probe.http.headers-override";
    const REMOVE: &str = "probe.http.headers-remove";

    fn told(run: &mut Composer, written: &[(&str, &str)], headers: &[(&str, &str)]) {
        let written: Vec<Value> =
            written.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        let get = json!({ "path": "/ready", "port": 8080, "httpHeaders": written });
        let container = json!({ "name": "target", "readinessProbe": { "httpGet": get } });
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        run.http(2.0, &Told { headers, ..Told::get("/ready", 200) });
    }

    /// A probe that is written with some headers, and one request that came with these and no others.
    fn sent(clause: &str, written: &[(&str, &str)], headers: &[(&str, &str)]) -> &'static str {
        let mut run = Composer::new(&[clause]);
        told(&mut run, written, headers);
        verdict(&run.done(), clause)
    }

    #[test]
    fn the_version_of_the_kubelet_holds() {
        assert_eq!(sent(AGENT, &[], &[("User-Agent", "kube-probe/1.36")]), "holds");
        assert_eq!(sent(AGENT, &[], &[("User-Agent", "kube-probe/1.36+")]), "holds");
    }

    #[test]
    fn another_version_another_name_or_none_is_a_violation() {
        assert_eq!(sent(AGENT, &[], &[("User-Agent", "kube-probe/1.35")]), "violated");
        assert_eq!(sent(AGENT, &[], &[("User-Agent", "Go-http-client/1.1")]), "violated");
        assert_eq!(sent(AGENT, &[], &[]), "violated");
    }

    #[test]
    fn a_user_agent_of_the_spec_says_nothing_of_the_default() {
        assert_eq!(sent(AGENT, &[("User-Agent", "mine")], &[("User-Agent", "mine")]), "inconclusive");
    }

    #[test]
    fn an_unknown_kubelet_is_doubt_where_the_case_asks_and_silence_elsewhere() {
        let unknown = |judges: &[&str]| {
            let judges = judges.iter().filter_map(|id| id.parse().ok()).collect();
            let mut run = Composer::with_header(Header { judges, ..Header::default() });
            told(&mut run, &[], &[("User-Agent", "kube-probe/1.36")]);
            verdict(&run.done(), AGENT)
        };
        assert_eq!(unknown(&[AGENT]), "inconclusive");
        assert_eq!(unknown(&[]), "none");
    }

    #[test]
    fn any_type_is_accepted_by_default() {
        assert_eq!(sent(ACCEPT, &[], &[("Accept", "*/*")]), "holds");
        assert_eq!(sent(ACCEPT, &[], &[("Accept", "text/html")]), "violated");
        assert_eq!(sent(ACCEPT, &[], &[]), "violated");
        assert_eq!(sent(ACCEPT, &[("Accept", "")], &[]), "inconclusive");
    }

    #[test]
    fn three_headers_are_as_documented_and_a_fourth_diverges() {
        let mut headers =
            vec![("Host", "10.0.0.7:8080"), ("User-Agent", "kube-probe/1.36"), ("Accept", "*/*")];
        assert_eq!(sent(SET, &[], &headers), "holds");
        headers.push(("Connection", "close"));
        assert_eq!(sent(SET, &[], &headers), "diverges");
        headers.push(("Accept-Encoding", "gzip"));
        assert_eq!(sent(SET, &[], &headers), "violated");
    }

    #[test]
    fn headers_of_the_spec_say_nothing_of_the_usual_set() {
        assert_eq!(sent(SET, &[("X-A", "1")], &[("X-A", "1")]), "inconclusive");
    }

    #[test]
    fn a_value_of_the_spec_replaces_the_usual_one() {
        let written = [("Accept", "application/json")];
        assert_eq!(sent(OVERRIDE, &written, &written), "holds");
        assert_eq!(sent(OVERRIDE, &written, &[("Accept", "*/*")]), "violated");
        assert_eq!(sent(OVERRIDE, &written, &[("Accept", "*/*"), written[0]]), "violated");
        assert_eq!(sent(OVERRIDE, &[("X-A", "1")], &[("X-A", "1")]), "inconclusive");
    }

    #[test]
    fn an_empty_value_removes_the_header() {
        let written = [("User-Agent", "")];
        assert_eq!(sent(REMOVE, &written, &[("Accept", "*/*")]), "holds");
        assert_eq!(sent(REMOVE, &written, &[("User-Agent", "")]), "violated");
        assert_eq!(sent(REMOVE, &written, &[("User-Agent", "Go-http-client/1.1")]), "violated");
        assert_eq!(sent(REMOVE, &[("User-Agent", "mine")], &[("User-Agent", "mine")]), "inconclusive");
    }
}
