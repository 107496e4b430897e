//! What every source of messages hands over, and what it is told.

use std::future::Future;
use std::pin::Pin;

/// Messages of one call at the most.
pub const BATCH: usize = 2_000;
/// Bytes of one message at the most.
pub const MESSAGE_BYTES: usize = 1024 * 1024;

/// A message as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Where it came from: the name of a queue, or `http`.
    pub source: String,
    /// What it says.
    pub body: Vec<u8>,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Taken {
    /// It changed something, and all that follows from it is written.
    Applied,
    /// It was known already, or says nothing that counts. Nothing changed.
    Repeated,
    /// It is kept with its delegation until what it builds on arrives.
    Parked,
    /// It can never be applied; it is kept with this reason until somebody replays it.
    Unprocessable(String),
    /// The store did not take it, for this reason. Nothing is lost as long as it is sent again.
    Later(String),
}

/// Takes messages. Every one that is not [`Taken::Later`] is on disk when the call returns, so its
/// source may forget it.
pub trait Intake: Send + Sync + std::fmt::Debug {
    /// One answer per message, in their order. At most [`BATCH`] of them.
    fn take<'a>(
        &'a self,
        messages: Vec<Message>,
    ) -> Pin<Box<dyn Future<Output = Vec<Taken>> + Send + 'a>>;
}
