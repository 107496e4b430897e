//! Who may write, and when another may take over.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::ManualClock;
use common::tree::CHAIN;
use store::{Engine, ModelEngine, Store};
use timeline::{PublishError, Settings, Timeline, Watch, WriterId};

const FIRST: WriterId = WriterId([1; 16]);
const SECOND: WriterId = WriterId([2; 16]);

#[tokio::test]
async fn a_lease_is_taken_over_only_after_it_stood_still() {
    let engine: Arc<dyn Engine> = Arc::new(ModelEngine::default());
    let clock = Arc::new(ManualClock::default());
    let settings = Settings { patience: Duration::from_secs(5), ..Settings::default() };
    let open = || {
        let store = Store::new(engine.clone(), 0);
        Timeline::with_clock(store, CHAIN.to_owned(), settings, clock.clone())
    };
    let mut first = open().lead(FIRST, &mut Watch::default()).await.expect("asks").expect("free");
    let (other, mut watch) = (open(), Watch::default());
    for _ in 0..3 {
        // It lives: each time the other looks, the beat has moved, however late it is.
        clock.advance(4_900);
        first.renew().await.expect("it still leads");
        assert!(other.lead(SECOND, &mut watch).await.expect("asks").is_none());
    }
    clock.advance(4_900);
    assert!(other.lead(SECOND, &mut watch).await.expect("asks").is_none(), "not yet");
    clock.advance(200);
    let mut second = other.lead(SECOND, &mut watch).await.expect("asks").expect("it stood still");
    let lost = first.renew().await.expect_err("another leads");
    assert!(matches!(lost, PublishError::Lost), "{lost}");
    second.renew().await.expect("it leads");
    // A writer finds its own lease again without waiting: nobody else can have its id.
    assert!(open().lead(SECOND, &mut Watch::default()).await.expect("asks").is_some());
}
