//! Receipts and logs, in the words of the real node.

use serde_json::{Map, Value as Json, json};

use super::address::long_form;
use super::messages::{GAS_PRICE, bytes, hex, latest_state, text};
use super::{Action, Block, Graph, Hash, Log, Transaction};

/// Bytes of a bloom filter.
const BLOOM: usize = 256;

/// The answer to `cfx_getTransactionReceipt`; null while nobody knows it or it is not executed.
pub(super) fn of_transaction(graph: &Graph, network: u64, hash: &Hash) -> Json {
    let executed = graph.execution(hash).filter(|it| it.epoch <= latest_state(graph));
    let found = executed.and_then(|it| Some((it, &graph.block(&it.block)?.block)));
    let Some((execution, block)) = found else { return Json::Null };
    let place = Place { network, epoch: execution.epoch, block, index: execution.index };
    receipt(graph, &place).map_or(Json::Null, Json::Object)
}

/// The receipts of an epoch, by block; none while it is not executed. A second parameter of the
/// real node asks for those of the other space, too: there are none, but each says its own then.
pub(super) fn of_epoch(graph: &Graph, network: u64, epoch: u64, spaces: bool) -> Option<Json> {
    if epoch > latest_state(graph) {
        return None;
    }
    let of_block = |hash: &Hash| -> Option<Json> {
        let (block, mut used) = (&graph.block(hash)?.block, 0);
        let mut listed = Vec::with_capacity(block.transactions.len());
        for (index, transaction) in block.transactions.iter().enumerate() {
            let place = Place { network, epoch, block, index };
            let mut receipt = receipt(graph, &place)?;
            if graph.executes(block, transaction) {
                used += transaction.gas_used();
            }
            receipt.insert("accumulatedGasUsed".to_owned(), json!(hex(used)));
            if spaces {
                receipt.insert("space".to_owned(), json!("native"));
            }
            listed.push(Json::Object(receipt));
        }
        Some(Json::Array(listed))
    };
    graph.epoch(epoch)?.iter().map(of_block).collect()
}

/// Where a receipt belongs.
struct Place<'a> {
    network: u64,
    epoch: u64,
    block: &'a Block,
    index: usize,
}

fn receipt(graph: &Graph, place: &Place<'_>) -> Option<Map<String, Json>> {
    let Place { network, epoch, block, index } = *place;
    let transaction = block.transactions.get(index)?;
    // A copy of what was executed before costs nothing and does nothing.
    let executed = graph.executes(block, transaction);
    let (used, charged) = match executed {
        true => (transaction.gas_used(), transaction.gas_charged()),
        false => (0, 0),
    };
    let (outcome, message) = match (executed, transaction.failure()) {
        (false, _) => ("0x2", Some("tx not executed")),
        (true, Some(why)) => ("0x1", Some(why)),
        (true, None) => ("0x0", None),
    };
    let logs = if executed { transaction.logs() } else { Vec::new() };
    let pivot = graph.pivot(epoch)?;
    let created = transaction.contract_created().filter(|_| executed);
    let receipt = json!({
        "blockHash": text(&block.hash),
        "burntGasFee": hex(charged),
        "contractCreated": created.map(|it| long_form(&it, network)),
        "effectiveGasPrice": hex(GAS_PRICE),
        "epochNumber": hex(epoch),
        "from": long_form(&transaction.from, network),
        "gasCoveredBySponsor": false,
        "gasFee": hex(u128::from(charged) * u128::from(GAS_PRICE)),
        "gasUsed": hex(used),
        "index": hex(index as u64),
        "logs": logs.iter().map(|it| log(it, network)).collect::<Vec<_>>(),
        "logsBloom": bytes(&bloom(&logs)),
        "outcomeStatus": outcome,
        "stateRoot": text(&Hash::of(&[b"state after", &pivot.0])),
        "storageCollateralized": "0x0",
        "storageCoveredBySponsor": false,
        "storageReleased": [],
        "to": recipient(transaction, network),
        "transactionHash": text(&transaction.hash),
        "txExecErrorMsg": message,
        "type": "0x0",
    });
    match receipt {
        Json::Object(fields) => Some(fields),
        _ => None,
    }
}

/// Whom a transaction names; nobody when it makes a contract.
pub(super) fn recipient(transaction: &Transaction, network: u64) -> Option<String> {
    (transaction.action != Action::Create).then(|| long_form(&transaction.to, network))
}

fn log(log: &Log, network: u64) -> Json {
    json!({
        "address": long_form(&log.address, network),
        "data": bytes(&log.data),
        "topics": log.topics.iter().map(text).collect::<Vec<_>>(),
    })
}

/// Three bits of 2048 for every address and topic.
fn bloom(logs: &[Log]) -> [u8; BLOOM] {
    let mut bloom = [0; BLOOM];
    for log in logs {
        let topics = log.topics.iter().map(|topic| topic.0.as_slice());
        for item in topics.chain([log.address.0.as_slice()]) {
            let hash = Hash::keccak(&[item]).0;
            for at in [0, 2, 4] {
                let bit = usize::from(hash[at] & 7) << 8 | usize::from(hash[at + 1]);
                bloom[BLOOM - 1 - bit / 8] |= 1 << (bit % 8);
            }
        }
    }
    bloom
}

#[cfg(test)]
#[path = "receipts_tests.rs"]
mod tests;
