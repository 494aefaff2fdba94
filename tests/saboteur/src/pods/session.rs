//! A connection that was taken over. It is read as far as needed to know which defects strike it, and then served with
//! these defects. A connection that no defect strikes is copied byte for byte.

use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::choice::{Choice, choose};
use super::effects::Effects;
use super::exchange::{Errand, dial, read_head};
use super::fault::{Outcome, TcpChange};
use super::http::Head;
use super::http1;
use super::http2;
use super::memory::{Key, Last};
use super::probes::{Mechanism, Seen};
use super::{Shared, Stream};
use crate::board::KnownPod;

/// The decisions that were made while the first packet waited.
pub(super) struct Session {
    /// The shared state of all connections.
    pub(super) shared: Arc<Shared>,
    /// The pod.
    pub(super) pod: KnownPod,
    /// Where the kubelet wanted to go.
    pub(super) to: SocketAddrV4,
    /// The effects that strike the connection, and the effects that may strike it.
    pub(super) choice: Choice,
    /// The connection to the pod, if it is open.
    pub(super) open: Option<Stream>,
    /// How the connection ends without the pod, if this is known already.
    pub(super) ended: Option<Outcome>,
    /// When the kubelet wanted to connect.
    pub(super) since: Instant,
}

impl Session {
    /// The identity of this probe in the memory.
    #[must_use]
    pub(super) fn key(&self, what: &str) -> Key {
        (self.to, format!("{} {what}", self.pod.uid))
    }

    /// The effects that strike the probe, now that everything about it is known.
    #[must_use]
    pub(super) fn effects(&mut self, seen: &Seen) -> Effects {
        if !self.choice.open.is_empty() {
            let later = choose(&self.shared.board, &self.pod, seen, &self.choice.decided);
            self.choice.open.clear();
            self.choice.struck.extend(later.struck);
        }
        Effects::of(&self.choice.struck)
    }

    /// The end of the time `after`, counted from the kubelet's first packet.
    #[must_use]
    pub(super) fn until(&self, after: Duration) -> Instant {
        self.since + after
    }

    /// The open connection to the pod, or a new one.
    ///
    /// # Errors
    ///
    /// When the pod refuses it.
    pub(super) async fn connection(&mut self, effects: &Effects) -> io::Result<Stream> {
        match self.open.take() {
            Some(stream) => Ok(stream),
            None => dial(effects.destination(self.to), effects).await,
        }
    }

    /// Serves the connection to its end.
    ///
    /// # Errors
    ///
    /// When either side breaks it.
    pub(super) async fn run(self, kubelet: TcpStream) -> io::Result<()> {
        kubelet.set_nodelay(true)?;
        let mut first = [0; 3];
        let length = kubelet.peek(&mut first).await?;
        let kubelet: Stream = Box::new(kubelet);
        match &first[..length] {
            [] => self.tcp(kubelet).await,
            [0x16, ..] => self.tls(kubelet).await,
            b"PRI" => http2::serve(self, kubelet, false, None).await,
            _ => self.http1(kubelet, false).await,
        }
    }

    fn seen(&self, by: Mechanism) -> Seen {
        Seen { port: self.to.port(), by: Some(by), ..Seen::default() }
    }

    /// The kubelet has connected and closed: a TCP probe.
    async fn tcp(mut self, kubelet: Stream) -> io::Result<()> {
        drop(kubelet);
        let effects = self.effects(&self.seen(Mechanism::Tcp));
        if effects.drop || effects.refuse || self.ended.is_some() {
            return Ok(());
        }
        if effects.skip.is_some() && self.open.is_none() {
            return Ok(());
        }
        sleep(effects.delay).await;
        let mut stream = self.connection(&effects).await?;
        self.shared.memory.remember(&self.key("tcp"), Last::Open);
        finish_tcp(&mut stream, &effects).await?;
        drop(stream);
        for _ in 0..effects.double.map_or(0, |(times, _)| times) {
            sleep(effects.double.map_or(Duration::ZERO, |(_, after)| after)).await;
            finish_tcp(&mut dial(effects.destination(self.to), &effects).await?, &effects).await?;
        }
        Ok(())
    }

