//! The HTTP shell that every service's API stands in.
//!
//! A service brings an `OpenApiRouter` whose handlers take the extractors of this module and return
//! [`Problem`] as their error. [`Shell`] puts all of them behind one set of rules and returns one
//! router, with the document that describes it:
//!
//! | from outside to inside | file |
//! | --- | --- |
//! | request id, log line, measurements, panics, form of problems, headers | `observe.rs` |
//! | compression | `shell.rs` |
//! | target, preflight, capacity, body, credential, time, tags | `guard.rs` |
//! | the handler: [`Path`], [`Query`], [`Json`], [`List`], [`Who`], [`Operation`] | the service |
//!
//! # Invariants
//!
//! - **Every refusal is a [`Problem`]** with a stable code, also axum's own. What never reaches the
//!   router (a head that is no HTTP, or too large) is answered by hyper with a bare status.
//! - **A wrong credential is refused, never ignored**, and two are refused as ambiguous.
//! - **No secret and no query value is logged.** Log lines and measurements name route templates.
//! - **A cookie never counts across origins**: CORS is for any origin, without credentials.
//! - **Everything has a limit**: [`Settings`], and constants at the top of each file.
//! - **The document lists what the router answers**; a test walks both.

pub mod auth;
mod body;
pub mod credentials;
pub mod csrf;
mod docs;
mod etag;
pub mod events;
mod extract;
mod guard;
mod headers;
pub mod health;
pub mod idempotency;
pub mod kinds;
mod list;
mod measure;
mod observe;
mod openapi;
mod problem;
mod query;
pub mod search;
mod settings;
mod shell;
mod stall;
mod target;

pub use auth::{
    Authority, MaybeWho, Nobody, Operator, Promise, Renewed, Scopes, Session, SessionOf, Via, Who,
};
pub use credentials::CookieJar;
pub use docs::content as docs_content;
pub use extract::{Json, Path, Query, read_body};
pub use headers::POLICY;
pub use health::{Check, CheckState, Lag, MetricsHook};
pub use idempotency::Operation;
pub use list::{DEFAULT_LIMIT, Items, List, MAX_LIMIT, Page, PageParams};
pub use measure::Measured;
pub use observe::{AsIs, Frame, REQUEST_ID, RequestId};
pub use problem::{MEDIA_TYPE, Problem, Wire};
pub use query::decode;
pub use settings::{RouteLimits, Settings, StreamLimits};
pub use shell::{Built, Shell};
pub use stall::Stall;
pub use target::{Client, Peer};
