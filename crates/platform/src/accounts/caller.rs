//! Who asks, and what they may.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::UserId;

/// What an account may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Its own things.
    #[default]
    User,
    /// Everything.
    Operator,
}

/// What a credential may.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Read what the account may read.
    Read,
    /// Change what the account may change.
    Write,
    /// What only operators may.
    Operator,
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Scope>", into = "Vec<Scope>")]
pub struct Scopes(u8);

impl Scopes {
    /// All of them: what a session has.
    pub const ALL: Self = Self(7);

    /// Whether it has `scope`.
    #[must_use]
    pub fn has(self, scope: Scope) -> bool {
        self.0 & bit(scope) != 0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

fn bit(scope: Scope) -> u8 {
    match scope {
        Scope::Read => 1,
        Scope::Write => 2,
        Scope::Operator => 4,
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |set, scope| set | bit(scope)))
    }
}

impl From<Vec<Scope>> for Scopes {
    fn from(scopes: Vec<Scope>) -> Self {
        scopes.into_iter().collect()
    }
}

impl From<Scopes> for Vec<Scope> {
    fn from(scopes: Scopes) -> Self {
        let all = [Scope::Read, Scope::Write, Scope::Operator];
        all.into_iter().filter(|scope| scopes.has(*scope)).collect()
    }
}

/// How somebody proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A session of a browser.
    Session {
        /// Whether it is time for a new session id.
        renew: bool,
    },
    /// A personal token.
    Token,
}

/// Somebody who proved who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who.
    pub user: UserId,
    /// What the account may, as of this request.
    pub role: Role,
    /// What the credential may.
    pub scopes: Scopes,
    /// How they proved it.
    pub credential: Credential,
}

impl Caller {
    /// Whether the request may do something of this scope: the credential must allow it, and for
    /// [`Scope::Operator`] the account must still be an operator's.
    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.has(scope) && (scope != Scope::Operator || self.role == Role::Operator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_never_gives_more_than_the_role() {
        let user = UserId::new("ann").expect("a name");
        let caller = |role, scopes: &[Scope]| Caller {
            user: user.clone(),
            role,
            scopes: scopes.iter().copied().collect(),
            credential: Credential::Token,
        };
        let all = [Scope::Read, Scope::Write, Scope::Operator];
        assert!(caller(Role::Operator, &all).may(Scope::Operator));
        assert!(!caller(Role::User, &all).may(Scope::Operator));
        assert!(!caller(Role::Operator, &[Scope::Read]).may(Scope::Operator));
        assert!(!caller(Role::Operator, &[Scope::Read]).may(Scope::Write));
        assert!(caller(Role::User, &[Scope::Read]).may(Scope::Read));
        assert_eq!(all.into_iter().collect::<Scopes>(), Scopes::ALL);
        assert!(Scopes::default().is_empty());
    }
}
