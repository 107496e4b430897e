//! Bitcoin staking: every event counts once.
//!
//! ```text
//!   queue, HTTP ── messages ──► events ──► delegations ──► sums, lists, boards, heights
//!                               strict     pure, one       ranked, so repeating is right
//!                               reading    commit each
//! ```
//!
//! An indexer tells what happens to delegations, through queues that deliver twice and out of
//! order. A delegation is the set of what is known of it, and its state is a function of that set:
//! any order of the same events, with any of them doubled, ends in the same delegation. What it
//! counts for is set in tallies under the number of known facts, which only grows: so a repeated, a
//! late or a half-finished count ends in the same sums.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`event`] | what a message says, read strictly |
//! | [`delegation`] | what is known of a delegation, and its state: pure |
//! | [`derive`] | what follows from it: pure |
//! | [`tables`] | all tables |
//! | [`source`] | messages from the queues of RabbitMQ |
//! | `intake`, `together`, `ingest` | messages to delegations |
//! | `settle`, `notes` | what follows is written, also after a crash |
//! | `bitcoin` | the height of Bitcoin, and timelocks that pass |
//! | `unbonding` | a staker asks to take a delegation out |
//! | `parked`, `unprocessable` | what waits, and what cannot be applied |
//! | `query`, `history` | answers: as things are, as of a height, over time |
//! | `api` | answers over HTTP |
//! | [`compat`] | Babylon's staking API |
//! | `verify` | everything counted again and compared |
//! | `calculations`, `backfill` | what all processes count, and what is added later |
//! | `run` | what works in the background |
//!
//! # Invariants
//!
//! - **A message is acknowledged after everything that follows from it is on disk**, or after a
//!   note is that names the delegation: whoever finds the note counts again.
//! - **Sums equal the delegations**: each is an entry of its tallies, and `verify` proves it.
//! - **Nothing is dropped**: what cannot be applied is kept with its reason until somebody replays
//!   or drops it.

pub mod address;
pub mod api;
mod backfill;
mod bitcoin;
mod calculations;
pub mod compat;
pub mod delegation;
pub mod derive;
pub mod event;
mod guarded;
pub mod hex;
mod history;
mod ingest;
mod intake;
mod life;
mod notes;
mod parked;
mod query;
mod run;
mod search;
mod settle;
pub mod source;
mod staking;
pub mod tables;
mod together;
mod types;
mod unbonding;
mod unprocessable;
mod verify;

pub use bitcoin::{Bitcoin, Confirmed, Info};
pub use history::{POINTS, Point};
pub use ingest::Counters;
pub use intake::{BATCH, Intake, MESSAGE_BYTES, Message, Taken};
pub use life::Event as LifeEvent;
pub use query::{ListPage, Listed, LockState, Overall, PAGE, PROVIDERS, RankPlace, StakerPlace};
pub use staking::{Settings, Staking, StakingError};
pub use tables::{Standing, Unprocessable};
pub use types::{Blocks, BtcHeight, ParseError, PublicKey, Satoshi, TxHash};
pub use unbonding::RequestError;
pub use unprocessable::{KeptId, KeptPage};
pub use verify::Audit;
