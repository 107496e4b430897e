//! The one event stream: what happened, numbered without a gap.
//!
//! ```text
//!   append(events, op) ──► platform.events            one guarded partition
//!                            head   next 2300, archived 1280, first 1
//!                            1280 … 2299              the newest events
//!                               │ with an append, 256 at a time
//!                               ▼
//!                          platform.event_archive     Once, buckets of 4096; old ones are swept
//! ```
//!
//! - **An id is given once and there is no gap**: the head and the events change in one commit, so
//!   writers at the same time get ids one after the other, and an append is there wholly or not at
//!   all. Under its operation id it happens once.
//! - **An event is in the archive before it leaves the head's partition**, so that a reader finds
//!   it in one or the other. A reader checks that ids follow each other and looks again if not.
//! - **A subscriber is never waited for.** One that is too slow is told so, and goes on from its
//!   last id with [`Events::read_after`]: nothing is missed and nothing comes twice.
//! - **Old events go.** Whoever asks for one is told the first that is there.

mod error;
mod event;
mod feed;
mod log;
mod read;

pub use error::{AppendError, EventError, FeedError, ReadEventsError};
pub use event::{Event, EventFilter, FILTER_KINDS, NewEvent, check_kind};
pub use feed::{Feed, Follower};
pub use log::{Appended, EVENTS_PER_APPEND, Events, EventsSettings};
pub use read::{EVENTS_PER_PAGE, EventPage};

pub(crate) use event::StoredEvent;
pub(crate) use log::{ARCHIVE_AT, ARCHIVE_BUCKET, EventRow};
