//! The paper's keys against a plain model, while a tree-graph grows and switches its pivot.

mod common;

use std::sync::Arc;

use common::Model;
use devnet::treegraph::{Graph, GraphSettings, Step};
use scan::ingest::{Batch, publish};
use scan::query::Scan;
use scan::{Address, BlockInput, EpochInput, Fields, Hash, Memory, TransactionInput};
use store::conformance::seed;
use store::{Engine, ModelEngine, Schema, Store};
use timeline::{Height, Lane, Settings, Timeline, Watch, Writer, WriterId};

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
            creates: None,
            facts: Fields::new(&[("nonce".to_owned(), it.nonce.into())].into_iter().collect()),
        });
        BlockInput {
            hash: Hash(block.hash.0),
            parent: Hash(block.parent.0),
            miner: Address(block.miner.0),
            difficulty: u128::from(block.difficulty),
            timestamp: block.timestamp,
            facts: Fields::new(&[("height".to_owned(), block.height.into())].into_iter().collect()),
            transactions: transactions.collect(),
        }
    };
    EpochInput { number, blocks: hashes.iter().map(block).collect(), skipped: Vec::new() }
}

/// Publishes what the graph has and the chain has not; how many epochs were popped for it.
async fn follow(
    graph: &Graph,
    timeline: &Timeline,
    writer: &mut Writer,
    memory: &mut Memory,
) -> u64 {
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
    let batch = Batch { epochs, ..Batch::default() };
    publish(timeline, writer, memory, &batch).await.expect("published");
    head.map_or(0, |head| (head + 1).saturating_sub(fork))
}

async fn agrees(engine: Arc<dyn Engine>, steps: u64, seed: u64) -> (u64, u64) {
    let timeline = Timeline::new(Store::new(engine, 0), "conflux".into(), Settings::default());
    let writer = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await.expect("led");
    let mut writer = writer.expect("nobody else is there");
    let settings = GraphSettings { seed, switches: 20, siblings: 40, ..GraphSettings::default() };
    let mut memory = Memory::default();
    let mut graph = Graph::new(settings);
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut popped, mut switches) = (0, 0);
    for step in 0..steps {
        switches += u64::from(matches!(graph.step(1_000 + step), Step::Switched { .. }));
        // Sometimes several epochs come at a time.
        if rng.u8(0..3) > 0 {
            continue;
        }
        popped += follow(&graph, &timeline, &mut writer, &mut memory).await;
        let view = timeline.view().await.expect("read");
        let epochs = (0..=graph.latest()).map(|number| epoch(&graph, number));
        Model::of(epochs).check(&Scan::new(&timeline, &view)).await;
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
