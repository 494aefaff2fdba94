//! A TLS server side from two PEM files, on rustls with ring.
//!
//! agnhost's image contains a self-signed certificate and its key, `/localhost.crt` and `/localhost.key`, and so does
//! this program's image. If a manifest names exactly this pair and the files do not exist, the command creates a
//! self-signed pair at start, for `127.0.0.1`, `::1` and `example.com`.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::text;

type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Reads a certificate chain and its key, and builds the configuration of a server that offers the given protocols.
pub(crate) fn server(certificate: &str, key: &str, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, String> {
    let (chain, key) = match pair_of_files(certificate, key) {
        Err(Unusable::Absent(_)) if is_image_pair(certificate, key) => made_pair()?,
        Err(Unusable::Absent(text) | Unusable::Wrong(text)) => return Err(text),
        Ok(pair) => pair,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("tls: {error}"))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("tls: {error}"))?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

enum Unusable {
    Absent(String),
    Wrong(String),
}

fn pair_of_files(certificate: &str, key: &str) -> Result<Pair, Unusable> {
    let chain_bytes = read(certificate)?;
    let key_bytes = read(key)?;
    let wrong = |what: &str| Unusable::Wrong(format!("tls: failed to find any PEM data in {what} input"));
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&chain_bytes)
        .collect::<Result<_, _>>()
        .map_err(|_| wrong("certificate"))?;
    if chain.is_empty() {
        return Err(wrong("certificate"));
    }
    let key = PrivateKeyDer::from_pem_slice(&key_bytes).map_err(|_| wrong("key"))?;
    Ok((chain, key))
}

fn read(path: &str) -> Result<Vec<u8>, Unusable> {
    std::fs::read(path).map_err(|error| {
        let text = format!("open {path}: {}", text::errno(&error));
        if error.kind() == io::ErrorKind::NotFound { Unusable::Absent(text) } else { Unusable::Wrong(text) }
    })
}

fn is_image_pair(certificate: &str, key: &str) -> bool {
    certificate.trim_start_matches('/') == "localhost.crt" && key.trim_start_matches('/') == "localhost.key"
}

fn made_pair() -> Result<Pair, String> {
    let names = ["127.0.0.1", "::1", "example.com"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).map_err(|error| format!("tls: {error}"))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into()))
}
