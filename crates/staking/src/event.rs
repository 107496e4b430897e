//! What a message says, read strictly: one that does not fit is an error with its field, and never
//! counts. Fields that nobody knows are passed over: newer senders have some.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Blocks, BtcHeight, ParseError, PublicKey, Satoshi, TxHash};

/// Bytes of a transaction at the most. What stakes, unbonds or withdraws has a few hundred; nodes
/// relay none with more than this outside its witness.
pub const TX_BYTES: usize = 100_000;
/// The last second of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;
/// The newest form of messages.
const SCHEMA: u64 = 1;

/// What is wrong with a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {what}")]
pub struct EventError {
    /// The field.
    pub field: String,
    /// What is wrong with it.
    pub what: String,
}

impl EventError {
    fn new(field: &str, what: impl ToString) -> Self {
        Self { field: field.to_owned(), what: what.to_string() }
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// To a delegation.
    Delegation(TxHash, Step),
    /// What the whole is worth at a height of Bitcoin, with what is not confirmed yet.
    BtcInfo {
        /// The height.
        height: BtcHeight,
        /// Confirmed.
        confirmed: u64,
        /// Confirmed and unconfirmed together.
        unconfirmed: u64,
    },
    /// What is confirmed at a height of Bitcoin.
    ConfirmedInfo {
        /// The height.
        height: BtcHeight,
        /// Confirmed.
        tvl: u64,
    },
}

/// Something that happens to a delegation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// It is staked.
    Active(Box<Staked>),
    /// Its staker takes it out before its time.
    Unbonding(Box<Unbonding>),
    /// A timelock has passed.
    Expired(Timelock),
    /// The staker has it back.
    Withdrawn(Box<Withdrawal>),
    /// Its provider signed twice, and it is taken away.
    Slashed(Box<Slashing>),
}

/// What is staked, by whom, with whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staked {
    /// The staker.
    pub staker: PublicKey,
    /// The finality provider.
    pub provider: PublicKey,
    /// The amount.
    pub value: Satoshi,
    /// The block it begins with.
    pub start: BtcHeight,
    /// When, Unix seconds.
    pub timestamp: u64,
    /// For how many blocks.
    pub timelock: Blocks,
    /// Which output of the transaction.
    pub output: u32,
    /// The transaction.
    pub tx: Vec<u8>,
    /// It came when no more was taken, and counts for nothing.
    pub is_overflow: bool,
}

/// How a staker takes it out before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unbonding {
    /// The transaction that does so.
    pub hash: TxHash,
    /// The same, whole.
    pub tx: Vec<u8>,
    /// The block it begins with.
    pub start: BtcHeight,
    /// When, Unix seconds.
    pub timestamp: u64,
    /// For how many blocks.
    pub timelock: Blocks,
    /// Which output of the transaction.
    pub output: u32,
}

/// Which timelock has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timelock {
    /// That of the stake itself.
    Staking,
    /// That of the unbonding.
    Unbonding,
}

/// How it came back. Older messages say only that it did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// The transaction that does so.
    pub hash: Option<TxHash>,
    /// Its height.
    pub height: Option<BtcHeight>,
}

/// How it was taken away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slashing {
    /// The transaction that does so.
    pub hash: TxHash,
    /// Its height.
    pub height: BtcHeight,
}

/// An output of a transaction that is locked for some blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock<'a> {
    /// The transaction.
    pub tx: &'a [u8],
    /// Which output.
    pub output: u32,
    /// The block it begins with.
    pub start: BtcHeight,
    /// When, Unix seconds.
    pub timestamp: u64,
    /// For how many blocks.
    pub timelock: Blocks,
}

impl Lock<'_> {
    /// The height at which it has passed.
    #[must_use]
    pub fn end(&self) -> BtcHeight {
        self.start.after(self.timelock)
    }
}

impl Staked {
    /// The lock of the stake.
    #[must_use]
    pub fn lock(&self) -> Lock<'_> {
        let Self { output, start, timestamp, timelock, .. } = *self;
        Lock { tx: &self.tx, output, start, timestamp, timelock }
    }

    /// The height at which its timelock has passed.
    #[must_use]
    pub fn end(&self) -> BtcHeight {
        self.lock().end()
    }
}

