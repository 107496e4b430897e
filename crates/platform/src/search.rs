//! One search over everything: services register what they can find.
//!
//! A query is read once, and all searchers get it at the same time. One that is slow or fails holds
//! up no other: what is found in time is shown.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use store::Task;

use crate::StoreError;
use crate::accounts::{Accounts, Caller, Scope, UserId};
use crate::chains::Registry as Chains;
use crate::projects::{Pid, Projects, Status};

/// Characters of a query.
pub const QUERY_CHARS: usize = 128;
/// Hits of one searcher.
pub const HITS_PER_KIND: usize = 10;
/// Hits of one search.
pub const HITS: usize = 50;
/// How long a searcher may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a query looks like. It may look like several things, so searchers ask for what they know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    text: String,
    asker: Option<Caller>,
}

/// A query that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("search for 1 to 128 characters that can be printed")]
pub struct QueryError;

impl Query {
    /// Reads a query as somebody typed it.
    ///
    /// # Errors
    /// When it is empty or too long.
    pub fn parse(text: &str, asker: Option<Caller>) -> Result<Self, QueryError> {
        let text = text.trim();
        let chars = text.chars().take(QUERY_CHARS + 1).count();
        if !(1..=QUERY_CHARS).contains(&chars) || text.chars().any(char::is_control) {
            return Err(QueryError);
        }
        Ok(Self { text: text.to_owned(), asker })
    }

    /// The text, trimmed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who asks.
    #[must_use]
    pub fn asker(&self) -> Option<&Caller> {
        self.asker.as_ref()
    }

    /// The hex digits, in lower case and without `0x`, when it is a hash or the like: an even
    /// number of digits, 8 to 128.
    #[must_use]
    pub fn hex(&self) -> Option<String> {
        let digits = self.text.strip_prefix("0x").or(self.text.strip_prefix("0X"));
        let digits = digits.unwrap_or(&self.text);
        let fits = (8..=128).contains(&digits.len()) && digits.len().is_multiple_of(2);
        let hex = fits && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex.then(|| digits.to_ascii_lowercase())
    }

    /// The number, when it is one: a height, an epoch. Separators people write are passed over.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        let digits: String = self.text.chars().filter(|c| !" ,_".contains(*c)).collect();
        let digits = digits.strip_prefix('#').unwrap_or(&digits);
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| plain)
    }

    /// The text, when it may be an address of some chain: 20 to 100 letters, digits and colons.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b":.".contains(&byte);
        let fits = (20..=100).contains(&self.text.len()) && self.text.bytes().all(allowed);
        fits.then_some(&self.text)
    }

    /// The word in lower case, when it may be a name.
    #[must_use]
    pub fn word(&self) -> Option<String> {
        let allowed = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let fits = self.text.chars().all(allowed);
        fits.then(|| self.text.to_lowercase())
    }
}

/// Something found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// What it is: `block`, `project`.
    pub kind: &'static str,
    /// What to show.
    pub title: String,
    /// Where it is, a path on this server.
    pub path: String,
    /// On which chain, if on one.
    pub chain: Option<String>,
}

/// Finds one kind of thing.
pub trait Search: Send + Sync + 'static {
    /// What it finds, as hits name it.
    fn kind(&self) -> &'static str;

    /// Finds, at most [`HITS_PER_KIND`] of them, the best first. What the asker may not see is not
    /// found. A failure is logged where it happens, and nothing is found.
    fn find<'a>(&'a self, query: &'a Query) -> Task<'a, Vec<Hit>>;
}

/// The searchers of a program. Cheap to clone.
#[derive(Clone, Default)]
pub struct Searchers(Vec<Arc<dyn Search>>);

impl std::fmt::Debug for Searchers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.iter().map(|search| search.kind())).finish()
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hits {
    /// The hits, in the order of the searchers.
    pub hits: Vec<Hit>,
    /// Kinds that took too long: the search may be repeated.
    pub late: Vec<&'static str>,
}

impl Searchers {
    /// No searchers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These and one more. Its hits come after those of the others.
    #[must_use]
    pub fn with(mut self, search: impl Search) -> Self {
        self.0.push(Arc::new(search));
        self
    }

    /// Asks all of them at the same time.
    pub async fn find(&self, query: &Query) -> Hits {
        let asked = self.0.iter().map(|search| async move {
            let found = tokio::time::timeout(PATIENCE, search.find(query)).await;
            (search.kind(), found)
        });
        let mut all = Hits::default();
        for (kind, found) in join_all(asked).await {
            match found {
                Ok(hits) => all.hits.extend(hits.into_iter().take(HITS_PER_KIND)),
                Err(_) => all.late.push(kind),
            }
        }
        all.hits.truncate(HITS);
        all
    }
}

/// What a searcher makes of a store that fails.
fn found<T>(kind: &'static str, read: Result<Option<T>, StoreError>) -> Option<T> {
    read.unwrap_or_else(|error| {
        tracing::warn!(kind, "a search failed: {error}");
        None
    })
}

