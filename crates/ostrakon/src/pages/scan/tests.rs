//! The explorer before its chain has anything: every page is whole, and every refusal says what to
//! do.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse as _;
use platform::chains::{Chain, ChainKind, ChainName};
use tower::ServiceExt as _;
use web::{CHINESE, ENGLISH};

use super::page::Refused;
use crate::config::Settings;
use crate::opening::OpenStore;
use crate::server::served;

/// A server that explores the chain `young`, which has no epoch, and not `other`.
async fn server() -> axum::Router {
    let opened = std::sync::Arc::new(OpenStore::model().await);
    let settings = Settings::defaults("data".into());
    let (product, built) = served(opened, &settings).await.expect("opens");
    for (name, kind) in [("young", ChainKind::Conflux), ("other", ChainKind::Bitcoin)] {
        let name = ChainName::new(name).expect("a name");
        let chain = Chain { name, kind, network: "test".into(), nodes: vec![], enabled: true };
        let op = index::new_op().expect("an operation");
        product.platform.chains.add(chain, None, op).await.expect("added");
    }
    built.router
}

async fn ask(server: &axum::Router, path: &str, language: &str) -> (StatusCode, String) {
    let request = Request::get(path).header("accept", "text/html");
    let request = request.header("accept-language", language).body(Body::empty());
    let response = server.clone().oneshot(request.expect("a request")).await.expect("answered");
    let (head, body) = response.into_parts();
    let body = axum::body::to_bytes(body, 1 << 22).await.expect("a body");
    (head.status, String::from_utf8(body.to_vec()).expect("text"))
}

#[tokio::test]
async fn a_chain_without_epochs_has_all_its_pages() {
    let server = server().await;
    let account = format!("/accounts/0x{}", "1".repeat(40));
    let miner = format!("/miners/0x{}", "1".repeat(40));
    for (path, said) in [
        ("/epochs", ENGLISH.no_epochs),
        ("/blocks", ENGLISH.no_blocks),
        ("/transactions", ENGLISH.no_transactions),
        ("/miners", ENGLISH.no_miners),
        ("/pivot-chain", ENGLISH.no_epochs),
        ("/graph", ENGLISH.no_epochs),
        ("/charts", ENGLISH.no_blocks),
        ("/journal", ENGLISH.no_switches),
        (account.as_str(), ENGLISH.no_transactions),
        (miner.as_str(), ENGLISH.no_blocks),
        ("", ENGLISH.no_epochs),
    ] {
        let (status, page) = ask(&server, &format!("/chains/young{path}"), "en").await;
        assert_eq!(status, StatusCode::OK, "{path}: {page}");
        assert!(page.contains(said), "{path} does not say {said}: {page}");
        assert!(page.contains("href=\"/chains/young/journal\""), "{path} leads nowhere");
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_do_in_the_language_of_the_reader() {
    let server = server().await;
    let unknown = format!("/chains/young/blocks/0x{}", "0".repeat(64));
    for (path, status, said) in [
        ("/chains/other/epochs", 404, CHINESE.not_explored_advice),
        ("/chains/none/epochs", 404, CHINESE.not_explored_advice),
        (unknown.as_str(), 404, CHINESE.no_such_hash_advice),
        ("/chains/young/blocks/0x1", 400, CHINESE.bad_hash_advice),
        ("/chains/young/transactions/x", 400, CHINESE.bad_hash_advice),
        ("/chains/young/accounts/cfx:aa", 400, CHINESE.bad_address_advice),
        ("/chains/young/epochs/7", 404, CHINESE.no_such_epoch_advice),
        ("/chains/young/epochs/+7", 400, CHINESE.bad_number_advice),
        ("/chains/young/journal/7", 404, CHINESE.no_such_switch_advice),
        ("/chains/young/charts?blocks=7", 400, CHINESE.bad_choice_advice),
    ] {
        let (answered, page) = ask(&server, path, "zh").await;
        assert_eq!(answered.as_u16(), status, "{path}: {page}");
        assert!(page.contains(said), "{path} does not say {said}: {page}");
    }
}

#[tokio::test]
async fn a_chain_that_is_not_explored_has_its_page_without_an_explorer() {
    let (status, page) = ask(&server().await, "/chains/other", "en").await;
    assert_eq!(status, StatusCode::OK);
    assert!(!page.contains("/chains/other/epochs") && !page.contains("data-live"), "{page}");
}

#[test]
fn a_page_that_took_too_long_may_be_asked_for_again() {
    let (age, limit) = (Duration::from_secs(600), Duration::from_secs(300));
    let expired = timeline::ViewError::Expired { age, limit };
    let answered = Refused::from(expired).into_response();
    assert_eq!(answered.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(answered.headers().contains_key("retry-after"), "{answered:?}");
}
