//! Passwords: which are possible, and argon2id with bounded memory.

use std::sync::Arc;

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;

use crate::secret::random;

use super::{PasswordError, UserId};

/// Characters of a password. Long ones are welcome; endless ones would be work for nothing.
pub const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 10..=256;

/// Memory of one hash in KiB: what OWASP advises at the least (19 MiB, two passes, one lane). More
/// would slow down a guesser, but also let logins take the machine's memory.
const MEMORY_KIB: u32 = 19 * 1024;
/// Passes over that memory.
const PASSES: u32 = 2;
/// Lanes. One, because logins run beside each other already.
const LANES: u32 = 1;
/// Hashes at the same time: 76 MiB at the most.
const AT_ONCE: usize = 4;
/// Logins that wait for their turn; more are told to come back.
const WAITING: usize = 64;

/// Passwords of at least ten characters that lists of leaked ones begin with, in lower case.
const COMMON: &[&str] = &[
    "0123456789",
    "0987654321",
    "1029384756",
    "1111111111",
    "11223344556677",
    "1122334455",
    "1212121212",
    "1234512345",
    "1234567890",
    "12345678910",
    "123456789a",
    "1234567891",
    "123456789q",
    "1234qwerasdf",
    "123qweasdzxc",
    "147258369",
    "1q2w3e4r5t",
    "1q2w3e4r5t6y",
    "1qaz2wsx3edc",
    "5201314520",
    "9876543210",
    "a123456789",
    "aa12345678",
    "abc1234567",
    "abcd123456",
    "abcdefghij",
    "administrator",
    "asdfghjkl1",
    "asdfghjkl;",
    "changeme123",
    "computer123",
    "football123",
    "iloveyou123",
    "iloveyou12",
    "letmein123",
    "love123456",
    "manchester",
    "mypassword",
    "password00",
    "password01",
    "password1!",
    "password10",
    "password11",
    "password12",
    "password123",
    "password1234",
    "password12345",
    "p@ssw0rd123",
    "passw0rd123",
    "princess12",
    "q1w2e3r4t5",
    "q1w2e3r4t5y6",
    "qazwsxedc1",
    "qazwsxedcrfv",
    "qqww1122334",
    "qwer123456",
    "qwerty1234",
    "qwerty12345",
    "qwerty123456",
    "qwertyuiop",
    "qwertyuiop1",
    "qwertyuiop123",
    "rainbow123",
    "sunshine123",
    "superman12",
    "unknown123",
    "welcome123",
    "woaini1314",
    "woaini1314520",
    "zxcvbnm123",
    "zxcvbnm1234",
];

/// Whether a password may be used by `user`.
///
/// # Errors
/// With the rule it breaks.
pub fn check_password(user: &UserId, password: &str) -> Result<(), PasswordError> {
    // Counting stops where it no longer matters: what comes in may be long.
    let chars = password.chars().take(PASSWORD_CHARS.end() + 1).count();
    if !PASSWORD_CHARS.contains(&chars) {
        return Err(PasswordError::Length);
    }
    let lower = password.trim().to_lowercase();
    if lower == user.as_str() {
        return Err(PasswordError::IsName);
    }
    let mut letters = lower.chars();
    let first = letters.next();
    if COMMON.contains(&lower.as_str()) || letters.all(|letter| Some(letter) == first) {
        return Err(PasswordError::Common);
    }
    Ok(())
}

/// Makes and checks hashes, a few at a time. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Hasher {
    argon2: Argon2<'static>,
    at_once: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// A hash of nothing anybody knows, for names nobody has.
    decoy: Arc<str>,
}

impl std::fmt::Debug for Hasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hasher").field("free", &self.at_once.available_permits()).finish()
    }
}

impl Hasher {
    /// A hasher with the parameters above.
    pub(crate) fn new() -> Result<Self, PasswordError> {
        let params = Params::new(MEMORY_KIB, PASSES, LANES, None);
        let params = params.map_err(|_| PasswordError::Hash)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let nobody = random::<32>().map_err(|_| PasswordError::Hash)?;
        let decoy = hash(&argon2, &nobody)?.into();
        let (at_once, waiting) = (Semaphore::new(AT_ONCE), Semaphore::new(WAITING + AT_ONCE));
        Ok(Self { argon2, at_once: Arc::new(at_once), waiting: Arc::new(waiting), decoy })
    }

