//! TLS for listeners: valid or invalid certificates as planned, created when the process starts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use probity_script::{Certificate, ClientCertificate, Protocol, Tls, TlsVersion};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName as Subject, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};
use tokio_rustls::TlsAcceptor;

/// Why TLS cannot be set up for a listener.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificate could not be created.
    #[error("failed to create the certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The settings contradict each other.
    #[error("failed to set up TLS: {0}")]
    Settings(#[from] rustls::Error),
}

/// Sets TLS up for a listener.
///
/// # Errors
///
/// If the certificate cannot be created.
pub(super) fn acceptor(tls: &Tls, protocol: Protocol) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let (certificate, key) = certificate(tls.certificate)?;
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&versions(tls))?;
    let builder = match tls.client_certificate {
        ClientCertificate::None => builder.with_no_client_auth(),
        wish => {
            let mandatory = wish == ClientCertificate::Required;
            builder.with_client_cert_verifier(Arc::new(AnyCertificate { provider, mandatory }))
        }
    };
    let mut config = builder.with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = tls.offers(protocol).into_iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn versions(tls: &Tls) -> Vec<&'static SupportedProtocolVersion> {
    if tls.versions.is_empty() {
        return rustls::ALL_VERSIONS.to_vec();
    }
    let version = |version: &TlsVersion| match version {
        TlsVersion::V12 => &rustls::version::TLS12,
        TlsVersion::V13 => &rustls::version::TLS13,
    };
    tls.versions.iter().map(version).collect()
}

fn certificate(kind: Certificate) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "agnhost-rs");
    params.subject_alt_names = if kind == Certificate::WrongName { wrong_names()? } else { right_names()? };
    let (from, until) = match kind {
        Certificate::Expired => (day(-30), day(-1)),
        Certificate::NotYetValid => (day(1), day(30)),
        Certificate::SelfSigned | Certificate::WrongName => (day(-1), day(365)),
    };
    (params.not_before, params.not_after) = (from.into(), until.into());
    let certificate = params.self_signed(&key)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(|_| rcgen::Error::CouldNotParseKeyPair)?;
    Ok((certificate.der().clone(), key))
}

/// This time of day, `from_today` days from today.
fn day(from_today: i64) -> SystemTime {
    let distance = Duration::from_secs(from_today.unsigned_abs() * 86_400);
    let now = SystemTime::now();
    if from_today < 0 { now - distance } else { now + distance }
}

fn right_names() -> Result<Vec<SanType>, rcgen::Error> {
    let mut names = vec![SanType::DnsName("localhost".try_into()?)];
    if let Ok(host) = crate::identity::host().try_into() {
        names.push(SanType::DnsName(host));
    }
    names.extend([IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].map(SanType::IpAddress));
    let own = std::env::var("POD_IP").ok().and_then(|ip| ip.parse().ok());
    names.extend(own.map(SanType::IpAddress));
    Ok(names)
}

fn wrong_names() -> Result<Vec<SanType>, rcgen::Error> {
    Ok(vec![
        SanType::DnsName("wrong.invalid".try_into()?),
        SanType::IpAddress(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))),
    ])
}

/// Accepts any certificate if the client proves that it has the key. It only matters whether a certificate was
/// presented.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
    mandatory: bool,
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn root_hint_subjects(&self) -> &[Subject] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
