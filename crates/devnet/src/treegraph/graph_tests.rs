//! The graph holds together, whatever its seed.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::*;

fn settings(seed: u64) -> GraphSettings {
    GraphSettings { seed, switches: 10, siblings: 40, ..GraphSettings::default() }
}

fn grown(settings: GraphSettings, steps: u64) -> Graph {
    let mut graph = Graph::new(settings);
    for step in 0..steps {
        graph.step(settings.genesis + step);
    }
    graph
}

fn all(graph: &Graph) -> Vec<Vec<Hash>> {
    let epochs = graph.earliest()..=graph.latest();
    epochs.map(|number| graph.epoch(number).expect("is kept").to_vec()).collect()
}

#[test]
fn a_graph_is_a_function_of_its_seed() {
    let one = all(&grown(settings(7), 500));
    assert_eq!(one, all(&grown(settings(7), 500)));
    assert_ne!(one, all(&grown(settings(8), 500)));
}

/// Everything that must hold at any moment.
fn check(graph: &Graph) {
    let (mut seen, mut number, mut executed) = (HashSet::new(), None, HashMap::new());
    for epoch in graph.earliest()..=graph.latest() {
        let blocks = graph.epoch(epoch).expect("is kept");
        let pivot = graph.block(&graph.pivot(epoch).expect("a pivot")).expect("is kept");
        assert_eq!(pivot.block.height, epoch, "heights follow each other along the pivot");
        if epoch > graph.earliest() {
            assert_eq!(Some(pivot.block.parent), graph.pivot(epoch - 1));
        }
        for hash in blocks {
            let found = graph.block(hash).expect("is kept");
            assert!(seen.insert(*hash), "{hash} is in one epoch only");
            let seat = found.seat.expect("a seat");
            assert_eq!(seat.epoch, epoch);
            assert!(number.is_none_or(|before| before + 1 == seat.number), "numbers have no gap");
            number = Some(seat.number);
            // What it stands on and refers to comes before it, or is older than what is kept.
            for edge in graph.edges(*hash) {
                let forgotten = graph.block(&edge).is_none() && graph.earliest() > 0;
                let first = epoch == 0;
                assert!(seen.contains(&edge) || forgotten || first, "{hash} knows {edge}");
            }
            for transaction in &found.block.transactions {
                let first = *executed.entry(transaction.hash).or_insert(*hash);
                let told = graph.execution(&transaction.hash).map(|it| it.block);
                assert!(told == Some(first) || graph.earliest() > 0, "executed where it was first");
            }
        }
    }
    assert_eq!(number.map(|number| number + 1), Some(graph.ordered_blocks()));
    for hash in &graph.loose {
        let found = graph.block(hash).expect("is kept");
        assert!(found.seat.is_none() && !seen.contains(hash));
    }
    assert_eq!(graph.blocks.len(), seen.len() + graph.loose.len(), "nothing else is kept");
}

#[test]
fn the_graph_holds_together_at_every_step() {
    for seed in 0..8 {
        let settings = settings(seed);
        let mut graph = Graph::new(settings);
        let (mut switches, mut merged) = (0, 0);
        for step in 0..300 {
            let before = all(&graph);
            let done = graph.step(settings.genesis + step);
            check(&graph);
            let after = all(&graph);
            let kept = match done {
                Step::Grew => before.len(),
                Step::Switched { depth } => before.len() - depth as usize,
            };
            assert_eq!(before[..kept], after[..kept], "what is deeper stays");
            assert!(after.len() > before.len(), "a heavier branch is longer here");
            if let Step::Switched { .. } = done {
                switches += 1;
                for hash in before[kept..].iter().flatten() {
                    let found = graph.block(hash).expect("is kept");
                    assert!(found.seat.is_none() && found.was_in.is_some(), "it is loose");
                }
            }
            merged += usize::from(after.last().is_some_and(|epoch| epoch.len() > 2));
        }
        assert!(switches > 10 && merged > 10, "seed {seed}: {switches}, {merged}");
    }
}

/// A block that a switch took out of the pivot chain never comes back as a pivot block: another one
/// refers to it, or nobody does.
#[test]
fn a_pivot_block_that_was_replaced_comes_back_as_a_referee_or_not_at_all() {
    let mut graph = Graph::new(settings(3));
    let (mut replaced, mut back) = (BTreeMap::new(), 0);
    for step in 0..1000 {
        let before: Vec<_> =
            (0..=graph.latest()).map(|epoch| graph.pivot(epoch).expect("a pivot")).collect();
        if let Step::Switched { depth } = graph.step(step) {
            let gone = before.len() - depth as usize;
            replaced.extend(before[gone..].iter().map(|hash| (*hash, step)));
        }
    }
    for hash in replaced.keys() {
        let Some(seat) = graph.block(hash).expect("is kept").seat else { continue };
        back += 1;
        assert_ne!(graph.pivot(seat.epoch), Some(*hash));
    }
    assert!(back > 20, "{back} of {} came back", replaced.len());
}

/// Nonces are executed in their order, through all switches.
#[test]
fn transactions_are_executed_once_and_in_order() {
    let graph = grown(settings(5), 600);
    let (mut nonces, mut copies) = (HashMap::new(), 0);
    for hash in all(&graph).concat() {
        for tx in &graph.block(&hash).expect("is kept").block.transactions {
            if graph.execution(&tx.hash).map(|it| it.block) != Some(hash) {
                copies += 1;
                continue;
            }
            let next = nonces.entry(tx.from.0).or_insert(0);
            assert_eq!(tx.nonce, *next);
            *next += 1;
        }
    }
    assert!(copies > 50 && nonces.len() == super::super::crowd::ACCOUNTS, "{copies} copies");
}

/// The pivot chain follows the heaviest subtree from the first block on.
#[test]
fn the_pivot_chain_is_the_heaviest() {
    for seed in 0..4 {
        let graph = grown(settings(seed), 200);
        let mut weights: HashMap<Hash, usize> = HashMap::new();
        let mut children: HashMap<Hash, Vec<Hash>> = HashMap::new();
        let mut blocks: Vec<_> = graph.blocks.values().map(|found| &found.block).collect();
        blocks.sort_by_key(|block| std::cmp::Reverse(block.height));
        for block in blocks {
            let weight = *weights.entry(block.hash).and_modify(|sum| *sum += 1).or_insert(1);
            *weights.entry(block.parent).or_insert(0) += weight;
            children.entry(block.parent).or_default().push(block.hash);
        }
        for epoch in 0..graph.latest() {
            let (here, next) = (graph.pivot(epoch), graph.pivot(epoch + 1));
            let heaviest =
                children[&here.expect("a pivot")].iter().max_by_key(|hash| weights[*hash]);
            let rival = children[&here.expect("a pivot")]
                .iter()
                .filter(|hash| Some(**hash) != next)
                .map(|hash| weights[hash])
                .max();
            assert_eq!(heaviest.copied(), next, "seed {seed}, epoch {epoch}");
            assert!(rival < next.map(|hash| weights[&hash]), "without a tie");
        }
    }
}

#[test]
fn only_so_many_epochs_are_kept() {
    let settings = GraphSettings { epochs: 50, ..settings(9) };
    let mut graph = Graph::new(settings);
    for step in 0..1000 {
        graph.step(step);
        assert!(graph.latest() - graph.earliest() < 50);
        assert!(graph.blocks.len() < 300 && graph.executions.len() < 2400);
    }
    check(&graph);
    assert_eq!(graph.epoch(graph.earliest() - 1), None);
    assert_eq!(graph.epoch(graph.latest() + 1), None);
}
