//! The paper's thirteen Redis keys, read from the index.
//!
//! | key | type | what is there |
//! | --- | --- | --- |
//! | `blocks:${hash}` | hash | a block's fields |
//! | `transactions:${hash}` | hash | a transaction's fields |
//! | `blocks:${hash}:transactions` | sorted set | its transactions by index |
//! | `blocks.in.order`, `transactions.in.order` | sorted set | all of them by order |
//! | `transactions.by.account:${address}` | list | `hash,type,timestamp`, newest first |
//! | `blocks.by.miner:${address}` | sorted set | blocks by order |
//! | `latest.blocks` | sorted set | the last blocks, capped, by order |
//! | `latest.blocks.sum.difficulties` | text | their difficulties |
//! | `latest.blocks.sum.transactions` | text | the transactions they pack, repeats included |
//! | `miners` | hash | each miner's first block |
//! | `pivot.chain` | list | pivot blocks |
//! | `epoch:${number}` | list | an epoch's blocks |
//!
//! Values are texts as a node writes them: quantities in hexadecimal behind `0x`, what is a list
//! or an object as JSON; addresses are in hexadecimal, as in the paper. A field that is null is
//! absent. The sum of difficulties is a decimal number of as many digits as it has: what the
//! `toString` of a big number gives (`bignumber.js` would write an exponent from 10^21 on, and
//! reads both).
//!
//! Only what is on the chain exists. A command reads one view, so that in one answer a block is
//! on the chain or it is not.
//!
//! A block that packs a transaction twice shows it at both places, where Redis would keep the
//! last one only.

mod name;
mod values;
mod walk;

use std::sync::Arc;

use resp::{Elements, Failure, Fields, Found, Keyspace, Scanned, Snapshot, Task, Value};
use serde_json::Map;
use timeline::{Lane, Timeline, View, ViewError};

use crate::answers::quantity;
use crate::query::{BlockAnswer, Scan, TransactionAnswer};
use crate::tables::Totals;
use crate::{Address, Hash};
use name::{Key, SINGLE};
use values::{Account, Dense, Mined, Miners, Order, Pivots};

/// Fields that hold an address.
const ADDRESSES: [&str; 4] = ["miner", "from", "to", "contractCreated"];

/// The paper's keys of one chain.
#[derive(Clone, Debug)]
pub struct PaperKeys {
    timeline: Timeline,
    latest: u64,
}

impl PaperKeys {
    /// The keys of a chain. `latest` is how many blocks `latest.blocks` has at the most; in the
    /// paper 1000.
    #[must_use]
    pub fn new(timeline: Timeline, latest: u64) -> Self {
        Self { timeline, latest }
    }
}

impl Keyspace for PaperKeys {
    fn snapshot(&self, _database: u8) -> Task<'_, Found<Arc<dyn Snapshot>>> {
        Box::pin(async move {
            let view = self.timeline.view().await.map_err(failure)?;
            let totals = Scan::new(&self.timeline, &view).totals().await.map_err(failure)?;
            let epochs = view.head(Lane::MINED).map_or(0, |head| head.height.0 + 1);
            let (timeline, latest) = (self.timeline.clone(), self.latest.min(totals.blocks));
            let moment = Moment { timeline, view, totals, epochs, latest };
            let snapshot: Arc<dyn Snapshot> = Arc::new(Shown(Arc::new(moment)));
            Ok(snapshot)
        })
    }
}

fn failure(error: ViewError) -> Failure {
    Failure::Unavailable(error.to_string())
}

/// The chain at one moment.
#[derive(Debug)]
struct Moment {
    timeline: Timeline,
    view: View,
    totals: Totals,
    epochs: u64,
    /// How many blocks count as the latest.
    latest: u64,
}

impl Moment {
    fn scan(&self) -> Scan<'_> {
        Scan::new(&self.timeline, &self.view)
    }

    /// A block that is on the chain.
    async fn block(&self, hash: Hash) -> Found<Option<BlockAnswer>> {
        let found = self.scan().block(hash).await.map_err(failure)?;
        Ok(found.filter(|block| block.seat.is_some_and(|seat| seat.order.is_some())))
    }

    /// A transaction that is on the chain.
    async fn transaction(&self, hash: Hash) -> Found<Option<TransactionAnswer>> {
        let found = self.scan().transaction(hash).await.map_err(failure)?;
        Ok(found.filter(|transaction| !transaction.packings.is_empty()))
    }

    /// Whether there is a key that there is one of.
    fn has(&self, key: Key) -> bool {
        match key {
            Key::TransactionsInOrder => self.totals.transactions > 0,
            Key::LatestBlocks => self.latest > 0,
            _ => self.totals.blocks > 0,
        }
    }
}

/// The keys at one moment.
#[derive(Debug)]
struct Shown(Arc<Moment>);

impl Snapshot for Shown {
    fn find<'a>(&'a self, key: &'a [u8]) -> Task<'a, Found<Option<Value>>> {
        Box::pin(async move {
            match Key::parse(key) {
                Some(key) => self.value(key).await,
                None => Ok(None),
            }
        })
    }