impl Search for Chains {
    fn kind(&self) -> &'static str {
        "chain"
    }

    fn find<'a>(&'a self, query: &'a Query) -> Task<'a, Vec<Hit>> {
        Box::pin(async move {
            let Some(word) = query.word() else { return Vec::new() };
            let chains = self.current();
            let names = chains.iter().map(|(_, chain)| chain.name.as_str());
            let mut names: Vec<_> = names.filter(|name| name.starts_with(&word)).collect();
            // The whole name before longer ones that begin with it.
            names.sort_by_key(|name| name.len());
            let hit = |name: &str| Hit {
                kind: "chain",
                title: name.to_owned(),
                path: format!("/chains/{name}"),
                chain: Some(name.to_owned()),
            };
            names.into_iter().take(HITS_PER_KIND).map(hit).collect()
        })
    }
}

/// Projects are found by their owners, and by operators.
impl Search for Projects {
    fn kind(&self) -> &'static str {
        "project"
    }

    fn find<'a>(&'a self, query: &'a Query) -> Task<'a, Vec<Hit>> {
        Box::pin(async move {
            let pid = query.hex().and_then(|digits| Pid::parse(&digits));
            let Some(pid) = pid else { return Vec::new() };
            let may_see = |uid: &UserId| {
                let asker = query.asker();
                asker.is_some_and(|asker| asker.user == *uid || asker.may(Scope::Operator))
            };
            let project = found("project", Projects::find(self, pid).await);
            let project =
                project.filter(|project| project.status == Status::Active && may_see(&project.uid));
            let hit = project.map(|project| Hit {
                kind: "project",
                title: project.name,
                path: format!("/projects/{pid}"),
                chain: Some(project.chain.to_string()),
            });
            hit.into_iter().collect()
        })
    }
}

/// Accounts are found by operators, and by their owners.
impl Search for Accounts {
    fn kind(&self) -> &'static str {
        "account"
    }

    fn find<'a>(&'a self, query: &'a Query) -> Task<'a, Vec<Hit>> {
        Box::pin(async move {
            let (Some(asker), Ok(user)) = (query.asker(), UserId::new(query.text())) else {
                return Vec::new();
            };
            if asker.user != user && !asker.may(Scope::Operator) {
                return Vec::new();
            }
            let account = found("account", Accounts::find(self, &user).await);
            let hit = account.map(|account| Hit {
                kind: "account",
                title: account.user.to_string(),
                path: match asker.may(Scope::Operator) {
                    true => format!("/accounts/{}", account.user),
                    false => "/account".to_owned(),
                },
                chain: None,
            });
            hit.into_iter().collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Always(usize);
    impl Search for Always {
        fn kind(&self) -> &'static str {
            "always"
        }
        fn find<'a>(&'a self, query: &'a Query) -> Task<'a, Vec<Hit>> {
            let hit =
                Hit { kind: "always", title: query.text().into(), path: "/".into(), chain: None };
            Box::pin(async move { vec![hit; self.0] })
        }
    }

    struct Never;
    impl Search for Never {
        fn kind(&self) -> &'static str {
            "never"
        }
        fn find<'a>(&'a self, _: &'a Query) -> Task<'a, Vec<Hit>> {
            Box::pin(std::future::pending())
        }
    }

    fn query(text: &str) -> Query {
        Query::parse(text, None).expect("a query")
    }

    #[test]
    fn a_query_is_read_once_as_all_it_may_be() {
        let hash = format!("0x{}", "Ab".repeat(32));
        assert_eq!(query(&hash).hex(), Some("ab".repeat(32)));
        assert_eq!(query(" 12,345 ").number(), Some(12_345));
        assert_eq!(query("#7").number(), Some(7));
        assert_eq!(query("7f").number(), None);
        assert_eq!(query("99999999999999999999").number(), None);
        assert_eq!(query("12345678").hex(), Some("12345678".into()), "a number may be a hash");
        assert_eq!(query("abc").hex(), None);
        let address = "cfx:aak2rra2njvd77ezwjvx04kkds9fzagfe6ku8scz91";
        assert_eq!(query(address).address(), Some(address));
        assert_eq!(query("two words").word(), None);
        assert_eq!(query("Conflux").word(), Some("conflux".into()));
        assert!(Query::parse("  ", None).is_err());
        assert!(Query::parse(&"x".repeat(129), None).is_err());
        assert!(Query::parse("a\0b", None).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_searcher_holds_up_nobody_and_hits_are_bounded() {
        let searchers = Searchers::new().with(Never).with(Always(3)).with(Always(500));
        let found = searchers.find(&query("x")).await;
        assert_eq!(found.hits.len(), 3 + HITS_PER_KIND);
        assert_eq!(found.late, ["never"]);
        let many = (0..20).fold(Searchers::new(), |all, _| all.with(Always(9)));
        assert_eq!(many.find(&query("x")).await.hits.len(), HITS);
    }
}
