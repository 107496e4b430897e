//! Many writers at once while K is raised: what every engine must bring to exact sums.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use store::{Engine, Maintenance};
use tally::{RaiseError, Settings, Tallies};

use super::{check, events, overall, tallies, write};

const WRITERS: usize = 64;
/// Handles that know nothing of each other, like processes.
const HANDLES: usize = 4;

/// Spreads events over writers and raises K three times while they write. The handles take turns
/// with the engines; what they led to is judged through `judge`. Of every 20 sets `patience` may
/// fail and are set again.
pub(crate) async fn storm(
    judge: Arc<dyn Maintenance>,
    engines: &[Arc<dyn Engine>],
    seed: u64,
    (entries, patience): (u64, usize),
    settings: Settings,
) {
    let mut random = fastrand::Rng::with_seed(seed);
    let events = events(&mut random, entries);
    let handle = |engine: &Arc<dyn Engine>| tallies(engine.clone(), settings);
    let handles: Vec<Tallies> = engines.iter().cycle().take(HANDLES).map(handle).collect();
    let (done, raised) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = tokio::task::JoinSet::new();
    for (writer, events) in events.chunks(events.len().div_ceil(WRITERS)).enumerate() {
        let (tallies, events) = (handles[writer % HANDLES].clone(), events.to_vec());
        let (done, mut random) = (done.clone(), fastrand::Rng::with_seed(random.u64(..)));
        let raised = raised.clone();
        tasks.spawn(async move {
            let mut counted = 0;
            let last = events.len().div_ceil(20) - 1;
            for (index, some) in events.chunks(20).enumerate() {
                // The last events come after the raises, however slow those are.
                while index == last && raised.load(Ordering::SeqCst) < 3 {
                    tokio::time::sleep(Duration::from_micros(200)).await;
                }
                counted += write(&tallies, &overall(), some, &mut random, patience).await;
                done.fetch_add(some.len(), Ordering::SeqCst);
            }
            counted
        });
    }
    let mut counted = 0;
    for (raise, tallies) in handles.iter().take(3).enumerate() {
        while done.load(Ordering::SeqCst) < events.len() * (raise + 1) / 5 {
            // A writer that failed must fail the test, and not let it wait for ever.
            let ended = tasks.try_join_next();
            counted += ended.map_or(0, |ended| ended.expect("a writer ends well"));
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        raise_further(tallies).await;
        assert!(done.load(Ordering::SeqCst) < events.len(), "the raises came while events did");
        raised.fetch_add(1, Ordering::SeqCst);
    }
    counted += tasks.join_all().await.into_iter().sum::<usize>();
    let shards = handles[3].shards(&overall()).await.expect("shards");
    println!("{} events, {counted} of them counted; shards {shards:?}", events.len());
    assert!(shards.len() >= 4, "K was raised three times: {shards:?}");
    assert!(counted >= usize::try_from(entries).expect("a number"));
    check(judge.clone(), &handles[0], &overall(), &events).await;
    let fresh = tallies(judge.clone() as Arc<dyn Engine>, settings);
    let again = write(&fresh, &overall(), &events, &mut random, patience).await;
    assert_eq!(again, 0, "a replay of everything changes nothing");
    check(judge.clone(), &fresh, &overall(), &events).await;
}

/// Raises by one and a half; a full shard may have doubled K in between, and rivals on a cluster
/// may always be faster for a while.
async fn raise_further(tallies: &Tallies) {
    loop {
        let now = *tallies.shards(&overall()).await.expect("shards").last().expect("it is set");
        match tallies.raise(&overall(), now + now / 2 + 1).await {
            Ok(shards) => return assert!(shards > now),
            Err(RaiseError::Lower { .. } | RaiseError::Contended { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
