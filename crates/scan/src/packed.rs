//! What a node says, in a fraction of its bytes: JSON that is mostly hexadecimal.
//!
//! A transaction of a node is some 900 bytes of JSON: names that are always the same, hashes and
//! numbers as digits, addresses in base32, blooms of zeros. Packed it is under 200, and it comes
//! back exactly as it was: every text that has no shorter form is kept as it is.

use serde_json::{Map, Number, Value};
use store::DecodeError;

use crate::Address;
use crate::types::unhex_any;

/// Names that are written as one byte. Only ever added to at the end: rows hold their places.
const NAMES: [&str; 71] = [
    "accumulatedGasUsed",
    "accessList",
    "adaptive",
    "address",
    "baseFeePerGas",
    "blame",
    "blockHash",
    "blockNumber",
    "burntGasFee",
    "chainId",
    "code",
    "collaterals",
    "contractCreated",
    "custom",
    "data",
    "deferredLogsBloomHash",
    "deferredReceiptsRoot",
    "deferredStateRoot",
    "difficulty",
    "effectiveGasPrice",
    "epochHeight",
    "epochNumber",
    "from",
    "gas",
    "gasCoveredBySponsor",
    "gasFee",
    "gasLimit",
    "gasPrice",
    "gasUsed",
    "hash",
    "height",
    "index",
    "logIndex",
    "logs",
    "logsBloom",
    "maxFeePerGas",
    "maxPriorityFeePerGas",
    "miner",
    "nonce",
    "outcomeStatus",
    "parentHash",
    "posReference",
    "powQuality",
    "r",
    "refereeHashes",
    "s",
    "size",
    "space",
    "stateRoot",
    "status",
    "storageCollateralized",
    "storageCoveredBySponsor",
    "storageLimit",
    "storageReleased",
    "timestamp",
    "to",
    "topics",
    "transactionHash",
    "transactionIndex",
    "transactionLogIndex",
    "transactions",
    "transactionsRoot",
    "txExecErrorMsg",
    "type",
    "v",
    "value",
    "yParity",
    "blockTimestamp",
    "cumulativeGasUsed",
    "root",
    "storageKeys",
];
/// A name that is not among them.
const OTHER_NAME: u8 = 255;
/// How deep values may be nested: logs in a receipt are three.
const DEEPEST: usize = 16;

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const HEX: u8 = 3;
const HASH: u8 = 4;
const ZEROS: u8 = 5;
const ADDRESS: u8 = 6;
const TEXT: u8 = 7;
const LIST: u8 = 8;
const OBJECT: u8 = 9;
const NUMBER: u8 = 10;
/// Hexadecimal of few digits has their number in its tag.
const SHORT_HEX: u8 = 64;
const SHORT_DIGITS: usize = 127;

/// Fields as bytes.
#[must_use]
pub fn pack(fields: &Map<String, Value>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    pack_fields(fields, &mut out);
    out
}

/// The fields of such bytes.
///
/// # Errors
/// When the bytes are damaged.
pub fn unpack(bytes: &[u8]) -> Result<Map<String, Value>, DecodeError> {
    let mut rest = Rest(bytes);
    let fields = rest.fields(0)?;
    if rest.0.is_empty() { Ok(fields) } else { Err(DecodeError::value("bytes are left over")) }
}

fn pack_fields(fields: &Map<String, Value>, out: &mut Vec<u8>) {
    length(fields.len(), out);
    for (name, value) in fields {
        match NAMES.iter().position(|known| known == name) {
            Some(place) => out.push(u8::try_from(place).unwrap_or(OTHER_NAME)),
            None => {
                out.push(OTHER_NAME);
                text(name, out);
            }
        }
        pack_value(value, out);
    }
}

fn pack_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Number(number) => {
            out.push(NUMBER);
            text(&number.to_string(), out);
        }
        Value::String(string) => pack_text(string, out),
        Value::Array(items) => {
            out.push(LIST);
            length(items.len(), out);
            items.iter().for_each(|item| pack_value(item, out));
        }
        Value::Object(fields) => {
            out.push(OBJECT);
            pack_fields(fields, out);
        }
    }
}

fn pack_text(string: &str, out: &mut Vec<u8>) {
    if let Some(digits) = string.strip_prefix("0x").filter(|digits| is_hex(digits)) {
        return pack_hex(digits, out);
    }
    if let Some((network, address)) = Address::parse_verbose(string) {
        out.push(ADDRESS);
        length(usize::try_from(network).unwrap_or(usize::MAX), out);
        out.extend_from_slice(&address.0);
        return;
    }
    out.push(TEXT);
    text(string, out);
}

