//! The user must name the context; otherwise, connecting fails.

use std::path::PathBuf;

use probity_cluster::{Access, ClusterError, connect};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::server::FakeApiServer;

async fn attempt(contexts: &[&str], named: Option<&str>) -> Result<String, ClusterError> {
    let server = FakeApiServer::start(|_| None).await;
    let file = server.kubeconfig(contexts);
    let access = Access {
        kubeconfig: Some(file.path().to_owned()),
        context: named.map(ToOwned::to_owned),
        in_cluster: false,
    };
    Ok(connect(&access).await?.context)
}

#[tokio::test]
async fn a_current_context_is_not_taken_and_the_error_lists_all() {
    let error = attempt(&["first", "second"], None).await.unwrap_err();
    assert!(matches!(error, ClusterError::ContextNotNamed { .. }), "{error}");
    let words = error.to_string();
    assert!(words.contains("--context") && words.contains("first, second"), "{words}");
}

#[tokio::test]
async fn the_named_context_is_taken() {
    assert_eq!(attempt(&["first", "second"], Some("second")).await.unwrap(), "second");
}

#[tokio::test]
async fn the_only_context_of_a_kubeconfig_given_by_flag_is_taken() {
    assert_eq!(attempt(&["only"], None).await.unwrap(), "only");
}

#[tokio::test]
async fn an_unknown_context_is_named_with_the_known_ones() {
    let words = attempt(&["first", "second"], Some("third")).await.unwrap_err().to_string();
    assert!(words.contains("`third`") && words.contains("first, second"), "{words}");
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there_is_named() {
    let access =
        Access { kubeconfig: Some(PathBuf::from("/nowhere/config")), context: None, in_cluster: false };
    let words = connect(&access).await.err().unwrap().to_string();
    assert!(words.starts_with("failed to read the kubeconfig (/nowhere/config): No such file"), "{words}");
    assert!(words.matches("/nowhere/config").count() == 1 && words.contains("--kubeconfig"), "{words}");
}

#[tokio::test]
async fn a_kubeconfig_without_contexts_is_named() {
    for named in [None, Some("first")] {
        let words = attempt(&[], named).await.unwrap_err().to_string();
        assert!(words.contains("this kubeconfig has no contexts; give another"), "{words}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_where_its_address_comes_from() {
    let file = {
        let server = FakeApiServer::start(|_| None).await;
        server.kubeconfig(&["gone"])
    };
    let path = file.path().display().to_string();
    let access = Access { kubeconfig: Some(file.path().to_owned()), context: None, in_cluster: false };
    let error = connect(&access).await.err().unwrap();
    assert!(matches!(error, ClusterError::NotReached { .. }), "{error}");
    let words = error.to_string();
    for part in [
        "failed to connect to the API server at http://127.0.0.1:",
        &format!(" (context `gone` of {path}): "),
        &format!("with `kubectl --kubeconfig {path} --context gone version`"),
    ] {
        assert!(words.contains(part), "{part} in {words}");
    }
    assert!(!words.contains("ServiceError") && !words.contains("client error"), "{words}");
}

/// The result of connecting through this proxy.
async fn through(proxy: &str) -> Result<String, ClusterError> {
    let server = FakeApiServer::start(|_| None).await;
    let file = server.kubeconfig(&["behind"]);
    let mut config: Value = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
    config["clusters"][0]["cluster"]["proxy-url"] = proxy.into();
    std::fs::write(file.path(), config.to_string()).unwrap();
    let access = Access { kubeconfig: Some(file.path().to_owned()), context: None, in_cluster: false };
    Ok(connect(&access).await?.server_version)
}

/// Answers one `CONNECT` request, and connects the client with the address that it names.
async fn tunnel(listener: TcpListener) -> String {
    let (mut client, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let mut server = TcpStream::connect(head.split(' ').nth(1).unwrap()).await.unwrap();
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
    head
}

#[tokio::test]
async fn the_proxy_of_the_kubeconfig_is_used() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://me:secret@{}", listener.local_addr().unwrap());
    let tunnel = tokio::spawn(tunnel(listener));
    assert_eq!(through(&proxy).await.unwrap(), "v1.36.0-fake");
    let head = tunnel.await.unwrap();
    assert!(head.starts_with("CONNECT 127.0.0.1:"), "{head}");
    assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic "), "{head}");
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named_without_its_password() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let said = through(&format!("http://me:secret@{address}")).await.unwrap_err().to_string();
    let named = format!("through the proxy http://{address} (proxy-url in the kubeconfig): ");
    assert!(said.contains(&named) && said.contains("NO_PROXY"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}
