//! Accounts: names, passwords, sessions, personal tokens, roles.
//!
//! ```text
//!   token from a cookie or a header
//!        │ SHA-256
//!        ▼
//!   platform.credentials   hash → user          Once: says only whose it is
//!        │
//!        ▼
//!   platform.accounts      one partition a user, guarded
//!     profile     name, password (argon2id), role
//!     throttle    failed logins, and until when to wait
//!     session …   one row each: a session is valid while its row is here
//!     token   …   one row each: so is a personal token
//!
//!   platform.nobodies      attempts at names nobody has: a fixed number of partitions
//! ```
//!
//! - **Only hashes of secrets are stored**, and a secret is random, 256 bits.
//! - **Ending is one commit.** A session or token ends when its row leaves the account's guarded
//!   partition, which no cache holds; the credential row is swept afterwards and decides nothing.
//! - **A login makes a new session id**, whatever the browser brought along; so does the change of
//!   a password, which ends all other sessions.
//! - **An attempt is counted before the password is looked at**, by compare-and-set, so that
//!   guesses at the same time count like guesses one after the other.
//! - **A wrong name looks like a wrong password**: the same work, the same delays, one message.

mod book;
mod caller;
mod error;
mod login;
mod manage;
mod nobodies;
mod password;
mod records;
mod sessions;
mod throttle;
mod tokens;
mod user_id;

pub use book::{Accounts, Registered};
pub use caller::{Caller, Credential, Role, Scope, Scopes};
pub use error::{AccountError, CheckError, LoginError, PasswordError, RegisterError, TokenError};
pub use login::LoggedIn;
pub use manage::Account;
pub(crate) use nobodies::Nobodies;
pub use password::{PASSWORD_CHARS, check_password};
pub use records::{AccountRow, AccountSlot, Profile, Session, Throttle, Token};
pub(crate) use sessions::ACCOUNT_SESSIONS;
pub use throttle::client_key;
pub use tokens::{ACCOUNT_TOKENS, NewToken, ShownToken, TOKEN_PREFIX};
pub use user_id::UserId;
