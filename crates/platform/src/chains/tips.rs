//! Asking the nodes of all chains for their tips, by whoever holds the lease.
//!
//! ```text
//!   registry ──► ask ──► answers ──► event `chain.tip`, then platform.tips
//!            every 2 s   at most one   four times a second, what there is
//!                        for each node
//! ```
//!
//! Asking and writing run side by side, so that neither a node that hangs nor a slow store holds up
//! the other nodes. An event goes before the rows: whoever dies in between tells the move again and
//! does not swallow it, and under the same operation id the stream takes it once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use store::{PageRequest, Read, Store, Task};
use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior};

use crate::clock::Clock;
use crate::events::Events;
use crate::guarded::StoreError;
use crate::lease::{LEASE_BEAT, Lease};
use crate::tables::TIPS;

use super::height::Question;
use super::tip::Heard;
use super::tip_writer::Writer;
use super::{CHAIN_NODES, Chain, ChainName, Chains, Registry, Tip};

/// How often a node is asked.
const PERIOD: Duration = Duration::from_secs(2);
/// How often what was heard is written.
const WRITE_PERIOD: Duration = Duration::from_millis(250);
/// How long a node may take.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Nodes, and for readers chains, that are asked at the same time.
const AT_ONCE: usize = 16;
/// The name of the lease.
const LEASE: &str = "platform.tips";

/// Why a node gave no answer, in words for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AskError(pub String);

/// Asks nodes.
///
/// Its duties: POST the body as JSON and return the body of the answer, of whatever status if it
/// may be JSON-RPC; a limit on the answer's size; no following of redirects. Nodes are the
/// operator's choice, so they may be anywhere. There is a time limit around each call.
pub trait Ask: Send + Sync + 'static {
    /// Sends one request and waits for the answer.
    fn ask<'a>(&'a self, url: &'a str, body: &'a str) -> Task<'a, Result<String, AskError>>;
}

/// What the nodes of all chains say their tips are. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tips {
    store: Store,
    events: Events,
    registry: Registry,
    clock: Clock,
}

/// What was heard and not yet written: the latest of each node.
type Answers = BTreeMap<ChainName, BTreeMap<String, Heard>>;

impl Tips {
    /// The tips in `store` of the chains in `registry`; moves are told in `events`.
    #[must_use]
    pub fn new(store: Store, events: Events, registry: Registry, clock: Clock) -> Self {
        Self { store, events, registry, clock }
    }

