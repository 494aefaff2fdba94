//! TLS on both sides of the proxy: towards the kubelet with a certificate from the cluster's own authority, towards
//! the API server with the kubelet's certificate. Only the API server decides what the kubelet may do, so the proxy
//! does not request a certificate from the kubelet. The proxy listens on the node's loopback address.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let unreadable =
        |error| io::Error::other(format!("no certificate can be read from {}: {error}", path.display()));
    CertificateDer::pem_file_iter(path).map_err(unreadable)?.collect::<Result<_, _>>().map_err(unreadable)
}

fn key(path: &Path) -> io::Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|error| io::Error::other(format!("no key can be read from {}: {error}", path.display())))
}

/// The side towards the kubelet.
///
/// # Errors
///
/// When the certificate or the key is unreadable, or they do not match.
pub(super) fn server(certificate: &Path, key_file: &Path) -> io::Result<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(certificates(certificate)?, key(key_file)?)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The side towards the API server.
///
/// # Errors
///
/// When one of the files is unreadable, or the certificate and the key do not match.
pub(super) fn client(authority: &Path, certificate: &Path, key_file: &Path) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for root in certificates(authority)? {
        roots.add(root).map_err(io::Error::other)?;
    }
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates(certificate)?, key(key_file)?)
        .map_err(io::Error::other)
}

/// The same configuration, but it offers exactly one protocol: the protocol that the kubelet has chosen.
#[must_use]
pub(super) fn speaking(config: &ClientConfig, protocol: Option<&[u8]>) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.alpn_protocols = protocol.map(<[u8]>::to_vec).into_iter().collect();
    Arc::new(config)
}
