//! Damages to how TCP, TLS, gRPC and exec probes look to a target, and to the addresses that probes come from and go
//! to.

use probity_model::timeline::{Connection, Handler, Through};
use probity_model::{EventId, History, Timeline};
use probity_script::witness::{Accepted, Ending, Fact, Request};

use super::copy::Copy;
use super::course::{Course, courses};
use super::{Damage, violated};

const FROM_NODE: &[&str] = &["probe.kubelet.network-probes-from-node"];
const TLS: &[&str] = &["probe.http.https-wire-details"];
const GRPC: &[&str] = &["probe.grpc.user-agent"];
const INSIDE: &[&str] = &["probe.exec.runs-inside-container"];

pub(crate) const ALL: &[Damage] = &[
    violated("a probe comes from the loopback", FROM_NODE, |run| from(run, |_| "127.0.0.1".to_owned())),
    violated("a probe comes from the pod itself", FROM_NODE, |run| {
        from(run, |connection| connection.address().to_owned())
    }),
    violated("an HTTP probe goes to another address", &["probe.http.targets-pod-ip"], |run| {
        to(run, |course| course.is_http())
    }),
    violated("a TCP probe goes to another address", &["probe.tcp.default-host"], |run| to(run, is_tcp)),
    violated("a TCP probe sends bytes", &["probe.tcp.no-payload"], |run| {
        tcp(run, |fact| {
            if let Fact::Closed(closed) = fact {
                closed.received = 18;
            }
        })
    }),
    violated("a TCP probe is held open for five seconds", &["probe.tcp.no-payload"], held_open),
    violated("all TCP probes come from the pod itself", &["probe.tcp.from-node"], tcp_from_inside),
    violated("a TCP probe never comes", &["probe.tcp.default-host", "probe.tcp.port-forms"], |run| {
        never(run, is_tcp)
    }),
    violated("an HTTP probe never comes", HOST, |run| never(run, |course| course.is_http())),
    violated("a client certificate is shown", TLS, |run| {
        tls(run, |fact| {
            if let Fact::Tls(tls) = fact {
                tls.client_certificate = true;
            }
        })
    }),
    violated("HTTP/2 is not taken where it is offered", TLS, |run| {
        tls(run, |fact| match fact {
            Fact::Tls(tls) => tls.alpn = Some("http/1.1".to_owned()),
            Fact::Request(request) => "HTTP/1.1".clone_into(&mut request.protocol),
            _ => {}
        })
    }),
    violated("a certificate is refused", &["probe.http.https-skips-verification"], |run| {
        tls(run, |fact| {
            if let Fact::Tls(tls) = fact {
                tls.error = Some("received fatal alert: BadCertificate".to_owned());
            }
        })
    }),
    violated("gRPC asks for another service", &["probe.grpc.service-field"], |run| {
        grpc(run, |request| request.service = Some("another".to_owned()))
    }),
    violated("gRPC names another client", GRPC, |run| {
        grpc(run, |request| set(request, "user-agent", "grpc-go/1.79.3"))
    }),
    violated("gRPC gives a deadline beyond the timeout", GRPC, |run| {
        grpc(run, |request| set(request, "grpc-timeout", "60S"))
    }),
    violated("gRPC gives no deadline", GRPC, |run| {
        grpc(run, |request| request.headers.retain(|(name, _)| name != "grpc-timeout"))
    }),
    violated("gRPC sends metadata of its own", GRPC, |run| {
        grpc(run, |request| request.headers.push(("x-trace".to_owned(), "1".to_owned())))
    }),
    violated("gRPC names another authority", &["probe.grpc.no-host"], |run| {
        grpc(run, |request| set(request, ":authority", "localhost:9090"))
    }),
    violated(
        "a gRPC probe comes on a connection that was used before",
        &["probe.grpc.new-connection-each"],
        |run| grpc(run, |request| request.nth = 2),
    ),
    violated("a command runs in another network namespace", INSIDE, |run| {
        command(run, |fact| {
            if let Fact::Exec(seen) = fact {
                seen.command.namespaces.insert("net".to_owned(), 1);
            }
        })
    }),
    violated("a command runs under another host name", INSIDE, |run| {
        command(run, |fact| {
            if let Fact::Exec(seen) = fact {
                "node1".clone_into(&mut seen.command.host);
            }
        })
    }),
];

const HOST: &[&str] = &["probe.http.host-default-pod-ip"];

fn is_tcp(course: &Course<'_, '_>) -> bool {
    matches!(course.spec.handler, Handler::Tcp { host: None, .. })
}

fn set(request: &mut Request, name: &str, to: &str) {
    for (_, value) in request.headers.iter_mut().filter(|(key, _)| key == name) {
        to.clone_into(value);
    }
}

/// The connection of a probe.
fn connection<'t, 'h>(course: &Course<'t, 'h>, at: usize) -> Option<&'t Connection<'h>> {
    let index = match course.probes.get(at)?.through {
        Through::Request(at) => course.attempt.requests.get(at)?.connection?,
        Through::Connection(at) => at,
        Through::Command(_) => return None,
    };
    course.attempt.connections.get(index)
}

