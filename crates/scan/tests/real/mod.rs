//! A real node, and whoever reads meanwhile.

pub(crate) mod chain;
pub(crate) mod readers;
