//! The paper's keys against a plain model, while a tree-graph grows and switches its pivot.

use std::collections::BTreeMap;
use std::sync::Arc;

use devnet::treegraph::{Graph, GraphSettings, Step};
use scan::ingest::extend;
use scan::query::Scan;
use scan::tables::Direction;
use scan::{Address, BlockInput, EpochInput, Hash, TransactionInput};
use store::conformance::seed;
use store::{Engine, ModelEngine, Order, Schema, Store};
use timeline::{Height, Lane, Settings, Timeline, Watch, Writer, WriterId};

/// Blocks that count as the latest. Small, so that its edge lies everywhere.
const LATEST: u64 = 7;

fn schema() -> Schema {
    let kernel = timeline::schema();
    Schema::new(kernel.tables().chain(scan::tables::tables()))
}

/// An epoch of the graph, as derivation takes it.
fn epoch(graph: &Graph, number: u64) -> EpochInput {
    let hashes = graph.epoch(number).expect("it is kept");
    let block = |hash: &devnet::treegraph::Hash| {
        let block = &graph.block(hash).expect("it is known").block;
        let transactions = block.transactions.iter().map(|it| TransactionInput {
            hash: Hash(it.hash.0),
            from: Address(it.from.0),
            to: Some(Address(it.to.0)),
            facts: it.nonce.to_string().into_bytes(),
        });
        BlockInput {
            hash: Hash(block.hash.0),
            parent: Hash(block.parent.0),
            miner: Address(block.miner.0),
            difficulty: u128::from(block.difficulty),
            timestamp: block.timestamp,
            facts: block.height.to_string().into_bytes(),
            transactions: transactions.collect(),
        }
    };
    EpochInput { number, blocks: hashes.iter().map(block).collect() }
}

/// The paper's keys, made from nothing but the epochs of the chain, from the first one on.
#[derive(Default)]
struct Model {
    blocks: Vec<(Hash, u64, bool, u128, u64, u64)>,
    first: BTreeMap<Hash, Hash>,
    packings: BTreeMap<Hash, Vec<Hash>>,
    transactions: Vec<Hash>,
    accounts: BTreeMap<Address, Vec<(Hash, Direction, u64)>>,
    miners: Vec<(Address, Hash)>,
    mined: BTreeMap<Address, Vec<Hash>>,
    pivots: Vec<Hash>,
    new: BTreeMap<Hash, u32>,
}

impl Model {
    fn of(graph: &Graph) -> Self {
        let mut model = Self::default();
        for number in 0..=graph.latest() {
            model.push(&epoch(graph, number));
        }
        model
    }

    fn push(&mut self, epoch: &EpochInput) {
        for (index, block) in epoch.blocks.iter().enumerate() {
            let pivot = index + 1 == epoch.blocks.len();
            let packed = block.transactions.len() as u64;
            let BlockInput { hash, difficulty, timestamp, .. } = block;
            self.blocks.push((*hash, epoch.number, pivot, *difficulty, packed, *timestamp));
            if !self.mined.contains_key(&block.miner) {
                self.miners.push((block.miner, block.hash));
            }
            self.mined.entry(block.miner).or_default().push(block.hash);
            for transaction in &block.transactions {
                self.packings.entry(transaction.hash).or_default().push(block.hash);
                if self.first.contains_key(&transaction.hash) {
                    continue;
                }
                self.first.insert(transaction.hash, block.hash);
                *self.new.entry(block.hash).or_default() += 1;
                self.transactions.push(transaction.hash);
                let to = transaction.to.expect("a transfer");
                let parties = match to == transaction.from {
                    true => vec![(to, Direction::Own)],
                    false => vec![(transaction.from, Direction::Out), (to, Direction::In)],
                };
                for (address, direction) in parties {
                    let line = (transaction.hash, direction, block.timestamp);
                    self.accounts.entry(address).or_default().push(line);
                }
            }
        }
        self.pivots.push(epoch.pivot().expect("a pivot").hash);
    }

    /// Everything the index says, against the model.
    async fn check(&self, scan: &Scan<'_>) {
        let all = (0, Order::Ascending, 1000);
        let listed = scan.blocks(all).await.expect("read");
        assert_eq!(listed.len(), self.blocks.len());
        for ((order, line), (hash, epoch, pivot, ..)) in listed.iter().zip(&self.blocks) {
            assert_eq!((line.hash, line.epoch, line.is_pivot), (*hash, *epoch, *pivot));
            let found = scan.block(*hash).await.expect("read").expect("known");
            let seat = found.seat.expect("on the chain");
            assert_eq!((seat.order, seat.epoch, seat.is_pivot), (*order, *epoch, *pivot));
            assert_eq!(seat.new_transactions, self.new.get(hash).copied().unwrap_or(0));
        }
        let transactions = scan.transactions(all).await.expect("read");
        let hashes: Vec<_> = transactions.iter().map(|(_, line)| line.hash).collect();
        assert_eq!(hashes, self.transactions);
        for hash in &hashes {
            let found = scan.transaction(*hash).await.expect("read").expect("known");
            let packings: Vec<_> = found.packings.iter().map(|(_, it)| it.block).collect();
            assert_eq!(packings, self.packings[hash]);
        }
        let miners = scan.miners(all).await.expect("read");
        let miners: Vec<_> = miners.iter().map(|(_, it)| (it.address, it.block)).collect();
        assert_eq!(miners, self.miners);
        self.check_lists(scan, all).await;
        self.check_sums(scan).await;
    }

