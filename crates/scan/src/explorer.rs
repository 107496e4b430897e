//! The chains that are explored, by their names.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use platform::chains::{Chain, ChainKind, ChainName, Registry};
use store::Store;
use timeline::{Settings as Times, Timeline, View, ViewError};

use crate::run::Progress;

/// How chains are explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Blocks that count as the latest.
    pub latest: u64,
    /// Delays of the timelines.
    pub times: Times,
}

impl Default for Settings {
    fn default() -> Self {
        Self { latest: 1000, times: Times::default() }
    }
}

/// A chain that is explored. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Explorer {
    name: ChainName,
    timeline: Timeline,
    latest: u64,
    progress: Arc<Progress>,
}

impl Explorer {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &ChainName {
        &self.name
    }

    /// Its timeline.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Blocks that count as the latest.
    #[must_use]
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// How the process that writes it gets on; all zero in other processes.
    #[must_use]
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// The chain as it is now.
    ///
    /// # Errors
    /// When the tip cannot be read.
    pub async fn view(&self) -> Result<View, ViewError> {
        self.timeline.view().await
    }
}

/// All of them: every chain of the registry whose nodes speak Conflux's protocol. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Explorers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    registry: Registry,
    settings: Settings,
    known: Mutex<BTreeMap<ChainName, Explorer>>,
}

impl Explorers {
    /// Those of a registry.
    #[must_use]
    pub fn new(store: Store, registry: Registry, settings: Settings) -> Self {
        let known = Mutex::default();
        Self { shared: Arc::new(Shared { store, registry, settings, known }) }
    }

    /// The chain of a name, if it is served and explored.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Explorer> {
        let chains = self.shared.registry.current();
        let (_, chain) = chains.iter().find(|(_, chain)| chain.name.as_str() == name)?;
        is_explored(chain).then(|| self.of(chain))
    }

    /// All of them with their nodes, in the order of their names.
    #[must_use]
    pub fn all(&self) -> Vec<(Explorer, Chain)> {
        let chains = self.shared.registry.current();
        let explored = chains.iter().filter(|(_, chain)| is_explored(chain));
        explored.map(|(_, chain)| (self.of(chain), chain.clone())).collect()
    }

    fn of(&self, chain: &Chain) -> Explorer {
        let mut known = self.shared.known.lock().unwrap_or_else(PoisonError::into_inner);
        let made = known.entry(chain.name.clone()).or_insert_with(|| {
            let Shared { store, settings, .. } = &*self.shared;
            let chain_name = chain.name.as_str().to_owned();
            Explorer {
                name: chain.name.clone(),
                timeline: Timeline::new(store.clone(), chain_name, settings.times),
                latest: settings.latest,
                progress: Arc::default(),
            }
        });
        made.clone()
    }
}

fn is_explored(chain: &Chain) -> bool {
    chain.enabled && chain.kind == ChainKind::Conflux
}
