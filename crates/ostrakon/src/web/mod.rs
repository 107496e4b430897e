//! Pages: one frame, one style sheet, server-rendered, without script.
//!
//! Words stand in [`messages`], so that they can be translated in one place.

pub(crate) mod chart;
mod frame;
pub(crate) mod messages;
pub(crate) mod status;

pub(crate) use frame::{Frame, ICON, STYLE, style_path};