    async fn check_lists(&self, scan: &Scan<'_>, all: (u64, Order, usize)) {
        for (address, lines) in &self.accounts {
            let found = scan.account(*address, all).await.expect("read");
            let found: Vec<_> =
                found.into_iter().map(|(_, it)| (it.hash, it.direction, it.timestamp)).collect();
            assert_eq!(found, *lines);
            assert_eq!(scan.account_count(*address).await.expect("read"), lines.len() as u64);
        }
        for (address, hashes) in &self.mined {
            let found = scan.miner(*address, all).await.expect("read");
            assert_eq!(found.iter().map(|(_, it)| it.hash).collect::<Vec<_>>(), *hashes);
        }
    }

    async fn check_sums(&self, scan: &Scan<'_>) {
        let latest = scan.latest(LATEST).await.expect("read");
        let start = self.blocks.len().saturating_sub(LATEST as usize);
        let last = &self.blocks[start..];
        assert_eq!(latest.blocks, last.len() as u64);
        assert_eq!(latest.difficulty, last.iter().map(|it| it.3).sum::<u128>());
        assert_eq!(latest.transactions, last.iter().map(|it| it.4).sum::<u64>());
        let span = last.last().expect("some").5.saturating_sub(last[0].5);
        assert_eq!(latest.seconds, span);
        let pivots = scan.pivot_chain(0, self.pivots.len() as u64 + 5).await.expect("read");
        assert_eq!(pivots, self.pivots);
        let totals = scan.totals().await.expect("read");
        assert_eq!(totals.blocks, self.blocks.len() as u64);
        assert_eq!(totals.transactions, self.transactions.len() as u64);
        assert_eq!(totals.miners, self.miners.len() as u64);
    }
}

/// Publishes what the graph has and the chain has not; how many epochs were popped for it.
async fn follow(graph: &Graph, timeline: &Timeline, writer: &mut Writer) -> u64 {
    let head = writer.view().head(Lane::MINED).map(|head| head.height.0);
    let mut fork = head.map_or(0, |head| head.min(graph.latest()) + 1);
    while let Some(below) = fork.checked_sub(1) {
        let known = timeline.unit_at(writer.view(), Lane::MINED, Height(below)).await;
        let known = known.expect("read").expect("on the chain").1.hash;
        if graph.pivot(below).is_some_and(|pivot| pivot.0.to_vec() == known) {
            break;
        }
        fork = below;
    }
    if fork > graph.latest() {
        return 0;
    }
    let epochs: Vec<_> = (fork..=graph.latest()).map(|number| epoch(graph, number)).collect();
    extend(timeline, writer, &epochs).await.expect("published");
    head.map_or(0, |head| (head + 1).saturating_sub(fork))
}

async fn agrees(engine: Arc<dyn Engine>, steps: u64, seed: u64) -> (u64, u64) {
    let timeline = Timeline::new(Store::new(engine, 0), "conflux".into(), Settings::default());
    let writer = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await.expect("led");
    let mut writer = writer.expect("nobody else is there");
    let settings = GraphSettings { seed, switches: 20, siblings: 40, ..GraphSettings::default() };
    let mut graph = Graph::new(settings);
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut popped, mut switches) = (0, 0);
    for step in 0..steps {
        switches += u64::from(matches!(graph.step(1_000 + step), Step::Switched { .. }));
        // Sometimes several epochs come at a time.
        if rng.u8(0..3) > 0 {
            continue;
        }
        popped += follow(&graph, &timeline, &mut writer).await;
        let view = timeline.view().await.expect("read");
        Model::of(&graph).check(&Scan::new(&timeline, &view)).await;
    }
    println!("{steps} steps, {switches} switches, {popped} epochs popped");
    (switches, popped)
}

#[tokio::test]
async fn every_list_and_sum_is_as_if_popped_epochs_had_never_been() {
    let seed = seed("scan, model");
    let (switches, popped) = agrees(Arc::new(ModelEngine::default()), 150, seed).await;
    assert!(switches > 5 && popped > 5, "too quiet to prove anything");
}

#[tokio::test]
async fn the_same_on_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = store_fjall::Options::new(directory.path());
    let engine = store_fjall::FjallEngine::open(&options, &schema()).expect("opens");
    let (switches, popped) = agrees(Arc::new(engine), 150, seed("scan, on disk")).await;
    assert!(switches > 5 && popped > 5, "too quiet to prove anything");
}
