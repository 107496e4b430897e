//! Who asks: one answer for every API, whatever credential was sent.
//!
//! The shell reads the credential of every request before any handler runs. A credential that is
//! not valid is refused, never ignored: a program whose token has expired must learn that instead
//! of reading the public part forever. Handlers take [`Who`], [`MaybeWho`] or [`Operator`].
//!
//! | sent as | asked of the [`Authority`] | methods |
//! | --- | --- | --- |
//! | session cookie | `by_session` | all; writes also need [`csrf`](super::csrf) |
//! | `Authorization: Bearer` | `by_bearer`, else `by_key` | all |
//! | `X-Api-Key` | `by_key` | all |
//! | `?key=` | `by_key` | GET and HEAD only: URLs are kept in histories and logs |

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;

use super::kinds;
use super::problem::Problem;

/// A future without a name, for traits that are used as objects.
pub type Promise<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The role of those who run the installation.
pub const OPERATOR: &str = "operator";

/// Knows credentials. `None` means that the credential is not valid; a problem that it could not
/// be checked, which refuses the request as well.
pub trait Authority: Send + Sync + 'static {
    /// Who logged in with this session secret.
    fn by_session<'a>(&'a self, secret: &'a str)
    -> Promise<'a, Result<Option<SessionOf>, Problem>>;

    /// A new secret for a session whose old one has been in use for long; the shell gives it to
    /// the browser. Asked only when [`SessionOf::renew`] says so.
    fn renewed<'a>(&'a self, _secret: &'a str) -> Promise<'a, Result<Option<Renewed>, Problem>> {
        Box::pin(async { Ok(None) })
    }

    /// Whose personal token this is.
    fn by_bearer<'a>(&'a self, token: &'a str) -> Promise<'a, Result<Option<Who>, Problem>>;

    /// Which project's key this is.
    fn by_key<'a>(&'a self, key: &'a str) -> Promise<'a, Result<Option<Who>, Problem>>;
}

/// A session that is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOf {
    /// Whose.
    pub who: Who,
    /// Whether it is time for a new secret.
    pub renew: bool,
}

/// A session with a new secret.
#[derive(Clone)]
pub struct Renewed {
    /// The secret, for the cookie.
    pub secret: String,
    /// Seconds until the session ends if it is not used.
    pub seconds: u32,
}

/// How a caller proved who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Via {
    /// A session cookie: a person with a browser.
    Session,
    /// A personal token.
    Bearer,
    /// A project's key.
    Key,
}

/// What a credential may be used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scopes {
    /// Everything that its owner may do.
    All,
    /// Only these.
    Only(BTreeSet<String>),
}

/// Who asks. As an argument of a handler it refuses those who sent no credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The account, when a person or a person's token or project asks.
    pub account: Option<String>,
    /// Roles of the account.
    pub roles: BTreeSet<String>,
    /// What this credential may be used for.
    pub scopes: Scopes,
    /// The project, when its key was sent.
    pub project: Option<String>,
    /// How the caller proved it.
    pub via: Via,
}

impl Who {
    /// A name for limits, logs and operation ids. It tells accounts from projects.
    #[must_use]
    pub fn name(&self) -> String {
        match (&self.project, &self.account) {
            (Some(project), _) => format!("project:{project}"),
            (None, Some(account)) => format!("account:{account}"),
            (None, None) => "nobody".to_owned(),
        }
    }

    /// Whether the credential may be used for `scope`.
    #[must_use]
    pub fn allows(&self, scope: &str) -> bool {
        match &self.scopes {
            Scopes::All => true,
            Scopes::Only(scopes) => scopes.contains(scope),
        }
    }

    /// Refuses a credential that may not be used for `scope`.
    ///
    /// # Errors
    /// A problem that names the scope.
    pub fn require(&self, scope: &str) -> Result<(), Problem> {
        if self.allows(scope) {
            return Ok(());
        }
        Err(Problem::forbidden(format_args!("the scope `{scope}`")))
    }

    /// The account, for what only an account can do.
    ///
    /// # Errors
    /// A problem when a project's key was sent that stands for no account.
    pub fn account(&self) -> Result<&str, Problem> {
        match (&self.account, self.via) {
            (Some(account), Via::Session | Via::Bearer) => Ok(account),
            _ => Err(Problem::forbidden("an account: a session or a personal token, not a key")),
        }
    }

    fn is_operator(&self) -> bool {
        // A project's key lies in programs and pages: it never operates the installation.
        self.via != Via::Key && self.roles.contains(OPERATOR) && self.allows(OPERATOR)
    }
}

