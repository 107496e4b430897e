//! What every test of the service needs: a store, messages of many lives, and a plain list that
//! says what they must add up to.
#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod plain;
pub(crate) mod scenarios;

pub(crate) use plain::Plain;

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use platform::Clock;
use staking::{Intake as _, Message, PublicKey, Settings, Staking, Taken};
use store::{ModelEngine, Schema, Store};

/// Full counts, as the issue has them, or reduced ones.
pub(crate) fn full() -> bool {
    std::env::var_os("OSTRAKON_FULL").is_some()
}

/// A seed that is printed, so that a failure can be seen again.
pub(crate) fn seeded() -> Rng {
    let seed = match std::env::var("OSTRAKON_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => fastrand::u64(..),
    };
    println!("seed {seed} (OSTRAKON_SEED)");
    Rng::with_seed(seed)
}

/// The tables that the service needs.
pub(crate) fn schema() -> Schema {
    let mut tables = staking::tables::tables();
    tables.extend(tally::tables());
    tables.extend(platform::tables());
    Schema::new(tables)
}

/// Staking on the model engine.
pub(crate) fn on_model(settings: Settings) -> Staking {
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    Staking::new(store, Clock::system(), None, settings).expect("settings")
}

/// Hands messages over in batches, and counts the answers that are neither applied nor repeated.
pub(crate) async fn feed(staking: &Staking, messages: Vec<(&'static str, Vec<u8>)>, batch: usize) {
    for batch in messages.chunks(batch) {
        let messages: Vec<Message> = (batch.iter())
            .map(|(queue, body)| Message { source: (*queue).to_owned(), body: body.clone() })
            .collect();
        for taken in staking.take(messages).await {
            assert!(!matches!(taken, Taken::Later(_) | Taken::Unprocessable(_)), "{taken:?}");
        }
    }
}

/// Compares everything with the plain list.
pub(crate) async fn compare(staking: &Staking, plain: &Plain) {
    assert_eq!(staking.overall().await.expect("read"), plain.overall());
    let mut providers = BTreeMap::new();
    let mut after = None;
    loop {
        let page = staking.providers(after, 7).await.expect("read");
        assert!(page.rows.is_sorted_by_key(|(_, standing)| std::cmp::Reverse(standing.active_tvl)));
        for (PublicKey(key), standing) in page.rows {
            assert_eq!(providers.insert(key, standing), None, "a row twice");
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(providers, plain.by(|life| life.provider));
    compare_stakers(staking, plain).await;
    for height in heights(plain) {
        let found = staking.as_of(staking::BtcHeight(height)).await.expect("read");
        assert_eq!(found, plain.as_of(height), "as of {height}");
    }
}

async fn compare_stakers(staking: &Staking, plain: &Plain) {
    let mut expected = plain.by(|life| life.staker);
    expected.retain(|_, standing| standing.total_delegations > 0);
    let mut stakers = BTreeMap::new();
    let mut after = None;
    loop {
        let page = staking.stakers(after, 37).await.expect("read");
        for (PublicKey(key), standing) in page.rows {
            assert_eq!(stakers.insert(key, standing), None, "a row twice");
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(stakers, expected);
    for (key, standing) in expected.iter().take(50) {
        let found = staking.staker(PublicKey(*key)).await.expect("read");
        assert_eq!(found.as_ref(), Some(standing));
    }
}

fn heights(plain: &Plain) -> Vec<u64> {
    let mut heights: Vec<u64> = plain.lives.iter().take(20).map(|life| life.start).collect();
    heights.extend(plain.lives.iter().take(20).map(|life| life.start + life.timelock));
    heights.extend([0, 9_000_000]);
    heights
}
