//! Whole objects: every field under the name that the node and the paper give it.
//!
//! What never changes comes from the facts; where a block or a transaction stands, and what came of
//! it, comes from the view. Fields that are not known yet are null, as a node has them.

use serde_json::{Map, Value, json};
use store::DecodeError;

use crate::Hash;
use crate::query::{BlockAnswer, TransactionAnswer};

/// What has become of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// The pivot of its epoch.
    Pivot,
    /// In an epoch, and not its pivot.
    InEpoch,
    /// In an epoch that has too many blocks, and not executed.
    Skipped,
    /// In no epoch: its branch was left and nothing has merged it yet.
    Orphaned,
}

impl BlockState {
    /// The word in answers.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pivot => "pivot",
            Self::InEpoch => "in-epoch",
            Self::Skipped => "skipped",
            Self::Orphaned => "orphaned",
        }
    }
}

/// How far an epoch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochState {
    /// It is there.
    Mined,
    /// Its results are there.
    Executed,
    /// It is buried deep enough.
    Confirmed,
    /// It is decided.
    Finalized,
}

impl EpochState {
    /// The word in answers.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Mined => "mined",
            Self::Executed => "executed",
            Self::Confirmed => "confirmed",
            Self::Finalized => "finalized",
        }
    }
}

/// A number as nodes write it.
#[must_use]
pub fn quantity(number: impl Into<u128>) -> Value {
    Value::String(format!("{:#x}", number.into()))
}

impl BlockAnswer {
    /// What has become of it.
    #[must_use]
    pub fn state(&self) -> BlockState {
        match self.seat {
            None => BlockState::Orphaned,
            Some(seat) if seat.order.is_none() => BlockState::Skipped,
            Some(seat) if seat.is_pivot => BlockState::Pivot,
            Some(_) => BlockState::InEpoch,
        }
    }

    /// Every field.
    ///
    /// # Errors
    /// When the facts are damaged.
    pub fn fields(&self, hash: Hash) -> Result<Map<String, Value>, DecodeError> {
        let mut fields = self.facts.fields.read()?;
        let seat = self.seat;
        let order = seat.and_then(|seat| seat.order);
        let mut put = |name: &str, value: Option<Value>| {
            fields.insert(name.to_owned(), value.unwrap_or(Value::Null));
        };
        put("hash", Some(hash.to_string().into()));
        put("epochNumber", seat.map(|seat| quantity(seat.epoch)));
        put("blockNumber", order.map(quantity));
        put("isPivot", seat.map(|seat| seat.is_pivot.into()));
        put("transactionCount", Some(self.facts.transactions.into()));
        put("newTransactionCount", seat.map(|seat| seat.new_transactions.into()));
        put("gasUsed", self.result.map(|result| quantity(result.gas_used)));
        put("state", Some(self.state().word().into()));
        Ok(fields)
    }
}

impl TransactionAnswer {
    /// Every field, and its receipt under `receipt` once there is one.
    ///
    /// # Errors
    /// When the facts or the receipt are damaged.
    pub fn fields(&self, hash: Hash) -> Result<Map<String, Value>, DecodeError> {
        let mut fields = self.facts.fields.read()?;
        let receipt = match &self.receipt {
            None => None,
            Some(receipt) => {
                let mut known = receipt.fields.read()?;
                known.insert("transactionHash".to_owned(), hash.to_string().into());
                Some(known)
            }
        };
        let of_receipt = |name: &str| receipt.as_ref().and_then(|known| known.get(name).cloned());
        let first = self.packings.first().map(|(_, packing)| packing);
        let executed = self.receipt.as_ref().map(|receipt| (receipt.block, receipt.index));
        // The first epoch has no receipts: what stands in it counts as it stands.
        let founding = self.packings.first().filter(|(_, packing)| packing.epoch == 0);
        let executed = executed.or(founding.map(|(index, packing)| (packing.block, *index)));
        let mut put = |name: &str, value: Option<Value>| {
            fields.insert(name.to_owned(), value.unwrap_or(Value::Null));
        };
        put("hash", Some(hash.to_string().into()));
        put("blockHash", executed.map(|(block, _)| block.to_string().into()));
        put("transactionIndex", executed.map(|(_, index)| quantity(index)));
        put("status", of_receipt("outcomeStatus"));
        put("contractCreated", of_receipt("contractCreated"));
        put("firstBlockHash", first.map(|packing| packing.block.to_string().into()));
        put("timestamp", first.map(|packing| quantity(packing.timestamp)));
        put("epochNumber", first.map(|packing| quantity(packing.epoch)));
        let count = u32::try_from(self.packings.len()).unwrap_or(u32::MAX);
        put("packings", Some(json!(count)));
        put("receipt", receipt.map(Value::Object));
        Ok(fields)
    }
}