impl Unbonding {
    /// The lock of what is taken out.
    #[must_use]
    pub fn lock(&self) -> Lock<'_> {
        let Self { output, start, timestamp, timelock, .. } = *self;
        Lock { tx: &self.tx, output, start, timestamp, timelock }
    }

    /// The height at which its timelock has passed.
    #[must_use]
    pub fn end(&self) -> BtcHeight {
        self.lock().end()
    }
}

/// Reads a message. None for one that says nothing of its own: statistics follow from delegations.
///
/// # Errors
/// With the first field that is missing or cannot be read.
pub fn parse(message: &[u8]) -> Result<Option<Event>, EventError> {
    let value: Value =
        serde_json::from_slice(message).map_err(|error| EventError::new("message", error))?;
    let fields = Fields(value.as_object().ok_or_else(|| {
        EventError::new("message", "it is not an object; send one JSON object a message")
    })?);
    let schema =
        fields.0.get("schema_version").map_or(Ok(0), |_| fields.number("schema_version"))?;
    if schema > SCHEMA {
        let what = format!("{schema} is newer than {SCHEMA}, which is known here; upgrade");
        return Err(EventError::new("schema_version", what));
    }
    let delegation = |step| Ok(Some(Event::Delegation(fields.hash("staking_tx_hash_hex")?, step)));
    match fields.number("event_type")? {
        1 => delegation(Step::Active(Box::new(fields.staked()?))),
        2 => delegation(Step::Unbonding(Box::new(fields.unbonding()?))),
        3 => delegation(Step::Withdrawn(Box::new(fields.withdrawal(schema)?))),
        4 => delegation(Step::Expired(fields.timelock()?)),
        5 => fields.statistics().map(|()| None),
        6 => Ok(Some(Event::BtcInfo {
            height: fields.height("height")?,
            confirmed: fields.locked("confirmed_tvl")?,
            unconfirmed: fields.locked("unconfirmed_tvl")?,
        })),
        7 => Ok(Some(Event::ConfirmedInfo {
            height: fields.height("height")?,
            tvl: fields.locked("tvl")?,
        })),
        8 => delegation(Step::Slashed(Box::new(Slashing {
            hash: fields.hash("slashing_tx_hash_hex")?,
            height: fields.height("slashing_tx_btc_height")?,
        }))),
        other => Err(EventError::new("event_type", format!("{other} is none of 1 to 8"))),
    }
}

