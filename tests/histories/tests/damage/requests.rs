//! Damages to HTTP probes, whose requests then differ from the documentation in their method, path, headers, connection
//! or redirects.

use probity_model::timeline::{Asked, Handler};
use probity_model::{History, Timeline};
use probity_script::witness::{Fact, Request};

use super::copy::Copy;
use super::course::{Course, courses};
use super::{Damage, violated};

const USER_AGENT: &[&str] = &["probe.http.user-agent-default"];
const ACCEPT: &[&str] = &["probe.http.accept-default"];
const SET: &[&str] = &["probe.http.header-set"];
const HOST: &[&str] = &["probe.http.host-default-pod-ip"];

pub(crate) const ALL: &[Damage] = &[
    violated("User-Agent names another version", USER_AGENT, |run| {
        plain(run, |request| set(request, "User-Agent", "kube-probe/1.99"))
    }),
    violated("User-Agent is Go's own", USER_AGENT, |run| {
        plain(run, |request| set(request, "User-Agent", "Go-http-client/1.1"))
    }),
    violated("User-Agent is missing", USER_AGENT, |run| {
        plain(run, |request| leave_out(request, "User-Agent"))
    }),
    violated("User-Agent is sent twice", USER_AGENT, |run| {
        plain(run, |request| twice(request, "User-Agent"))
    }),
    violated("Accept asks for text only", ACCEPT, |run| {
        plain(run, |request| set(request, "Accept", "text/*"))
    }),
    violated("Accept is missing", ACCEPT, |run| plain(run, |request| leave_out(request, "Accept"))),
    violated("compression is offered", SET, |run| {
        plain(run, |request| add(request, "Accept-Encoding", "gzip"))
    }),
    violated("a cookie is sent", SET, |run| plain(run, |request| add(request, "Cookie", "a=b"))),
    violated("Host has no port", HOST, |run| {
        plain(run, |request| {
            let bare = value(request, "Host").rsplit_once(':').map(|(host, _)| host.to_owned());
            set(request, "Host", &bare.unwrap_or_default());
        })
    }),
    violated("Host is localhost", HOST, |run| plain(run, |request| set(request, "Host", "localhost"))),
    violated("the method is POST", &["probe.http.method-get"], |run| {
        plain(run, |request| "POST".clone_into(&mut request.method))
    }),
    violated("the method is HEAD", &["probe.http.method-get"], |run| {
        plain(run, |request| "HEAD".clone_into(&mut request.method))
    }),
    violated("the request has a body", &["probe.http.method-get"], |run| {
        plain(run, |request| request.body = 7)
    }),
    violated("all probes ask for another path", &["probe.http.method-get"], other_path),
    violated(
        "without a path the probe asks for /index.html",
        &["probe.http.default-path"],
        other_default_path,
    ),
    violated(
        "a probe comes on the connection of the one before",
        &["probe.http.new-connection-each"],
        reused,
    ),
    violated("a header of the spec is missing", &["probe.http.custom-headers"], |run| {
        of_spec(run, |name, _| name.starts_with("X-"), leave_out)
    }),
    violated("a header of the spec has another value", &["probe.http.custom-headers"], |run| {
        of_spec(run, |name, _| name.starts_with("X-"), |request, name| set(request, name, "other"))
    }),
    violated("a repeated header is sent once", &["probe.http.repeated-headers"], |run| {
        of_spec(run, repeated, |request, name| {
            let first = value(request, name);
            leave_out(request, name);
            add(request, name, &first);
        })
    }),
    violated("repeated headers change their order", &["probe.http.repeated-headers"], |run| {
        of_spec(run, repeated, |request, _| request.headers.reverse())
    }),
    violated(
        "the default comes beside the header that replaces it",
        &["probe.http.headers-override"],
        |run| of_spec(run, own("Accept", false), |request, _| add(request, "Accept", "*/*")),
    ),
    violated("an empty header is sent as the default", &["probe.http.headers-remove"], |run| {
        of_spec(run, own("Accept", true), |request, _| add(request, "Accept", "*/*"))
    }),
    violated("the Host header of the spec is not sent", &["probe.http.vhost-via-header"], |run| {
        of_spec(run, own("Host", false), |request, _| set(request, "Host", "10.0.0.1:8080"))
    }),
    violated(
        "a redirect to the same host is not followed",
        &["probe.http.redirect.same-host-followed"],
        not_followed,
    ),
    violated("a header is lost on the way of a redirect", &["probe.http.redirect.headers-kept"], |run| {
        later_hop(run, |request| leave_out(request, "X-Conformance"))
    }),
];

fn value(request: &Request, name: &str) -> String {
    let found = request.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.clone()).unwrap_or_default()
}

fn set(request: &mut Request, name: &str, to: &str) {
    for (_, value) in request.headers.iter_mut().filter(|(key, _)| key.eq_ignore_ascii_case(name)) {
        to.clone_into(value);
    }
}

fn leave_out(request: &mut Request, name: &str) {
    request.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
}

fn add(request: &mut Request, name: &str, value: &str) {
    request.headers.push((name.to_owned(), value.to_owned()));
}

