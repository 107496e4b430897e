//! Reading: from the archive or beside the head, wherever an event is at the moment.

use std::ops::Bound;

use store::{PageRequest, Read, Sequenced};

use crate::guarded::{Attempts, StoreError};
use crate::tables::{EVENT_ARCHIVE, EVENTS};

use super::log::{ARCHIVE_BUCKET, EventRow, Head};
use super::{Event, EventFilter, Events, ReadEventsError};

/// Events of one page.
pub const EVENTS_PER_PAGE: usize = 1000;
/// Events one page looks at, so that a filter that matches little ends soon.
const LOOKED_AT: usize = 5000;
/// Events read at a time.
const READ_ROWS: usize = 500;

/// A page of events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventPage {
    /// Those that match, in order.
    pub events: Vec<Event>,
    /// The last one that was looked at: read on after it.
    pub last: u64,
    /// Whether there are more behind it.
    pub more: bool,
}

impl Events {
    /// Events behind `after` that match. A page may be short, or empty, and not the last: `more`
    /// says so.
    ///
    /// # Errors
    /// When the events behind `after` are gone, or no event has that id yet.
    pub async fn read_after(
        &self,
        after: u64,
        filter: &EventFilter,
        limit: usize,
    ) -> Result<EventPage, ReadEventsError> {
        if !(1..=EVENTS_PER_PAGE).contains(&limit) {
            return Err(ReadEventsError::Limit);
        }
        let mut page = EventPage { last: after, ..EventPage::default() };
        let mut attempts = Attempts::of(EVENTS.def().name());
        let mut looked_at = 0;
        loop {
            let (_, head) = self.head(Read::Quorum).await?;
            let newest = head.next - 1;
            if page.last + 1 < head.first {
                return Err(ReadEventsError::Gone { first: head.first });
            }
            if page.last > newest {
                return Err(ReadEventsError::Ahead { newest });
            }
            page.more = page.last < newest;
            if !page.more || looked_at >= LOOKED_AT || page.events.len() >= limit {
                return Ok(page);
            }
            let read = self.read_some(&head, page.last + 1).await?;
            // They moved between the two reads: look where they are now.
            if read.is_empty() {
                attempts.again().await?;
            }
            looked_at += read.len();
            for event in read {
                if page.events.len() >= limit {
                    break;
                }
                page.last = event.id;
                if filter.matches(&event) {
                    page.events.push(event);
                }
            }
        }
    }

    /// The first id that is there, and the newest; none when there is none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn span(&self) -> Result<Option<(u64, u64)>, StoreError> {
        let (_, head) = self.head(Read::Quorum).await?;
        Ok((head.first < head.next).then_some((head.first, head.next - 1)))
    }

    /// Some events from `from` on, which follow each other; none when they are not where the head
    /// says.
    async fn read_some(&self, head: &Head, from: u64) -> Result<Vec<Event>, StoreError> {
        let store = &self.inner.store;
        let start = Bound::Included(from);
        let rows: Vec<_> = if from < head.archived {
            let last = (from / ARCHIVE_BUCKET + 1) * ARCHIVE_BUCKET;
            // Rows above may be there before the head says so. They are right, but may be one of
            // two halves of a copy.
            let to = Bound::Excluded(last.min(head.archived));
            let request = PageRequest { from: start, to, ..PageRequest::first(READ_ROWS) };
            store.page(&EVENT_ARCHIVE, &Sequenced((), from), request).await?.rows
        } else {
            let request = PageRequest { from: start, ..PageRequest::first(READ_ROWS) };
            let rows = store.page(&EVENTS, &(), request).await?.rows.into_iter();
            rows.filter_map(|(id, row)| match row {
                EventRow::Event(event) => Some((id, event)),
                EventRow::Head(_) => None,
            })
            .collect()
        };
        let follows = |(expected, (id, _)): &(u64, (u64, _))| expected == id;
        let read = (from..).zip(rows).take_while(follows);
        Ok(read.map(|(id, (_, event))| event.with_id(id)).collect())
    }
}
