//! The registry: read, changed by compare-and-set, followed by every process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use store::{Change, OpId, PageRequest, Read, Store, Version};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::guarded::{Attempts, StoreError, commit_of, jittered, try_commit};
use crate::tables::CHAINS;

use super::{Chain, ChainChangeError, ChainError, ChainName};

/// Chains of one registry at the most: all of them fit one page, so that a reader sees them at one
/// version.
pub const CHAINS_LIMIT: usize = 200;
/// How often a process looks whether the registry changed.
const PERIOD: Duration = Duration::from_secs(1);

/// Where a chain comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The configuration. It cannot be changed by API.
    Configured,
    /// The store.
    Stored,
}

/// All chains at one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chains {
    version: Version,
    chains: BTreeMap<ChainName, (Source, Chain)>,
}

impl Chains {
    /// The version of the stored ones: what a change must have seen.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// A chain by its name, also one that is not enabled.
    #[must_use]
    pub fn get(&self, name: &ChainName) -> Option<&Chain> {
        self.chains.get(name).map(|(_, chain)| chain)
    }

    /// A chain by its name as somebody wrote it, if it is served.
    #[must_use]
    pub fn served(&self, name: &str) -> Option<&Chain> {
        let name = ChainName::new(name).ok()?;
        self.get(&name).filter(|chain| chain.enabled)
    }

    /// All chains in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (Source, &Chain)> {
        self.chains.values().map(|(source, chain)| (*source, chain))
    }
}

/// The chain registry. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Registry {
    store: Store,
    configured: Arc<BTreeMap<ChainName, Chain>>,
    sender: Arc<watch::Sender<Arc<Chains>>>,
}

/// Keeps a process following the registry; following ends when it is dropped.
#[derive(Debug)]
pub struct RegistryWatch(AbortHandle);

impl Drop for RegistryWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Registry {
    /// The registry in `store` with the chains of the configuration laid over it.
    ///
    /// # Errors
    /// When a configured chain is wrong or named twice, or the store cannot be read.
    pub async fn open(
        store: Store,
        configured: impl IntoIterator<Item = Chain>,
    ) -> Result<Self, ChainChangeError> {
        let mut chains = BTreeMap::new();
        for chain in configured {
            chain.check().map_err(|error| error.inside(&format!("chains.{}", chain.name)))?;
            if let Some(twice) = chains.insert(chain.name.clone(), chain) {
                let remedy = "it is configured twice; remove one of them";
                return Err(ChainError::field("chains", twice.name, remedy).into());
            }
        }
        if chains.len() > CHAINS_LIMIT {
            return Err(ChainChangeError::Full);
        }
        let (sender, _) = watch::channel(Arc::default());
        let registry = Self { store, configured: Arc::new(chains), sender: Arc::new(sender) };
        registry.refresh().await?;
        Ok(registry)
    }

    /// The chains as this process knows them.
    #[must_use]
    pub fn current(&self) -> Arc<Chains> {
        self.sender.borrow().clone()
    }

