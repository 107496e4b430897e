//! The platform as one thing: everything a process needs, made in the right order.

use std::sync::Arc;

use index::{Calls, Driver, DriverSettings, Effects, PlaceCalls};
use store::{Schema, Store};
use tally::Tallies;

use crate::accounts::{Accounts, PasswordError};
use crate::chains::{Chain, ChainChangeError, Registry, Tips};
use crate::events::{Events, EventsSettings};
use crate::projects::{Keys, Projects};
use crate::search::Searchers;
use crate::webhooks::Webhooks;
use crate::{Clock, StoreError, TallyCalls};

/// How long sweeping of old events rests when there is nothing to sweep.
const SWEEP_PERIOD: std::time::Duration = std::time::Duration::from_secs(60);

/// What the operator sets.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Chains of the configuration.
    pub chains: Vec<Chain>,
    /// Webhooks may lead to this machine.
    pub loopback_webhooks: bool,
    /// How counts are spread.
    pub tally: tally::Settings,
    /// How many events are kept.
    pub events: EventsSettings,
}

/// Why the platform does not open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A configured chain is wrong, or the registry cannot be read.
    #[error(transparent)]
    Chains(#[from] ChainChangeError),
    /// The settings of counts are wrong.
    #[error(transparent)]
    Tally(#[from] tally::LimitError),
    /// Passwords cannot be hashed.
    #[error(transparent)]
    Password(#[from] PasswordError),
}

/// Everything that services and pages share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Platform {
    /// The store.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// Chains and their nodes.
    pub chains: Registry,
    /// What their nodes say.
    pub tips: Tips,
    /// Accounts.
    pub accounts: Accounts,
    /// Projects.
    pub projects: Projects,
    /// Keys of projects.
    pub keys: Keys,
    /// The event stream.
    pub events: Events,
    /// Webhooks.
    pub webhooks: Webhooks,
    /// What can be searched for.
    pub searchers: Searchers,
    /// Changes with consequences.
    pub effects: Effects,
}

impl Platform {
    /// The platform in `store`, whose tables are `schema`.
    ///
    /// # Errors
    /// When a setting is wrong, or the store cannot be read.
    pub async fn open(store: Store, schema: Schema, options: Options) -> Result<Self, OpenError> {
        let clock = Clock::system();
        let chains = Registry::open(store.clone(), options.chains).await?;
        let accounts = Accounts::new(store.clone(), clock.clone())?;
        let tallies = Tallies::new(store.clone(), options.tally)?;
        let calls = Calls::new()
            .with(PlaceCalls::new(store.clone(), crate::lists()))
            .with(TallyCalls::new(tallies.clone()));
        let effects = Effects::new(store.clone(), schema, calls);
        let projects =
            Projects::new(store.clone(), effects.clone(), tallies, chains.watch(), clock.clone());
        let events = Events::new(store.clone(), clock.clone(), options.events);
        let tips = Tips::new(store.clone(), events.clone(), chains.clone(), clock.clone());
        let webhooks =
            Webhooks::new(store.clone(), events.clone(), clock.clone(), options.loopback_webhooks);
        let searchers =
            Searchers::new().with(chains.clone()).with(projects.clone()).with(accounts.clone());
        let keys = Keys::new(store.clone());
        Ok(Self {
            store,
            clock,
            chains,
            tips,
            accounts,
            projects,
            keys,
            events,
            webhooks,
            searchers,
            effects,
        })
    }

    /// Finishes changes that a crash left, and sweeps events that nobody can read any more; for
    /// ever. Several processes may do it at once. End it by dropping the future.
    pub async fn keep_tidy(&self) {
        let driver = Driver::new(self.effects.clone(), DriverSettings::default());
        tokio::join!(driver.run(), self.sweep_events());
    }

    async fn sweep_events(&self) {
        loop {
            match self.events.sweep().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::warn!("old events were not swept and will be: {error}"),
            }
            tokio::time::sleep(SWEEP_PERIOD).await;
        }
    }

    /// Tells what happened. The change itself is made already, so a failure is only logged.
    pub async fn tell(
        &self,
        kind: &str,
        chain: Option<crate::chains::ChainName>,
        data: serde_json::Value,
        op: store::OpId,
    ) {
        let event = crate::events::NewEvent { kind: kind.to_owned(), chain, data };
        if let Err(error) = self.events.append(vec![event], op).await {
            tracing::warn!(kind, "an event was not told: {error}");
        }
    }

    /// Whether the store answers a read.
    ///
    /// # Errors
    /// When it does not.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let first = store::PageRequest::first(1);
        self.store.page(&crate::tables::CHAINS, &(), first).await?;
        Ok(())
    }

    /// Everything in one shared handle.
    #[must_use]
    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }
}
