//! The user must name the context; otherwise, connecting fails.

use std::path::PathBuf;

use probity_cluster::{Access, ClusterError, RequestFailure, connect};

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
async fn a_server_that_is_not_there_is_unreachable() {
    let file = {
        let server = FakeApiServer::start(|_| None).await;
        server.kubeconfig(&["gone"])
    };
    let access = Access { kubeconfig: Some(file.path().to_owned()), context: None, in_cluster: false };
    let error = connect(&access).await.err().unwrap();
    let ClusterError::Request { failure: RequestFailure::Unreachable(_), .. } = error else {
        panic!("{error}")
    };
}
