//! Babylon's API answers as the original does, field by field, and pages without skip or repeat.

mod common;
mod compat;

use std::collections::BTreeSet;

use common::seeded;
use compat::{HASH, PROVIDER, STAKER, Server, listed, params, sample};
use devnet::staking::{Life, World, hex};
use fastrand::Rng;
use serde_json::{Value, json};
use staking::TxHash;
use staking::address::Network;
use staking::delegation::State;

/// Another key on the curve.
const OTHER: &str = "50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0";
const DAY: u64 = 86_400_000;

async fn with_sample() -> Server {
    let server = Server::new(Some(&params()), None);
    server.feed(&[&sample("active_staking_queue")]).await;
    server
}

async fn feed(server: &Server, lives: &[Life], rng: &mut Rng) {
    let mut messages: Vec<Value> =
        lives.iter().flat_map(|life| life.messages(rng)).map(|(_, message)| message).collect();
    rng.shuffle(&mut messages);
    server.feed(&messages.iter().collect::<Vec<_>>()).await;
}

/// A delegation as the original writes it, to the byte.
fn delegation(state: &str, unbonding: &str, is_slashed: bool) -> String {
    let staking_tx = sample("active_staking_queue")["staking_tx_hex"].clone();
    format!(r#"{{"staking_tx_hash_hex":"{HASH}","staker_pk_hex":"{STAKER}","#)
        + &format!(r#""finality_provider_pk_hex":"{PROVIDER}","state":"{state}","#)
        + &format!(r#""staking_value":100000,"staking_tx":{{"tx_hex":{staking_tx},"#)
        + r#""output_index":1,"start_timestamp":"2024-04-25T08:52:39Z","start_height":102,"#
        + &format!(r#""timelock":100}},{unbonding}"is_overflow":false,"#)
        + &format!(r#""is_eligible_for_transition":false,"is_slashed":{is_slashed}}}"#)
}

#[tokio::test]
async fn a_delegation_has_the_fields_of_the_original_in_their_order() {
    let server = with_sample().await;
    let one = format!("/v1/delegation?staking_tx_hash_hex={HASH}");
    let active = delegation("active", "", false);
    assert_eq!(server.text(&one).await, (200, format!(r#"{{"data":{active}}}"#)));
    let upper = format!("/v1/delegation?staking_tx_hash_hex={}&x=y", HASH.to_uppercase());
    assert_eq!(server.text(&upper).await.0, 200);
    let list = format!("/v1/staker/delegations?staker_btc_pk={STAKER}");
    let page = format!(r#"{{"data":[{active}],"pagination":{{"next_key":""}}}}"#);
    assert_eq!(server.text(&list).await, (200, page));

    server.feed(&[&sample("unbonding_staking_queue")]).await;
    let tx = sample("unbonding_staking_queue")["unbonding_tx_hex"].clone();
    let unbonding = format!(r#""unbonding_tx":{{"tx_hex":{tx},"output_index":1,"#)
        + r#""start_timestamp":"2024-04-25T09:06:39Z","start_height":202,"timelock":10},"#;
    let text = delegation("unbonding", &unbonding, false);
    assert_eq!(server.text(&one).await, (200, format!(r#"{{"data":{text}}}"#)));
    let slashed = json!({
        "event_type": 8, "staking_tx_hash_hex": HASH, "slashing_tx_hash_hex": "08".repeat(32),
        "slashing_tx_btc_height": 203,
    });
    server.feed(&[&slashed]).await;
    let text = delegation("slashed", &unbonding, true);
    assert_eq!(server.text(&one).await, (200, format!(r#"{{"data":{text}}}"#)));
}

#[tokio::test]
async fn what_is_not_there_is_told_so() {
    let server = Server::new(None, None);
    let healthy = (200, r#"{"data":"Server is up and running"}"#.to_owned());
    assert_eq!(server.text("/healthcheck").await, healthy);
    let missing = "staking delegation not found, please retry";
    let path = format!("/v1/delegation?staking_tx_hash_hex={HASH}");
    server.refused(&path, 404, "NOT_FOUND", missing).await;
    // Only a later step is known.
    server.feed(&[&sample("unbonding_staking_queue")]).await;
    server.refused(&path, 404, "NOT_FOUND", missing).await;
    let empty = (200, r#"{"data":[],"pagination":{"next_key":""}}"#.to_owned());
    for path in ["/v1/stats/staker", "/v1/finality-providers"] {
        assert_eq!(server.text(path).await, empty, "{path}");
    }
    let list = format!("/v1/staker/delegations?staker_btc_pk={STAKER}");
    assert_eq!(server.text(&list).await, empty);
    let nobody = (200, r#"{"data":[]}"#.to_owned());
    assert_eq!(server.text(&format!("/v1/stats/staker?staker_btc_pk={STAKER}")).await, nobody);
    assert_eq!(server.text(&format!("/v1/finality-providers?fp_btc_pk={OTHER}")).await, nobody);
    let none = "global params are not configured";
    server.refused("/v1/global-params", 404, "NOT_FOUND", none).await;
}

#[tokio::test]
async fn every_parameter_that_cannot_be_read_is_a_bad_request() {
    let server = with_sample().await;
    let list = format!("/v1/staker/delegations?staker_btc_pk={STAKER}");
    let check = "/v1/staker/delegation/check";
    let lookup = "/v1/staker/pubkey-lookup";
    let address = Network::Regtest.taproot(staker()).expect("on the curve");
    let many = format!("{lookup}?{}", vec![format!("address={address}"); 11].join("&"));
    let undecoded = "can not decode btc address: decoded address is of unknown format";
    for (path, message) in [
        ("/v1/staker/delegations".to_owned(), "staker_btc_pk is required"),
        ("/v1/staker/delegations?staker_btc_pk=".to_owned(), "staker_btc_pk is required"),
        ("/v1/staker/delegations?staker_btc_pk=91".to_owned(), "invalid staker_btc_pk"),
        (format!("{list}&state=lost"), "invalid delegation state: lost"),
        (format!("{list}&pending_action=yes"), "invalid pending_action"),
        (format!("{list}&pagination_key=x"), "invalid pagination key format"),
        ("/v1/delegation".to_owned(), "staking_tx_hash_hex is required"),
        ("/v1/delegation?staking_tx_hash_hex=zz".to_owned(), "invalid staking_tx_hash_hex"),
        ("/v1/stats/staker?staker_btc_pk=0".to_owned(), "invalid staker_btc_pk"),
        ("/v1/stats/staker?pagination_key=A".to_owned(), "invalid pagination key format"),
        ("/v1/finality-providers?fp_btc_pk=0".to_owned(), "invalid fp_btc_pk"),
        ("/v1/finality-providers?pagination_key=%3D".to_owned(), "invalid pagination key format"),
        (check.to_owned(), "address is required"),
        (format!("{check}?address=bcrt1"), undecoded),
        (format!("{check}?address={address}&timeframe=week"), "invalid timeframe value"),
        (lookup.to_owned(), "address is required"),
        (format!("{lookup}?address={address}&address="), undecoded),
        (many, "Maximum 10 address allowed"),
    ] {
        server.refused(&path, 400, "BAD_REQUEST", message).await;
    }
}

fn staker() -> staking::PublicKey {
    staking::PublicKey::parse(STAKER).expect("a key")
}

#[tokio::test]
async fn addresses_lead_to_stakers() {
    let server = with_sample().await;
    let taproot = Network::Regtest.taproot(staker()).expect("on the curve");
    let key: bitcoin::CompressedPublicKey = format!("02{STAKER}").parse().expect("a key");
    let segwit = bitcoin::Address::p2wpkh(&key, bitcoin::KnownHrp::Regtest).to_string();
    let unknown = Network::Regtest.taproot(staking::PublicKey::parse(OTHER).expect("a key"));
    let unknown = unknown.expect("on the curve");
    let lookup = "/v1/staker/pubkey-lookup";
    let asked = format!("{lookup}?address={taproot}&address={unknown}&address={segwit}");
    let expected = json!({ "data": { taproot.clone(): STAKER, segwit.clone(): STAKER } });
    assert_eq!(server.get(&asked).await, expected);
    assert_eq!(server.get(&format!("{lookup}?address={unknown}")).await, json!({ "data": {} }));

    let says = |data: bool| (200, format!(r#"{{"data":{data},"code":0}}"#));
    let check =
        |address: &str, rest: &str| format!("/v1/staker/delegation/check?address={address}{rest}");
    for address in [&taproot, &segwit] {
        assert_eq!(server.text(&check(address, "")).await, says(true));
        assert_eq!(server.text(&check(address, "&timeframe=today")).await, says(true));
    }
    // The same key on another network is nobody here, and holds up no other address.
    let foreign = Network::Mainnet.taproot(staker()).expect("on the curve");
    for nobody in [&unknown, &foreign] {
        assert_eq!(server.text(&check(nobody, "")).await, says(false));
    }
    let asked = format!("{lookup}?address={foreign}&address={taproot}");
    assert_eq!(server.get(&asked).await, json!({ "data": { taproot.clone(): STAKER } }));
    server.hand.forward(DAY);
    assert_eq!(server.text(&check(&taproot, "")).await, says(true));
    assert_eq!(server.text(&check(&taproot, "&timeframe=today")).await, says(false));
    server.feed(&[&sample("unbonding_staking_queue")]).await;
    assert_eq!(server.text(&check(&taproot, "")).await, says(false), "it is not active");
}

#[tokio::test]
async fn sums_are_told_as_the_original_tells_them() {
    let server = with_sample().await;
    let stats = |active, unconfirmed, pending| {
        let text = format!(r#"{{"data":{{"active_tvl":{active},"total_tvl":100000,"#)
            + r#""active_delegations":1,"total_delegations":1,"total_stakers":1,"#
            + &format!(r#""unconfirmed_tvl":{unconfirmed},"pending_tvl":{pending}}}}}"#);
        (200, text)
    };
    assert_eq!(server.text("/v1/stats").await, stats(100_000, 0, 0), "our own sum");
    server.feed(&[&sample("btc_info_queue")]).await;
    assert_eq!(server.text("/v1/stats").await, stats(90, 100, 10), "the indexer's");
    // More is confirmed than there is: an indexer in trouble makes no giant number here.
    server.feed(&[&devnet::staking::btc_info(101, 100, 90)]).await;
    assert_eq!(server.text("/v1/stats").await, stats(100, 90, 0));

    let row = format!(r#"{{"staker_pk_hex":"{STAKER}","active_tvl":100000,"#)
        + r#""total_tvl":100000,"active_delegations":1,"total_delegations":1}"#;
    let page = format!(r#"{{"data":[{row}],"pagination":{{"next_key":""}}}}"#);
    assert_eq!(server.text("/v1/stats/staker").await, (200, page));
    let one = format!("/v1/stats/staker?staker_btc_pk={STAKER}&pagination_key=x");
    assert_eq!(server.text(&one).await, (200, format!(r#"{{"data":[{row}]}}"#)));
    let (status, text) = server.text("/v1/global-params").await;
    let begins = r#"{"data":{"versions":[{"version":0,"activation_height":100,"staking_cap":"#;
    assert!(status == 200 && text.starts_with(begins), "{text}");
    let mut expected = params();
    expected["versions"][0]["cap_height"] = 0.into();
    assert_eq!(server.get("/v1/global-params").await, json!({ "data": expected }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stakers_delegations_are_paged_by_state_without_skip_or_repeat() {
    let mut rng = seeded();
    let server = Server::new(None, None);
    let world = World::new(&mut rng, 1, 3, 800_000, 3);
    let lives: Vec<Life> = (0..150).map(|_| world.life(&mut rng)).collect();
    feed(&server, &lives, &mut rng).await;
    let staker = hex(&world.stakers[0]);
    let list = format!("/v1/staker/delegations?staker_btc_pk={staker}");
    let mut states = Vec::new();
    for life in &lives {
        let known = server.staking.delegation(TxHash(life.hash)).await.expect("read");
        states.push((hex(&life.hash), known.and_then(|it| it.state()).expect("a state")));
    }
    let check = async |filter: String, wanted: &[State]| {
        let rows = server.all(&format!("{list}{filter}")).await;
        let found = rows.iter().map(|row| row["staking_tx_hash_hex"].as_str().expect("a hash"));
        let found: Vec<String> = found.map(ToOwned::to_owned).collect();
        let unique: BTreeSet<&String> = found.iter().collect();
        assert_eq!(unique.len(), found.len(), "{filter}: a row twice");
        let expected = states.iter().filter(|(_, state)| wanted.contains(state));
        assert_eq!(unique, expected.map(|(hash, _)| hash).collect(), "{filter}");
        let height = |row: &Value| row["staking_tx"]["start_height"].as_u64();
        assert!(rows.is_sorted_by(|one, next| height(one) >= height(next)), "newest first");
    };
    check(String::new(), &State::ALL).await;
    for state in State::ALL {
        check(format!("&state={}", state.word()), &[state]).await;
    }
    check("&state=active&state=withdrawn".to_owned(), &[State::Active, State::Withdrawn]).await;
    check("&state=transitioned".to_owned(), &[]).await;
    use State::{Active, Unbonded, Unbonding, UnbondingRequested};
    let pending = [Active, UnbondingRequested, Unbonding, Unbonded];
    check("&pending_action=true".to_owned(), &pending).await;
}

#[tokio::test]
async fn a_key_belongs_to_its_list_and_filter() {
    let mut rng = seeded();
    let server = Server::new(None, None);
    let world = World::new(&mut rng, 2, 3, 800_000, 3);
    let lives: Vec<Life> = (0..60).map(|_| world.life(&mut rng)).collect();
    feed(&server, &lives, &mut rng).await;
    let [one, two] = [0, 1].map(|number| hex(&world.stakers[number]));
    let list =
        |staker: &str, rest: &str| format!("/v1/staker/delegations?staker_btc_pk={staker}{rest}");
    let page = server.get(&list(&one, "")).await;
    let key = page["pagination"]["next_key"].as_str().expect("a key").to_owned();
    assert!(!key.is_empty());
    assert_eq!(server.text(&list(&one, &format!("&pagination_key={key}"))).await.0, 200);
    let damaged = format!("{}A", &key[..key.len() - 1]);
    let damaged = if damaged == key { format!("{key}A") } else { damaged };
    for path in [
        list(&two, &format!("&pagination_key={key}")),
        list(&one, &format!("&state=active&pagination_key={key}")),
        list(&one, &format!("&pagination_key={damaged}")),
        format!("/v1/stats/staker?pagination_key={key}"),
        format!("/v1/finality-providers?pagination_key={key}"),
    ] {
        let (status, text) = server.text(&path).await;
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((status, &answer["errorCode"]), (400, &json!("BAD_REQUEST")), "{path}");
        assert!(answer["message"].as_str().expect("text").contains("invalid pagination key"));
    }
    // The same states in another order are the same filter.
    let some = server.get(&list(&one, "&state=unbonded&state=active&state=withdrawn")).await;
    let key = some["pagination"]["next_key"].as_str().expect("a key").to_owned();
    if !key.is_empty() {
        let again = "&state=withdrawn&state=active&state=unbonded&pagination_key=";
        assert_eq!(server.text(&list(&one, &format!("{again}{key}"))).await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_are_paged_without_skip_or_repeat_when_all_are_equal() {
    let mut rng = seeded();
    let unused = [OTHER, STAKER].map(|key| listed("Idle", key));
    let server = Server::new(None, Some(&json!({ "finality_providers": unused })));
    let world = World::new(&mut rng, 70, 35, 800_000, 50);
    let mut lives = Vec::new();
    for (number, staker) in world.stakers.iter().enumerate() {
        let mut life = world.life(&mut rng);
        // Everybody has the same stake, or nothing left of it.
        (life.staker, life.provider) = (*staker, world.providers[number % 35]);
        (life.value, life.is_overflow) = (70_000, false);
        (life.unbonding, life.slashed, life.expires) = (None, None, number % 7 == 0);
        lives.push(life);
    }
    feed(&server, &lives, &mut rng).await;
    for (path, field, keys, more) in [
        ("/v1/stats/staker", "staker_pk_hex", &world.stakers, 0),
        ("/v1/finality-providers", "btc_pk", &world.providers, 2),
    ] {
        let rows = server.all(path).await;
        let found = rows.iter().map(|row| row[field].as_str().expect("a key").to_owned());
        let found: BTreeSet<String> = found.collect();
        assert_eq!((found.len(), rows.len()), (keys.len() + more, keys.len() + more), "{path}");
        assert!(keys.iter().all(|key| found.contains(&hex(key))), "{path}");
        let tvl = |row: &Value| row["active_tvl"].as_u64();
        assert!(rows.is_sorted_by(|one, next| tvl(one) >= tvl(next)), "{path}");
    }
    // Those without a stake come last, as the operator lists them.
    let rows = server.all("/v1/finality-providers").await;
    let last: Vec<&Value> = rows.iter().rev().take(2).map(|row| &row["btc_pk"]).collect();
    assert_eq!(last, [&json!(STAKER), &json!(OTHER)]);
}

#[tokio::test]
async fn providers_are_the_operators_list_and_our_sums() {
    let file = json!({ "finality_providers": [listed("Idle", OTHER), listed("One", PROVIDER)] });
    let server = Server::new(None, Some(&file));
    let details = |name: &str, website: &str, commission: &str, key: &str, tvl: u32, count: u32| {
        format!(r#"{{"description":{{"moniker":"{name}","identity":"","website":"{website}","#)
            + &format!(r#""security_contact":"","details":""}},"commission":"{commission}","#)
            + &format!(r#""btc_pk":"{key}","active_tvl":{tvl},"total_tvl":{tvl},"#)
            + &format!(r#""active_delegations":{count},"total_delegations":{count}}}"#)
    };
    let (site, share) = ("https://example.org", "0.050000000000000000");
    let idle = details("Idle", site, share, OTHER, 0, 0);
    let page = |rows: &[&str]| {
        (200, format!(r#"{{"data":[{}],"pagination":{{"next_key":""}}}}"#, rows.join(",")))
    };
    let path = "/v1/finality-providers";
    let one = details("One", site, share, PROVIDER, 0, 0);
    assert_eq!(server.text(path).await, page(&[&idle, &one]), "as the operator lists them");

    let mut overflow = sample("active_staking_queue");
    overflow["staking_tx_hash_hex"] = "05".repeat(32).into();
    overflow["finality_provider_pk_hex"] = "77".repeat(32).into();
    overflow["staker_pk_hex"] = "78".repeat(32).into();
    overflow["is_overflow"] = true.into();
    let mut unlisted = sample("active_staking_queue");
    unlisted["staking_tx_hash_hex"] = "04".repeat(32).into();
    unlisted["finality_provider_pk_hex"] = STAKER.into();
    unlisted["staking_value"] = 300_000.into();
    server.feed(&[&sample("active_staking_queue"), &unlisted, &overflow]).await;
    let one = details("One", site, share, PROVIDER, 100_000, 1);
    let nameless = details("", "", "", STAKER, 300_000, 1);
    assert_eq!(server.text(path).await, page(&[&nameless, &one, &idle]));
    for (key, row) in [(OTHER, &idle), (PROVIDER, &one), (STAKER, &nameless)] {
        let answer = (200, format!(r#"{{"data":[{row}]}}"#));
        assert_eq!(server.text(&format!("{path}?fp_btc_pk={key}")).await, answer);
    }
    // What came beyond the cap counts for nobody.
    let nobody = (200, r#"{"data":[]}"#.to_owned());
    let beyond = format!("{path}?fp_btc_pk={}", "77".repeat(32));
    assert_eq!(server.text(&beyond).await, nobody);
    let beyond = format!("/v1/stats/staker?staker_btc_pk={}", "78".repeat(32));
    assert_eq!(server.text(&beyond).await, nobody);
}

#[tokio::test]
async fn the_document_names_every_route_and_every_form_once() {
    let staking = common::on_model(staking::Settings::default());
    let compat = staking::compat::Compat::new(staking, staking::compat::CompatSettings::default());
    let (_, document) = staking::compat::routes(compat).split_for_parts();
    let document = serde_json::to_value(&document).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), 11);
    let mut ids = BTreeSet::new();
    for (path, item) in paths {
        assert!(path.starts_with("/compat/babylon/"), "{path}");
        for (_, operation) in item.as_object().expect("methods") {
            assert_eq!(operation["tags"], json!(["compat-babylon"]));
            let id = operation["operationId"].as_str().expect("an id");
            assert!(id.starts_with("babylon_") && ids.insert(id.to_owned()), "{id}");
        }
    }
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let names: Vec<&String> = schemas.keys().collect();
    assert!(names.iter().all(|name| name.starts_with("Babylon")), "{names:?}");
    let page = &schemas["BabylonAnswer_Vec_BabylonStakerStats"];
    assert_eq!(page["required"], json!(["data"]), "one staker comes without pagination");
    let code = &schemas["BabylonError"]["properties"]["errorCode"];
    assert_eq!(code["$ref"], "#/components/schemas/BabylonErrorCode", "{code}");
}
