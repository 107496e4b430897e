//! What a node says, read strictly: a message that does not fit is an error and never a row.

use serde_json::{Map, Value};

use crate::types::unhex_any;
use crate::{Address, BlockInput, Fields, Hash, ReceiptInput, TransactionInput};

/// Fields of a block that depend on the pivot chain or on execution, not on the block,
/// or stand in the key.
const PASSING_OF_BLOCK: [&str; 5] =
    ["epochNumber", "blockNumber", "gasUsed", "transactions", "hash"];
/// Fields of a transaction that depend on where and how it was executed, or stand in the key.
const PASSING_OF_TRANSACTION: [&str; 5] =
    ["blockHash", "transactionIndex", "status", "contractCreated", "hash"];
/// Fields of a receipt that stand in its key.
const KEY_OF_RECEIPT: [&str; 1] = ["transactionHash"];
/// What a receipt says of a copy that was not executed.
const NOT_EXECUTED: u128 = 2;

/// What is wrong with a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node's answer does not fit at `{place}`: {what}")]
pub struct MessageError {
    /// The field.
    pub place: String,
    /// What is wrong with it.
    pub what: String,
}

impl MessageError {
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

/// A block with all its transactions.
///
/// # Errors
/// With the first field that is missing or cannot be read.
pub fn block(value: &Value) -> Result<BlockInput, MessageError> {
    let fields = object(value, "block")?;
    let listed = fields.get("transactions").and_then(Value::as_array);
    let listed = listed.ok_or_else(|| MessageError::new("transactions", "it is not a list"))?;
    let transactions = listed.iter().enumerate().map(|(index, value)| {
        transaction(value).map_err(|error| MessageError {
            place: format!("transactions[{index}].{}", error.place),
            ..error
        })
    });
    Ok(BlockInput {
        hash: hash(fields, "hash")?,
        parent: hash(fields, "parentHash")?,
        miner: address(fields, "miner")?,
        difficulty: quantity(fields, "difficulty")?,
        timestamp: small(fields, "timestamp")?,
        facts: lasting(fields, &PASSING_OF_BLOCK),
        transactions: transactions.collect::<Result<_, _>>()?,
    })
}

pub(crate) fn transaction(value: &Value) -> Result<TransactionInput, MessageError> {
    let fields = object(value, "transaction")?;
    let to = match fields.get("to") {
        None | Some(Value::Null) => None,
        Some(_) => Some(address(fields, "to")?),
    };
    let from = address(fields, "from")?;
    let creates = match to {
        Some(_) => None,
        None => Some(created(fields, &from)?),
    };
    Ok(TransactionInput {
        hash: hash(fields, "hash")?,
        from,
        to,
        creates,
        facts: lasting(fields, &PASSING_OF_TRANSACTION),
    })
}

/// The contract that a transaction without a receiver creates.
pub(crate) fn created(
    fields: &Map<String, Value>,
    from: &Address,
) -> Result<Address, MessageError> {
    let code = text(fields, "data")?.strip_prefix("0x");
    let code = code.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let code = code.ok_or_else(|| MessageError::new("data", "it is not hexadecimal"))?;
    let code: Vec<u8> = unhex_any(code).collect();
    Ok(Address::created_by(from, small(fields, "nonce")?, &code))
}

/// The receipts of an epoch by its blocks, which are known.
///
/// # Errors
/// When they are not those of these blocks, or a field cannot be read.
pub fn receipts(
    value: &Value,
    blocks: &[Hash],
) -> Result<Vec<(Hash, Vec<ReceiptInput>)>, MessageError> {
    let listed = value.as_array().filter(|listed| listed.len() == blocks.len());
    let listed = listed
        .ok_or_else(|| MessageError::new("receipts", "they are not those of the epoch's blocks"))?;
    let of_block = |(value, hash): (&Value, &Hash)| {
        let listed = value.as_array();
        let listed = listed.ok_or_else(|| MessageError::new("receipts", "it is no list"))?;
        let receipts = listed.iter().map(|value| receipt(value, hash));
        Ok((*hash, receipts.collect::<Result<_, _>>()?))
    };
    listed.iter().zip(blocks).map(of_block).collect()
}

fn receipt(value: &Value, block: &Hash) -> Result<ReceiptInput, MessageError> {
    let fields = object(value, "receipt")?;
    if hash(fields, "blockHash")? != *block {
        return Err(MessageError::new("blockHash", format!("it is not {block}")));
    }
    let index = u32::try_from(quantity(fields, "index")?);
    Ok(ReceiptInput {
        transaction: hash(fields, "transactionHash")?,
        index: index.map_err(|_| MessageError::new("index", "it is larger than any block"))?,
        executed: quantity(fields, "outcomeStatus")? != NOT_EXECUTED,
        gas_so_far: quantity(fields, "accumulatedGasUsed")?,
        fields: lasting(fields, &KEY_OF_RECEIPT),
    })
}

/// The hashes of an epoch's blocks, the pivot last.
///
/// # Errors
/// When it is no list of hashes, or an empty one.
pub fn hashes(value: &Value) -> Result<Vec<Hash>, MessageError> {
    let listed = value.as_array().filter(|listed| !listed.is_empty());
    let listed = listed.ok_or_else(|| MessageError::new("epoch", "it has no blocks"))?;
    let hash = |(index, value): (usize, &Value)| {
        let text = value.as_str().unwrap_or_default();
        Hash::parse(text)
            .map_err(|error| MessageError::new(format!("epoch[{index}]"), error.to_string()))
    };
    listed.iter().enumerate().map(hash).collect()
}

/// A number that is the whole answer.
///
/// # Errors
/// When it is none.
pub fn number(value: &Value) -> Result<u64, MessageError> {
    let number = value.as_str().and_then(hex_quantity);
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| MessageError::new("number", format!("{value} is no hexadecimal number")))
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, MessageError> {
    value.as_object().ok_or_else(|| MessageError::new(what, "it is not an object"))
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, MessageError> {
    let text = fields.get(name).and_then(Value::as_str);
    text.ok_or_else(|| MessageError::new(name, "it is missing, or not text"))
}

fn hash(fields: &Map<String, Value>, name: &str) -> Result<Hash, MessageError> {
    Hash::parse(text(fields, name)?).map_err(|error| MessageError::new(name, error.to_string()))
}

fn address(fields: &Map<String, Value>, name: &str) -> Result<Address, MessageError> {
    Address::parse(text(fields, name)?).map_err(|error| MessageError::new(name, error.to_string()))
}

fn quantity(fields: &Map<String, Value>, name: &str) -> Result<u128, MessageError> {
    let number = hex_quantity(text(fields, name)?);
    number.ok_or_else(|| MessageError::new(name, "it is no hexadecimal number of 128 bits"))
}

fn small(fields: &Map<String, Value>, name: &str) -> Result<u64, MessageError> {
    let number = u64::try_from(quantity(fields, name)?);
    number.map_err(|_| MessageError::new(name, "it is larger than any real one"))
}

fn hex_quantity(text: &str) -> Option<u128> {
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'))?;
    u128::from_str_radix(digits, 16).ok()
}

/// Every other field. A map keeps its names sorted: the same block is the same bytes.
fn lasting(fields: &Map<String, Value>, passing: &[&str]) -> Fields {
    let lasting = fields.iter().filter(|(name, _)| !passing.contains(&name.as_str()));
    Fields::new(&lasting.map(|(name, value)| (name.clone(), value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A block of a real node, shortened.
    fn real() -> Value {
        json!({
            "adaptive": false, "baseFeePerGas": "0x1", "blockNumber": "0x12", "custom": ["0x04"],
            "difficulty": "0x4", "epochNumber": "0x12", "gasLimit": "0x3938700",
            "gasUsed": "0x5208", "height": "0x9", "timestamp": "0x6af9f601", "nonce": "0x7c",
            "hash": "0xb4ecdb498facf0ea57470bd59f02334522214df6d002de9999b69b09391c4165",
            "miner": "NET1234:TYPE.NULL:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4U9N6H98",
            "parentHash": "0xeb431f6ab2794b4fb52d136939246548701620bb134b5843b691994f1e19da56",
            "refereeHashes": [],
            "transactions": [{
                "blockHash": null, "contractCreated": null, "data": "0x", "status": null,
                "from": "NET1234:TYPE.USER:AASWN3KPAZPVAUWFZKP6AR8UB2XP3VEZA68FJV6HVP",
                "hash": "0x124120fd745fe8cb7039af5315d9f06049e25b829a46d2a1f6fe56fad3a2c339",
                "nonce": "0x0", "transactionIndex": null, "value": "0x6f",
                "to": "NET1234:TYPE.USER:AAN5CWHBSEVHHRMC5AN5RTAUDX308TGK9YEEEJEPGP",
            }],
        })
    }

    #[test]
    fn what_lasts_is_kept_and_what_passes_is_not() {
        let read = block(&real()).expect("a block");
        assert_eq!((read.difficulty, read.timestamp), (4, 0x6af9_f601));
        let facts = read.facts.read().expect("fields");
        assert_eq!((&facts["gasLimit"], &facts["height"]), (&"0x3938700".into(), &"0x9".into()));
        for passing in PASSING_OF_BLOCK {
            assert!(facts.get(passing).is_none(), "{passing}");
        }
        let mut moved = real();
        moved["epochNumber"] = "0x99".into();
        moved["transactions"][0]["status"] = "0x0".into();
        assert_eq!(block(&moved).expect("a block"), read, "the same block elsewhere");
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let cases = [
            ("hash", Value::Null, "hash"),
            ("parentHash", "0x12".into(), "parentHash"),
            ("miner", "cfx:aa".into(), "miner"),
            ("difficulty", "4".into(), "difficulty"),
            ("timestamp", "0xfffffffffffffffffffff".into(), "timestamp"),
            ("transactions", Value::Null, "transactions"),
            ("transactions", json!([{}]), "transactions[0].from"),
            ("transactions", json!(["0x12"]), "transactions[0].transaction"),
        ];
        for (field, wrong, place) in cases {
            let mut message = real();
            message[field] = wrong;
            assert_eq!(block(&message).expect_err(place).place, place);
        }
        assert!(block(&Value::Null).is_err() && hashes(&json!([])).is_err());
        assert!(hashes(&json!(["0x1"])).is_err() && number(&json!(5)).is_err());
        assert_eq!(number(&json!("0x2b")), Ok(43));
    }
}
