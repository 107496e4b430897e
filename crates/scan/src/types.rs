//! The words of the tree-graph: hashes, addresses, and an epoch as derivation takes it.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use store::DecodeError;

use crate::packed;

/// The hash of a block or a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hash(pub [u8; 32]);

/// An account, as 20 bytes; texts have several forms of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address(pub [u8; 20]);

/// Why a text is no hash or address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {remedy}")]
pub struct ParseError {
    /// What was meant.
    pub what: &'static str,
    /// What to write instead.
    pub remedy: &'static str,
}

impl Hash {
    /// Reads `0x` and 64 hexadecimal digits.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let remedy = "a hash is 0x and 64 hexadecimal digits";
        unhex(text).map(Self).ok_or(ParseError { what: "not a hash", remedy })
    }
}

/// Bytes of `0x` and exactly as many digits.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = u8::try_from(16 * digit(*high)? + digit(*low)?).ok()?;
    }
    Some(bytes)
}

/// Bytes of lower-case digits; a last odd one counts as the upper half of its byte.
pub(crate) fn unhex_any(digits: &str) -> impl Iterator<Item = u8> {
    let value = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    digits.as_bytes().chunks(2).map(move |pair| match *pair {
        [high, low] => 16 * value(high) + value(low),
        [high] => 16 * value(high),
        _ => 0,
    })
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("0x")?;
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

/// In hexadecimal, as the paper writes it.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

/// An epoch as its node has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochInput {
    /// Its number.
    pub number: u64,
    /// Its blocks in the order of execution; the last one is the pivot.
    pub blocks: Vec<BlockInput>,
    /// Blocks that belong to it and are not executed, because it has too many.
    pub skipped: Vec<BlockInput>,
}

/// A block of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInput {
    /// Its hash.
    pub hash: Hash,
    /// The block it stands on.
    pub parent: Hash,
    /// Who found it.
    pub miner: Address,
    /// How hard that was.
    pub difficulty: u128,
    /// When, in Unix seconds.
    pub timestamp: u64,
    /// Every field that never changes.
    pub facts: Fields,
    /// What it packs, in order.
    pub transactions: Vec<TransactionInput>,
}

/// A transaction that a block packs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionInput {
    /// Its hash.
    pub hash: Hash,
    /// Who sends it.
    pub from: Address,
    /// Who receives it; nobody when it creates a contract.
    pub to: Option<Address>,
    /// The contract that it creates, if nothing goes wrong.
    pub creates: Option<Address>,
    /// Every field that never changes.
    pub facts: Fields,
}

/// What came of executing an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultsInput {
    /// The epoch.
    pub number: u64,
    /// Its pivot: the same blocks may be executed elsewhere with other results.
    pub pivot: Hash,
    /// Its blocks in the order of execution, with the receipts of each.
    pub blocks: Vec<(Hash, Vec<ReceiptInput>)>,
}

/// What came of executing a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptInput {
    /// The transaction.
    pub transaction: Hash,
    /// Its place in its block.
    pub index: u32,
    /// It was executed here. Copies that were executed elsewhere, or cannot be yet, were not.
    pub executed: bool,
    /// Gas that the block has used up to and including it.
    pub gas_so_far: u128,
    /// Every field.
    pub fields: Fields,
}

/// Fields of a node's message, packed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Fields(Vec<u8>);

// As bytes and not as a list of numbers: the same bytes in a row, but copied at once.
impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("packed fields")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Fields, E> {
                Ok(Fields(bytes.to_vec()))
            }
            fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Fields, E> {
                Ok(Fields(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Bytes)
    }
}

impl Fields {
    /// Packs them.
    #[must_use]
    pub fn new(fields: &Map<String, Value>) -> Self {
        Self(packed::pack(fields))
    }

    /// The fields under their names.
    ///
    /// # Errors
    /// When their bytes are damaged.
    pub fn read(&self) -> Result<Map<String, Value>, DecodeError> {
        if self.0.is_empty() { Ok(Map::new()) } else { packed::unpack(&self.0) }
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.read() {
            Ok(fields) => f.debug_map().entries(&fields).finish(),
            Err(error) => write!(f, "{error}"),
        }
    }
}

impl EpochInput {
    /// The pivot block: the last one. An epoch has at least that.
    #[must_use]
    pub fn pivot(&self) -> Option<&BlockInput> {
        self.blocks.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_fields_are_stored_as_the_list_of_numbers_that_older_rows_have() {
        for length in [0, 1, 127, 128, 300] {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8 ^ 0x81).collect();
            let stored = store::encode_serde(&bytes, Vec::new());
            let fields = Fields(bytes);
            assert_eq!(store::encode_serde(&fields, Vec::new()), stored);
            assert_eq!(store::decode_serde::<Fields>(&stored).as_ref(), Ok(&fields));
        }
    }

    #[test]
    fn a_hash_is_read_as_it_is_written_and_nothing_else() {
        let hash = Hash(std::array::from_fn(|at| at as u8 * 7));
        let text = hash.to_string();
        assert_eq!(Hash::parse(&text), Ok(hash));
        assert_eq!(Hash::parse(&text.to_uppercase()), Ok(hash));
        for bad in ["", "0x", &text[2..], &text[..65], &format!("{text}0"), &text.replace('0', "g")]
        {
            assert!(Hash::parse(bad).is_err(), "{bad}");
        }
    }
}
