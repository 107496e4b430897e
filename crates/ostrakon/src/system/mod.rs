//! The platform's own tables: when it started, what it measured, what was settled once.
//!
//! The rooms are those of every service: `tables` (all tables), `derive` (pure), `ingest` (writes),
//! `query` (reads), `api` (HTTP).

pub(crate) mod api;
pub(crate) mod derive;
pub(crate) mod ingest;
pub(crate) mod query;
pub(crate) mod tables;
