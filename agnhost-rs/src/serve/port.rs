//! A listening port whose state follows its script: open, closed, or so full that connections get no answer.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use probity_script::answer::ListenState;
use probity_script::witness::Listening;
use probity_script::{Fact, Listener};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::connection;
use super::context::ListenerContext;
use crate::bind::{BACKLOG, bind};
use crate::stage::ProbedEndpoint;

/// How often a script that depends on time is checked.
const LOOK: Duration = Duration::from_millis(5);

/// How long to wait before trying again to bind a port.
const AGAIN: Duration = Duration::from_millis(100);

/// A port in one of its states.
pub(super) enum Port {
    Open(TcpListener),
    Closed,
    /// Bound, with a queue that is filled by these connections of the target itself.
    Full {
        _listener: Socket,
        _filling: Vec<Socket>,
    },
}

impl Port {
    /// Brings the port into a state.
    pub(super) fn enter(state: ListenState, listener: &Listener, port: u16) -> io::Result<Self> {
        match state {
            ListenState::Closed => Ok(Self::Closed),
            ListenState::Open => {
                TcpListener::from_std(bind(listener.bind, port, BACKLOG)?.into()).map(Self::Open)
            }
            ListenState::Full => {
                let socket = bind(listener.bind, port, 0)?;
                let filling = fill(&socket)?;
                Ok(Self::Full { _listener: socket, _filling: filling })
            }
        }
    }

    fn address(&self) -> String {
        let of =
            |address: io::Result<SocketAddr>| address.map(|address| address.to_string()).unwrap_or_default();
        match self {
            Self::Open(listener) => of(listener.local_addr()),
            Self::Closed => String::new(),
            Self::Full { _listener, .. } => of(_listener
                .local_addr()
                .and_then(|address| address.as_socket().ok_or(io::ErrorKind::Other.into()))),
        }
    }

    /// The port's number, if it is bound.
    pub(super) fn number(&self) -> Option<u16> {
        self.address().parse::<SocketAddr>().ok().map(|address| address.port())
    }
}

/// Connects to a port that accepts no connections, until its queue is full.
fn fill(listener: &Socket) -> io::Result<Vec<Socket>> {
    let bound = listener.local_addr()?.as_socket().ok_or(io::ErrorKind::Unsupported)?;
    let ip = match bound.ip() {
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ip => ip,
    };
    let address = SocketAddr::new(ip, bound.port());
    let mut filling = Vec::new();
    // A queue of length 0 has room for one connection. A few more make sure that it is full. Those that do not fit keep
    // trying, which keeps it full.
    for _ in 0..3 {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        // The expected result is that the connection is in progress.
        let _ = socket.connect(&address.into());
        filling.push(socket);
    }
    Ok(filling)
}

/// Keeps a port in the state that its script requires, and serves the connections to it.
pub(super) async fn keep(context: Arc<ListenerContext>, mut port: Port, mut state: ListenState, number: u16) {
    let mut turns = context.stage.turns();
    let mut gate = context.gate.watch();
    let mut failed = false;
    tell(&context, &port, state);
    loop {
        let changes = context.stage.with_plan(|plan| {
            plan.listeners.get(&context.name).is_some_and(|listener| listener.listen.steps().len() > 1)
        });
        tokio::select! {
            accepted = accept(&port) => match accepted {
                Ok((stream, peer)) => { tokio::spawn(connection::host(Arc::clone(&context), stream, peer)); }
                Err(error) => trouble(&context, "accept a connection", &error).await,
            },
            _ = turns.changed() => {}
            () = sleep(LOOK), if changes || failed => {}
            () = gate.closing() => {
                tell(&context, &Port::Closed, ListenState::Closed);
                return;
            }
        }
        let wanted = wanted(&context);
        if wanted != state {
            port = Port::Closed;
            match context.stage.plan().listeners.get(&context.name).map(|l| Port::enter(wanted, l, number)) {
                Some(Ok(entered)) => {
                    (port, state, failed) = (entered, wanted, false);
                    tell(&context, &port, state);
                }
                Some(Err(error)) => {
                    // Another process may still hold the port.
                    failed = true;
                    trouble(&context, "change the state of the port", &error).await;
                }
                None => return,
            }
        }
    }
}

/// The state that the script currently requires.
pub(super) fn wanted(context: &ListenerContext) -> ListenState {
    context.stage.with_plan(|plan| {
        plan.listeners.get(&context.name).map_or(ListenState::Closed, |listener| {
            context
                .stage
                .choose(&listener.listen, ProbedEndpoint { name: &context.name, probe: 0, host: None })
                .answer
        })
    })
}

async fn accept(port: &Port) -> io::Result<(tokio::net::TcpStream, SocketAddr)> {
    match port {
        Port::Open(listener) => listener.accept().await,
        Port::Closed | Port::Full { .. } => std::future::pending().await,
    }
}

fn tell(context: &ListenerContext, port: &Port, state: ListenState) {
    context.stage.witness().record(&Fact::Listening(Listening {
        listener: context.name.clone(),
        address: port.address(),
        state: state.word().to_owned(),
    }));
}

async fn trouble(context: &ListenerContext, doing: &str, error: &io::Error) {
    context.stage.witness().trouble(&format!("{doing} of listener {}", context.name), error);
    sleep(AGAIN).await;
}
