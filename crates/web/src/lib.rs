//! What all pages share: frame, words in two languages, charts, numbers and times.
//!
//! Pages are rendered on the server. The one script shows times in the reader's zone and keeps live
//! parts alive; every page is whole without it. Nothing is inline, so that the policy can forbid
//! inline script and style altogether.

pub mod assets;
mod chart;
pub mod format;
mod frame;
mod language;
mod messages;
mod parts;

pub use chart::{Across, Chart, power};
pub use frame::{Frame, Link};
pub use language::Language;
pub use messages::{CHINESE, ENGLISH, Messages};
pub use parts::{Pager, empty, time};
