//! Readers without pause: whatever they see belongs together.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use scan::query::Scan;
use store::Order;
use timeline::{Lane, Timeline};

/// Blocks that a reader looks at, from the newest one down.
const LOOK: usize = 60;

/// Threads that read all the time.
pub(crate) struct Readers {
    stop: Arc<AtomicBool>,
    checks: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) fn start(timeline: &Timeline) -> Self {
        let (stop, checks) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let reader = || {
            let (timeline, stop, checks) = (timeline.clone(), stop.clone(), checks.clone());
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(async {
                    while !stop.load(Ordering::Relaxed) {
                        look(&timeline).await;
                        checks.fetch_add(1, Ordering::Relaxed);
                    }
                });
            })
        };
        let threads = vec![reader(), reader()];
        Self { stop, checks, threads }
    }

    /// How often they looked. A reader that saw something torn has panicked.
    pub(crate) fn stop(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().expect("nothing was torn"));
        self.checks.load(Ordering::Relaxed)
    }
}

/// No hole, no block in two epochs, no sum that does not match its list.
async fn look(timeline: &Timeline) {
    let view = timeline.view().await.expect("read");
    let scan = Scan::new(timeline, &view);
    let totals = scan.totals().await.expect("read");
    let Some(newest) = totals.blocks.checked_sub(1) else { return };
    let listed = scan.blocks((newest, Order::Descending, LOOK)).await.expect("read");
    let orders: Vec<u64> = listed.iter().map(|(order, _)| *order).collect();
    let expected: Vec<u64> = (0..=newest).rev().take(LOOK).collect();
    assert_eq!(orders, expected, "a hole in the list of blocks");
    let (mut blocks, mut seen, mut packed) = (listed.iter().rev().peekable(), BTreeSet::new(), 0);
    let first = blocks.peek().map_or(0, |(_, line)| line.epoch);
    for number in first..=scan.head(Lane::MINED).expect("a head") {
        let epoch = scan.epoch(number).await.expect("read").expect("no hole in the epochs");
        for hash in &epoch.blocks {
            assert!(seen.insert(*hash), "{hash} is in two epochs");
            // The list may begin in the middle of its first epoch.
            let Some((order, line)) = blocks.next_if(|(_, line)| line.hash == *hash) else {
                assert_eq!(number, first, "{hash} is in an epoch and not in the list");
                continue;
            };
            let block = scan.block(*hash).await.expect("read").expect("known");
            let seat = block.seat.expect("on the chain");
            assert_eq!((seat.order, seat.epoch), (Some(*order), line.epoch));
            packed += u64::from(block.facts.transactions);
        }
    }
    assert!(blocks.next().is_none(), "a block of the list is in no epoch");
    let latest = scan.latest(LOOK as u64).await.expect("read");
    assert_eq!((latest.blocks, latest.transactions), (listed.len() as u64, packed));
    timeline.check_age(&view).expect("a young view");
}
