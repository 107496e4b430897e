//! The names of the paper's keys.

use std::fmt;

use crate::{Address, Hash};

/// The beginnings of names that end in a hash, an address or a number.
pub(crate) const BLOCK: &str = "blocks:";
pub(crate) const TRANSACTION: &str = "transactions:";
pub(crate) const ACCOUNT: &str = "transactions.by.account:";
pub(crate) const MINER: &str = "blocks.by.miner:";
pub(crate) const EPOCH: &str = "epoch:";
/// The end of the name of a block's transactions.
const PACKED: &str = ":transactions";

/// One of the paper's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Block(Hash),
    BlockTransactions(Hash),
    Transaction(Hash),
    BlocksInOrder,
    TransactionsInOrder,
    Account(Address),
    MinerBlocks(Address),
    LatestBlocks,
    SumDifficulties,
    SumTransactions,
    Miners,
    PivotChain,
    Epoch(u64),
}

/// Keys that there is one of.
pub(crate) const SINGLE: [Key; 7] = [
    Key::BlocksInOrder,
    Key::TransactionsInOrder,
    Key::LatestBlocks,
    Key::SumDifficulties,
    Key::SumTransactions,
    Key::Miners,
    Key::PivotChain,
];

impl Key {
    /// The key of this name. As in Redis a name is its bytes: hashes and addresses are written in
    /// lower case. An epoch may also be named in hexadecimal, as its blocks name it.
    pub(crate) fn parse(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        if let Some(key) = SINGLE.into_iter().find(|key| key.to_string() == name) {
            return Some(key);
        }
        if let Some(rest) = name.strip_prefix(BLOCK) {
            return match rest.strip_suffix(PACKED) {
                Some(text) => hash(text).map(Self::BlockTransactions),
                None => hash(rest).map(Self::Block),
            };
        }
        if let Some(text) = name.strip_prefix(TRANSACTION) {
            return hash(text).map(Self::Transaction);
        }
        if let Some(text) = name.strip_prefix(ACCOUNT) {
            return address(text).map(Self::Account);
        }
        if let Some(text) = name.strip_prefix(MINER) {
            return address(text).map(Self::MinerBlocks);
        }
        name.strip_prefix(EPOCH).and_then(number).map(Self::Epoch)
    }
}

/// A hash in the one form that names have.
pub(crate) fn hash(text: &str) -> Option<Hash> {
    Hash::parse(text).ok().filter(|hash| hash.to_string() == text)
}

/// An address in the one form that names have.
pub(crate) fn address(text: &str) -> Option<Address> {
    Address::parse(text).ok().filter(|address| address.to_string() == text)
}

fn number(text: &str) -> Option<u64> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    (number.to_string() == text || format!("{number:#x}") == text).then_some(number)
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(hash) => write!(f, "{BLOCK}{hash}"),
            Self::BlockTransactions(hash) => write!(f, "{BLOCK}{hash}{PACKED}"),
            Self::Transaction(hash) => write!(f, "{TRANSACTION}{hash}"),
            Self::BlocksInOrder => f.write_str("blocks.in.order"),
            Self::TransactionsInOrder => f.write_str("transactions.in.order"),
            Self::Account(address) => write!(f, "{ACCOUNT}{address}"),
            Self::MinerBlocks(address) => write!(f, "{MINER}{address}"),
            Self::LatestBlocks => f.write_str("latest.blocks"),
            Self::SumDifficulties => f.write_str("latest.blocks.sum.difficulties"),
            Self::SumTransactions => f.write_str("latest.blocks.sum.transactions"),
            Self::Miners => f.write_str("miners"),
            Self::PivotChain => f.write_str("pivot.chain"),
            Self::Epoch(number) => write!(f, "{EPOCH}{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read_as_it_is_written_and_in_no_other_form() {
        let (hash, address) = (Hash([0xab; 32]), Address([0xcd; 20]));
        let mut keys = vec![
            Key::Block(hash),
            Key::BlockTransactions(hash),
            Key::Transaction(hash),
            Key::Account(address),
            Key::MinerBlocks(address),
            Key::Epoch(0),
            Key::Epoch(u64::MAX),
        ];
        keys.extend(SINGLE);
        for key in keys {
            let name = key.to_string();
            assert_eq!(Key::parse(name.as_bytes()), Some(key));
            for other in [name.to_uppercase(), format!("{name} "), format!("{name}:x")] {
                assert_eq!(Key::parse(other.as_bytes()), None, "{other}");
            }
        }
        assert_eq!(Key::parse(b"epoch:0x1f"), Some(Key::Epoch(31)));
        for bad in ["epoch:", "epoch:01", "epoch:-1", "epoch:0x", "epoch:0x01", "blocks:", ""] {
            assert_eq!(Key::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