/// The fields of a message.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn staked(&self) -> Result<Staked, EventError> {
        let value = self.number("staking_value")?;
        Ok(Staked {
            staker: self.key("staker_pk_hex")?,
            provider: self.key("finality_provider_pk_hex")?,
            value: read("staking_value", Satoshi::staked(value))?,
            start: self.height("staking_start_height")?,
            timestamp: self.seconds("staking_start_timestamp")?,
            timelock: self.blocks("staking_timelock")?,
            output: self.output("staking_output_index")?,
            tx: self.hex("staking_tx_hex")?,
            is_overflow: match self.0.get("is_overflow") {
                None => false,
                Some(value) => value.as_bool().ok_or_else(|| {
                    EventError::new("is_overflow", "it is neither true nor false")
                })?,
            },
        })
    }

    /// Reads what says nothing new, so that whoever sends nonsense is told.
    fn statistics(&self) -> Result<(), EventError> {
        self.hash("staking_tx_hash_hex")?;
        self.key("staker_pk_hex")?;
        self.key("finality_provider_pk_hex")?;
        read("staking_value", Satoshi::staked(self.number("staking_value")?))?;
        self.text("state").map(drop)
    }

    fn unbonding(&self) -> Result<Unbonding, EventError> {
        Ok(Unbonding {
            hash: self.hash("unbonding_tx_hash_hex")?,
            tx: self.hex("unbonding_tx_hex")?,
            start: self.height("unbonding_start_height")?,
            timestamp: self.seconds("unbonding_start_timestamp")?,
            timelock: self.blocks("unbonding_timelock")?,
            output: self.output("unbonding_output_index")?,
        })
    }

    fn withdrawal(&self, schema: u64) -> Result<Withdrawal, EventError> {
        if schema == 0 {
            return Ok(Withdrawal::default());
        }
        let hash = Some(self.hash("withdraw_tx_hash_hex")?);
        Ok(Withdrawal { hash, height: Some(self.height("withdraw_tx_btc_height")?) })
    }

    fn timelock(&self) -> Result<Timelock, EventError> {
        match self.text("tx_type")? {
            "active" => Ok(Timelock::Staking),
            "unbonding" => Ok(Timelock::Unbonding),
            _ => Err(EventError::new("tx_type", "it is neither active nor unbonding")),
        }
    }

    fn text(&self, name: &str) -> Result<&str, EventError> {
        let text = self.0.get(name).and_then(Value::as_str);
        text.ok_or_else(|| EventError::new(name, "it is missing, or not text"))
    }

    fn number(&self, name: &str) -> Result<u64, EventError> {
        let number = self.0.get(name).and_then(Value::as_u64);
        number.ok_or_else(|| EventError::new(name, "it is missing, or no whole number from 0"))
    }

    fn locked(&self, name: &str) -> Result<u64, EventError> {
        read(name, Satoshi::locked(self.number(name)?)).map(|Satoshi(number)| number)
    }

    fn height(&self, name: &str) -> Result<BtcHeight, EventError> {
        read(name, BtcHeight::read(self.number(name)?))
    }

    fn blocks(&self, name: &str) -> Result<Blocks, EventError> {
        read(name, Blocks::read(self.number(name)?))
    }

    fn seconds(&self, name: &str) -> Result<u64, EventError> {
        let seconds = self.number(name)?;
        let possible = seconds <= LAST_SECOND;
        possible.then_some(seconds).ok_or_else(|| EventError::new(name, "it is no Unix time"))
    }

    fn output(&self, name: &str) -> Result<u32, EventError> {
        let number = u32::try_from(self.number(name)?);
        number.map_err(|_| EventError::new(name, "no transaction has so many outputs"))
    }

    fn hash(&self, name: &str) -> Result<TxHash, EventError> {
        read(name, TxHash::parse(self.text(name)?))
    }

    fn key(&self, name: &str) -> Result<PublicKey, EventError> {
        read(name, PublicKey::parse(self.text(name)?))
    }

    fn hex(&self, name: &str) -> Result<Vec<u8>, EventError> {
        let text = self.text(name)?;
        if text.len() > 2 * TX_BYTES {
            let what = format!("a transaction has at most {TX_BYTES} bytes here");
            return Err(EventError::new(name, what));
        }
        let bytes = crate::hex::read(text);
        bytes.ok_or_else(|| EventError::new(name, "it is no transaction in hexadecimal"))
    }
}

