//! `Idempotency-Key`: a write that may be repeated until its outcome is known.
//!
//! A client that gets no answer cannot know whether its write was made. It sends the same request
//! with the same key again, and the write is made once:
//!
//! - The key is 1 to 128 visible ASCII characters, chosen by the client, new for each operation.
//! - It becomes the operation id of the store's commit, bound to the caller, the method and the
//!   path: the same key of another caller, or on another path, is another operation.
//! - For 24 hours a repetition answers with the outcome of the first try and changes nothing, also
//!   when two tries run at the same time: the store's compare-and-set decides, not this process.
//! - A key names an operation, not a body. With another body it still gets the outcome of the
//!   first.
//! - Without the header each request is an operation of its own, and must not be repeated blindly.
//!
//! Callers without a credential share one name space: they should use random keys of 128 bits.

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use sha2::{Digest as _, Sha256};
use store::OpId;

use super::auth::Resolved;
use super::kinds;
use super::problem::Problem;
use super::target::Asked;

/// The header.
pub const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// Characters of a key.
const LONGEST: usize = 128;

/// The operation that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The operation id to commit under.
    pub id: OpId,
    /// The client named it, so it may come again.
    pub named: bool,
}

impl Operation {
    /// An id for one of several commits of this operation: `part` tells them apart.
    #[must_use]
    pub fn part(&self, part: &str) -> OpId {
        digest(&[b"part", &self.id.0, part.as_bytes()])
    }
}

impl<S: Sync> FromRequestParts<S> for Operation {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut sent = parts.headers.get_all(HEADER).iter();
        let Some(key) = sent.next() else {
            let mut id = [0; 16];
            getrandom::fill(&mut id).map_err(Problem::internal)?;
            return Ok(Self { id: OpId(id), named: false });
        };
        let fits = (1..=LONGEST).contains(&key.len());
        let visible = key.as_bytes().iter().all(u8::is_ascii_graphic);
        if !fits || !visible || sent.next().is_some() {
            return Err(Problem::of(&kinds::BAD_IDEMPOTENCY_KEY).limit(LONGEST as u64));
        }
        let who = parts.extensions.get::<Resolved>().and_then(|resolved| resolved.who.as_ref());
        let caller = who.map_or_else(|| "anonymous".to_owned(), |who| who.name());
        let path = parts.extensions.get::<Asked>().map_or(&parts.uri, |asked| &asked.0).path();
        let method = parts.method.as_str();
        let id = digest(&[
            b"key",
            caller.as_bytes(),
            method.as_bytes(),
            path.as_bytes(),
            key.as_bytes(),
        ]);
        Ok(Self { id, named: true })
    }
}

/// Parts are joined with their lengths, so that no two lists of parts look the same.
fn digest(parts: &[&[u8]]) -> OpId {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hash.finalize()[..16]);
    OpId(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::auth::{Scopes, Via, Who};
    use axum::http::{HeaderValue, Request};

    async fn operation(
        path: &str,
        caller: Option<&str>,
        keys: &[&str],
    ) -> Result<Operation, Problem> {
        let (mut parts, ()) = Request::post(path).body(()).expect("a request").into_parts();
        for key in keys {
            parts.headers.append(HEADER, HeaderValue::from_bytes(key.as_bytes()).expect("a value"));
        }
        let who = caller.map(|account| Who {
            account: Some(account.to_owned()),
            roles: Default::default(),
            scopes: Scopes::All,
            project: None,
            via: Via::Bearer,
        });
        parts.extensions.insert(Resolved { who, ..Resolved::default() });
        Operation::from_request_parts(&mut parts, &()).await
    }

    #[tokio::test]
    async fn a_key_names_one_operation_of_one_caller_on_one_path() {
        let first = operation("/api/a", Some("ann"), &["k"]).await.expect("an operation");
        assert!(first.named);
        assert_eq!(first, operation("/api/a", Some("ann"), &["k"]).await.expect("the same"));
        for (path, caller, key) in [
            ("/api/b", Some("ann"), "k"),
            ("/api/a", Some("bob"), "k"),
            ("/api/a", None, "k"),
            ("/api/a", Some("ann"), "l"),
        ] {
            let other = operation(path, caller, &[key]).await.expect("an operation");
            assert_ne!(first.id, other.id, "{path} {caller:?} {key}");
        }
        assert_ne!(first.part("one"), first.part("two"));
        assert_ne!(first.part("one"), first.id);
    }

    #[tokio::test]
    async fn a_request_without_a_key_is_its_own_operation() {
        let one = operation("/", None, &[]).await.expect("an operation");
        let two = operation("/", None, &[]).await.expect("an operation");
        assert!(!one.named && one.id != two.id);
    }

    #[tokio::test]
    async fn a_key_that_cannot_be_used_is_refused() {
        let long = "k".repeat(LONGEST + 1);
        for keys in [&[""][..], &["a b"], &["ä"], &[&long], &["a", "b"]] {
            let problem = operation("/", None, keys).await.expect_err("refused");
            assert_eq!(problem.code(), "bad-idempotency-key", "{keys:?}");
        }
    }
}
