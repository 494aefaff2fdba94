//! A TLS client that accepts any certificate and reports how a strict client would have judged it.
//!
//! A strict client ends the handshake at the first fault, so it cannot show what a listener with an expired
//! certificate does next. This client judges the certificate separately from the handshake, with rustls's own verifier.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme, StreamOwned,
    SupportedProtocolVersion,
};

use crate::target::PATIENCE;

/// What the client offers.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Protocols for ALPN.
    pub alpn: &'a [&'a str],
    /// Versions of TLS.
    pub versions: &'a [&'static SupportedProtocolVersion],
    /// Whether it presents a certificate on request.
    pub certificate: bool,
}

impl Default for Wish<'_> {
    fn default() -> Self {
        Self { alpn: &[], versions: rustls::ALL_VERSIONS, certificate: false }
    }
}

/// A TLS connection.
pub type Secure = StreamOwned<ClientConnection, TcpStream>;

/// Connects and does the TLS handshake.
///
/// # Errors
///
/// Why the handshake failed, as the client sees it.
pub fn connect(to: SocketAddr, wish: &Wish<'_>) -> (SocketAddr, Result<Secure, String>) {
    let mut stream = TcpStream::connect(to).unwrap_or_else(|error| panic!("cannot connect: {error}"));
    let local = stream.local_addr().unwrap_or(to);
    let limits = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_nodelay(true));
    limits.unwrap_or_else(|error| panic!("cannot set up a socket: {error}"));
    let session = ClientConnection::new(Arc::new(config(wish)), name());
    let mut session = session.unwrap_or_else(|error| panic!("cannot begin TLS: {error}"));
    while session.is_handshaking() {
        if let Err(error) = session.complete_io(&mut stream) {
            return (local, Err(error.to_string()));
        }
    }
    (local, Ok(StreamOwned::new(session, stream)))
}

/// Wraps a connection of tokio.
///
/// # Panics
///
/// If the handshake fails.
pub async fn wrap(
    stream: tokio::net::TcpStream,
    wish: &Wish<'_>,
) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config(wish)));
    connector.connect(name(), stream).await.unwrap_or_else(|error| panic!("no TLS: {error}"))
}

/// The certificate that the other side presented.
///
/// # Panics
///
/// If it presented none.
#[must_use]
pub fn shown(stream: &Secure) -> CertificateDer<'static> {
    let shown = stream.conn.peer_certificates().and_then(<[_]>::first);
    shown.unwrap_or_else(|| panic!("no certificate was shown")).clone().into_owned()
}

/// How a client that trusts a certificate and requested `name` judges it.
///
/// # Errors
///
/// Its objection.
pub fn judge(certificate: &CertificateDer<'static>, name: &str, now: UnixTime) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let verifier = verifier.map_err(|error| error.to_string())?;
    let name = ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?;
    let verdict = verifier.verify_server_cert(certificate, &[], &name, &[], now);
    verdict.map(|_| ()).map_err(|error| format!("{error:?}"))
}

/// The time this many days from now.
#[must_use]
pub fn in_days(days: u64) -> UnixTime {
    let now = UnixTime::now().as_secs();
    UnixTime::since_unix_epoch(Duration::from_secs(now + days * 86_400))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap_or_else(|error| panic!("{error}"))
}

fn config(wish: &Wish<'_>) -> ClientConfig {
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(wish.versions);
    let builder = builder.unwrap_or_else(|error| panic!("no such version: {error}"));
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Anything(provider())));
    let mut config = if wish.certificate {
        let (certificate, key) = own_certificate();
        builder.with_client_auth_cert(vec![certificate], key).unwrap_or_else(|error| panic!("{error}"))
    } else {
        builder.with_no_client_auth()
    };
    config.alpn_protocols = wish.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    config
}

fn own_certificate() -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["client".to_owned()]);
    let made = made.unwrap_or_else(|error| panic!("cannot make a certificate: {error}"));
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der());
    (made.cert.der().clone(), key.unwrap_or_else(|error| panic!("cannot use a key: {error}")))
}

/// Accepts any certificate whose owner holds its key.
#[derive(Debug)]
struct Anything(Arc<CryptoProvider>);

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
