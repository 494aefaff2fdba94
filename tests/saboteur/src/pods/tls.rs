//! TLS on both sides of a probe. Towards the kubelet, the proxy uses a certificate that was created at the start, which
//! the kubelet does not verify. Towards the pod, it acts as the kubelet would, except for the changes of a defect.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, TlsConnector, server};

use super::Stream;
use super::fault::Tls;

/// Objects that both sides need, created once.
pub(super) struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Identity {
    /// Creates a key and a certificate.
    ///
    /// # Errors
    ///
    /// If they can't be created.
    pub(super) fn make() -> io::Result<Self> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let params = CertificateParams::new(vec!["saboteur".to_owned()]).map_err(io::Error::other)?;
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        Ok(Self {
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
            provider: Arc::new(ring::default_provider()),
        })
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone_key())
    }

    /// Reads the kubelet's first message.
    ///
    /// # Errors
    ///
    /// If it is not TLS.
    pub(super) async fn hello(&self, kubelet: Stream) -> io::Result<Hello> {
        let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), kubelet).await?;
        let protocols = start.client_hello().alpn().into_iter().flatten().map(<[u8]>::to_vec).collect();
        Ok(Hello { start, protocols })
    }

    /// Continues with the kubelet, in this protocol.
    ///
    /// # Errors
    ///
    /// When the handshake fails.
    pub(super) async fn accept(
        &self,
        hello: Hello,
        protocol: Option<Vec<u8>>,
    ) -> io::Result<server::TlsStream<Stream>> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key())
            .map_err(io::Error::other)?;
        config.alpn_protocols = protocol.into_iter().collect();
        hello.start.into_stream(Arc::new(config)).await
    }

    /// Speaks TLS with a pod.
    ///
    /// # Errors
    ///
    /// When the handshake fails.
    pub(super) async fn connect(
        &self,
        pod: Stream,
        address: IpAddr,
        protocols: Vec<Vec<u8>>,
        change: &Tls,
    ) -> io::Result<TlsStream<Stream>> {
        let versions: &[_] = match change.version.as_deref() {
            Some("1.2") => &[&rustls::version::TLS12],
            Some("1.3") => &[&rustls::version::TLS13],
            _ => rustls::ALL_VERSIONS,
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(versions)
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier(change.verify)?);
        let mut config = if change.client_certificate {
            builder
                .with_client_auth_cert(vec![self.certificate.clone()], self.key())
                .map_err(io::Error::other)?
        } else {
            builder.with_no_client_auth()
        };
        config.alpn_protocols = match &change.protocols {
            Some(protocols) => protocols.iter().map(|name| name.clone().into_bytes()).collect(),
            None => protocols,
        };
        let name = match &change.server_name {
            Some(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
            // For an address, no server name is sent.
            None => ServerName::from(address),
        };
        TlsConnector::from(Arc::new(config)).connect(name, pod).await
    }

    fn verifier(&self, verify: bool) -> io::Result<Arc<dyn ServerCertVerifier>> {
        if !verify {
            return Ok(Arc::new(Anybody(Arc::clone(&self.provider))));
        }
        // The only authority is the saboteur's own certificate, which has issued no pod's certificate.
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).map_err(io::Error::other)?;
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider));
        Ok(builder.build().map_err(io::Error::other)?)
    }
}

/// A kubelet's first message, to be answered.
pub(super) struct Hello {
    start: tokio_rustls::StartHandshake<Stream>,
    /// The protocols that it offers.
    pub(super) protocols: Vec<Vec<u8>>,
}

/// Accepts every certificate, as a kubelet's probes do.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