    /// The tips of a chain by the names of its nodes; none for a chain nobody knows.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn of(&self, chain: &ChainName) -> Result<Vec<(String, Tip)>, StoreError> {
        let chains = self.registry.current();
        let Some(known) = chains.get(chain) else { return Ok(Vec::new()) };
        let request = PageRequest { read: Read::Quorum, ..PageRequest::first(CHAIN_NODES) };
        let mut rows = self.store.page(&TIPS, chain, request).await?.rows;
        // The registry is newer than the rows for a moment after it changed.
        rows.retain(|(name, _)| known.nodes.iter().any(|node| node.name == *name));
        Ok(rows)
    }

    /// The tips of all chains in the order of their names.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn all(&self) -> Result<Vec<(ChainName, Vec<(String, Tip)>)>, StoreError> {
        let chains = self.registry.current();
        let names: Vec<ChainName> = chains.iter().map(|(_, chain)| chain.name.clone()).collect();
        let reads = names.into_iter().map(|name| async move {
            let tips = self.of(&name).await?;
            Ok::<_, StoreError>((name, tips))
        });
        let mut reads = futures_util::stream::iter(reads).buffered(AT_ONCE);
        let mut all = Vec::new();
        while let Some(read) = reads.next().await {
            all.push(read?);
        }
        Ok(all)
    }

    /// Asks for ever, whenever this process holds the lease. End it by dropping the future.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub async fn run(&self, ask: &dyn Ask) -> Result<(), StoreError> {
        let mut lease = Lease::new(self.store.clone(), LEASE)?;
        loop {
            if held(&mut lease).await {
                let answers = Mutex::default();
                let work =
                    async { tokio::join!(self.ask_all(ask, &answers), self.write(&answers)) };
                tokio::pin!(work);
                loop {
                    tokio::select! {
                        ((), ()) = &mut work => break,
                        () = tokio::time::sleep(LEASE_BEAT) => {
                            if !held(&mut lease).await {
                                break;
                            }
                        }
                    }
                }
            }
            tokio::time::sleep(LEASE_BEAT).await;
        }
    }

    /// Asks every node every two seconds, or when it has answered if that takes longer.
    async fn ask_all(&self, ask: &dyn Ask, answers: &Mutex<Answers>) {
        let places = Semaphore::new(AT_ONCE);
        let mut waiting = FuturesUnordered::new();
        let mut busy = BTreeSet::new();
        let mut rounds = every(PERIOD);
        loop {
            tokio::select! {
                _ = rounds.tick() => {
                    for target in targets(&self.registry.current()) {
                        if busy.insert(target.key()) {
                            waiting.push(self.ask_one(ask, &places, target));
                        }
                    }
                }
                Some((target, heard)) = waiting.next() => {
                    busy.remove(&target.key());
                    locked(answers).entry(target.chain).or_default().insert(target.node, heard);
                }
            }
        }
    }

    async fn ask_one(&self, ask: &dyn Ask, places: &Semaphore, target: Target) -> (Target, Heard) {
        // Nobody closes the semaphore; without a place the node would simply be asked.
        let _place = places.acquire().await.ok();
        let begun = Instant::now();
        let body = target.question.body();
        let answer = tokio::time::timeout(TIME_LIMIT, ask.ask(&target.url, &body)).await;
        let height = match answer {
            Ok(Ok(answer)) => target.question.read(&answer).map_err(|error| error.to_string()),
            Ok(Err(AskError(reason))) => Err(reason),
            Err(_) => {
                let limit = TIME_LIMIT.as_secs();
                Err(format!("no answer within {limit} seconds; see whether the node runs"))
            }
        };
        let millis = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        (target, Heard { height, at: self.clock.now(), millis })
    }

    /// Writes what was heard, again and again.
    async fn write(&self, answers: &Mutex<Answers>) {
        let mut writer = Writer::new(self.store.clone(), self.events.clone());
        let mut rounds = every(WRITE_PERIOD);
        loop {
            rounds.tick().await;
            let asked = asked(&self.registry.current());
            let new = std::mem::take(&mut *locked(answers));
            if let Err(error) = writer.round(new, &asked).await {
                tracing::warn!("tips wait for the store: {error}");
            }
        }
    }
}

/// A node and what it is asked.
struct Target {
    chain: ChainName,
    node: String,
    url: String,
    question: Question,
}

impl Target {
    fn key(&self) -> (ChainName, String) {
        (self.chain.clone(), self.node.clone())
    }
}

/// The nodes that are asked: those of enabled chains that have an address for requests.
fn targets(chains: &Chains) -> Vec<Target> {
    let of_chain = |chain: &Chain| {
        let question = Question::of(chain.kind).filter(|_| chain.enabled)?;
        let nodes = chain.nodes.iter().filter_map(|node| {
            // A chain was checked before it came into the registry, so the address is good.
            let url = node.http_address().ok().flatten()?.to_string();
            Some(Target { chain: chain.name.clone(), node: node.name.clone(), url, question })
        });
        Some(nodes.collect::<Vec<_>>())
    };
    chains.iter().filter_map(|(_, chain)| of_chain(chain)).flatten().collect()
}

/// The names of the nodes that are asked, for every chain of the registry.
fn asked(chains: &Chains) -> BTreeMap<ChainName, BTreeSet<String>> {
    let mut asked: BTreeMap<ChainName, BTreeSet<String>> =
        chains.iter().map(|(_, chain)| (chain.name.clone(), BTreeSet::new())).collect();
    for target in targets(chains) {
        asked.entry(target.chain).or_default().insert(target.node);
    }
    asked
}

/// Ticks that do not pile up while somebody is slow.
fn every(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

fn locked(answers: &Mutex<Answers>) -> MutexGuard<'_, Answers> {
    // Nothing is half done inside, whoever panicked.
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn held(lease: &mut Lease) -> bool {
    lease.beat().await.unwrap_or_else(|error| {
        tracing::warn!("the lease of tips is taken for lost: {error}");
        false
    })
}
