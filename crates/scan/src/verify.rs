//! Compares what is indexed with what a node says, field by field.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};
use sha3::{Digest as _, Sha3_256};
use store::{DecodeError, Order};
use timeline::{Lane, Timeline, View, ViewError};

use crate::query::{Scan, Stretch};
use crate::source::{Node, SourceError};
use crate::tables::Receipt;
use crate::{Address, BlockInput, EpochInput, Fields, Hash, ResultsInput, derive};

/// Findings that are kept; more are counted only.
const FINDINGS: usize = 1000;
/// How often an epoch is compared again before a difference counts: the pivot may just switch.
const TRIES: u32 = 4;
/// How long in between.
const PAUSE: Duration = Duration::from_millis(500);
/// Entries that are read at a time.
const PAGE: usize = 1000;

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The node gave no answer that fits.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The chain could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A row is damaged.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// There is nothing to compare.
    #[error("nothing is indexed under this name; check the name, and that the service scan runs")]
    Empty,
}

/// Which epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// From one to another, as far as they are there.
    Range(u64, u64),
    /// So many, evenly over the whole chain.
    Sample(u64),
}

impl Which {
    fn numbers(self, head: u64) -> Vec<u64> {
        match self {
            Self::Range(from, to) => (from..=to.min(head)).collect(),
            Self::Sample(count) => {
                let place = |index: u64| {
                    let part = u128::from(head) * u128::from(index);
                    u64::try_from(part / u128::from(count.max(2) - 1)).unwrap_or(head)
                };
                (0..count).map(place).collect::<BTreeSet<u64>>().into_iter().collect()
            }
        }
    }
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Epochs.
    pub epochs: u64,
    /// Blocks of these.
    pub blocks: u64,
    /// Transactions of these, repeats included.
    pub transactions: u64,
    /// Receipts of these.
    pub receipts: u64,
    /// What differs, the first thousand.
    pub findings: Vec<String>,
    /// How much differs.
    pub findings_total: u64,
}

/// Compares epochs with a node. `tell` is told how many were compared so far.
///
/// # Errors
/// When the node or the store fails. Differences are no errors: they are findings.
pub async fn verify(
    timeline: &Timeline,
    node: &Node,
    which: Which,
    tell: &mut (dyn FnMut(u64) + Send),
) -> Result<Compared, VerifyError> {
    let head = timeline.view().await?.head(Lane::MINED).map(|head| head.height.0);
    let head = head.ok_or(VerifyError::Empty)?.min(node.heights().await?.mined);
    let mut all = Compared::default();
    for number in which.numbers(head) {
        let mut found = compare(timeline, node, number).await?;
        for _ in 1..TRIES {
            if found.findings.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            found = compare(timeline, node, number).await?;
        }
        all.add(found);
        tell(all.epochs);
    }
    Ok(all)
}

impl Compared {
    fn add(&mut self, other: Self) {
        self.epochs += other.epochs;
        self.blocks += other.blocks;
        self.transactions += other.transactions;
        self.receipts += other.receipts;
        self.findings_total += other.findings.len() as u64;
        let room = FINDINGS.saturating_sub(self.findings.len());
        self.findings.extend(other.findings.into_iter().take(room));
    }

    fn differs(&mut self, what: &str, name: &str, ours: impl ToString, theirs: impl ToString) {
        let (ours, theirs) = (ours.to_string(), theirs.to_string());
        if ours != theirs {
            self.findings.push(format!("{what}: `{name}` is {ours} here, {theirs} at the node"));
        }
    }

    /// Every field that differs.
    fn fields(&mut self, what: &str, ours: &Fields, theirs: &Fields) -> Result<(), DecodeError> {
        if ours == theirs {
            return Ok(());
        }
        let (ours, theirs) = (ours.read()?, theirs.read()?);
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let of = |fields: &Map<String, Value>, name: &str| {
            fields.get(name).map_or_else(|| "missing".to_owned(), Value::to_string)
        };
        for name in names {
            self.differs(what, name, of(&ours, name), of(&theirs, name));
        }
        Ok(())
    }
}