/// Makes the second HTTP probe of an instance come from another address.
fn from(run: &Timeline<'_>, address: impl Fn(&Connection<'_>) -> String) -> Option<History> {
    let (id, peer) = courses(run).find_map(|course| {
        let inside = course.pod.spec.get("hostNetwork").is_none();
        let connection = connection(&course, 1).filter(|_| course.is_http() && inside)?;
        Some((connection.id, format!("{}:40000", address(connection))))
    })?;
    accepted(Copy::of(run), id, |accepted| accepted.peer = peer).done()
}

/// Makes all probes of an instance go to another address, because a single connection may have another source.
fn to(run: &Timeline<'_>, which: impl Fn(&Course<'_, '_>) -> bool) -> Option<History> {
    let course = courses(run).filter(which).find(|course| course.probes.len() > 1)?;
    let connections = (0..course.probes.len()).filter_map(|at| connection(&course, at));
    connections
        .fold(Copy::of(run), |copy, connection| {
            let local = format!("10.1.2.3:{}", connection.port().unwrap_or_default());
            accepted(copy, connection.id, |accepted| accepted.local = local)
        })
        .done()
}

pub(crate) fn accepted(copy: Copy, id: EventId, change: impl FnOnce(&mut Accepted)) -> Copy {
    copy.line(id, |line| {
        if let Fact::Accepted(accepted) = &mut line.fact {
            change(accepted);
        }
    })
}

/// Changes all matching lines of the second probe of the first instance that has one.
fn facts(
    run: &Timeline<'_>,
    which: impl Fn(&Course<'_, '_>) -> bool,
    change: impl Fn(&mut Fact),
) -> Option<History> {
    // The second probe, if there is one, because a first probe may look different, which would excuse the damage.
    let found = courses(run).filter(which).filter(|course| !course.probes.is_empty());
    let course = found.max_by_key(|course| course.probes.len().min(2))?;
    let ids = course.exchange(course.probes.get(1).or(course.probes.first())?);
    ids.into_iter().fold(Copy::of(run), |copy, id| copy.line(id, |line| change(&mut line.fact))).done()
}

fn tcp(run: &Timeline<'_>, change: impl Fn(&mut Fact)) -> Option<History> {
    facts(run, is_tcp, change)
}

fn tls(run: &Timeline<'_>, change: impl Fn(&mut Fact)) -> Option<History> {
    let over_http2 = |course: &Course<'_, '_>| {
        let asked = course.probes.first().and_then(|probe| course.attempt.request(probe));
        asked.is_some_and(|asked| asked.request.protocol == "HTTP/2" && asked.request.service.is_none())
    };
    facts(run, over_http2, change)
}

fn grpc(run: &Timeline<'_>, change: impl Fn(&mut Request)) -> Option<History> {
    let is_grpc = |course: &Course<'_, '_>| matches!(course.spec.handler, Handler::Grpc { .. });
    facts(run, is_grpc, |fact| {
        if let Fact::Request(request) = fact {
            change(request);
        }
    })
}

fn command(run: &Timeline<'_>, change: impl Fn(&mut Fact)) -> Option<History> {
    let dumped = |course: &Course<'_, '_>| !course.lines(|fact| matches!(fact, Fact::Dump(_))).is_empty();
    facts(run, |course| course.is_command() && dumped(course), change)
}

fn held_open(run: &Timeline<'_>) -> Option<History> {
    let alone = |course: &Course<'_, '_>| {
        let port = course.spec.handler.port();
        course.container.probes.iter().filter(|other| other.handler.port() == port).count() == 1
    };
    let (course, closed) =
        courses(run).filter(|course| is_tcp(course) && alone(course)).find_map(|course| {
            let connection = connection(&course, 1)?;
            let closed = connection.closed.as_ref()?;
            // The kubelet need not close connections that the target itself ends or does not accept.
            let by_peer = matches!(closed.how, Ending::PeerClosed | Ending::PeerReset);
            (by_peer && connection.accepted.answer == "serve").then_some((course, closed.at.id))
        })?;
    let end = course.attempt.last_line()?.at.at.lo;
    (course.probes[1].at.at.lo + 5_000_000 < end).then(|| Copy::of(run).moved([closed], 5_000_000).done())?
}

/// Makes all bare connections come from inside the pod. A single one may have another source; if all come from inside,
/// the probe opened them.
fn tcp_from_inside(run: &Timeline<'_>) -> Option<History> {
    let course = courses(run).filter(is_tcp).find(|course| course.probes.len() > 1)?;
    let connections = (0..course.probes.len()).filter_map(|at| connection(&course, at));
    connections
        .fold(Copy::of(run), |copy, connection| {
            let peer = format!("{}:40000", connection.address());
            accepted(copy, connection.id, |accepted| accepted.peer = peer)
        })
        .done()
}

/// Drops all probes of one spec in an instance that was long enough.
fn never(run: &Timeline<'_>, which: impl Fn(&Course<'_, '_>) -> bool) -> Option<History> {
    let long = |course: &Course<'_, '_>| match (course.probes.first(), course.probes.last()) {
        (Some(first), Some(last)) => course.gap(first, last) > 15_000_000,
        _ => false,
    };
    let course = courses(run).filter(which).find(long)?;
    Copy::of(run).without(course.exchanges(&course.probes)).done()
}
