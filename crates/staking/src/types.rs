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

/// For how many blocks an output is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Blocks(pub u16);

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
    /// What may be staked altogether: no more than there is.
    ///
    /// # Errors
    /// When there is not so much.
    pub fn locked(number: u64) -> Result<Self, ParseError> {
        let possible = number <= SUPPLY;
        possible.then_some(Self(number)).ok_or(ParseError("there are no more than 2.1e15 satoshi"))
    }

    /// An amount that can be staked: more than nothing, and no more than there is.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn staked(number: u64) -> Result<Self, ParseError> {
        let possible = (1..=SUPPLY).contains(&number);
        possible.then_some(Self(number)).ok_or(ParseError("a stake is 1 to 2.1e15 satoshi"))
    }
}

impl BtcHeight {
    /// A height that Bitcoin can have: this one is reached in about two hundred years.
    const HIGHEST: u64 = 10_000_000;

    /// Reads a height.
    ///
    /// # Errors
    /// When no block can have it.
    pub fn read(number: u64) -> Result<Self, ParseError> {
        let possible = number <= Self::HIGHEST;
        possible.then_some(Self(number)).ok_or(ParseError("no block of Bitcoin has such a height"))
    }

    /// The height at which a lock that begins here has passed.
    #[must_use]
    pub fn after(self, Blocks(blocks): Blocks) -> Self {
        Self(self.0.saturating_add(blocks.into()))
    }
}

impl Blocks {
    /// Reads how long an output is locked.
    ///
    /// # Errors
    /// When a script cannot say so.
    pub fn read(number: u64) -> Result<Self, ParseError> {
        let blocks = u16::try_from(number).ok().filter(|blocks| *blocks > 0);
        blocks.map(Self).ok_or(ParseError("a timelock is 1 to 65535 blocks"))
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    crate::hex::read(text)?.try_into().ok()
}

macro_rules! hex_text {
    ($($type:ty),*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                crate::hex::write(&self.0, f)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                crate::hex::write(&self.0, f)
            }
        }
    )*};
}
hex_text!(TxHash, PublicKey);
