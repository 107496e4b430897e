//! The driver: finishes what a crash left.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::time::Duration;

use store::{CommitError, Listing, PageRequest};

use crate::effects::{Effects, Settled, conflict_is_certain};
use crate::error::{CallError, DriveError};
use crate::ids::{IntentId, Millis};
use crate::intent::{INTENTS, Intent, LANES};
use crate::retry::jittered;
use crate::stuck::{StuckCall, StuckKey};

/// Intents whose tries are remembered. Others begin to count anew.
const REMEMBERED: usize = 10_000;
/// How far back of what it has seen the driver looks again: more than writers' clocks differ.
const SKEW: Duration = Duration::from_secs(600);
/// Every so many steps it looks from the very beginning: whatever clocks do, nothing is forgotten.
const FROM_THE_BEGINNING: u64 = 256;

/// How the driver goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverSettings {
    /// From one step to the next.
    pub period: Duration,
    /// Younger intents are left to their writers. Taking one from a writer that is only slow is
    /// correct, but done twice.
    pub age: Duration,
    /// Intents read in one step, at least one in each of the 16 partitions.
    pub intents_per_step: usize,
    /// How often a refused call is tried before it is kept aside.
    pub tries: u32,
}

impl Default for DriverSettings {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(5),
            age: Duration::from_secs(10),
            intents_per_step: 512,
            tries: 5,
        }
    }
}

impl DriverSettings {
    /// How long a change can be half done while the driver lives: what verification allows.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.age + 2 * self.period
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverStep {
    /// Intents found.
    pub found: usize,
    /// Intents finished: committed, all calls applied or kept aside, removed.
    pub finished: usize,
    /// Intents removed because their commit was never done and can no longer be.
    pub dropped: usize,
    /// Intents that stay, to be tried again.
    pub left: usize,
    /// Calls kept aside.
    pub aside: usize,
    /// Whether the step ended before it had seen all.
    pub more: bool,
}

/// Finishes intents that a crash left. Several may run at once.
#[derive(Debug)]
pub struct Driver {
    effects: Effects,
    settings: DriverSettings,
    lanes: Vec<Lane>,
    tries: HashMap<IntentId, u32>,
    steps: u64,
}

/// How far the driver is in one partition of intents.
#[derive(Clone, Copy, Debug)]
struct Lane {
    from: Bound<[u8; 16]>,
    /// The oldest intent of this pass that had to stay.
    left: Option<IntentId>,
}

impl Lane {
    const START: Self = Self { from: Bound::Unbounded, left: None };
}

/// What became of one intent.
enum Fate {
    Finished,
    Dropped,
    Left,
    Aside(usize),
}

impl Driver {
    /// A driver of `effects`.
    #[must_use]
    pub fn new(effects: Effects, settings: DriverSettings) -> Self {
        let lanes = vec![Lane::START; usize::from(LANES)];
        Self { effects, settings, lanes, tries: HashMap::new(), steps: 0 }
    }

    /// Takes a step every period, for ever. End it by dropping the future: every await is a point
    /// where a crash would do no harm either.
    pub async fn run(mut self) {
        loop {
            let more = match self.step(Millis::now()).await {
                Ok(step) => step.more,
                Err(error) => {
                    tracing::error!("the driver of effects failed and will try again: {error}");
                    false
                }
            };
            if !more {
                // Drivers of several processes spread by chance.
                let period = self.settings.period;
                tokio::time::sleep(period.mul_f64(0.75) + jittered(period.mul_f64(0.25))).await;
            }
        }
    }

    /// Finishes intents that are older than the settings' age at `now`.
    ///
    /// # Errors
    /// When intents cannot be read. An intent that cannot be finished is counted and stays.
    pub async fn step(&mut self, now: Millis) -> Result<DriverStep, DriveError> {
        let mut step = DriverStep::default();
        self.steps += 1;
        for lane in 0..LANES {
            self.step_lane(lane, now, &mut step).await?;
        }
        if step.found > 0 {
            tracing::info!(?step, "took over intents");
        }
        Ok(step)
    }

    async fn step_lane(
        &mut self,
        lane: u8,
        now: Millis,
        step: &mut DriverStep,
    ) -> Result<(), DriveError> {
        let until = IntentId::first_at(now.before(self.settings.age));
        let page = self.read(lane, until).await?;
        for (id, intent) in &page.rows {
            let id = IntentId(*id);
            step.found += 1;
            match self.take(id, intent, now).await {
                Fate::Finished => step.finished += 1,
                Fate::Dropped => step.dropped += 1,
                Fate::Aside(calls) => {
                    step.finished += 1;
                    step.aside += calls;
                }
                Fate::Left => {
                    step.left += 1;
                    self.note_left(lane, id);
                }
            }
        }
        // An intent that must stay does not hold up those behind it.
        let last = page.rows.last().map(|(id, _)| *id).filter(|_| page.next.is_some());
        step.more |= last.is_some();
        self.advance(lane, last, now);
        Ok(())
    }

