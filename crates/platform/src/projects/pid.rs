//! Project ids, and places in lists of projects.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use store::{DecodeError, KeyPart, KeyReader, OpId};

use crate::accounts::UserId;
use crate::secret::{hex, unhex};

use super::CHAIN_SHARDS;

/// A project's id: 128 bits, written as 32 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pid([u8; 16]);

/// A place in a list of projects: time and project.
pub(crate) type Position = (u64, Pid);

impl Pid {
    /// The smallest id: where the projects of a moment begin.
    pub(crate) const FIRST: Self = Self([0; 16]);

    /// The id of the project that `user` creates by `op`. Nobody else's operation leads to it.
    pub(crate) fn of(user: &UserId, op: OpId) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"project");
        hash.update(op.0);
        hash.update(user.as_str());
        let digest: [u8; 32] = hash.finalize().into();
        Self(digest.first_chunk().copied().unwrap_or([0; 16]))
    }

    /// Reads 32 lower-case hex digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        unhex(text).map(Self)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Which shard of its chain's lists it stands in.
    pub(crate) fn shard(self) -> u8 {
        self.0.last().map_or(0, |byte| byte % CHAIN_SHARDS)
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl From<Pid> for String {
    fn from(pid: Pid) -> Self {
        pid.to_string()
    }
}

impl TryFrom<String> for Pid {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a project id has 32 lower-case hex digits")
    }
}

impl KeyPart for Pid {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn size(&self) -> usize {
        self.0.len()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        <[u8; 16]>::decode(reader).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_32_hex_digits_and_belongs_to_owner_and_operation() {
        let (ann, bob) = (UserId::new("ann").expect("a name"), UserId::new("bob").expect("a name"));
        let pid = Pid::of(&ann, OpId([7; 16]));
        assert_eq!(pid, Pid::of(&ann, OpId([7; 16])));
        assert_ne!(pid, Pid::of(&bob, OpId([7; 16])));
        assert_ne!(pid, Pid::of(&ann, OpId([8; 16])));
        let text = pid.to_string();
        assert_eq!(text.len(), 32);
        assert_eq!(Pid::parse(&text), Some(pid));
        for wrong in ["", &text[1..], &text.to_uppercase().replace(char::is_numeric, "A"), "zz"] {
            assert_eq!(Pid::parse(wrong), None, "{wrong}");
        }
    }
}
