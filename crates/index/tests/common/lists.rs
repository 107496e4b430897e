//! Lists against a simple model: random operations, unknown outcomes, many placers at once.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use index::{Counts, List, Lists, Place, PlaceError, Placed};
use store::{Engine, Order, PageRequest, Read, Store};

use super::Home;
use super::cancel::Yielding;
use super::faults::Faulty;

type At = Option<(u64, Vec<u8>)>;
type Model = BTreeMap<u64, BTreeMap<u64, (u64, At)>>;

const LISTS: u64 = 3;
const ENTRIES: u64 = 60;

/// Lists that are full before all entries are known.
static SMALL: List<u64, u64, u64, Vec<u8>> = List::new("test.by_owner", "Small.", 50, 64);

/// The content that belongs to a rank, so that duplicates are honest.
fn content(entry: u64, rank: u64) -> At {
    let mut rng = Rng::with_seed(entry << 32 | rank);
    let sort = rng.u64(0..20);
    (rng.u8(0..5) > 0).then(|| (sort, vec![rng.u8(..)]))
}

fn random_place(rng: &mut Rng) -> (u64, Place<u64, u64, Vec<u8>>) {
    let (list, entry, rank) = (rng.u64(0..LISTS), rng.u64(0..ENTRIES), rng.u64(0..30));
    let mut at = content(entry, rank);
    if rng.u8(0..30) == 0 {
        at = Some((rng.u64(0..20), vec![1, 2]));
    }
    (list, Place { entry, rank, at })
}

/// What the model says of one group: how many move, or `false` for a differing rank and `true` for
/// a full list.
fn place_in_model(
    known: &mut BTreeMap<u64, (u64, At)>,
    group: &[Place<u64, u64, Vec<u8>>],
) -> Result<u64, bool> {
    let mut next = known.clone();
    let mut highest: BTreeMap<u64, &Place<u64, u64, Vec<u8>>> = BTreeMap::new();
    for place in group {
        let first = highest.entry(place.entry).or_insert(place);
        if first.rank == place.rank && first.at != place.at {
            return Err(false);
        }
        if first.rank < place.rank {
            *first = place;
        }
    }
    let mut moved = 0;
    for (entry, place) in highest {
        match next.get(&entry) {
            Some((rank, at)) if *rank == place.rank && *at != place.at => return Err(false),
            Some((rank, _)) if *rank >= place.rank => {}
            _ => {
                next.insert(entry, (place.rank, place.at.clone()));
                moved += 1;
            }
        }
    }
    if next.len() as u64 > SMALL.def().entries() && next.len() > known.len() {
        return Err(true);
    }
    *known = next;
    Ok(moved)
}

fn rows_of(known: &BTreeMap<u64, (u64, At)>) -> Vec<(u64, u64, u64, Vec<u8>)> {
    let placed = known.iter().filter_map(|(entry, (rank, at))| {
        at.as_ref().map(|(sort, payload)| (*sort, *entry, *rank, payload.clone()))
    });
    let mut rows: Vec<_> = placed.collect();
    rows.sort();
    rows
}

async fn place_at_random(lists: &Lists, model: &mut Model, rng: &mut Rng) {
    let count = if rng.bool() { 1 } else { rng.usize(1..40) };
    let places: Vec<_> = (0..count).map(|_| random_place(rng)).collect();
    let mut groups: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for (list, place) in &places {
        groups.entry(*list).or_default().push(place.clone());
    }
    let mut expected = Ok(0);
    for (list, group) in groups {
        let moved = place_in_model(model.entry(list).or_default(), &group);
        expected = expected.and_then(|total| moved.map(|moved| total + moved));
        if expected.is_err() {
            break;
        }
    }
    let found = match places.as_slice() {
        [(list, place)] => {
            let placed = lists.place(&SMALL, list, place).await;
            placed.map(|placed| u64::from(placed == Placed::Moved))
        }
        many => lists.place_many(&SMALL, many).await,
    };
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected),
        (Err(PlaceError::Differs { .. }), Err(false))
        | (Err(PlaceError::Full { .. }), Err(true)) => {}
        (found, expected) => panic!("{found:?}, the model says {expected:?}"),
    }
}

fn random_end(rng: &mut Rng) -> Bound<u64> {
    match rng.u8(0..3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(rng.u64(0..20)),
        _ => Bound::Excluded(rng.u64(0..20)),
    }
}

