//! Blocks, accounts and hashes: what never changes about them.

use std::fmt;

use sha2::{Digest as _, Sha256};
use sha3::Keccak256;

use super::Transaction;

/// A hash of 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

/// Why a text is no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseHashError;

impl Hash {
    /// The hash of parts. Each is preceded by its length, so that no two lists of parts agree.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// The hash that contracts and blooms are made with, of parts one after the other.
    #[must_use]
    pub fn keccak(parts: &[&[u8]]) -> Self {
        let mut hasher = Keccak256::new();
        parts.iter().for_each(|part| hasher.update(part));
        Self(hasher.finalize().into())
    }

    /// Reads `0x` and 64 hexadecimal digits.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self, ParseHashError> {
        let digits = text.strip_prefix("0x").ok_or(ParseHashError)?.as_bytes();
        let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return Err(ParseHashError);
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            let (high, low) = digit(2 * at).zip(digit(2 * at + 1)).ok_or(ParseHashError)?;
            *byte = (high * 16 + low) as u8;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// An account: its first four bits say what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account(pub [u8; 20]);

impl Account {
    /// A user's account that is a function of `parts`.
    #[must_use]
    pub(super) fn user(parts: &[&[u8]]) -> Self {
        let hash = Hash::of(parts).0;
        let mut bytes: [u8; 20] = std::array::from_fn(|at| hash[at]);
        bytes[0] = 0x10 | (bytes[0] & 0x0f);
        Self(bytes)
    }

    /// The contract that the transaction of this number makes of this code.
    #[must_use]
    pub fn contract(sender: &Self, nonce: u64, code: &[u8]) -> Self {
        let mut number = [0; 32];
        number[..8].copy_from_slice(&nonce.to_le_bytes());
        let hash = Hash::keccak(&[&[0], &sender.0, &number, &Hash::keccak(&[code]).0]).0;
        let mut bytes: [u8; 20] = std::array::from_fn(|at| hash[12 + at]);
        bytes[0] = 0x80 | (bytes[0] & 0x0f);
        Self(bytes)
    }
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its hash: of everything below.
    pub hash: Hash,
    /// Its distance from the first block, along parents.
    pub height: u64,
    /// The block it stands on.
    pub parent: Hash,
    /// Other blocks it knows of that nobody before it referred to.
    pub referees: Vec<Hash>,
    /// Who found it.
    pub miner: Account,
    /// How hard that was.
    pub difficulty: u64,
    /// When, in Unix seconds.
    pub timestamp: u64,
    /// The number that makes it valid.
    pub nonce: u64,
    /// What it packs, also what others pack too.
    pub transactions: Vec<Transaction>,
}

impl Block {
    /// The block with its hash.
    pub(super) fn sealed(mut self) -> Self {
        let flat = |hashes: Vec<[u8; 32]>| hashes.concat();
        let referees = flat(self.referees.iter().map(|hash| hash.0).collect());
        let transactions = flat(self.transactions.iter().map(|tx| tx.hash.0).collect());
        let numbers = [self.height, self.difficulty, self.timestamp, self.nonce];
        let numbers = numbers.map(u64::to_be_bytes).concat();
        let parts: [&[u8]; 6] =
            [b"block", &self.parent.0, &referees, &self.miner.0, &numbers, &transactions];
        self.hash = Hash::of(&parts);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sender, code and contract are those of samples/conflux/cfx_getTransactionByHash_contract.
    #[test]
    fn a_contract_has_the_address_that_a_real_node_gave_it() {
        let bytes = |hex: &str| -> Vec<u8> {
            let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
            (0..hex.len()).step_by(2).map(digits).collect()
        };
        let account = |hex: &str| Account(bytes(hex).try_into().expect("20 bytes"));
        let sender = account("1406e1ec0fe4b5e590c85bd21f5b8154d7513479");
        let topic = "11".repeat(32);
        let code = bytes(&format!("602a6000527f{topic}60206000a160006000f3"));
        let contract = account("8ea0da18248683533fc2071e7f9ac2d21bf73269");
        assert_eq!(Account::contract(&sender, 0, &code), contract);
        assert_ne!(Account::contract(&sender, 1, &code), contract);
    }

    #[test]
    fn hashes_are_written_and_read() {
        let hash = Hash::of(&[b"a", b"b"]);
        assert_eq!(Hash::parse(&hash.to_string()), Ok(hash));
        assert_ne!(hash, Hash::of(&[b"ab"]));
        let text = hash.to_string();
        for bad in ["", "0x", &text[2..], &text[..65], &format!("{text}0"), &text.replace('0', "g")]
        {
            assert_eq!(Hash::parse(bad), Err(ParseHashError), "{bad}");
        }
    }
}
