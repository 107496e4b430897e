//! From messages to delegations.
//!
//! ```text
//!   messages ──► events ──► note ──► delegations ──► settle ──► forget the note
//!      │                                                │
//!      └─ cannot be read, or contradicts ─► unprocessable (with its reason)
//! ```

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures_util::{StreamExt as _, stream};
use index::new_op;
use platform::events::NewEvent;
use serde_json::json;
use store::Versioned;

use crate::bitcoin::{Confirmed, Info};
use crate::delegation::{Delegation, Outcome, StepError};
use crate::event::{Event, Step, parse};
use crate::guarded;
use crate::intake::{BATCH, Intake, MESSAGE_BYTES, Message, Taken};
use crate::notes::WRITING;
use crate::settle::Change;
use crate::staking::{Staking, StakingError};
use crate::tables::{DELEGATIONS, Directory, LANES, WAITING};
use crate::together::LARGE;
use crate::{BtcHeight, TxHash};

/// Delegations that are changed at the same time.
const IN_FLIGHT: usize = 2048;
/// Changed delegations that one event names at the most.
const TOLD: usize = 50;
/// Milliseconds of an hour.
pub(crate) const HOUR: u64 = 60 * 60 * 1000;

/// What happened since the program started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Messages that changed something.
    pub applied: AtomicU64,
    /// Messages that were known already.
    pub repeated: AtomicU64,
    /// Messages that wait for an earlier one.
    pub parked: AtomicU64,
    /// Messages that cannot be applied.
    pub unprocessable: AtomicU64,
    /// Messages that the store did not take.
    pub later: AtomicU64,
}

impl Counters {
    fn count(&self, taken: &Taken) {
        let counter = match taken {
            Taken::Applied => &self.applied,
            Taken::Repeated => &self.repeated,
            Taken::Parked => &self.parked,
            Taken::Unprocessable(_) => &self.unprocessable,
            Taken::Later(_) => &self.later,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether messages that cannot be applied are to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// With their reasons.
    Kept,
    /// They are kept already, and stay so.
    KeptBefore,
}

/// A step of a message.
type Numbered = (usize, Step);
/// What became of the steps of one delegation.
type Answers = Vec<(usize, Result<Outcome, StepError>)>;

/// Messages, by what they say.
#[derive(Debug, Default)]
struct Sorted {
    steps: BTreeMap<TxHash, Vec<Numbered>>,
    infos: Vec<(usize, Event)>,
    refused: Vec<(usize, String)>,
}

impl Sorted {
    fn of(messages: &[Message]) -> Self {
        let mut sorted = Self::default();
        for (number, message) in messages.iter().enumerate() {
            if message.body.len() > MESSAGE_BYTES {
                let size = message.body.len();
                let reason = format!("it has {size} bytes, and a message at most {MESSAGE_BYTES}");
                sorted.refused.push((number, reason));
                continue;
            }
            match parse(&message.body) {
                Ok(Some(Event::Delegation(hash, step))) => {
                    sorted.steps.entry(hash).or_default().push((number, step));
                }
                Ok(Some(info)) => sorted.infos.push((number, info)),
                Ok(None) => {}
                Err(error) => sorted.refused.push((number, error.to_string())),
            }
        }
        sorted
    }
}

impl Intake for Staking {
    fn take<'a>(
        &'a self,
        messages: Vec<Message>,
    ) -> Pin<Box<dyn Future<Output = Vec<Taken>> + Send + 'a>> {
        Box::pin(async move {
            let taken = if messages.len() < LARGE {
                self.take_together(messages).await
            } else {
                let mut taken = Vec::with_capacity(messages.len());
                for batch in messages.chunks(BATCH) {
                    taken.extend(self.take_batch(batch, Refused::Kept).await);
                }
                taken
            };
            for one in &taken {
                self.inner.counters.count(one);
            }
            taken
        })
    }
}