    async fn read(
        &self,
        lane: u8,
        until: IntentId,
    ) -> Result<Listing<[u8; 16], Intent>, DriveError> {
        let limit = (self.settings.intents_per_step / usize::from(LANES)).max(1);
        let from = self.lanes.get(usize::from(lane)).map_or(Bound::Unbounded, |lane| lane.from);
        let limit = limit.min(INTENTS.def().bounds().page_rows);
        let request =
            PageRequest { from, to: Bound::Excluded(until.0), ..PageRequest::first(limit) };
        Ok(self.effects.inner.store.page(&INTENTS, &lane, request).await?)
    }

    fn note_left(&mut self, lane: u8, id: IntentId) {
        if let Some(lane) = self.lanes.get_mut(usize::from(lane)) {
            lane.left.get_or_insert(id);
        }
    }

    /// Where the next step reads on: behind this page, or again from the oldest that stayed.
    fn advance(&mut self, lane: u8, last: Option<[u8; 16]>, now: Millis) {
        let again = self.steps.is_multiple_of(FROM_THE_BEGINNING);
        let seen = IntentId::first_at(now.before(self.settings.age + SKEW));
        let Some(lane) = self.lanes.get_mut(usize::from(lane)) else { return };
        if let Some(last) = last {
            lane.from = Bound::Excluded(last);
            return;
        }
        // Swept rows slow a scan down on every engine, so a pass does not begin at the beginning.
        let oldest = lane.left.take().map_or(seen, |left| left.min(seen));
        lane.from = if again { Bound::Unbounded } else { Bound::Included(oldest.0) };
    }

    /// Finishes one intent: commit, calls, removal.
    async fn take(&mut self, id: IntentId, intent: &Intent, now: Millis) -> Fate {
        match self.effects.settle(id, intent).await {
            Ok(Settled::Done { .. }) => self.apply(id, intent).await,
            // A request was repeated under its operation id; the other intent has the right calls.
            Ok(Settled::Other { .. }) => self.drop_intent(id).await,
            Err(CommitError::Conflict { .. }) if conflict_is_certain(id, now) => {
                self.drop_intent(id).await
            }
            Err(error @ CommitError::Conflict { .. }) => {
                let reason = format!(
                    "its operation id is forgotten, so nobody knows whether it was committed \
                     ({error}); look at the rows, then retry or discard it"
                );
                let all = (0..).zip(&intent.calls).map(|(number, _)| (number, reason.clone()));
                self.set_aside(id, intent, all.collect(), 0, true).await
            }
            // It can never be committed, by nobody.
            Err(CommitError::Bound(error)) => {
                tracing::error!(%id, "removed an intent that no store takes: {error}");
                self.drop_intent(id).await
            }
            Err(error) => {
                tracing::warn!(%id, "an intent stays: {error}");
                Fate::Left
            }
        }
    }

    async fn drop_intent(&mut self, id: IntentId) -> Fate {
        self.tries.remove(&id);
        if !self.effects.remove(id).await {
            return Fate::Left;
        }
        self.effects.inner.totals.dropped.fetch_add(1, Ordering::Relaxed);
        Fate::Dropped
    }

    async fn apply(&mut self, id: IntentId, intent: &Intent) -> Fate {
        let failed = self.effects.apply(intent).await;
        if failed.is_empty() {
            return self.finished(id, 0).await;
        }
        for (number, error) in &failed {
            tracing::warn!(%id, call = number, "a call failed: {error}");
        }
        // What may work later is waited for, and does not count.
        if failed.iter().any(|(_, error)| matches!(error, CallError::Unavailable(_))) {
            return Fate::Left;
        }
        let tries = self.count_try(id);
        if tries < self.settings.tries {
            return Fate::Left;
        }
        let reasons = failed.into_iter().map(|(number, error)| (number, error.to_string()));
        self.set_aside(id, intent, reasons.collect(), tries, false).await
    }

    fn count_try(&mut self, id: IntentId) -> u32 {
        if self.tries.len() >= REMEMBERED && !self.tries.contains_key(&id) {
            self.tries.clear();
        }
        let tries = self.tries.entry(id).or_default();
        *tries += 1;
        *tries
    }

    /// Keeps calls aside, then removes the intent: a crash in between does both again.
    async fn set_aside(
        &mut self,
        id: IntentId,
        intent: &Intent,
        calls: Vec<(u16, String)>,
        tries: u32,
        undecided: bool,
    ) -> Fate {
        let count = calls.len();
        for (number, reason) in calls {
            let Some(call) = intent.calls.get(usize::from(number)) else { continue };
            let key = StuckKey { intent: id, number };
            let stuck = StuckCall::new(call.clone(), &reason, tries, undecided);
            if let Err(error) = self.effects.keep_aside(key, stuck).await {
                tracing::error!(%id, call = number, "a failing call stays in its intent: {error}");
                return Fate::Left;
            }
            tracing::error!(%id, call = number, kind = call.kind, "kept aside: {reason}");
        }
        self.effects.inner.totals.aside.fetch_add(count as u64, Ordering::Relaxed);
        self.finished(id, count).await
    }

    async fn finished(&mut self, id: IntentId, aside: usize) -> Fate {
        self.tries.remove(&id);
        if !self.effects.remove(id).await {
            return Fate::Left;
        }
        self.effects.inner.totals.recovered.fetch_add(1, Ordering::Relaxed);
        if aside == 0 { Fate::Finished } else { Fate::Aside(aside) }
    }
}