async fn read_at_random(lists: &Lists, model: &Model, rng: &mut Rng) {
    use std::ops::RangeBounds;
    let list = rng.u64(0..LISTS);
    let empty = BTreeMap::new();
    let known = model.get(&list).unwrap_or(&empty);
    let (from, to) = (random_end(rng), random_end(rng));
    let order = if rng.bool() { Order::Ascending } else { Order::Descending };
    let mut expected = rows_of(known);
    expected.retain(|(sort, ..)| (from, to).contains(sort));
    let count = lists.count_between(&SMALL, &list, from, to).await.expect("counts");
    assert_eq!(count, expected.len() as u64);
    if order == Order::Descending {
        expected.reverse();
    }
    let limit = rng.usize(1..30);
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let request = PageRequest { from, to, order, limit, cursor, read: Read::Quorum };
        let page = lists.page(&SMALL, &list, request).await.expect("a page");
        assert!(page.rows.len() <= limit);
        found.extend(page.rows.into_iter().map(|row| (row.sort, row.entry, row.rank, row.payload)));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, expected, "list {list} {from:?}..{to:?} {order:?} {limit}");
    let counts = lists.counts(&SMALL, &list).await.expect("counts");
    let placed = rows_of(known).len() as u64;
    assert_eq!(counts, Counts { placed, known: known.len() as u64 });
    let entry = rng.u64(0..ENTRIES);
    let standing = lists.standing(&SMALL, &list, &entry).await.expect("reads");
    let expected = known.get(&entry).map(|(rank, at)| (*rank, at.as_ref().map(|(sort, _)| *sort)));
    assert_eq!(standing, expected);
}

pub(crate) async fn random(home: &Home, lists: &Lists, seed: u64, operations: usize) {
    let mut rng = Rng::with_seed(seed);
    let mut model = Model::new();
    for _ in 0..operations {
        if rng.u8(0..3) < 2 {
            place_at_random(lists, &mut model, &mut rng).await;
        } else {
            read_at_random(lists, &model, &mut rng).await;
        }
    }
    assert!(model.values().any(|known| known.len() == 50), "no list got full");
    home.expect_clean().await;
}

/// Places one by one on an engine that lies, and compares with what a model says.
pub(crate) async fn unknown(home: &Home, faulty: &Arc<Faulty>, seed: u64, operations: usize) {
    let lists = Lists::new(Store::new(faulty.clone(), 0));
    let mut rng = Rng::with_seed(seed);
    let mut model: BTreeMap<u64, (u64, At)> = BTreeMap::new();
    for _ in 0..operations {
        let (_, mut place) = random_place(&mut rng);
        place.at = content(place.entry, place.rank);
        // Moved or unchanged: after an unknown outcome both are true.
        match lists.place(&SMALL, &0, &place).await {
            Ok(_) => {
                place_in_model(&mut model, &[place]).expect("the model takes it");
            }
            Err(PlaceError::Full { .. }) => {
                assert_eq!(place_in_model(&mut model, &[place]), Err(true));
            }
            Err(error) => panic!("{error}"),
        }
    }
    let honest = Lists::new(Store::new(home.engine(), 0));
    let all = Model::from([(0, model)]);
    for _ in 0..50 {
        read_at_random(&honest, &all, &mut rng).await;
    }
    let unknown = faulty.unknown.load(Ordering::Relaxed);
    println!("{unknown} outcomes were unknown");
    assert!(unknown > 100);
    home.expect_clean().await;
}

/// Every entry is placed with every rank, some twice, in any order, by 16 at a time, who take turns
/// with the engines.
pub(crate) async fn concurrent(
    home: &Home,
    engines: &[Arc<dyn Engine>],
    seed: u64,
    (entries, ranks): (u64, u64),
) {
    let mut rng = Rng::with_seed(seed);
    let mut places: Vec<_> = (0..entries * ranks)
        .map(|number| (number % LISTS, number % entries, number / entries))
        .flat_map(|place| vec![place; if rng.u8(0..10) < 3 { 2 } else { 1 }])
        .collect();
    rng.shuffle(&mut places);
    let mut model = Model::new();
    for (list, entry, rank) in &places {
        let known = model.entry(*list).or_default().entry(*entry).or_insert((*rank, None));
        let highest = known.0.max(*rank);
        *known = (highest, content(*entry, highest));
    }
    let tasks: Vec<_> = places
        .chunks(places.len().div_ceil(16))
        .zip(engines.iter().cycle())
        .map(|(chunk, engine)| {
            // More awaits, so that placers meet between any two reads.
            let engine = Arc::new(Yielding(engine.clone()));
            let (lists, chunk) = (Lists::new(Store::new(engine, 0)), chunk.to_vec());
            tokio::spawn(place_all(lists, chunk, rng.fork()))
        })
        .collect();
    for task in tasks {
        task.await.expect("a placer ends");
    }
    let lists = Lists::new(Store::new(home.engine(), 0));
    for (list, known) in &model {
        let page = lists.page(&SMALL, list, PageRequest::first(1000)).await.expect("a page");
        let found = page.rows.into_iter().map(|row| (row.sort, row.entry, row.rank, row.payload));
        assert_eq!(found.collect::<Vec<_>>(), rows_of(known));
    }
    home.expect_clean().await;
}

async fn place_all(lists: Lists, places: Vec<(u64, u64, u64)>, mut rng: Rng) {
    let mut rest = places.as_slice();
    while !rest.is_empty() {
        // One by one or in groups.
        let count = if rng.bool() { 1 } else { rng.usize(1..=rest.len().min(20)) };
        let (now, later) = rest.split_at(count);
        rest = later;
        let group: Vec<_> = (now.iter())
            .map(|&(list, entry, rank)| (list, Place { entry, rank, at: content(entry, rank) }))
            .collect();
        lists.place_many(&SMALL, &group).await.expect("is placed");
    }
}
