//! Pages of the platform itself, in the frame that all pages share.

pub(crate) mod status;