fn twice(request: &mut Request, name: &str) {
    let same = value(request, name);
    add(request, name, &same);
}

/// The headers that the spec gives a probe.
fn given<'c>(course: &'c Course<'_, '_>) -> &'c [(String, String)] {
    match &course.spec.handler {
        Handler::Http { headers, .. } => headers,
        _ => &[],
    }
}

/// Changes the second request of a probe whose spec has no headers.
fn plain(run: &Timeline<'_>, change: impl FnOnce(&mut Request)) -> Option<History> {
    let asked = courses(run).find_map(|course| {
        let plain = course.is_http() && given(&course).is_empty();
        let probe = course.probes.get(1).filter(|_| plain)?;
        Some(course.attempt.request(probe)?.id)
    })?;
    Copy::of(run).request(asked, change).done()
}

/// Changes the second request of a probe to which the spec gives a certain header.
fn of_spec(
    run: &Timeline<'_>,
    which: impl Fn(&str, &[(String, String)]) -> bool,
    change: impl FnOnce(&mut Request, &str),
) -> Option<History> {
    let (asked, name) = courses(run).find_map(|course| {
        let headers = given(&course);
        let (name, _) = headers.iter().find(|(name, _)| which(name, headers))?;
        let asked = course.attempt.request(course.probes.get(1)?)?;
        Some((asked.id, name.clone()))
    })?;
    Copy::of(run).request(asked, |request| change(request, &name)).done()
}

fn repeated(name: &str, all: &[(String, String)]) -> bool {
    all.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).count() > 1
}

/// Matches a header with this name, with a value or, if `empty`, without one.
fn own(name: &str, empty: bool) -> impl Fn(&str, &[(String, String)]) -> bool {
    move |of, all| {
        of.eq_ignore_ascii_case(name) && all.iter().any(|(key, value)| key == of && value.is_empty() == empty)
    }
}

/// Changes the path of all requests of a probe.
fn asks_for(run: &Timeline<'_>, course: &Course<'_, '_>, path: &str) -> Option<History> {
    let requests = course.probes.iter().filter_map(|probe| course.attempt.request(probe));
    requests
        .fold(Copy::of(run), |copy, asked| {
            copy.request(asked.id, |request| path.clone_into(&mut request.target))
        })
        .done()
}

fn other_path(run: &Timeline<'_>) -> Option<History> {
    let course = courses(run).find(|course| course.is_http() && course.probes.len() > 2)?;
    asks_for(run, &course, "/elsewhere")
}

fn other_default_path(run: &Timeline<'_>) -> Option<History> {
    let unwritten = |course: &Course<'_, '_>| {
        let written =
            course.container.spec.get(course.spec.kind.field()).and_then(|probe| probe.get("httpGet"));
        let root = written.and_then(|http| http.get("path")?.as_str()).is_some_and(|path| path == "/");
        root && course.probes.len() > 1 && course.is_http()
    };
    asks_for(run, &courses(run).find(unwritten)?, "/index.html")
}

fn reused(run: &Timeline<'_>) -> Option<History> {
    let (one, next, course) = courses(run).filter(Course::is_http).find_map(|course| {
        let asked = |at: usize| course.attempt.request(course.probes.get(at)?);
        let (one, next) = (asked(1)?.request, asked(2)?.request);
        Some(((one.conn, one.nth), next.conn, course))
    })?;
    let mut copy = Copy::of(run);
    let of = |conn: u64| course.attempt.connections.iter().find(move |known| known.accepted.conn == conn);
    copy = copy.without(of(next).into_iter().map(|connection| connection.id));
    let closed = |conn| of(conn).and_then(|connection| connection.closed.as_ref()).map(|closed| closed.at.id);
    copy = copy.without(closed(one.0));
    for line in &course.attempt.lines {
        copy = copy.line(line.id, |line| match &mut line.fact {
            Fact::Request(of) if of.conn == next => (of.conn, of.nth) = (one.0, one.1 + 1),
            Fact::Answer(of) if of.conn == next => (of.conn, of.nth) = (one.0, one.1 + 1),
            Fact::Closed(of) if of.conn == next => of.conn = one.0,
            _ => {}
        });
    }
    copy.done()
}

/// The requests that followed redirects, for each instance.
fn hops<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (Course<'t, 'h>, Vec<&'t Asked<'h>>)> {
    courses(run).filter_map(|course| {
        let attempt = course.attempt;
        let hops: Vec<_> = attempt.requests.iter().filter(|asked| asked.followed()).collect();
        (!hops.is_empty()).then_some((course, hops))
    })
}

fn later_hop(run: &Timeline<'_>, change: impl FnOnce(&mut Request)) -> Option<History> {
    let kept = |asked: &&&Asked<'_>| asked.header("x-conformance").next().is_some();
    let asked = hops(run).find_map(|(_, hops)| hops.iter().find(kept).map(|asked| asked.id))?;
    Copy::of(run).request(asked, change).done()
}

fn not_followed(run: &Timeline<'_>) -> Option<History> {
    let (course, hops) = hops(run).next()?;
    let gone = hops.iter().flat_map(|asked| course.connection(asked.request.conn));
    Copy::of(run).without(gone.collect::<Vec<_>>()).done()
}