fn is_hex(digits: &str) -> bool {
    digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn pack_hex(digits: &str, out: &mut Vec<u8>) {
    let count = digits.len();
    if count > 8 && digits.bytes().all(|byte| byte == b'0') {
        out.push(ZEROS);
        return length(count, out);
    }
    if count == 64 {
        out.push(HASH);
    } else if count <= SHORT_DIGITS {
        out.push(SHORT_HEX + u8::try_from(count).unwrap_or(0));
    } else {
        out.push(HEX);
        length(count, out);
    }
    out.extend(unhex_any(digits));
}

fn text(string: &str, out: &mut Vec<u8>) {
    length(string.len(), out);
    out.extend_from_slice(string.as_bytes());
}

/// A number in groups of seven bits, the lowest first.
fn length(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(cut)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.take(1)?.first().copied().ok_or_else(cut)
    }

    fn length(&mut self) -> Result<usize, DecodeError> {
        let mut number = 0_usize;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(DecodeError::value("a length has too many bytes"))
    }

    fn text(&mut self) -> Result<&'a str, DecodeError> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).map_err(DecodeError::value)
    }

    fn hex(&mut self, digits: usize) -> Result<Value, DecodeError> {
        let bytes = self.take(digits.div_ceil(2))?;
        let mut string = String::with_capacity(digits + 3);
        string.push_str("0x");
        for byte in bytes {
            for half in [byte >> 4, byte & 15] {
                string.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
            }
        }
        string.truncate(2 + digits);
        Ok(Value::String(string))
    }

    fn fields(&mut self, depth: usize) -> Result<Map<String, Value>, DecodeError> {
        if depth > DEEPEST {
            return Err(DecodeError::value("it is nested too deep"));
        }
        let count = self.length()?;
        let mut fields = Map::new();
        for _ in 0..count {
            let name = match self.byte()? {
                OTHER_NAME => self.text()?,
                place => NAMES.get(usize::from(place)).copied().ok_or_else(newer)?,
            };
            let value = self.value(depth)?;
            fields.insert(name.to_owned(), value);
        }
        Ok(fields)
    }

    fn value(&mut self, depth: usize) -> Result<Value, DecodeError> {
        Ok(match self.byte()? {
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            HEX => {
                let digits = self.length()?;
                self.hex(digits)?
            }
            HASH => self.hex(64)?,
            ZEROS => {
                let digits = self.length()?;
                if digits > 1 << 24 {
                    return Err(DecodeError::value("a text is too long"));
                }
                Value::String(format!("0x{}", "0".repeat(digits)))
            }
            ADDRESS => {
                let network = self.length()? as u64;
                let bytes = self.take(20)?.try_into().map_err(DecodeError::value)?;
                Value::String(Address(bytes).verbose(network))
            }
            TEXT => Value::String(self.text()?.to_owned()),
            LIST if depth < DEEPEST => {
                let count = self.length()?;
                let items = (0..count).map(|_| self.value(depth + 1));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            OBJECT => Value::Object(self.fields(depth + 1)?),
            NUMBER => {
                let number: Number = self.text()?.parse().map_err(DecodeError::value)?;
                Value::Number(number)
            }
            short if short >= SHORT_HEX => self.hex(usize::from(short - SHORT_HEX))?,
            _ => return Err(newer()),
        })
    }
}

fn cut() -> DecodeError {
    DecodeError::value("it ends too early")
}

fn newer() -> DecodeError {
    DecodeError::value("it was packed by a newer version; upgrade Ostrakon")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn random(rng: &mut fastrand::Rng, depth: usize) -> Value {
        match rng.u8(0..if depth < 3 { 12 } else { 9 }) {
            0 => Value::Null,
            1 => rng.bool().into(),
            2 => json!(rng.i64(..)),
            3 => json!(format!("0x{}", "0".repeat(rng.usize(0..600)))),
            4..=6 => {
                let digits = rng.usize(0..200);
                let digits: String = (0..digits).map(|_| rng.digit(16)).collect();
                json!(format!("0x{digits}"))
            }
            7 => json!(Address(std::array::from_fn(|_| rng.u8(..))).verbose(rng.u64(0..5000))),
            8 => {
                let odd = ["", "0X12", "0xAB", "cfx:aa", "net1:x", "é", "0xg", "NET1:TYPE.USER:A"];
                json!(rng.choice(odd).expect("some"))
            }
            9 => (0..rng.usize(0..4)).map(|_| random(rng, depth + 1)).collect(),
            _ => {
                let name = |rng: &mut fastrand::Rng| match rng.bool() {
                    true => (*rng.choice(&NAMES).expect("some")).to_owned(),
                    false => rng.alphanumeric().to_string(),
                };
                (0..rng.usize(0..5)).map(|_| (name(rng), random(rng, depth + 1))).collect()
            }
        }
    }

    #[test]
    fn whatever_a_node_says_comes_back_as_it_was() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..2000 {
            let fields = Map::from_iter([("value".to_owned(), random(&mut rng, 0))]);
            let packed = pack(&fields);
            assert_eq!(unpack(&packed).expect("reads"), fields, "{fields:?}");
            for end in 0..packed.len() {
                assert!(unpack(&packed[..end]).is_err(), "cut at {end} of {fields:?}");
            }
            let mut spoilt = packed;
            let place = rng.usize(0..spoilt.len());
            spoilt[place] = rng.u8(..);
            // Anything but a crash: the store's checksums find damage, this must only survive it.
            let _ = unpack(&spoilt);
        }
    }

    #[test]
    fn no_name_is_there_twice() {
        let mut names = NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NAMES.len());
    }
}
