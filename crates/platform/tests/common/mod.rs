//! What the tests of the platform share: engines, a world on top of one, names.

#![allow(dead_code)]

use std::net::IpAddr;
use std::sync::Arc;

use index::{Calls, Driver, DriverSettings, Effects, INTENTS, Millis, PlaceCalls, STUCK};
use platform::accounts::{Accounts, UserId};
use platform::chains::{Chain, ChainKind, ChainName, Registry};
use platform::projects::Projects;
use platform::{Clock, Hand, TallyCalls};
use store::{Engine, ModelEngine, OpId, Schema, Store};
use store_fjall::{FjallEngine, Options};
use tally::{Settings, Tallies};
use tempfile::TempDir;

/// A day in milliseconds.
pub(crate) const DAY: u64 = 24 * 60 * 60 * 1000;
/// A password nobody else has.
pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) fn schema() -> Schema {
    let kernel = tally::tables().into_iter().chain([INTENTS.def(), STUCK.def()]);
    Schema::new(platform::tables().into_iter().chain(kernel))
}

/// Where rows are.
pub(crate) struct Home {
    pub(crate) engine: Arc<dyn Engine>,
    _directory: Option<TempDir>,
}

impl Home {
    pub(crate) fn model() -> Self {
        Self { engine: Arc::new(ModelEngine::default()), _directory: None }
    }

    pub(crate) fn fjall() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let options = Options::new(directory.path());
        let engine = FjallEngine::open(&options, &schema()).expect("opens");
        Self { engine: Arc::new(engine), _directory: Some(directory) }
    }

    pub(crate) fn both() -> [Self; 2] {
        [Self::model(), Self::fjall()]
    }
}

/// A process on a store.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) hand: Hand,
    pub(crate) clock: Clock,
    pub(crate) accounts: Accounts,
    pub(crate) registry: Registry,
    pub(crate) projects: Projects,
    pub(crate) effects: Effects,
    pub(crate) tallies: Tallies,
}

impl World {
    pub(crate) async fn on(engine: Arc<dyn Engine>) -> Self {
        let store = Store::new(engine, 0);
        let (clock, hand) = Clock::by_hand(20_000 * DAY);
        let accounts = Accounts::new(store.clone(), clock.clone()).expect("random");
        let chains = ["conflux", "bitcoin", "eth"].map(chain);
        let registry = Registry::open(store.clone(), chains).await.expect("opens");
        let settings = Settings { shards: 2, ..Settings::default() };
        let tallies = Tallies::new(store.clone(), settings).expect("settings");
        let calls = Calls::new()
            .with(PlaceCalls::new(store.clone(), platform::lists()))
            .with(TallyCalls::new(tallies.clone()));
        let effects = Effects::new(store.clone(), schema(), calls);
        let projects = Projects::new(
            store.clone(),
            effects.clone(),
            tallies.clone(),
            registry.watch(),
            clock.clone(),
        );
        Self { store, hand, clock, accounts, registry, projects, effects, tallies }
    }

    /// Finishes what it can while others go on.
    pub(crate) async fn drive_some(&self) {
        let zero = std::time::Duration::ZERO;
        let settings = DriverSettings { age: zero, period: zero, ..DriverSettings::default() };
        let mut driver = Driver::new(self.effects.clone(), settings);
        driver.step(Millis(Millis::now().0 + 1000)).await.expect("reads");
    }

    /// Finishes every change that was left half done.
    pub(crate) async fn drive(&self) {
        let zero = std::time::Duration::ZERO;
        let settings = DriverSettings { age: zero, period: zero, ..DriverSettings::default() };
        let mut driver = Driver::new(self.effects.clone(), settings);
        for _ in 0..100 {
            let step = driver.step(Millis(Millis::now().0 + 1000)).await.expect("reads");
            assert_eq!(step.aside, 0, "no call is refused");
            if step.found == 0 {
                return;
            }
        }
        panic!("intents stay");
    }
}

pub(crate) fn chain(name: &str) -> Chain {
    let name = ChainName::new(name).expect("a name");
    Chain { name, kind: ChainKind::Other, network: "test".into(), nodes: vec![], enabled: true }
}

pub(crate) fn op() -> OpId {
    index::new_op().expect("random")
}

pub(crate) fn user(name: &str) -> UserId {
    UserId::new(name).expect("a name")
}

pub(crate) fn client(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}