/// What the shell found out, kept beside the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) who: Option<Who>,
    /// The token of the session, for forms.
    pub(crate) csrf: Option<String>,
    /// A session cookie was sent that is no longer valid.
    pub(crate) ended: bool,
    /// The cookie that takes the place of the one that was sent.
    pub(crate) cookie: Option<HeaderValue>,
}

fn resolved(parts: &Parts) -> Result<&Resolved, Problem> {
    parts
        .extensions
        .get()
        .ok_or_else(|| Problem::internal("a handler asks who it is, but stands in no shell"))
}

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        resolved(parts)?.who.clone().ok_or_else(|| Problem::of(&kinds::UNAUTHENTICATED))
    }
}

/// Who asks, or nobody. Never a stand-in for a wrong credential: that was refused before.
#[derive(Clone, Debug)]
pub struct MaybeWho(pub Option<Who>);

impl<S: Sync> FromRequestParts<S> for MaybeWho {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(resolved(parts)?.who.clone()))
    }
}

/// An operator of the installation: session or token of an account with that role.
#[derive(Clone, Debug)]
pub struct Operator(pub Who);

impl<S: Sync> FromRequestParts<S> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let who = Who::from_request_parts(parts, state).await?;
        if who.is_operator() {
            return Ok(Self(who));
        }
        Err(Problem::forbidden("the role `operator`, with a session or a token that has it"))
    }
}

/// What a page needs to know of the session behind it.
#[derive(Clone, Debug)]
pub struct Session {
    /// The token for forms: a hidden field [`csrf::FIELD`](super::csrf::FIELD).
    pub csrf: Option<String>,
    /// A cookie was sent whose session has ended. A page says so, and the shell removes it.
    pub ended: bool,
}

impl<S: Sync> FromRequestParts<S> for Session {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let resolved = resolved(parts)?;
        Ok(Self { csrf: resolved.csrf.clone(), ended: resolved.ended })
    }
}

/// Nobody is known: for installations and tests without accounts.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Authority for Nobody {
    fn by_session<'a>(&'a self, _: &'a str) -> Promise<'a, Result<Option<SessionOf>, Problem>> {
        Box::pin(async { Ok(None) })
    }

    fn by_bearer<'a>(&'a self, _: &'a str) -> Promise<'a, Result<Option<Who>, Problem>> {
        Box::pin(async { Ok(None) })
    }

    fn by_key<'a>(&'a self, _: &'a str) -> Promise<'a, Result<Option<Who>, Problem>> {
        Box::pin(async { Ok(None) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn who(via: Via, roles: &[&str], scopes: Scopes) -> Who {
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        Who { account: Some("ann".into()), roles, scopes, project: None, via }
    }

    async fn operator(who: Option<Who>) -> Result<Operator, Problem> {
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.extensions.insert(Resolved { who, ..Resolved::default() });
        Operator::from_request_parts(&mut parts, &()).await
    }

    #[tokio::test]
    async fn only_operators_operate() {
        let only = |scope: &str| Scopes::Only(BTreeSet::from([scope.to_owned()]));
        for (via, roles, scopes, allowed) in [
            (Via::Session, &[OPERATOR][..], Scopes::All, true),
            (Via::Bearer, &[OPERATOR], only(OPERATOR), true),
            (Via::Bearer, &[OPERATOR], only("read"), false),
            (Via::Key, &[OPERATOR], Scopes::All, false),
            (Via::Session, &[], Scopes::All, false),
        ] {
            let found = operator(Some(who(via, roles, scopes))).await;
            assert_eq!(found.is_ok(), allowed, "{via:?} {roles:?}");
            if let Err(problem) = found {
                assert_eq!(problem.code(), "forbidden");
            }
        }
        let nobody = operator(None).await.expect_err("nobody");
        assert_eq!(nobody.code(), "unauthenticated");
    }

    #[tokio::test]
    async fn a_handler_outside_of_the_shell_lets_nobody_in() {
        let (mut parts, ()) = Request::new(()).into_parts();
        let found = MaybeWho::from_request_parts(&mut parts, &()).await;
        assert_eq!(found.expect_err("no shell").code(), "internal");
    }

    #[test]
    fn names_tell_accounts_from_projects() {
        let person = who(Via::Session, &[], Scopes::All);
        let project = Who { project: Some("ann".into()), via: Via::Key, ..person.clone() };
        assert_ne!(person.name(), project.name());
        assert_eq!(person.account().expect("an account"), "ann");
        assert_eq!(project.account().expect_err("a key").code(), "forbidden");
        assert!(project.require("x").is_ok());
    }
}