async fn compare(timeline: &Timeline, node: &Node, number: u64) -> Result<Compared, VerifyError> {
    let mut found = Compared { epochs: 1, ..Compared::default() };
    let theirs = node.epochs(number, number).await?;
    let view = timeline.view().await?;
    let scan = Scan::new(timeline, &view);
    let what = format!("epoch {number}");
    let (Some(theirs), Some(ours)) = (theirs.first(), scan.epoch(number).await?) else {
        found.findings.push(format!("{what} is not here any more"));
        return Ok(found);
    };
    let texts = |hashes: &mut dyn Iterator<Item = Hash>| {
        hashes.map(|hash| hash.to_string()).collect::<Vec<_>>().join(" ")
    };
    let listed = texts(&mut theirs.blocks.iter().map(|block| block.hash));
    found.differs(&what, "blocks", texts(&mut ours.blocks.iter().copied()), listed);
    let skipped = texts(&mut theirs.skipped.iter().map(|block| block.hash));
    found.differs(&what, "skipped", texts(&mut ours.skipped.iter().copied()), skipped);
    let first = ours.totals.blocks.saturating_sub(ours.blocks.len() as u64);
    for (order, block) in (first..).zip(&theirs.blocks) {
        compare_block(&scan, &mut found, theirs, (order, block)).await?;
    }
    if scan.head(Lane::EXECUTED).is_some_and(|head| head >= number) {
        let wanted = [(number, theirs.blocks.iter().map(|block| block.hash).collect())];
        for results in node.results(&wanted).await? {
            compare_results(&scan, &mut found, &results).await?;
        }
    }
    Ok(found)
}

async fn compare_block(
    scan: &Scan<'_>,
    found: &mut Compared,
    epoch: &EpochInput,
    (order, theirs): (u64, &BlockInput),
) -> Result<(), VerifyError> {
    let what = format!("block {}", theirs.hash);
    found.blocks += 1;
    let Some(ours) = scan.block(theirs.hash).await? else {
        found.findings.push(format!("{what} is missing"));
        return Ok(());
    };
    found.fields(&what, &ours.facts.fields, &theirs.facts)?;
    let place = |epoch: u64, order: Option<u64>, pivot: bool| format!("{epoch} {order:?} {pivot}");
    let pivot = epoch.pivot().is_some_and(|pivot| pivot.hash == theirs.hash);
    let seat = ours.seat.map(|seat| place(seat.epoch, seat.order, seat.is_pivot));
    let expected = place(epoch.number, Some(order), pivot);
    found.differs(&what, "epoch, order, pivot", seat.unwrap_or_default(), expected);
    let packed = scan.block_transactions(theirs.hash, 0, usize::MAX).await?;
    let hashes: Vec<Hash> = theirs.transactions.iter().map(|it| it.hash).collect();
    found.differs(&what, "transactions", format!("{packed:?}"), format!("{hashes:?}"));
    for transaction in &theirs.transactions {
        found.transactions += 1;
        let what = format!("transaction {}", transaction.hash);
        let Some(ours) = scan.transaction(transaction.hash).await? else {
            found.findings.push(format!("{what} is missing"));
            continue;
        };
        found.fields(&what, &ours.facts.fields, &transaction.facts)?;
        let listed = ours.packings.iter().any(|(_, packing)| packing.block == theirs.hash);
        found.differs(&what, "is packed by this block", listed, true);
    }
    Ok(())
}

