//! The words of staking: hashes, keys, amounts, heights.

use std::fmt;

use serde::{Deserialize, Serialize};

/// All bitcoins there will ever be, in satoshi.
const SUPPLY: u64 = 21_000_000 * 100_000_000;

/// Why a text or number is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub &'static str);

/// The hash of a staking, unbonding or withdrawal transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TxHash(pub [u8; 32]);

/// The key of a staker or of a finality provider, 32 bytes as Schnorr signatures have it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PublicKey(pub [u8; 32]);

/// An amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Satoshi(pub u64);

/// The height of a block of Bitcoin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BtcHeight(pub u64);

impl TxHash {
    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        unhex(text).map(Self).ok_or(ParseError("a transaction hash is 64 hexadecimal digits"))
    }
}

impl PublicKey {
    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        unhex(text).map(Self).ok_or(ParseError("a public key is 64 hexadecimal digits"))
    }
}

impl Satoshi {
    /// An amount that can be staked: more than nothing, and no more than there is.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn staked(number: u64) -> Result<Self, ParseError> {
        let possible = (1..=SUPPLY).contains(&number);
        possible.then_some(Self(number)).ok_or(ParseError("a stake is 1 to 2.1e15 satoshi"))
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = u8::try_from(16 * digit(*high)? + digit(*low)?).ok()?;
    }
    Some(bytes)
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

macro_rules! hex_text {
    ($($type:ty),*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, f)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, f)
            }
        }
    )*};
}
hex_text!(TxHash, PublicKey);
