//! Where a row lives, and how good that choice is.
//!
//! Pure arithmetic: no IO, no clock, no randomness without a seed.
//!
//! - A table declares one [`Placement`] beside its name; [`Placement::locate`] turns a key and its
//!   [`Route`] into the bytes of a partition key.
//! - A [`Cluster`] says which node holds a partition, under mod N, a token ring or fixed slots;
//!   [`keys_moved`] says what it costs when a node joins.
//! - [`report`] judges a placement by the rows it got; [`activity`] compares the shard keys of
//!   paper 001; [`render`] shows both as text, JSON or one HTML page.
//!
//! ```
//! use placement::report::{Observation, Observer, TableFacts};
//!
//! let mut observer = Observer::new(TableFacts {
//!     name: "notes".into(),
//!     placement: "hashed(user)".into(),
//!     queries: vec![],
//! });
//! for user in 0..1000u32 {
//!     observer.observe(Observation::row(&user.to_be_bytes(), 120));
//! }
//! let report = observer.finish();
//! assert_eq!(report.partitions.count, 1000);
//! ```

pub mod activity;
mod cluster;
mod murmur3;
mod numbers;
mod policy;
mod random;
pub mod render;
pub mod report;
mod stats;

pub use cluster::{Cluster, Join, Node, Strategy, Tokens, generated_tokens, keys_moved};
pub use murmur3::token;
pub use policy::{Placement, Route, RouteError, YearMonth, paper_shard};
pub use stats::LorenzPoint;