async fn compare_results(
    scan: &Scan<'_>,
    found: &mut Compared,
    results: &ResultsInput,
) -> Result<(), VerifyError> {
    for (block, receipts) in &results.blocks {
        for theirs in receipts.iter().filter(|receipt| receipt.executed) {
            found.receipts += 1;
            let what = format!("receipt {}", theirs.transaction);
            let ours = scan.transaction(theirs.transaction).await?;
            let Some(Receipt { block: ours_in, index, fields }) = ours.and_then(|it| it.receipt)
            else {
                found.findings.push(format!("{what} is missing"));
                continue;
            };
            found.differs(&what, "block", ours_in, block);
            found.differs(&what, "index", index, theirs.index);
            found.fields(&what, &fields, &theirs.fields)?;
        }
    }
    Ok(())
}

/// A number that says everything that a view shows, up to an epoch: every epoch, block,
/// transaction, receipt, list and sum, whatever attempts they come from.
///
/// # Errors
/// When the chain cannot be read.
pub async fn digest(timeline: &Timeline, view: &View) -> Result<String, VerifyError> {
    let scan = Scan::new(timeline, view);
    let mut hash = Sha3_256::new();
    digest_epochs(&scan, &mut hash).await?;
    hash.update(format!("{:?} {:?}\n", scan.totals().await?, scan.latest(1000).await?));
    let mut addresses = BTreeSet::new();
    let mut next = Some(0);
    while let Some(start) = next {
        let lines = scan.transactions(page_from(start)).await?;
        for (_, line) in &lines {
            addresses.extend(parties(&scan, line.hash).await?);
        }
        next = digest_page(&mut hash, &lines);
    }
    let mut next = Some(0);
    while let Some(start) = next {
        let lines = scan.miners(page_from(start)).await?;
        addresses.extend(lines.iter().map(|(_, miner)| miner.address));
        next = digest_page(&mut hash, &lines);
    }
    for address in addresses {
        hash.update(address.to_string());
        let mut next = Some(0);
        while let Some(start) = next {
            next = digest_page(&mut hash, &scan.account(address, page_from(start)).await?);
        }
        let mut next = Some(0);
        while let Some(start) = next {
            next = digest_page(&mut hash, &scan.miner(address, page_from(start)).await?);
        }
    }
    let bytes = hash.finalize();
    Ok(bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

/// Takes in every epoch with its blocks and their transactions.
async fn digest_epochs(scan: &Scan<'_>, hash: &mut Sha3_256) -> Result<(), VerifyError> {
    for number in 0..=scan.head(Lane::MINED).ok_or(VerifyError::Empty)? {
        let row = scan.epoch(number).await?.ok_or(VerifyError::Empty)?;
        hash.update(format!("{number} {row:?}\n"));
        for block in row.blocks.iter().chain(&row.skipped) {
            let found = scan.block(*block).await?.ok_or(VerifyError::Empty)?;
            hash.update(format!("{found:?}\n"));
            for transaction in scan.block_transactions(*block, 0, usize::MAX).await? {
                let found = scan.transaction(transaction).await?.ok_or(VerifyError::Empty)?;
                hash.update(format!("{transaction} {found:?}\n"));
            }
        }
    }
    Ok(())
}

/// A page of a list that is read to its end.
fn page_from(start: u64) -> Stretch {
    (start, Order::Ascending, PAGE)
}

/// Takes in such a page; where the next one begins, unless this was the last.
fn digest_page<V: std::fmt::Debug>(hash: &mut Sha3_256, lines: &[(u64, V)]) -> Option<u64> {
    hash.update(format!("{lines:?}\n"));
    let full = lines.len() == PAGE;
    lines.last().filter(|_| full).map(|(position, _)| position + 1)
}

/// The accounts of a transaction.
async fn parties(scan: &Scan<'_>, hash: Hash) -> Result<Vec<Address>, VerifyError> {
    let Some(found) = scan.transaction(hash).await? else { return Ok(Vec::new()) };
    let mut fields = found.facts.fields.read()?;
    fields.insert("hash".to_owned(), hash.to_string().into());
    let input = crate::message::transaction(&Value::Object(fields));
    Ok(input
        .map(|input| derive::parties(&input))
        .unwrap_or_default()
        .into_iter()
        .map(|(address, _)| address)
        .collect())
}