    /// The hash of a password, with parameters and salt, as it is stored.
    pub(crate) async fn hash(&self, password: &str) -> Result<String, PasswordError> {
        let password = password.to_owned();
        self.work(move |argon2| hash(argon2, password.as_bytes())).await?
    }

    /// Whether the password is the stored one. Without a stored one the work is the same.
    pub(crate) async fn verify(
        &self,
        stored: Option<String>,
        password: &str,
    ) -> Result<bool, PasswordError> {
        let known = stored.is_some();
        let stored = stored.unwrap_or_else(|| self.decoy.to_string());
        // Nobody has a longer one; cut, it is wrong just as well.
        let longest = 4 * PASSWORD_CHARS.end();
        let password = password.as_bytes().get(..longest).unwrap_or(password.as_bytes()).to_vec();
        let right = self.work(move |argon2| {
            let stored = PasswordHash::new(&stored).map_err(|_| PasswordError::Hash)?;
            Ok(argon2.verify_password(&password, &stored).is_ok())
        });
        Ok(right.await?? && known)
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Argon2<'static>) -> T + Send + 'static,
    ) -> Result<T, PasswordError> {
        let _waits = self.waiting.try_acquire().map_err(|_| PasswordError::Busy)?;
        let permit = self.at_once.clone().acquire_owned().await;
        let permit = permit.map_err(|_| PasswordError::Busy)?;
        let argon2 = self.argon2.clone();
        let done = tokio::task::spawn_blocking(move || {
            // Held until the memory is free again, even if nobody waits for the answer any more.
            let _permit = permit;
            work(&argon2)
        });
        done.await.map_err(|_| PasswordError::Hash)
    }
}

fn hash(argon2: &Argon2<'_>, password: &[u8]) -> Result<String, PasswordError> {
    let salt = random::<16>().map_err(|_| PasswordError::Hash)?;
    let salt = SaltString::encode_b64(&salt).map_err(|_| PasswordError::Hash)?;
    let hash = argon2.hash_password(password, &salt).map_err(|_| PasswordError::Hash)?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_passwords_are_refused_with_a_reason() {
        let user = UserId::new("ann-the-first").expect("a name");
        for (password, expected) in [
            ("correct horse", Ok(())),
            ("密码密码密码密码密码码", Ok(())),
            ("short", Err(PasswordError::Length)),
            (&"x".repeat(257), Err(PasswordError::Length)),
            ("Ann-The-First", Err(PasswordError::IsName)),
            ("Password123", Err(PasswordError::Common)),
            ("aaaaaaaaaaaa", Err(PasswordError::Common)),
        ] {
            assert_eq!(check_password(&user, password), expected, "{password}");
        }
    }

    #[tokio::test]
    async fn a_hash_verifies_its_password_only() {
        let hasher = Hasher::new().expect("parameters");
        let one = hasher.hash("correct horse").await.expect("hashes");
        let other = hasher.hash("correct horse").await.expect("hashes");
        assert_ne!(one, other, "each has its own salt");
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        let verify = |stored: Option<&str>, password: &'static str| {
            let (hasher, stored) = (hasher.clone(), stored.map(str::to_owned));
            async move { hasher.verify(stored, password).await }
        };
        assert_eq!(verify(Some(&one), "correct horse").await, Ok(true));
        assert_eq!(verify(Some(&one), "correct horsf").await, Ok(false));
        assert_eq!(verify(None, "correct horse").await, Ok(false));
        assert_eq!(verify(Some("nonsense"), "x").await, Err(PasswordError::Hash));
    }

    /// Logins are free for everybody, and each takes 19 MiB: a thousand at once must not.
    #[tokio::test]
    async fn a_flood_is_turned_away_and_takes_no_memory() {
        let hasher = Hasher::new().expect("parameters");
        let held = hasher.waiting.clone().acquire_many_owned((WAITING + AT_ONCE) as u32).await;
        assert_eq!(hasher.hash("correct horse").await, Err(PasswordError::Busy));
        drop(held);
        assert!(hasher.hash("correct horse").await.is_ok());
    }
}