impl Staking {
    pub(crate) async fn take_batch(&self, messages: &[Message], keep: Refused) -> Vec<Taken> {
        let mut taken = vec![Taken::Repeated; messages.len()];
        let mut answer = |number: usize, answer: Taken| {
            if let Some(slot) = taken.get_mut(number) {
                *slot = answer;
            }
        };
        let Sorted { steps, infos, mut refused } = Sorted::of(messages);
        let numbers: Vec<usize> = steps.values().flatten().map(|(number, _)| *number).collect();
        match self.apply_steps(steps).await {
            Ok(answers) => {
                for (number, outcome) in answers {
                    match outcome {
                        Ok(Outcome::Made) => answer(number, Taken::Applied),
                        Ok(Outcome::Parked) => answer(number, Taken::Parked),
                        Ok(Outcome::Repeated) => {}
                        Err(error) => refused.push((number, error.to_string())),
                    }
                }
            }
            Err(error) => numbers.iter().for_each(|number| answer(*number, later(&error))),
        }
        match self.inform(&infos).await {
            Ok(is_news) => infos.iter().filter(|_| is_news).for_each(|(number, _)| {
                answer(*number, Taken::Applied);
            }),
            Err(error) => infos.iter().for_each(|(number, _)| answer(*number, later(&error))),
        }
        let kept = match keep {
            Refused::Kept => self.keep(messages, &refused).await,
            Refused::KeptBefore => Ok(()),
        };
        for (number, reason) in refused {
            let kept = kept.as_ref().map(|()| Taken::Unprocessable(reason));
            answer(number, kept.unwrap_or_else(later));
        }
        taken
    }

    /// Learns what an indexer says of Bitcoin.
    async fn inform(&self, infos: &[(usize, Event)]) -> Result<bool, StakingError> {
        if infos.is_empty() {
            return Ok(false);
        }
        self.learn(|bitcoin| {
            for (_, info) in infos {
                match *info {
                    Event::BtcInfo { height, confirmed, unconfirmed } => bitcoin.inform(Info {
                        height: height.0,
                        confirmed_tvl: confirmed,
                        unconfirmed_tvl: unconfirmed,
                    }),
                    Event::ConfirmedInfo { height, tvl } => {
                        bitcoin.confirm(Confirmed { height: height.0, tvl });
                    }
                    Event::Delegation(..) => {}
                }
            }
        })
        .await
    }

    /// Applies steps that follow from what is known; how many were news.
    pub(crate) async fn apply(&self, steps: Vec<(TxHash, Step)>) -> Result<u64, StakingError> {
        let mut grouped: BTreeMap<TxHash, Vec<Numbered>> = BTreeMap::new();
        for (hash, step) in steps {
            grouped.entry(hash).or_default().push((0, step));
        }
        let answers = self.apply_steps(grouped).await?;
        let made = answers.iter().filter(|(_, outcome)| *outcome == Ok(Outcome::Made));
        Ok(made.count() as u64)
    }

    /// Changes delegations and writes all that follows from it.
    async fn apply_steps(
        &self,
        steps: BTreeMap<TxHash, Vec<Numbered>>,
    ) -> Result<Answers, StakingError> {
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        self.agree().await?;
        let height = BtcHeight(self.bitcoin().await?.height);
        let until = Instant::now() + WRITING;
        let note = self.note(steps.keys().copied().collect()).await?;
        let (answers, changes) = self.change_all(steps, height, until).await?;
        self.wait_for(&changes).await?;
        self.settle(&changes, &self.inner.settings.calculations).await?;
        self.expire_since(&changes, height, until).await?;
        // Nobody waits for this: a note that stays is done again, and that is harmless.
        let staking = self.clone();
        tokio::spawn(async move { staking.forget(note).await });
        self.tell(&changes).await;
        Ok(answers)
    }

    async fn change_all(
        &self,
        steps: BTreeMap<TxHash, Vec<Numbered>>,
        height: BtcHeight,
        until: Instant,
    ) -> Result<(Answers, Vec<Change>), StakingError> {
        if steps.is_empty() {
            return Ok(Default::default());
        }
        let keys: Vec<([u8; 32], ())> = steps.keys().map(|hash| (hash.0, ())).collect();
        let seen = self.inner.store.get_many_versioned(&DELEGATIONS, &keys).await?;
        let work = (steps.into_iter().zip(seen))
            .map(|((hash, steps), seen)| self.change(hash, steps, seen, height, until));
        let mut work = stream::iter(work).buffer_unordered(IN_FLIGHT);
        let (mut answers, mut changes) = (Vec::new(), Vec::new());
        while let Some(done) = work.next().await {
            let (outcomes, change) = done?;
            answers.extend(outcomes);
            changes.extend(change);
        }
        Ok((answers, changes))
    }

