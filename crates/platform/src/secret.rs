//! Random secrets, their hashes, and comparing without telling where two differ.
//!
//! A secret is shown to its owner once. The store has only its hash, and what a secret is for goes
//! into the hash: a session's token is never taken for a project's key.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use store::{DecodeError, EngineError, KeyPart, KeyReader};
use subtle::ConstantTimeEq as _;

/// Bytes of a secret: 256 bits, beyond any guessing.
const SECRET_BYTES: usize = 32;
/// Characters of a secret as it travels: base64url without padding.
const SECRET_CHARS: usize = 43;

/// Random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], EngineError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        EngineError::new(format!("no random numbers: {error}"), "see what ails the system")
    })?;
    Ok(bytes)
}

/// A secret as its owner sees it. Its `Debug` does not show it, so that no log does.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new one that begins with `prefix`.
    pub(crate) fn new(prefix: &str) -> Result<Self, EngineError> {
        Ok(Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random::<SECRET_BYTES>()?))))
    }

    /// The text to show or to set as a cookie.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `text` has the shape of a secret with this prefix. What has not costs no read.
    pub(crate) fn is_shaped(prefix: &str, text: &str) -> bool {
        let Some(rest) = text.strip_prefix(prefix) else { return false };
        rest.len() == SECRET_CHARS
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The SHA-256 of a secret. It may be stored.
#[derive(Clone, Copy, Eq, PartialOrd, Ord)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// The hash of `text` for `purpose`.
    #[must_use]
    pub fn of(purpose: &str, text: &str) -> Self {
        let mut hash = Sha256::new();
        // The length keeps the two apart whatever they contain.
        hash.update((purpose.len() as u64).to_be_bytes());
        hash.update(purpose);
        hash.update(text);
        Self(hash.finalize().into())
    }

    /// A short name for lists and for revoking: 16 hex digits that give nothing away.
    #[must_use]
    pub fn short(&self) -> String {
        hex(self.0.get(..8).unwrap_or_default())
    }
}

/// Takes as long whether the first byte differs or the last.
impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

impl KeyPart for SecretHash {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn size(&self) -> usize {
        self.0.len()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        <[u8; 32]>::decode(reader).map(Self)
    }
}

impl Serialize for SecretHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for SecretHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unhex(&text).map(Self).ok_or_else(|| serde::de::Error::custom("not 64 hex digits"))
    }
}

/// HMAC-SHA256 of the parts, one after the other.
pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes keys of any length; the other arm is never taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// Whether two texts are equal, in a time that depends on their lengths only.
pub(crate) fn same_text(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Bytes of lower-case hex of exactly the right length.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = 16 * digit(*high)? + digit(*low)?;
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_have_a_shape_and_stay_out_of_logs() {
        let one = Secret::new("ost_").expect("random");
        let other = Secret::new("ost_").expect("random");
        assert_ne!(one, other);
        assert!(Secret::is_shaped("ost_", one.reveal()));
        let short = &one.reveal()[..one.reveal().len() - 1];
        for wrong in [short, "", "ost_", &format!("{}x", one.reveal()), &one.reveal()[4..]] {
            assert!(!Secret::is_shaped("ost_", wrong), "{wrong}");
        }
        assert!(!format!("{one:?}").contains(one.reveal()));
    }

    #[test]
    fn a_hash_is_bound_to_its_purpose() {
        assert_eq!(SecretHash::of("a", "bc"), SecretHash::of("a", "bc"));
        assert_ne!(SecretHash::of("a", "bc"), SecretHash::of("ab", "c"));
        assert_ne!(SecretHash::of("a", "bc"), SecretHash::of("a", "bd"));
    }

    #[test]
    fn hex_comes_back_and_nothing_else_does() {
        assert_eq!(unhex::<2>("0aff"), Some([10, 255]));
        for wrong in ["0aff0", "0af", "0aFF", "0agg", ""] {
            assert_eq!(unhex::<2>(wrong), None, "{wrong}");
        }
        let hash = SecretHash::of("a", "b");
        let text = serde_json::to_string(&hash).expect("serialises");
        assert_eq!(serde_json::from_str::<SecretHash>(&text).expect("comes back"), hash);
    }

    /// The vector of RFC 4231, test case 2.
    #[test]
    fn hmac_is_the_one_of_the_standard() {
        let found = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert!(hex(&found).starts_with("5bdcc146bf60754e6a042426089575c7"));
        assert!(same_text("a", "a") && !same_text("a", "b") && !same_text("a", "ab"));
    }
}
