//! Blocks, transactions and the status, in the words of the real node.

use serde_json::{Value as Json, json};

use super::address::long_form;
use super::{Block, Found, Graph, Hash, Transaction};

/// Epochs by which execution is behind mining.
const EXECUTED_BEHIND: u64 = 4;
/// Epochs behind which a block is as good as final.
const CONFIRMED_BEHIND: u64 = 12;
/// Epochs behind which it is final.
const FINALIZED_BEHIND: u64 = 24;
/// Gas of a transfer.
const TRANSFER_GAS: u64 = 21_000;
/// Bytes of a signed transfer, about.
const TRANSFER_BYTES: u64 = 107;
/// The root of no transactions.
const NO_TRANSACTIONS: &str = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
/// The roots of receipts and logs of an empty epoch; ours are all like that.
const NO_RECEIPTS: &str = "0x09f8709ea9f344a810811a373b30861568f5686e649d6177fd92ea2db7477508";
const NO_LOGS: &str = "0xd397b3b043d87fcd6fad1291ff0bfd16401c274896d8c63a923727f077b8e0b5";

/// The newest epoch that is executed.
pub(super) fn latest_state(graph: &Graph) -> u64 {
    behind(graph, EXECUTED_BEHIND)
}

/// The newest epoch that is as good as final.
pub(super) fn latest_confirmed(graph: &Graph) -> u64 {
    behind(graph, CONFIRMED_BEHIND)
}

/// The newest epoch that is final.
pub(super) fn latest_finalized(graph: &Graph) -> u64 {
    behind(graph, FINALIZED_BEHIND)
}

fn behind(graph: &Graph, epochs: u64) -> u64 {
    graph.latest().saturating_sub(epochs).max(graph.earliest())
}

/// A number as the node writes it.
pub(super) fn hex(number: impl Into<u128>) -> String {
    format!("{:#x}", number.into())
}

/// A hash as the node writes it.
fn text(hash: &Hash) -> String {
    hash.to_string()
}

/// The answer to `cfx_getStatus`.
pub(super) fn status(graph: &Graph, network: u64) -> Json {
    json!({
        "bestHash": graph.pivot(graph.latest()).as_ref().map(text),
        "blockNumber": hex(graph.ordered_blocks().saturating_sub(1)),
        "chainId": hex(network),
        "epochNumber": hex(graph.latest()),
        "ethereumSpaceChainId": hex(network + 1),
        "latestCheckpoint": hex(graph.earliest()),
        "latestConfirmed": hex(latest_confirmed(graph)),
        "latestFinalized": hex(latest_finalized(graph)),
        "latestState": hex(latest_state(graph)),
        "networkId": hex(network),
        "pendingTxNumber": "0x0",
    })
}

/// A block, with whole transactions or their hashes.
pub(super) fn block(graph: &Graph, network: u64, found: &Found, whole: bool) -> Json {
    let Found { block, seat, was_in } = found;
    let executed = seat.is_some_and(|seat| seat.epoch <= latest_state(graph));
    let transactions: Vec<Json> = block
        .transactions
        .iter()
        .enumerate()
        .map(|(index, transaction)| match whole {
            true => self::transaction(graph, network, (block, index), transaction),
            false => json!(text(&transaction.hash)),
        })
        .collect();
    let referees: Vec<String> = block.referees.iter().map(text).collect();
    json!({
        "adaptive": false,
        "baseFeePerGas": "0x1",
        "blame": "0x0",
        "blockNumber": seat.map(|seat| hex(seat.number)),
        "custom": ["0x04"],
        "deferredLogsBloomHash": NO_LOGS,
        "deferredReceiptsRoot": NO_RECEIPTS,
        "deferredStateRoot": text(&Hash::of(&[b"state", &block.parent.0])),
        "difficulty": hex(block.difficulty),
        // Taken out by a switch it still tells where it was; only `blockNumber` is honest.
        "epochNumber": seat.map(|seat| seat.epoch).or(*was_in).map(hex),
        "gasLimit": hex(60_000_000_u64),
        "gasUsed": executed.then(|| hex(gas_used(graph, block))),
        "hash": text(&block.hash),
        "height": hex(block.height),
        "miner": long_form(&block.miner, network),
        "nonce": hex(block.nonce),
        "parentHash": text(&block.parent),
        "posReference": text(&Hash([0; 32])),
        "powQuality": hex(block.difficulty + (block.nonce & 7)),
        "refereeHashes": referees,
        "size": hex(TRANSFER_BYTES * block.transactions.len() as u64),
        "timestamp": hex(block.timestamp),
        "transactions": transactions,
        "transactionsRoot": transactions_root(block),
    })
}

/// Gas of the transactions that are executed in this block and not in an earlier one.
fn gas_used(graph: &Graph, block: &Block) -> u64 {
    let here = |transaction: &&Transaction| {
        graph.execution(&transaction.hash).is_some_and(|it| it.block == block.hash)
    };
    TRANSFER_GAS * block.transactions.iter().filter(here).count() as u64
}

fn transactions_root(block: &Block) -> String {
    if block.transactions.is_empty() {
        return NO_TRANSACTIONS.to_owned();
    }
    let hashes: Vec<&[u8]> =
        block.transactions.iter().map(|transaction| transaction.hash.0.as_slice()).collect();
    text(&Hash::of(&hashes))
}

/// A transaction at its place in a block. Where another block executes it, or none does yet, the
/// fields that tell of execution are null.
fn transaction(
    graph: &Graph,
    network: u64,
    (block, index): (&Block, usize),
    transaction: &Transaction,
) -> Json {
    let executed = graph
        .execution(&transaction.hash)
        .is_some_and(|it| it.block == block.hash && it.epoch <= latest_state(graph));
    json!({
        "blockHash": executed.then(|| text(&block.hash)),
        "chainId": hex(network),
        "contractCreated": null,
        "data": "0x",
        "epochHeight": hex(transaction.epoch_height),
        "from": long_form(&transaction.from, network),
        "gas": hex(TRANSFER_GAS),
        "gasPrice": hex(1_000_000_000_u64),
        "hash": text(&transaction.hash),
        "nonce": hex(transaction.nonce),
        "r": text(&Hash::of(&[b"r", &transaction.hash.0])),
        "s": text(&Hash::of(&[b"s", &transaction.hash.0])),
        "status": executed.then_some("0x0"),
        "storageLimit": "0x0",
        "to": long_form(&transaction.to, network),
        "transactionIndex": executed.then(|| hex(index as u64)),
        "type": "0x0",
        "v": "0x0",
        "value": hex(transaction.value),
    })
}