    /// The chains, now and whenever they change. Somebody must keep a [`Registry::follow`] alive
    /// for changes of other processes to arrive.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Arc<Chains>> {
        self.sender.subscribe()
    }

    /// Follows changes of other processes in the background: a second after a change at the most
    /// every process has seen it.
    #[must_use]
    pub fn follow(&self) -> RegistryWatch {
        let registry = self.clone();
        let task = tokio::spawn(async move {
            loop {
                // Processes that started together must not ask together.
                tokio::time::sleep(PERIOD / 2 + jittered(PERIOD / 2)).await;
                if let Err(error) = registry.refresh().await {
                    tracing::warn!("the chains could not be read and stay as they were: {error}");
                }
            }
        });
        RegistryWatch(task.abort_handle())
    }

    /// Adds a chain.
    ///
    /// # Errors
    /// When it is wrong, there already, or the registry is full or changed since `seen`.
    pub async fn add(
        &self,
        chain: Chain,
        seen: Option<Version>,
        op: OpId,
    ) -> Result<Version, ChainChangeError> {
        chain.check()?;
        let name = chain.name.clone();
        let change = CHAINS.insert(&name, &chain);
        self.commit(&name, seen, op, change, |stored| match stored.get(&name) {
            // The same chain again is a repeated request, or might as well be one.
            Some(there) if *there == chain => Ok(Decision::Already),
            Some(_) => Err(ChainChangeError::Exists { name: name.clone() }),
            None if stored.len() >= CHAINS_LIMIT => Err(ChainChangeError::Full),
            None => Ok(Decision::Commit),
        })
        .await
    }

    /// Replaces a chain.
    ///
    /// # Errors
    /// When it is wrong or missing, or the registry changed since `seen`.
    pub async fn change(
        &self,
        chain: Chain,
        seen: Option<Version>,
        op: OpId,
    ) -> Result<Version, ChainChangeError> {
        chain.check()?;
        let name = chain.name.clone();
        let change = CHAINS.insert(&name, &chain);
        self.commit(&name, seen, op, change, |stored| match stored.get(&name) {
            Some(there) if *there == chain => Ok(Decision::Already),
            Some(_) => Ok(Decision::Commit),
            None => Err(ChainChangeError::Missing { name: name.clone() }),
        })
        .await
    }

    /// Removes a chain. Its rows and projects stay, and count again when it comes back.
    ///
    /// # Errors
    /// When it is missing, or the registry changed since `seen`.
    pub async fn remove(
        &self,
        name: &ChainName,
        seen: Option<Version>,
        op: OpId,
    ) -> Result<Version, ChainChangeError> {
        self.commit(name, seen, op, CHAINS.delete(name), |stored| match stored.get(name) {
            Some(_) => Ok(Decision::Commit),
            None => Err(ChainChangeError::Missing { name: name.clone() }),
        })
        .await
    }

    async fn commit(
        &self,
        name: &ChainName,
        seen: Option<Version>,
        op: OpId,
        change: Change,
        decide: impl Fn(&BTreeMap<ChainName, Chain>) -> Result<Decision, ChainChangeError>,
    ) -> Result<Version, ChainChangeError> {
        if self.configured.contains_key(name) {
            return Err(ChainChangeError::Configured { name: name.clone() });
        }
        let mut attempts = Attempts::of(CHAINS.def().name());
        loop {
            let (current, stored) = self.stored(Read::Serial).await?;
            let decision = decide(&stored)?;
            if let Decision::Already = decision {
                self.refresh().await?;
                return Ok(current);
            }
            if let Some(seen) = seen.filter(|seen| *seen != current) {
                return Err(ChainChangeError::Stale { seen, current });
            }
            let changes = vec![change.clone()];
            let commit = commit_of(&CHAINS, &(), current, changes, op, Bytes::new())?;
            if let Some(done) = try_commit(&self.store, commit).await? {
                self.refresh().await?;
                return Ok(done.version);
            }
            attempts.again().await?;
        }
    }

    async fn stored(
        &self,
        read: Read,
    ) -> Result<(Version, BTreeMap<ChainName, Chain>), StoreError> {
        // One page holds them all, so that they are of one version.
        let request = PageRequest { read, ..PageRequest::first(CHAINS_LIMIT) };
        let page = self.store.page(&CHAINS, &(), request).await?;
        Ok((page.version, page.rows.into_iter().collect()))
    }

    /// Looks whether the registry changed, and takes it over if so.
    async fn refresh(&self) -> Result<(), StoreError> {
        let first = self.store.page(&CHAINS, &(), PageRequest::first(1)).await?;
        let known = self.current();
        let begun = !known.chains.is_empty() || self.configured.is_empty();
        if begun && first.version <= known.version {
            return Ok(());
        }
        let (version, stored) = self.stored(Read::Quorum).await?;
        let mut chains: BTreeMap<_, _> =
            stored.into_iter().map(|(name, chain)| (name, (Source::Stored, chain))).collect();
        for (name, chain) in self.configured.iter() {
            chains.insert(name.clone(), (Source::Configured, chain.clone()));
        }
        let new = Arc::new(Chains { version, chains });
        // A replica that lags behind must not take a change back.
        self.sender.send_if_modified(|old| {
            let newer = new.version > old.version || (old.chains.is_empty() && new != *old);
            if newer {
                *old = new;
            }
            newer
        });
        Ok(())
    }
}

/// What a change finds there is to do.
enum Decision {
    Commit,
    Already,
}

#[cfg(test)]
mod tests {
    use store::ModelEngine;

    use super::super::chain::tests::chain;
    use super::*;

