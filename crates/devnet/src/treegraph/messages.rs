//! Blocks, transactions and the status, in the words of the real node, and what subscribers hear.

use serde_json::{Value as Json, json};

use super::address::long_form;
use super::receipts::recipient;
use super::{Block, Found, Graph, Hash, Transaction};

/// Epochs by which execution is behind mining.
const EXECUTED_BEHIND: u64 = 4;
/// Epochs behind which a block is as good as final.
const CONFIRMED_BEHIND: u64 = 12;
/// Epochs behind which it is final.
const FINALIZED_BEHIND: u64 = 24;
/// What gas costs, in drip.
pub(super) const GAS_PRICE: u64 = 1_000_000_000;
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
pub(super) fn text(hash: &Hash) -> String {
    hash.to_string()
}

/// Bytes as the node writes them.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        text.extend(
            [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[digit as usize])),
        );
    }
    text
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
    let mut told = header(network, block);
    let rest = json!({
        "baseFeePerGas": "0x1",
        "blockNumber": seat.map(|seat| hex(seat.number)),
        "custom": ["0x04"],
        // Taken out by a switch it still tells where it was; only `blockNumber` is honest.
        "epochNumber": seat.map(|seat| seat.epoch).or(*was_in).map(hex),
        "gasUsed": executed.then(|| hex(gas_used(graph, block))),
        "size": hex(block.transactions.iter().map(Transaction::size).sum::<u64>()),
        "transactions": transactions,
    });
    merge(&mut told, rest);
    told
}

/// What `newHeads` tells of a block, with its place if it has one by then.
pub(super) fn head(network: u64, found: &Found, placed: bool) -> Json {
    let seat = found.seat.filter(|_| placed);
    let mut told = header(network, &found.block);
    let rest = json!({
        "blockNumber": seat.map(|seat| hex(seat.number)),
        "epochNumber": seat.map(|seat| hex(seat.epoch)),
    });
    merge(&mut told, rest);
    told
}

/// What `epochs` tells of an epoch.
pub(super) fn epoch(graph: &Graph, number: u64) -> Json {
    let blocks = graph.epoch(number).unwrap_or_default();
    json!({
        "epochHashesOrdered": blocks.iter().map(text).collect::<Vec<_>>(),
        "epochNumber": hex(number),
    })
}

fn merge(told: &mut Json, rest: Json) {
    if let (Json::Object(told), Json::Object(rest)) = (told, rest) {
        told.extend(rest);
    }
}

/// What never changes about a block and needs nothing else to be told.
fn header(network: u64, block: &Block) -> Json {
    json!({
        "adaptive": false,
        "blame": "0x0",
        "deferredLogsBloomHash": NO_LOGS,
        "deferredReceiptsRoot": NO_RECEIPTS,
        "deferredStateRoot": text(&Hash::of(&[b"state", &block.parent.0])),
        "difficulty": hex(block.difficulty),
        "gasLimit": hex(60_000_000_u64),
        "hash": text(&block.hash),
        "height": hex(block.height),
        "miner": long_form(&block.miner, network),
        "nonce": hex(block.nonce),
        "parentHash": text(&block.parent),
        "posReference": text(&Hash([0; 32])),
        "powQuality": hex(block.difficulty + (block.nonce & 0xffff)),
        "refereeHashes": block.referees.iter().map(text).collect::<Vec<_>>(),
        "timestamp": hex(block.timestamp),
        "transactionsRoot": transactions_root(block),
    })
}

/// Gas of the transactions that are executed in this block and not in an earlier one.
fn gas_used(graph: &Graph, block: &Block) -> u64 {
    let here = block.transactions.iter().filter(|transaction| graph.executes(block, transaction));
    here.map(Transaction::gas_used).sum()
}

fn transactions_root(block: &Block) -> String {
    if block.transactions.is_empty() {
        return NO_TRANSACTIONS.to_owned();
    }
    let hashes: Vec<&[u8]> =
        block.transactions.iter().map(|transaction| transaction.hash.0.as_slice()).collect();
    text(&Hash::of(&hashes))
}

/// The answer to `cfx_getTransactionByHash`: where it is executed, or will be.
pub(super) fn transaction_by_hash(graph: &Graph, network: u64, hash: &Hash) -> Json {
    let found = graph.execution(hash).and_then(|it| {
        let block = &graph.block(&it.block)?.block;
        let transaction = block.transactions.get(it.index)?;
        Some(self::transaction(graph, network, (block, it.index), transaction))
    });
    found.unwrap_or_default()
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
    let created = transaction.contract_created().filter(|_| executed);
    json!({
        "blockHash": executed.then(|| text(&block.hash)),
        "chainId": hex(network),
        "contractCreated": created.map(|it| long_form(&it, network)),
        "data": bytes(&transaction.data),
        "epochHeight": hex(transaction.epoch_height),
        "from": long_form(&transaction.from, network),
        "gas": hex(transaction.gas()),
        "gasPrice": hex(GAS_PRICE),
        "hash": text(&transaction.hash),
        "nonce": hex(transaction.nonce),
        "r": text(&Hash::of(&[b"r", &transaction.hash.0])),
        "s": text(&Hash::of(&[b"s", &transaction.hash.0])),
        "status": executed.then_some(if transaction.fails { "0x1" } else { "0x0" }),
        "storageLimit": if transaction.data.is_empty() { "0x0" } else { "0x400" },
        "to": recipient(transaction, network),
        "transactionIndex": executed.then(|| hex(index as u64)),
        "type": "0x0",
        "v": hex(transaction.hash.0[31] & 1),
        "value": hex(transaction.value),
    })
}
