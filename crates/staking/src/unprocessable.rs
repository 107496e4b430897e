//! Messages that cannot be applied: kept with their reason, listed, replayed, dropped.

use std::cmp::Reverse;

use sha3::{Digest as _, Sha3_256};
use store::{Order, PageRequest, Row};

use crate::ingest::{HOUR, Refused};
use crate::intake::{MESSAGE_BYTES, Message, Taken};
use crate::staking::{Staking, StakingError};
use crate::tables::{DIRECTORY, Directory, UNPROCESSABLE, Unprocessable};

/// Messages of one page at the most.
const PAGE: usize = 100;
/// Messages that are kept at a time: each has up to a megabyte.
const KEPT: usize = 50;
/// Hours after which nobody's clock is so far behind that it keeps another message in an hour.
const DAY: u64 = 24;

/// The name of a message that was kept: when, and a digest of what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptId {
    /// When it was kept, Unix milliseconds.
    pub millis: u64,
    /// The digest.
    pub digest: [u8; 8],
}

impl std::fmt::Display for KeptId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.millis, crate::hex::Hex(&self.digest))
    }
}

impl KeptId {
    /// Reads what is shown of it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (millis, digest) = text.split_once('-')?;
        let digest = crate::hex::read(digest)?.try_into().ok()?;
        Some(Self { millis: millis.parse().ok()?, digest })
    }

    fn hour(self) -> u64 {
        self.millis / HOUR
    }
}

/// A page of messages, newest first.
#[derive(Clone, Debug, Default)]
pub struct KeptPage {
    /// The messages.
    pub messages: Vec<(KeptId, Unprocessable)>,
    /// Behind which the next page begins; none at the end.
    pub next: Option<KeptId>,
}

impl Staking {
    /// Keeps messages with the reasons why they cannot be applied.
    pub(crate) async fn keep(
        &self,
        messages: &[Message],
        refused: &[(usize, String)],
    ) -> Result<(), StakingError> {
        let millis = self.inner.clock.now();
        for refused in refused.chunks(KEPT) {
            let mut rows = Vec::with_capacity(refused.len());
            for (number, reason) in refused {
                let Some(message) = messages.get(*number) else { continue };
                tracing::warn!(source = message.source, reason, "a message cannot be applied");
                let body = message.body.iter().take(MESSAGE_BYTES).copied().collect();
                let source = message.source.chars().take(200).collect();
                rows.push(row_of(millis, &Unprocessable { source, reason: reason.clone(), body })?);
            }
            self.list(Directory::Unprocessable, [millis / HOUR], rows).await?;
        }
        Ok(())
    }

    /// Messages that were kept before `before`, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn kept(
        &self,
        before: Option<KeptId>,
        limit: usize,
    ) -> Result<KeptPage, StakingError> {
        let limit = limit.clamp(1, PAGE);
        let mut hours = self.directory(Directory::Unprocessable).await?;
        hours.sort_unstable_by_key(|hour| Reverse(*hour));
        hours.retain(|hour| before.is_none_or(|before| *hour <= before.hour()));
        let mut page = KeptPage::default();
        for hour in hours {
            let room = limit - page.messages.len();
            let to = match before {
                Some(before) if before.hour() == hour => {
                    std::ops::Bound::Excluded((before.millis, before.digest))
                }
                _ => std::ops::Bound::Unbounded,
            };
            let request = PageRequest { to, order: Order::Descending, ..PageRequest::last(room) };
            let found = self.inner.store.page(&UNPROCESSABLE, &hour, request).await?;
            if found.rows.is_empty() && before.is_none() {
                self.unlist(hour).await;
            }
            page.messages.extend(found.rows.into_iter().map(|((millis, digest), message)| {
                let id = KeptId { millis, digest };
                (id, message)
            }));
            if page.messages.len() >= limit || found.next.is_some() {
                page.next = page.messages.last().map(|(id, _)| *id);
                break;
            }
        }
        Ok(page)
    }

    /// An hour that has passed and has no messages left is not looked at again.
    async fn unlist(&self, hour: u64) {
        if hour + DAY >= self.inner.clock.now() / HOUR {
            return;
        }
        self.listed().forget(&(Directory::Unprocessable, hour));
        if let Ok(row) = DIRECTORY.sweep(&(Directory::Unprocessable as u8), &hour) {
            // Whoever lists next will try again.
            let _ = self.inner.store.put(vec![row]).await;
        }
    }

    /// One message that was kept.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn kept_one(&self, id: KeptId) -> Result<Option<Unprocessable>, StakingError> {
        let key = (id.millis, id.digest);
        Ok(self.inner.store.get(&UNPROCESSABLE, &id.hour(), &key).await?)
    }

    /// Takes a kept message once more. It goes when it is taken; if it still cannot be applied it
    /// stays as it is. None when there is no such message.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn replay(&self, id: KeptId) -> Result<Option<Taken>, StakingError> {
        let Some(kept) = self.kept_one(id).await? else { return Ok(None) };
        let message = Message { source: kept.source, body: kept.body };
        let taken = self.take_batch(&[message], Refused::KeptBefore).await.into_iter().next();
        if matches!(taken, Some(Taken::Applied | Taken::Repeated | Taken::Parked)) {
            self.drop_kept(id).await?;
        }
        Ok(taken)
    }

    /// Removes a kept message for good.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn drop_kept(&self, id: KeptId) -> Result<(), StakingError> {
        let row = UNPROCESSABLE.sweep(&id.hour(), &(id.millis, id.digest))?;
        Ok(self.inner.store.put(vec![row]).await?)
    }
}

/// The digest is of the whole value, so the value is a function of the key.
fn row_of(millis: u64, kept: &Unprocessable) -> Result<Row, StakingError> {
    let mut digest = Sha3_256::new();
    for part in [kept.source.as_bytes(), kept.reason.as_bytes(), &kept.body] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    let digest: [u8; 32] = digest.finalize().into();
    let digest = digest.first_chunk().copied().unwrap_or_default();
    Ok(UNPROCESSABLE.row(&(millis / HOUR), &(millis, digest), kept)?)
}