    fn size(&self) -> Task<'_, Found<u64>> {
        let Moment { totals, epochs, .. } = &*self.0;
        let single = SINGLE.into_iter().filter(|key| self.0.has(*key)).count() as u64;
        let named = totals.blocks + totals.transactions + totals.accounts + totals.miners;
        let size = single + named + totals.packing_blocks + epochs;
        Box::pin(std::future::ready(Ok(size)))
    }

    fn scan<'a>(&'a self, cursor: u64, count: usize, prefix: &'a [u8]) -> Task<'a, Found<Scanned>> {
        Box::pin(walk::walk(&self.0, cursor, count, prefix))
    }

    fn finish(&self) -> Found<()> {
        self.0.timeline.check_age(&self.0.view).map_err(failure)
    }
}

impl Shown {
    async fn value(&self, key: Key) -> Found<Option<Value>> {
        let moment = &self.0;
        let totals = &moment.totals;
        let dense = |order, from, length| {
            let set = Dense { moment: moment.clone(), order, from, length };
            (length > 0).then(|| Value::Sorted(Box::new(set)))
        };
        if SINGLE.contains(&key) && !moment.has(key) {
            return Ok(None);
        }
        Ok(match key {
            Key::Block(hash) => match moment.block(hash).await? {
                Some(block) => Some(block_fields(&block, hash)?),
                None => None,
            },
            Key::Transaction(hash) => match moment.transaction(hash).await? {
                Some(transaction) => Some(transaction_fields(&transaction, hash)?),
                None => None,
            },
            Key::BlockTransactions(hash) => {
                let block = moment.block(hash).await?;
                let packed = block.map_or(0, |block| block.facts.transactions);
                dense(Order::Packed(hash), 0, u64::from(packed))
            }
            Key::BlocksInOrder => dense(Order::Blocks, 0, totals.blocks),
            Key::TransactionsInOrder => dense(Order::Transactions, 0, totals.transactions),
            Key::LatestBlocks => dense(Order::Blocks, totals.blocks - moment.latest, moment.latest),
            Key::Account(address) => {
                let length = moment.scan().account_count(address).await.map_err(failure)?;
                let list = Account { moment: moment.clone(), address, length };
                (length > 0).then(|| Value::List(Box::new(list)))
            }
            Key::MinerBlocks(address) => {
                let length = moment.scan().miner_count(address).await.map_err(failure)?;
                let set = Mined { moment: moment.clone(), address, length };
                (length > 0).then(|| Value::Sorted(Box::new(set)))
            }
            Key::SumDifficulties | Key::SumTransactions => {
                let sums = moment.scan().latest(moment.latest).await.map_err(failure)?;
                let text = match key {
                    Key::SumDifficulties => sums.difficulty.to_string(),
                    _ => sums.transactions.to_string(),
                };
                Some(Value::Text(text.into_bytes()))
            }
            Key::Miners => Some(Value::Hash(Box::new(Miners(moment.clone())))),
            Key::PivotChain => Some(Value::List(Box::new(Pivots(moment.clone())))),
            Key::Epoch(number) => {
                let row = moment.scan().epoch(number).await.map_err(failure)?;
                row.map(|row| {
                    let hashes = row.blocks.iter().map(text).collect();
                    Value::List(Box::new(Elements(hashes)))
                })
            }
        })
    }
}

/// The bytes of a text.
fn text(value: impl ToString) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Every field of a block; numbers that the index adds are hexadecimal, as all others are.
fn block_fields(block: &BlockAnswer, hash: Hash) -> Found<Value> {
    let mut known = block.fields(hash).map_err(damaged)?;
    known.remove("state");
    for name in ["isPivot", "transactionCount", "newTransactionCount"] {
        let number = match known.get(name) {
            Some(serde_json::Value::Bool(yes)) => u64::from(*yes),
            Some(serde_json::Value::Number(number)) => number.as_u64().unwrap_or_default(),
            _ => continue,
        };
        known.insert(name.to_owned(), quantity(number));
    }
    Ok(Value::Hash(Box::new(Fields(fields(known)))))
}

/// Every field of a transaction, and those of its receipt once it is executed, where the
/// transaction has none of the name.
fn transaction_fields(transaction: &TransactionAnswer, hash: Hash) -> Found<Value> {
    let mut known = transaction.fields(hash).map_err(damaged)?;
    known.remove("packings");
    // The paper has no epoch in a transaction; that of the receipt is the one that executed it.
    known.remove("epochNumber");
    if let Some(serde_json::Value::Object(receipt)) = known.remove("receipt") {
        for (name, value) in receipt {
            if name != "transactionHash" && known.get(&name).is_none_or(|it| it.is_null()) {
                known.insert(name, value);
            }
        }
    }
    Ok(Value::Hash(Box::new(Fields(fields(known)))))
}

fn damaged(error: store::DecodeError) -> Failure {
    Failure::Unavailable(error.to_string())
}

/// Fields as texts, in the order of their names; those that are null are absent.
fn fields(facts: Map<String, serde_json::Value>) -> Vec<resp::Field> {
    let field = |(name, value): (String, serde_json::Value)| {
        let value = match value {
            serde_json::Value::Null => return None,
            serde_json::Value::String(value) if ADDRESSES.contains(&name.as_str()) => {
                Address::parse(&value).map_or(value, |address| address.to_string())
            }
            serde_json::Value::String(value) => value,
            other => other.to_string(),
        };
        Some((name.into_bytes(), value.into_bytes()))
    };
    facts.into_iter().filter_map(field).collect()
}