fn read<T>(name: &str, parsed: Result<T, ParseError>) -> Result<T, EventError> {
    parsed.map_err(|error| EventError::new(name, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn active() -> Value {
        json!({
            "schema_version": 0, "event_type": 1, "staking_value": 100_000,
            "staking_tx_hash_hex": "06".repeat(32), "staker_pk_hex": "91".repeat(32),
            "finality_provider_pk_hex": "03".repeat(32), "staking_start_height": 102,
            "staking_start_timestamp": 1_714_035_159, "staking_timelock": 100,
            "staking_output_index": 1, "staking_tx_hex": "0100", "is_overflow": false,
        })
    }

    fn read(value: &Value) -> Result<Option<Event>, EventError> {
        parse(value.to_string().as_bytes())
    }

    #[test]
    fn a_message_is_read_whole_and_newer_fields_are_passed_over() {
        let mut message = active();
        message["invented_later"] = 5.into();
        let Ok(Some(Event::Delegation(hash, Step::Active(staked)))) = read(&message) else {
            panic!("a delegation");
        };
        assert_eq!((hash, staked.value), (TxHash([6; 32]), Satoshi(100_000)));
        assert_eq!((staked.start, staked.end()), (BtcHeight(102), BtcHeight(202)));
        assert_eq!((staked.output, &staked.tx[..]), (1, &[1, 0][..]));
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_field() {
        for (field, wrong, named) in [
            ("event_type", json!(9), "event_type"),
            ("event_type", json!("1"), "event_type"),
            ("schema_version", json!(2), "schema_version"),
            ("staking_value", json!(-5), "staking_value"),
            ("staking_value", json!(0), "staking_value"),
            ("staking_value", json!(1.5), "staking_value"),
            ("staking_value", json!(2_100_000_000_000_001_u64), "staking_value"),
            ("staking_tx_hash_hex", json!("0x06"), "staking_tx_hash_hex"),
            ("staker_pk_hex", json!("zz".repeat(32)), "staker_pk_hex"),
            ("finality_provider_pk_hex", Value::Null, "finality_provider_pk_hex"),
            ("staking_tx_hex", json!("010"), "staking_tx_hex"),
            ("staking_tx_hex", json!("00".repeat(TX_BYTES + 1)), "staking_tx_hex"),
            ("staking_start_height", json!(10_000_001), "staking_start_height"),
            ("staking_start_timestamp", json!(u64::MAX), "staking_start_timestamp"),
            ("staking_timelock", json!(0), "staking_timelock"),
            ("staking_timelock", json!(65_536), "staking_timelock"),
            ("staking_output_index", json!(5_000_000_000_u64), "staking_output_index"),
            ("is_overflow", json!("no"), "is_overflow"),
        ] {
            let mut message = active();
            message[field] = wrong;
            assert_eq!(read(&message).expect_err(named).field, named);
        }
        for rubbish in [&b""[..], b"{", b"[]", b"5", b"\xff\xfe", b"{}"] {
            assert!(parse(rubbish).is_err(), "{rubbish:?}");
        }
    }

    #[test]
    fn what_says_nothing_new_is_read_as_strictly() {
        let mut stats = active();
        stats["event_type"] = 5.into();
        stats["state"] = "active".into();
        assert_eq!(read(&stats), Ok(None));
        for field in ["staking_tx_hash_hex", "staker_pk_hex", "staking_value", "state"] {
            let mut wrong = stats.clone();
            wrong[field] = Value::Null;
            assert_eq!(read(&wrong).expect_err(field).field, field);
        }
    }

    #[test]
    fn nobody_locks_more_than_there_is() {
        let all = 2_100_000_000_000_000_u64;
        let info = |confirmed: u64, unconfirmed: u64| {
            read(&json!({ "event_type": 6, "height": 5, "confirmed_tvl": confirmed,
                "unconfirmed_tvl": unconfirmed }))
        };
        assert!(info(0, all).is_ok());
        assert_eq!(info(0, all + 1).expect_err("more").field, "unconfirmed_tvl");
        assert_eq!(info(all + 1, 0).expect_err("more").field, "confirmed_tvl");
        let confirmed = json!({ "event_type": 7, "height": 5, "tvl": all + 1 });
        assert_eq!(read(&confirmed).expect_err("more").field, "tvl");
    }

    #[test]
    fn both_forms_of_a_withdrawal_are_read() {
        let hash = "06".repeat(32);
        let old = json!({ "event_type": 3, "staking_tx_hash_hex": hash });
        let Ok(Some(Event::Delegation(_, Step::Withdrawn(found)))) = read(&old) else {
            panic!("a withdrawal");
        };
        assert_eq!(*found, Withdrawal::default());
        let mut new = old.clone();
        new["schema_version"] = 1.into();
        assert_eq!(read(&new).expect_err("half of it").field, "withdraw_tx_hash_hex");
        new["withdraw_tx_hash_hex"] = "07".repeat(32).into();
        new["withdraw_tx_btc_height"] = 213.into();
        let Ok(Some(Event::Delegation(_, Step::Withdrawn(found)))) = read(&new) else {
            panic!("a withdrawal");
        };
        assert_eq!(found.height, Some(BtcHeight(213)));
    }
}
