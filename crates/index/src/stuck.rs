//! Calls that fail every time: kept aside with their reason, counted, retried by command.

use placement::Placement;
use serde::{Deserialize, Serialize};
use store::{
    Bounds, Commit, CommitError, Cursor, DecodeError, PageRequest, Query, ReadError, Table, Touches,
};

use crate::calls::Call;
use crate::effects::Effects;
use crate::error::DriveError;
use crate::ids::{IntentId, new_op};
use crate::retry::Attempts;

/// Calls that may be kept aside. Beyond it intents stay where they are, and nothing is lost either.
pub const STUCK_CALLS: u64 = 1000;
/// Characters kept of a reason.
const REASON_CHARS: usize = 500;
/// Bytes of one row: a call, its kind and its reason.
const STUCK_BYTES: usize = crate::intent::CALL_BYTES + 4096;
/// The row that counts the others: no intent has this id.
const HEAD: ([u8; 16], u16) = ([0; 16], 0);

/// Calls kept aside.
pub static STUCK: Table<(), ([u8; 16], u16), StuckCell> = Table::guarded(
    "index.stuck",
    "A call that failed every time, with its reason; and how many there are.",
    Placement::Single,
    Bounds::rows(1 + STUCK_CALLS).values(STUCK_BYTES).pages(100),
)
.answers(&[Query { name: "stuck calls", touches: Touches::One }]);

/// A row of [`STUCK`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StuckCell {
    /// How many calls are stuck.
    Count(u64),
    /// A stuck call.
    Call(StuckCall),
}
store::serde_value!(StuckCell, format 1);

/// The name of a stuck call: the intent it is from and its number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StuckKey {
    /// The intent.
    pub intent: IntentId,
    /// Which of its calls.
    pub number: u16,
}

/// A call kept aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckCall {
    /// The call.
    pub call: Call,
    /// Why it failed last.
    pub reason: String,
    /// How often it failed.
    pub tries: u32,
    /// Whether it is not known if its change was committed: its intent was found when its operation
    /// id had been forgotten. A person decides, by retrying or discarding it.
    pub undecided: bool,
}

impl StuckCall {
    pub(crate) fn new(call: Call, reason: &str, tries: u32, undecided: bool) -> Self {
        Self { call, reason: reason.chars().take(REASON_CHARS).collect(), tries, undecided }
    }
}

/// A page of stuck calls.
#[derive(Clone, Debug)]
pub struct StuckPage {
    /// The calls, oldest first.
    pub calls: Vec<(StuckKey, StuckCall)>,
    /// Where the next page begins; none at the end.
    pub next: Option<Cursor>,
}

/// What retrying all stuck calls did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retried {
    /// Calls that are applied now.
    pub applied: u64,
    /// Calls that failed again.
    pub failed: u64,
    /// Calls a person must decide on.
    pub undecided: u64,
}

impl Effects {
    /// How many calls are stuck.
    ///
    /// # Errors
    /// When the row cannot be read.
    pub async fn stuck_count(&self) -> Result<u64, ReadError> {
        let head = self.inner.store.get(&STUCK, &(), &HEAD).await?;
        Ok(count(head)?)
    }

    /// Stuck calls, oldest first, at most 100.
    ///
    /// # Errors
    /// On a limit, a foreign cursor, or a row that cannot be read.
    pub async fn stuck(&self, cursor: Option<Cursor>) -> Result<StuckPage, ReadError> {
        let mut request = PageRequest { cursor, ..PageRequest::first(100) };
        request.from = std::ops::Bound::Excluded(HEAD);
        let page = self.inner.store.page(&STUCK, &(), request).await?;
        let mut calls = Vec::with_capacity(page.rows.len());
        for ((intent, number), cell) in page.rows {
            calls.push((StuckKey { intent: IntentId(intent), number }, stuck_call(cell)?));
        }
        Ok(StuckPage { calls, next: page.next })
    }

    /// Applies one stuck call again, also an undecided one, and forgets it when that works.
    ///
    /// # Errors
    /// When it fails again, or is not stuck.
    pub async fn retry(&self, key: StuckKey) -> Result<(), DriveError> {
        let sort = (key.intent.0, key.number);
        let cell = self.inner.store.get(&STUCK, &(), &sort).await?.ok_or(DriveError::NotStuck)?;
        let mut stuck = stuck_call(cell).map_err(ReadError::from)?;
        match self.inner.calls.apply(&stuck.call).await {
            Ok(()) => self.discard(key).await,
            Err(error) => {
                stuck.tries += 1;
                let reason = error.to_string();
                let again = StuckCall::new(stuck.call, &reason, stuck.tries, stuck.undecided);
                self.edit(key, Some(again), true).await?;
                Err(error.into())
            }
        }
    }

