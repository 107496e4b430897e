//! Real servers for tests: installed, started, watched and ended.
//!
//! A test that talks to a real Redis, Cassandra or node says in three lines what it needs:
//!
//! ```no_run
//! let Some(redis) = parts::require(parts::redis::install()) else { return };
//! let server = redis.start().expect("redis starts");
//! assert_eq!(server.cli(&["PING"]).expect("redis answers"), "PONG");
//! ```
//!
//! What holds for every part:
//!
//! - It lives in a directory of its own and listens on free ports of the loopback address.
//! - It ends with its owner: by `Drop`, when the test panics, and when the test process is killed
//!   with -9, together with everything it has started ([`Group`] says how).
//! - Its log is removed when the test passes, and kept and named when the test fails.
//! - What is downloaded or built for it stays in the [`Cache`], outside the checkout.
//! - What cannot be had is a [`Missing`]: [`require`] skips the test and prints the exact command
//!   that helps, and fails instead when `CI=true`, so that a green run never hides a skip.
//!
//! # Adding a part
//!
//! One file per part, with the shape of [`redis`], or a directory, as [`cassandra`] and
//! [`conflux`]. `install()` returns what is needed to start it or a [`Missing`] (Debian packages
//! through [`debian::ensure`], packages of npm through [`npm`], downloads and builds through
//! [`Cache::entry`] and [`run`]); `start()` describes a [`Part`], starts it and waits with
//! [`Process::wait_until`] until it answers.

mod cache;
pub mod cassandra;
mod command;
pub mod conflux;
pub mod debian;
mod group;
mod need;
pub mod npm;
mod port;
pub mod postgres;
mod process;
pub mod python;
pub mod rabbitmq;
pub mod redis;
mod tmpfs;
mod wait;

pub use cache::{Cache, CacheError};
pub use command::{CommandError, run};
pub use group::Group;
pub use need::{Missing, SKIPS, full, in_ci, is_root, pick, require};
pub use port::free_port;
pub use process::{Part, PartError, Process};
pub use tmpfs::Tmpfs;
pub use wait::{NotReady, wait_until};