    fn store() -> Store {
        Store::new(Arc::new(ModelEngine::default()), 0)
    }

    fn op() -> OpId {
        index::new_op().expect("random")
    }

    fn name(text: &str) -> ChainName {
        ChainName::new(text).expect("a name")
    }

    async fn open(store: &Store, configured: Vec<Chain>) -> Registry {
        Registry::open(store.clone(), configured).await.expect("opens")
    }

    #[tokio::test]
    async fn chains_are_added_changed_and_removed_at_a_version() {
        let registry = open(&store(), vec![]).await;
        let first = registry.add(chain("conflux"), None, op()).await.expect("added");
        let again = registry.add(chain("conflux"), None, op()).await.expect("the same again");
        assert_eq!(first, again);
        let other = Chain { network: "testnet".into(), ..chain("conflux") };
        let error = registry.add(other.clone(), None, op()).await.expect_err("exists");
        assert!(matches!(error, ChainChangeError::Exists { .. }), "{error}");
        let second = registry.change(other.clone(), Some(first), op()).await.expect("changed");
        let stale = Chain { enabled: false, ..other.clone() };
        let error = registry.change(stale, Some(first), op()).await.expect_err("stale");
        assert!(matches!(error, ChainChangeError::Stale { .. }), "{error}");
        assert_eq!(registry.current().get(&name("conflux")), Some(&other));
        registry.remove(&name("conflux"), Some(second), op()).await.expect("removed");
        let error = registry.remove(&name("conflux"), None, op()).await.expect_err("gone");
        assert!(matches!(error, ChainChangeError::Missing { .. }), "{error}");
        assert_eq!(registry.current().iter().count(), 0);
    }

    #[tokio::test]
    async fn the_configuration_wins_and_says_so() {
        let store = store();
        let plain = open(&store, vec![]).await;
        plain.add(chain("conflux"), None, op()).await.expect("added");
        let configured = Chain { network: "testnet".into(), ..chain("conflux") };
        let registry = open(&store, vec![configured.clone()]).await;
        let chains = registry.current();
        assert_eq!(chains.iter().next(), Some((Source::Configured, &configured)));
        for error in [
            registry.add(chain("conflux"), None, op()).await.expect_err("configured"),
            registry.change(chain("conflux"), None, op()).await.expect_err("configured"),
            registry.remove(&name("conflux"), None, op()).await.expect_err("configured"),
        ] {
            assert!(error.to_string().contains("configuration"), "{error}");
        }
        let twice = vec![configured.clone(), configured];
        let error = Registry::open(store, twice).await.expect_err("twice").to_string();
        assert!(error.contains("twice"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_reaches_other_processes_without_a_restart() {
        let store = store();
        let (here, there) = (open(&store, vec![]).await, open(&store, vec![]).await);
        let _follow = there.follow();
        let mut seen = there.watch();
        here.add(chain("conflux"), None, op()).await.expect("added");
        assert!(here.current().served("conflux").is_some(), "at once where it was changed");
        seen.changed().await.expect("follows");
        assert!(seen.borrow().served("conflux").is_some());
        let off = Chain { enabled: false, ..chain("conflux") };
        here.change(off, None, op()).await.expect("changed");
        seen.changed().await.expect("follows");
        assert!(seen.borrow().served("conflux").is_none());
        assert!(seen.borrow().served("Conflux").is_none());
    }

    #[tokio::test]
    async fn the_registry_has_a_limit() {
        let registry = open(&store(), vec![]).await;
        for number in 0..CHAINS_LIMIT {
            registry.add(chain(&format!("c{number}")), None, op()).await.expect("there is room");
        }
        let error = registry.add(chain("more"), None, op()).await.expect_err("full");
        assert!(matches!(error, ChainChangeError::Full), "{error}");
        assert_eq!(registry.current().iter().count(), CHAINS_LIMIT);
    }

    #[tokio::test]
    async fn writers_at_the_same_time_lose_nothing() {
        let registry = open(&store(), vec![]).await;
        let adds = (0..20).map(|number| {
            let registry = registry.clone();
            async move { registry.add(chain(&format!("c{number}")), None, op()).await }
        });
        for added in futures_util::future::join_all(adds).await {
            added.expect("added");
        }
        assert_eq!(registry.current().iter().count(), 20);
    }
}
