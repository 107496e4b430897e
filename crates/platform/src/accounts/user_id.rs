//! Names of accounts.

use std::fmt;

use serde::{Deserialize, Serialize};
use store::{DecodeError, KeyPart, KeyReader};

use crate::guarded::json_value;

use super::RegisterError;

/// The name of an account: 3 to 32 lower-case letters, digits, `.`, `-` and `_`, beginning and
/// ending with a letter or digit. Paper 001 suggests student numbers, so digits alone are fine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserId(String);
json_value!(UserId, format 1);

impl UserId {
    /// Reads a name as somebody typed it: upper case becomes lower case, so that `Ann` and `ann`
    /// are one person.
    ///
    /// # Errors
    /// With the rule it breaks.
    pub fn new(text: &str) -> Result<Self, RegisterError> {
        let text = text.trim().to_ascii_lowercase();
        let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let allowed = |byte: u8| word(byte) || b".-_".contains(&byte);
        let ends = [text.bytes().next(), text.bytes().last()];
        let remedy = if !(3..=32).contains(&text.len()) {
            "use 3 to 32 characters"
        } else if !text.bytes().all(allowed) {
            "use letters, digits and . - _ only"
        } else if !ends.into_iter().flatten().all(word) {
            "begin and end with a letter or digit"
        } else {
            return Ok(Self(text));
        };
        Err(RegisterError::Name { remedy })
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<UserId> for String {
    fn from(id: UserId) -> Self {
        id.0
    }
}

impl TryFrom<String> for UserId {
    type Error = RegisterError;
    fn try_from(text: String) -> Result<Self, RegisterError> {
        Self::new(&text)
    }
}

impl KeyPart for UserId {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        String::decode(reader).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_rules() {
        for (good, kept) in [("71114336", "71114336"), ("Ann", "ann"), (" a.b-c_d ", "a.b-c_d")] {
            assert_eq!(UserId::new(good).expect(good).as_str(), kept);
        }
        for (bad, remedy) in [
            ("ab", "3 to 32"),
            (&"a".repeat(33), "3 to 32"),
            ("a b c", "letters, digits"),
            ("äbc", "letters, digits"),
            (".abc", "begin and end"),
            ("abc-", "begin and end"),
            ("ab\0c", "letters, digits"),
        ] {
            let error = UserId::new(bad).expect_err(bad).to_string();
            assert!(error.contains(remedy), "{bad}: {error}");
        }
    }
}