    /// Retries all stuck calls but the undecided ones.
    ///
    /// # Errors
    /// When stuck calls cannot be read or written; those that fail again are only counted.
    pub async fn retry_all(&self) -> Result<Retried, DriveError> {
        let mut retried = Retried::default();
        let mut cursor = None;
        loop {
            let page = self.stuck(cursor).await?;
            for (key, stuck) in page.calls {
                if stuck.undecided {
                    retried.undecided += 1;
                    continue;
                }
                match self.retry(key).await {
                    Ok(()) => retried.applied += 1,
                    // Another operator was faster.
                    Err(DriveError::NotStuck) => {}
                    Err(DriveError::Call(_)) => retried.failed += 1,
                    Err(error) => return Err(error),
                }
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(retried);
            }
        }
    }

    /// Forgets a stuck call without applying it: what it wanted is lost, by a person's decision.
    ///
    /// # Errors
    /// When the row cannot be removed.
    pub async fn discard(&self, key: StuckKey) -> Result<(), DriveError> {
        self.edit(key, None, true).await
    }

    /// Keeps a call aside. Two drivers may do so at once; the first reason stays.
    pub(crate) async fn keep_aside(
        &self,
        key: StuckKey,
        call: StuckCall,
    ) -> Result<(), DriveError> {
        self.edit(key, Some(call), false).await
    }

    /// Writes or removes one stuck call and its count in one commit. What is there is left alone
    /// unless `replace`.
    async fn edit(
        &self,
        key: StuckKey,
        wanted: Option<StuckCall>,
        replace: bool,
    ) -> Result<(), DriveError> {
        let mut attempts = Attempts::default();
        loop {
            let error = match self.try_edit(key, wanted.clone(), replace).await {
                Err(DriveError::Commit(
                    error @ (CommitError::Conflict { .. } | CommitError::Unknown(_)),
                )) => error,
                settled => return settled,
            };
            if !attempts.again().await {
                return Err(error.into());
            }
        }
    }

    async fn try_edit(
        &self,
        key: StuckKey,
        wanted: Option<StuckCall>,
        replace: bool,
    ) -> Result<(), DriveError> {
        let store = &self.inner.store;
        let sort = (key.intent.0, key.number);
        // The version first: a row that is younger makes the commit fail.
        let head = store.get_versioned(&STUCK, &(), &HEAD).await?;
        let stored = store.get(&STUCK, &(), &sort).await?;
        let before = count(head.value).map_err(ReadError::from)?;
        let after = before + u64::from(wanted.is_some()) - u64::from(stored.is_some()).min(before);
        let change = match (wanted, stored) {
            (None, None) => return Ok(()),
            (Some(_), Some(_)) if !replace => return Ok(()),
            // Retried by somebody else meanwhile, who applied it.
            (Some(_), None) if replace => return Ok(()),
            (Some(_), None) if after > STUCK_CALLS => {
                return Err(DriveError::Full { bound: STUCK_CALLS });
            }
            (Some(call), _) => STUCK.insert(&sort, &StuckCell::Call(call)),
            (None, Some(_)) => STUCK.delete(&sort),
        };
        let commit = Commit {
            table: STUCK.def(),
            partition: STUCK.partition(&()).map_err(ReadError::from)?,
            expected: head.version,
            changes: vec![change, STUCK.insert(&HEAD, &StuckCell::Count(after))],
            op: new_op()?,
            result: bytes::Bytes::new(),
        };
        store.commit(commit).await?;
        Ok(())
    }
}

fn count(cell: Option<StuckCell>) -> Result<u64, DecodeError> {
    match cell {
        None => Ok(0),
        Some(StuckCell::Count(count)) => Ok(count),
        Some(StuckCell::Call(_)) => Err(DecodeError::value("a call stands where the count does")),
    }
}

fn stuck_call(cell: StuckCell) -> Result<StuckCall, DecodeError> {
    match cell {
        StuckCell::Call(call) => Ok(call),
        StuckCell::Count(_) => Err(DecodeError::value("a count stands where a call does")),
    }
}
