//! Requests to take a delegation out, through Babylon's API, with the messages of a real stake.

mod compat;

use axum::body::Body;
use bitcoin::consensus::encode::{deserialize_hex, serialize_hex};
use bitcoin::{Sequence, Transaction, absolute, transaction};
use compat::{HASH, Server, error, params, sample};
use platform::events::EventFilter;
use serde_json::{Value, json};
use staking::{BtcHeight, TxHash};

const POST: &str = "POST /v1/unbonding";
const NOTED: (u16, &str) = (202, "null");

async fn server(params: Option<&Value>) -> Server {
    let server = Server::new(params, None);
    server.feed(&[&sample("active_staking_queue")]).await;
    server
}

async fn check(server: &Server, body: &Value, status: u16, code: &str, message: &str) {
    let (found, text) = server.unbond(body.to_string()).await;
    assert_eq!(found, status, "{message}: {text}");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(answer["errorCode"], code, "{text}");
    let said = answer["message"].as_str().expect("a message");
    assert!(said.contains(message), "{said} is not about: {message}");
}

/// The real request with another transaction, whose hash is right.
fn with(change: impl Fn(&mut Transaction)) -> Value {
    let mut body = sample(POST);
    let hex = body["unbonding_tx_hex"].as_str().expect("text");
    let mut tx: Transaction = deserialize_hex(hex).expect("a transaction");
    change(&mut tx);
    body["unbonding_tx_hex"] = serialize_hex(&tx).into();
    body["unbonding_tx_hash_hex"] = tx.compute_txid().to_string().into();
    body
}

