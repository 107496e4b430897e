//! What the domain refuses, as problems. Its own words are the detail: they say what to do.

use crate::accounts::{AccountError, LoginError, PasswordError, RegisterError, TokenError};
use crate::chains::{ChainChangeError, ChainError};
use crate::events::ReadEventsError;
use crate::http::{Problem, kinds};
use crate::projects::{ListError, ProjectError};
use crate::webhooks::WebhookError;
use crate::{ListCursorError, StoreError};

/// Seconds after which a machine that hashes too many passwords is asked again.
const BUSY_RETRY: u32 = 3;

/// A sentence of its own: errors begin in lower case and end without a full stop.
fn sentence(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(letters).chain(['.']).collect()
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Bound(error) => error.into(),
            StoreError::Read(error) => error.into(),
            StoreError::Put(error) => error.into(),
            StoreError::Commit(error) => error.into(),
            StoreError::Engine(error) => error.into(),
            StoreError::Contended { .. } => Self::of(&kinds::OVERLOADED).retry_after(1),
            error if error.is_unknown() => {
                tracing::error!(%error, "the outcome of a change is unknown");
                Self::of(&kinds::OUTCOME_UNKNOWN).retry_after(1)
            }
            error => {
                tracing::error!(%error, "the store failed a request");
                Self::of(&kinds::STORE_UNAVAILABLE).retry_after(BUSY_RETRY)
            }
        }
    }
}

impl From<ListCursorError> for Problem {
    fn from(error: ListCursorError) -> Self {
        Self::new(&kinds::BAD_CURSOR, sentence(&error)).field("cursor")
    }
}

impl From<ReadEventsError> for Problem {
    fn from(error: ReadEventsError) -> Self {
        match error {
            ReadEventsError::Gone { .. } => Self::new(&kinds::EVENTS_GONE, sentence(&error)),
            ReadEventsError::Ahead { .. } => Self::bad_query("after", sentence(&error)),
            ReadEventsError::Limit => Self::internal(error),
            ReadEventsError::Store(error) => error.into(),
        }
    }
}

impl From<ChainError> for Problem {
    fn from(error: ChainError) -> Self {
        Self::bad_body(error.field.clone(), sentence(&error))
    }
}

impl From<ChainChangeError> for Problem {
    fn from(error: ChainChangeError) -> Self {
        match error {
            ChainChangeError::Invalid(error) => error.into(),
            ChainChangeError::Missing { .. } => Self::new(&kinds::NOT_FOUND, sentence(&error)),
            ChainChangeError::Store(error) => error.into(),
            error => Self::conflict(sentence(&error)),
        }
    }
}

impl From<PasswordError> for Problem {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Busy => Self::of(&kinds::OVERLOADED).retry_after(BUSY_RETRY),
            PasswordError::Hash => Self::internal(error),
            error => Self::bad_body("password", sentence(&error)),
        }
    }
}

impl From<RegisterError> for Problem {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::Name { .. } => Self::bad_body("name", sentence(&error)),
            RegisterError::Taken => Self::conflict(sentence(&error)),
            RegisterError::Password(error) => error.into(),
            RegisterError::Store(error) => error.into(),
        }
    }
}

impl From<LoginError> for Problem {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Wrong => Self::new(&kinds::BAD_CREDENTIAL, sentence(&error)),
            LoginError::Throttled { seconds } => {
                Self::too_many(sentence(&error), u32::try_from(seconds).unwrap_or(u32::MAX))
            }
            LoginError::Password(error) => error.into(),
            LoginError::Store(error) => error.into(),
        }
    }
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Missing => Self::new(&kinds::NOT_FOUND, sentence(&error)),
            AccountError::NotAllowed => Self::forbidden("the role `operator`"),
            AccountError::Store(error) => error.into(),
        }
    }
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Name => Self::bad_body("name", sentence(&error)),
            TokenError::Invalid { field, .. } => Self::bad_body(field, sentence(&error)),
            TokenError::Taken | TokenError::Full => Self::conflict(sentence(&error)),
            TokenError::Missing => Self::new(&kinds::NOT_FOUND, sentence(&error)),
            TokenError::Store(error) => error.into(),
        }
    }
}

impl From<ProjectError> for Problem {
    fn from(error: ProjectError) -> Self {
        match error {
            ProjectError::Name => Self::bad_body("name", sentence(&error)),
            ProjectError::Chain { .. } => Self::bad_body("chain", sentence(&error)),
            ProjectError::Full => Self::conflict(sentence(&error)),
            ProjectError::Missing => Self::new(&kinds::NOT_FOUND, sentence(&error)),
            ProjectError::Store(error) => error.into(),
        }
    }
}

impl From<ListError> for Problem {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Limit { most } => {
                Self::new(&kinds::BAD_LIMIT, sentence(&error)).field("limit").limit(most as u64)
            }
            ListError::Cursor(error) => error.into(),
            ListError::Store(error) => error.into(),
        }
    }
}

impl From<WebhookError> for Problem {
    fn from(error: WebhookError) -> Self {
        match error {
            WebhookError::Url(_) | WebhookError::Plain | WebhookError::Loopback => {
                Self::bad_body("url", sentence(&error))
            }
            WebhookError::Filter(_) => Self::bad_body("kinds", sentence(&error)),
            WebhookError::Full | WebhookError::Crowded => Self::conflict(sentence(&error)),
            WebhookError::Missing => Self::new(&kinds::NOT_FOUND, sentence(&error)),
            WebhookError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_domain_become_sentences() {
        let problem = Problem::from(RegisterError::Taken);
        assert_eq!(problem.detail(), "The name is taken; choose another, or log in.");
        assert_eq!(problem.code(), "conflict");
        let problem = Problem::from(LoginError::Throttled { seconds: 7 });
        assert_eq!((problem.code(), problem.status().as_u16()), ("too-many", 429));
    }
}
