//! Answers to HTTP, under `/api/{chain}/…`. All of one answer comes from one view.

mod accounts;
mod blocks;
mod chain;
mod export;
mod journal;
mod objects;
mod pages;
mod transactions;

use platform::http::{Problem, kinds};
use timeline::{View, ViewError};
use utoipa_axum::router::OpenApiRouter;

use crate::explorer::{Explorer, Explorers};
use crate::query::Scan;
use crate::{Address, Hash};

/// All routes.
#[must_use]
pub fn routes(explorers: Explorers) -> OpenApiRouter {
    OpenApiRouter::new()
        .merge(blocks::routes())
        .merge(transactions::routes())
        .merge(accounts::routes())
        .merge(chain::routes())
        .merge(journal::routes())
        .merge(export::routes())
        .with_state(explorers)
}

/// A chain at one moment.
struct Opened {
    explorer: Explorer,
    view: View,
}

impl Opened {
    /// The chain of a name as it is now.
    async fn new(explorers: &Explorers, name: &str) -> Result<Self, Problem> {
        let explorer = explorers.get(name).ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            Problem::not_found(format_args!("explored chain {name}"))
        })?;
        let view = explorer.view().await.map_err(problem)?;
        Ok(Self { explorer, view })
    }

    fn scan(&self) -> Scan<'_> {
        Scan::new(self.explorer.timeline(), &self.view)
    }

    /// Says so when reading took so long that what was read may have holes.
    fn check(&self) -> Result<(), Problem> {
        self.explorer.timeline().check_age(&self.view).map_err(problem)
    }
}

/// What a failed read means for the one who asked.
#[must_use]
pub fn problem(error: ViewError) -> Problem {
    match error {
        ViewError::Read(error) => error.into(),
        ViewError::Expired { .. } => Problem::of(&kinds::TOO_SLOW).retry_after(1),
        error => Problem::internal(error),
    }
}

/// A hash in a path.
fn hash(text: &str) -> Result<Hash, Problem> {
    Hash::parse(text).map_err(|error| {
        let detail = format!("This is {}. {}.", error.what, capital(error.remedy));
        Problem::new(&kinds::BAD_PATH, detail).field("hash")
    })
}

/// An address in a path.
fn address(text: &str) -> Result<Address, Problem> {
    Address::parse(text).map_err(|error| {
        let detail = format!("This is {}. {}.", error.what, capital(error.remedy));
        Problem::new(&kinds::BAD_PATH, detail).field("address")
    })
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