#[tokio::test]
async fn a_real_request_is_noted_with_its_signature_checked() {
    let server = server(Some(&params())).await;
    let eligible = format!("/v1/unbonding/eligibility?staking_tx_hash_hex={HASH}");
    assert_eq!(server.text(&eligible).await, (200, "null".to_owned()));
    let before = server.get("/v1/stats").await;
    let (status, text) = server.unbond(sample(POST).to_string()).await;
    assert_eq!((status, text.as_str()), NOTED);

    let path = format!("/v1/delegation?staking_tx_hash_hex={HASH}");
    let delegation = server.get(&path).await;
    assert_eq!(delegation["data"]["state"], "unbonding_requested");
    assert_eq!(delegation["data"].get("unbonding_tx"), None, "it is not on Bitcoin yet");
    assert_eq!(server.get("/v1/stats").await, before, "a wish changes no sum");
    let kept = server.staking.delegation(TxHash::parse(HASH).expect("a hash")).await;
    let request = kept.expect("read").expect("known").request.expect("noted");
    assert_eq!(json!(request.hash.to_string()), sample(POST)["unbonding_tx_hash_hex"]);
    assert_eq!(request.signature.len(), 64);

    let not_active = "delegation state is not active";
    check(&server, &sample(POST), 403, "FORBIDDEN", not_active).await;
    server.refused(&eligible, 403, "FORBIDDEN", not_active).await;
    server.feed(&[&sample("unbonding_staking_queue")]).await;
    assert_eq!(server.get(&path).await["data"]["state"], "unbonding");
    server.feed(&[&sample("expired_staking_queue")]).await;
    assert_eq!(server.get(&path).await["data"]["state"], "unbonded");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_requests_at_a_time_one_is_noted_and_told() {
    let server = server(Some(&params())).await;
    let body = sample(POST).to_string();
    let asked = (0..16).map(|_| server.unbond(body.clone()));
    let answers = futures_util::future::join_all(asked).await;
    let noted = answers.iter().filter(|(status, _)| *status == 202).count();
    let refused = answers.iter().filter(|(status, _)| *status == 403).count();
    assert_eq!((noted, refused), (1, 15));
    let filter = EventFilter { kinds: vec!["staking.unbonding.*".to_owned()], chain: None };
    let told = server.events.read_after(0, &filter, 10).await.expect("read").events;
    assert_eq!(told.len(), 1);
    let body = sample(POST);
    let (staking, unbonding) = (&body["staking_tx_hash_hex"], &body["unbonding_tx_hash_hex"]);
    let data = json!({ "staking_tx_hash_hex": staking, "unbonding_tx_hash_hex": unbonding });
    assert_eq!((told[0].kind.as_str(), &told[0].data), ("staking.unbonding.requested", &data));
}

#[tokio::test]
async fn what_cannot_be_read_is_a_bad_request() {
    let server = server(Some(&params())).await;
    for body in ["", "{", "[]", "null", "5", r#"{"staking_tx_hash_hex":5}"#, "{} x"] {
        let answer = (400, error("BAD_REQUEST", "invalid request payload"));
        assert_eq!(server.unbond(body).await, answer, "{body}");
    }
    for (field, wrongs, message) in [
        ("staking_tx_hash_hex", ["", "0x06", "06"], "invalid staking transaction hash"),
        ("unbonding_tx_hash_hex", ["", "zz", "17"], "invalid unbonding transaction hash"),
        ("unbonding_tx_hex", ["", "0200", "02000"], "invalid unbonding transaction hex"),
        ("staker_signed_signature_hex", ["", "72", "zz"], "invalid staker signed signature hex"),
    ] {
        let mut missing = sample(POST);
        missing.as_object_mut().expect("an object").remove(field);
        check(&server, &missing, 400, "BAD_REQUEST", message).await;
        for wrong in wrongs {
            let mut body = sample(POST);
            body[field] = wrong.into();
            check(&server, &body, 400, "BAD_REQUEST", message).await;
        }
    }
    let mut trailing = sample(POST);
    let hex = trailing["unbonding_tx_hex"].as_str().expect("text").to_owned();
    trailing["unbonding_tx_hex"] = format!("{hex}00").into();
    check(&server, &trailing, 400, "BAD_REQUEST", "invalid unbonding transaction hex").await;
    let large = (413, error("BAD_REQUEST", "Request Entity Too Large"));
    assert_eq!(server.unbond("x".repeat(300_000)).await, large);
    let chunks = (0..400).map(|_| Ok::<_, std::convert::Infallible>("x".repeat(1_000)));
    let endless = Body::from_stream(futures_util::stream::iter(chunks));
    assert_eq!(server.unbond(endless).await, large);
}

#[tokio::test]
async fn only_the_transaction_that_unbonds_this_stake_is_taken() {
    let code = "VALIDATION_ERROR";
    // With and without parameters: this much is always checked.
    for params in [None, Some(&params())] {
        let server = server(params).await;
        let mut other_hash = sample(POST);
        other_hash["unbonding_tx_hash_hex"] = "17".repeat(32).into();
        check(&server, &other_hash, 403, code, "must match the hash calculated").await;
        let same = with(|_| ());
        assert_eq!(same["unbonding_tx_hash_hex"], sample(POST)["unbonding_tx_hash_hex"]);
        for (body, message) in [
            (with(|tx| tx.input.push(tx.input[0].clone())), "exactly 1 inputs"),
            (with(|tx| tx.output.push(tx.output[0].clone())), "exactly 1 outputs"),
            (with(|tx| tx.lock_time = absolute::LockTime::from_consensus(5)), "locktime"),
            (with(|tx| tx.version = transaction::Version::ONE), "tx version"),
            (with(|tx| tx.input[0].sequence = Sequence::ZERO), "replaceable"),
            (with(|tx| tx.input[0].script_sig = vec![0x51].into()), "signature script"),
            (with(|tx| tx.input[0].previous_output.vout = 0), "previous staking tx output index"),
            (
                with(|tx| tx.input[0].previous_output.txid = tx.compute_txid()),
                "previous staking tx hash",
            ),
        ] {
            check(&server, &body, 403, code, message).await;
        }
        assert_eq!(server.unbond(same.to_string()).await.0, 202, "it was not noted before");
    }
}

#[tokio::test]
async fn the_staker_must_have_signed_exactly_this() {
    let code = "VALIDATION_ERROR";
    let unsigned = |place: usize| {
        let mut body = sample(POST);
        let signature = body["staker_signed_signature_hex"].as_str().expect("text");
        let mut signature = signature.to_owned().into_bytes();
        signature[place] = if signature[place] == b'0' { b'1' } else { b'0' };
        body["staker_signed_signature_hex"] = String::from_utf8(signature).expect("text").into();
        body
    };
    let with_params = server(Some(&params())).await;
    for place in [0, 63, 64, 127] {
        check(&with_params, &unsigned(place), 403, code, "invalid unbonding signature").await;
    }
    let output = "unbonding output does not match expected output";
    let less = with(|tx| tx.output[0].value = bitcoin::Amount::from_sat(89_999));
    check(&with_params, &less, 403, code, output).await;
    let elsewhere = with(|tx| tx.output[0].script_pubkey = vec![0x51].into());
    check(&with_params, &elsewhere, 403, code, output).await;
    assert_eq!(server(None).await.unbond(unsigned(0).to_string()).await.0, 202, "not checked");

    for (field, other) in [
        ("unbonding_time", json!(1001)),
        ("unbonding_fee", json!(9_999)),
        ("covenant_quorum", json!(2)),
    ] {
        let mut params = params();
        params["versions"][0][field] = other;
        check(&server(Some(&params)).await, &sample(POST), 403, code, output).await;
    }
    let mut later = params();
    later["versions"][0]["activation_height"] = 103.into();
    let message = "Internal service error";
    let server = server(Some(&later)).await;
    check(&server, &sample(POST), 500, "INTERNAL_SERVICE_ERROR", message).await;
}

#[tokio::test]
async fn only_an_active_delegation_is_asked_back() {
    let (unknown, not_active) = ("delegation not found", "delegation state is not active");
    let eligible = format!("/v1/unbonding/eligibility?staking_tx_hash_hex={HASH}");
    let server = Server::new(Some(&params()), None);
    check(&server, &sample(POST), 403, "NOT_FOUND", unknown).await;
    server.refused(&eligible, 403, "NOT_FOUND", unknown).await;
    // Only a later step is known: there is no stake to ask back yet.
    server.feed(&[&sample("unbonding_staking_queue")]).await;
    check(&server, &sample(POST), 403, "NOT_FOUND", unknown).await;
    server.feed(&[&sample("active_staking_queue")]).await;
    check(&server, &sample(POST), 403, "FORBIDDEN", not_active).await;

    // The timelock has passed, and nobody has noted it yet.
    let server = Server::new(Some(&params()), None);
    server.feed(&[&sample("active_staking_queue")]).await;
    server.staking.reach(BtcHeight(202)).await.expect("reached");
    check(&server, &sample(POST), 403, "FORBIDDEN", not_active).await;
    server.refused(&eligible, 403, "FORBIDDEN", not_active).await;
    let name = "/v1/unbonding/eligibility";
    server.refused(name, 400, "BAD_REQUEST", "staking_tx_hash_hex is required").await;
    let short = format!("{name}?staking_tx_hash_hex=06");
    server.refused(&short, 400, "BAD_REQUEST", "invalid staking_tx_hash_hex").await;
}