    /// TLS is terminated on both sides. The pod chooses the protocol, as it would without the proxy.
    async fn tls(mut self, kubelet: Stream) -> io::Result<()> {
        let identity = Arc::clone(&self.shared.identity);
        let hello = identity.hello(kubelet).await?;
        let http1 = || Some(b"http/1.1".to_vec()).filter(|protocol| hello.protocols.contains(protocol));
        let known = Effects::of(&self.choice.struck);
        // Either nothing may reach the pod before the request is read, or the effects need HTTP/1.1.
        if self.open.is_none() || known.needs_http1() || known.double.is_some() {
            let protocol = http1();
            let kubelet = identity.accept(hello, protocol).await?;
            return self.http1(Box::new(kubelet), true).await;
        }
        let pod = self.connection(&known).await?;
        let change = known.tls.clone().unwrap_or_default();
        let pod = identity.connect(pod, (*self.to.ip()).into(), hello.protocols.clone(), &change).await?;
        let protocol = pod.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        let kubelet = Box::new(identity.accept(hello, protocol.clone()).await?);
        if protocol.as_deref() == Some(b"h2") {
            return http2::serve(self, kubelet, true, Some(Box::new(pod))).await;
        }
        self.open = Some(Box::new(pod));
        self.http1_with(kubelet, true, true).await
    }

    async fn http1(self, kubelet: Stream, secure: bool) -> io::Result<()> {
        self.http1_with(kubelet, secure, false).await
    }

    /// With `is_ready`, TLS is already established on the open connection.
    async fn http1_with(mut self, mut kubelet: Stream, secure: bool, is_ready: bool) -> io::Result<()> {
        let Some((raw, more)) = read_head(&mut kubelet).await? else { return Ok(()) };
        let by = if secure { Mechanism::Https } else { Mechanism::Http };
        let request = Head::read(&raw);
        let path = request.as_ref().map(|request| request.path().to_owned());
        let effects = self.effects(&Seen { path, ..self.seen(by) });
        let Some(request) = request.filter(|_| !effects.is_none()) else {
            return self.copy(kubelet, &[raw, more].concat(), secure && !is_ready).await;
        };
        let errand = Errand {
            identity: Arc::clone(&self.shared.identity),
            memory: self.shared.memory.clone(),
            key: self.key(request.path()),
            to: self.to,
            secure: secure && !(is_ready && self.open.is_some()),
            request,
            effects,
        };
        http1::serve(self, errand, kubelet).await
    }

    /// Copies a connection that no defect strikes after all.
    async fn copy(mut self, mut kubelet: Stream, first: &[u8], secure: bool) -> io::Result<()> {
        let mut pod = self.connection(&Effects::default()).await?;
        if secure {
            let protocols = vec![b"http/1.1".to_vec()];
            let address = (*self.to.ip()).into();
            pod = Box::new(
                self.shared.identity.connect(pod, address, protocols, &super::fault::Tls::default()).await?,
            );
        }
        pod.write_all(first).await?;
        copy_bidirectional(&mut kubelet, &mut pod).await?;
        Ok(())
    }
}

/// The rest of a TCP probe once the connection is open.
async fn finish_tcp(stream: &mut Stream, effects: &Effects) -> io::Result<()> {
    for change in &effects.tcp {
        if let TcpChange::Send(text) = change {
            stream.write_all(text.as_bytes()).await?;
            stream.flush().await?;
        }
    }
    if effects.tcp.contains(&TcpChange::Reset) {
        stream.reset();
    }
    if let Some(lasting) = effects.linger {
        // The pod may send data in the meantime, which is read and ignored.
        let mut nothing = Vec::new();
        tokio::time::timeout(lasting, stream.read_to_end(&mut nothing)).await.ok();
    }
    Ok(())
}