    /// Applies steps to one delegation in one commit.
    async fn change(
        &self,
        hash: TxHash,
        steps: Vec<Numbered>,
        seen: Versioned<Delegation>,
        height: BtcHeight,
        until: Instant,
    ) -> Result<(Answers, Option<Change>), StakingError> {
        let store = &self.inner.store;
        guarded::change_seen(store, &DELEGATIONS, (&hash.0, &()), seen, |found| {
            let before: Delegation = found.unwrap_or_default();
            let mut after = before.clone();
            let answers: Answers =
                steps.iter().map(|(number, step)| (*number, after.apply(step))).collect();
            after.expire(height);
            if after == before {
                return Ok((None, (answers, None)));
            }
            if Instant::now() > until {
                return Err(StakingError::Slow);
            }
            let change = Change { hash, before, after: after.clone() };
            Ok((Some(after), (answers, Some(change))))
        })
        .await
    }

    /// Timelocks that passed before these could be found by them.
    pub(crate) async fn expire_late(&self, changes: &[Change]) -> Result<(), StakingError> {
        let height = BtcHeight(self.bitcoin().await?.height);
        let passed = |change: &&Change| Delegation::clone(&change.after).expire(height);
        let due = changes.iter().filter(passed).map(|change| (change.hash, Vec::new()));
        self.apply_steps(due.collect()).await.map(drop)
    }

    /// Bitcoin may have risen while these were not yet found by their timelocks.
    async fn expire_since(
        &self,
        changes: &[Change],
        before: BtcHeight,
        until: Instant,
    ) -> Result<(), StakingError> {
        let height = BtcHeight(self.bitcoin().await?.height);
        if height <= before {
            return Ok(());
        }
        let passed = |change: &&Change| Delegation::clone(&change.after).expire(height);
        let due: BTreeMap<TxHash, Vec<Numbered>> =
            changes.iter().filter(passed).map(|change| (change.hash, Vec::new())).collect();
        let (_, expired) = self.change_all(due, height, until).await?;
        self.settle(&expired, &self.inner.settings.calculations).await
    }

    /// Remembers which delegations have parked steps, by the hour.
    pub(crate) async fn wait_for(&self, changes: &[Change]) -> Result<(), StakingError> {
        let hour = self.inner.clock.now() / HOUR;
        let waiting = changes.iter().filter(|change| change.after.parked().next().is_some());
        let rows = waiting
            .map(|change| WAITING.row(&(hour, lane(change.hash)), &change.hash.0, &()))
            .collect::<Result<Vec<_>, _>>()?;
        if rows.is_empty() {
            return Ok(());
        }
        self.list(Directory::Waiting, [hour], rows).await
    }

    /// Tells what changed.
    async fn tell(&self, changes: &[Change]) {
        if self.inner.events.is_none() || changes.is_empty() {
            return;
        }
        let told: Vec<_> = (changes.iter().take(TOLD))
            .map(|change| {
                let state = change.after.state().map(crate::delegation::State::word);
                json!({ "staking_tx_hash_hex": change.hash.to_string(), "state": state })
            })
            .collect();
        let data = json!({ "changed": changes.len(), "delegations": told });
        self.announce("staking.delegations.changed", data).await;
    }

    /// Appends to the stream of events, if there is one. What it tells of is done already, so a
    /// failure is only logged.
    pub(crate) async fn announce(&self, kind: &str, data: serde_json::Value) {
        let Some(events) = &self.inner.events else { return };
        let event = NewEvent { kind: kind.to_owned(), chain: None, data };
        let appended = match new_op() {
            Ok(op) => events.append(vec![event], op).await.map(drop).map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = appended {
            tracing::warn!("{kind} was not told: {error}");
        }
    }
}

/// The partition of those that wait since an hour.
fn lane(TxHash(hash): TxHash) -> u8 {
    hash.first().copied().unwrap_or_default() % LANES
}

fn later(error: &StakingError) -> Taken {
    Taken::Later(error.to_string())
}
