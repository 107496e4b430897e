//! A torn end of a journal recovers; damage before it is reported and nothing is changed.

mod common;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{
    ROWS, count, expect_clean, journals, open, options, random_op, says, schema, store,
    whole_version,
};
use store::conformance::seed;
use store::{Maintenance, Store, Version};
use store_fjall::{FjallEngine, OpenError};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// A batch in a journal, found by fjall's format and nothing else.
#[derive(Clone, Debug)]
struct Batch {
    bytes: Range<usize>,
    /// Where each region of it lies.
    regions: Vec<(&'static str, Range<usize>)>,
}

fn read_u32(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

fn batches(journal: &[u8]) -> Vec<Batch> {
    let mut found = Vec::new();
    let mut at = 0;
    while journal.get(at) == Some(&1) {
        let start = at;
        let mut regions =
            vec![("start tag", at..at + 1), ("count", at + 1..at + 5), ("seqno", at + 5..at + 13)];
        let items = read_u32(journal, at + 1);
        at += 13;
        for item in 0..items {
            let key = usize::from(u16::from_le_bytes([journal[at + 11], journal[at + 12]]));
            let value = read_u32(journal, at + 17);
            let (from, to) = (at + 21 + key, at + 21 + key + value);
            regions.push(("item tag", at..at + 1));
            regions.push(("item type", at + 1..at + 3));
            regions.push(("keyspace", at + 3..at + 11));
            regions.push(("lengths", at + 11..at + 21));
            regions.push(("key", at + 21..from));
            regions.push((if item + 1 == items { "marker" } else { "value" }, from..to));
            at = to;
        }
        regions.push(("end tag", at..at + 1));
        regions.push(("checksum", at + 1..at + 9));
        regions.push(("trailer", at + 9..at + 13));
        at += 13;
        found.push(Batch { bytes: start..at, regions });
    }
    assert!(journal[at..].iter().all(|byte| *byte == 0), "the test cannot read the journal");
    found
}

/// Every file of a store, with its bytes. The lock names whoever opened it last.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_none_or(|extension| extension != "lock") {
                let name = path.strip_prefix(directory).expect("inside").to_owned();
                found.insert(name, std::fs::read(path).expect("a file"));
            }
        }
    }
    found
}

/// A store whose batches are all in one journal, and copies of it to be damaged.
struct Sample {
    files: BTreeMap<PathBuf, Vec<u8>>,
    journal: PathBuf,
    batches: Vec<Batch>,
    /// Number of the last batch: the first is the one that records the tables.
    last: u64,
}

/// Bytes behind a batch's marker.
const END: usize = 13;
/// Puts written one after the other: put `n` is batch `n + 2`, and every fourth is a commit.
const WRITES: u64 = 24;

/// A value that looks like the end of a batch, a whole batch and the start of the next.
fn posing(n: u64) -> Vec<u8> {
    let item = [&[2, 0, 0][..], &1_u64.to_le_bytes(), &[1, 0, 1, 0, 0, 0, 1, 0, 0, 0], b"kv"];
    let item = item.concat();
    let start = [&[1, 1, 0, 0, 0][..], &n.to_le_bytes()].concat();
    let end = [&[3][..], &xxh3_64(&item).to_le_bytes(), b"FJL\x03"].concat();
    let batch = [&start[..], &item, &end].concat();
    [&end[..], &batch, &start, b"more of the value", &end, &n.to_be_bytes()].concat()
}

async fn write(store: &Store, n: u64) {
    if n % 4 == 3 {
        let mut random = fastrand::Rng::with_seed(n);
        let commit = count(1, Version(n / 4), random_op(&mut random));
        store.commit(commit).await.expect("is committed");
    } else {
        let row = |sort: u64| ROWS.row(&n, &sort, &posing(n)).expect("within bounds");
        store.put((0..3).map(row).collect()).await.expect("is written");
    }
}

/// Checks that the first `writes` are there, whole, and no other.
async fn expect_writes(engine: &Arc<FjallEngine>, writes: u64) {
    let store = store(engine);
    for n in (0..WRITES + 2).filter(|n| n % 4 != 3) {
        let expected = (n < writes).then(|| posing(n));
        for sort in 0..3 {
            let found = store.get(&ROWS, &n, &sort).await.expect("reads");
            assert_eq!(found, expected, "row {sort} of write {n} with {writes} writes");
        }
    }
    assert_eq!(whole_version(&store, 1).await.0, writes / 4, "with {writes} writes");
}

impl Sample {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let engine = open(directory.path());
        for n in 0..WRITES {
            write(&store(&engine), n).await;
        }
        drop(engine);
        // Opening once more takes the zeroes of preallocation off the journal.
        drop(open(directory.path()));
        Self::of(directory.path())
    }

    fn of(directory: &Path) -> Self {
        let journals = journals(directory);
        let [journal] = &journals[..] else { panic!("one journal, not {journals:?}") };
        let journal = journal.strip_prefix(directory).expect("inside").to_owned();
        let files = contents(directory);
        let batches = batches(&files[&journal]);
        let last = u64::from_le_bytes(files[Path::new("acknowledged")][..8].try_into().expect("8"));
        Self { files, journal, batches, last }
    }

    fn bytes(&self) -> &[u8] {
        &self.files[&self.journal]
    }

    /// A copy of the store, with another journal and another last acknowledged batch.
    fn damaged(&self, journal: &[u8], acknowledged: u64) -> TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, bytes) in &self.files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, bytes).expect("is written");
        }
        std::fs::write(directory.path().join(&self.journal), journal).expect("is written");
        let number = acknowledged.to_le_bytes();
        let number = [number, xxh3_64(&number).to_le_bytes()].concat();
        std::fs::write(directory.path().join("acknowledged"), number).expect("is written");
        directory
    }
}

/// Offsets of `range`: all of them with the full counts, else the ends and a sample.
fn offsets(range: Range<usize>, random: &mut fastrand::Rng) -> Vec<usize> {
    if parts::full() || range.len() < 12 {
        return range.collect();
    }
    let mut some: Vec<_> = (0..10).map(|_| random.usize(range.clone())).collect();
    some.extend([range.start, range.start + 1, range.end - 1]);
    some
}

/// Whether a batch that was cut looks as if it had been written to its end.
fn seems_ended(cut: &[u8]) -> bool {
    let end = cut.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    cut[..end].ends_with(b"FJL\x03")
}

fn incidents(directory: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join("incidents.log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn try_open(directory: &Path) -> Result<Arc<FjallEngine>, OpenError> {
    FjallEngine::open(&options(directory), &schema()).map(Arc::new)
}

/// Opens a damaged store twice: both times it must be refused, and nothing may change.
fn expect_refused(directory: &Path, what: &str) -> OpenError {
    let before = contents(directory);
    let first = try_open(directory).map(drop).expect_err(what);
    assert_eq!(contents(directory), before, "{what}: files were changed");
    let second = try_open(directory).map(drop).expect_err(what);
    assert_eq!(first.to_string(), second.to_string(), "{what}");
    first
}

#[tokio::test]
async fn a_batch_torn_at_any_byte_before_it_was_acknowledged_vanishes_as_a_whole() {
    let mut random = fastrand::Rng::with_seed(seed("torn"));
    let sample = Sample::new().await;
    let last = sample.batches.last().expect("a batch").bytes.clone();
    for offset in offsets(last, &mut random) {
        let directory = sample.damaged(&sample.bytes()[..offset], sample.last - 1);
        let engine = open(directory.path());
        expect_writes(&engine, WRITES - 1).await;
        expect_clean(&engine).await;
        // The next batch goes where the torn one was.
        write(&store(&engine), WRITES - 1).await;
        drop(engine);
        expect_writes(&open(directory.path()), WRITES).await;
    }
}

#[tokio::test]
async fn a_torn_batch_in_front_of_preallocated_zeroes_vanishes_too() {
    let mut random = fastrand::Rng::with_seed(seed("torn, zeroes"));
    let sample = Sample::new().await;
    let last = sample.batches.last().expect("a batch").bytes.clone();
    for offset in offsets(last, &mut random).into_iter().take(13) {
        let mut journal = sample.bytes()[..offset].to_vec();
        journal.resize(offset + 100_000, 0);
        let directory = sample.damaged(&journal, sample.last - 1);
        let engine = open(directory.path());
        expect_writes(&engine, WRITES - 1).await;
        expect_clean(&engine).await;
    }
}

#[tokio::test]
async fn a_batch_that_was_whole_but_not_acknowledged_is_kept() {
    let sample = Sample::new().await;
    let directory = sample.damaged(sample.bytes(), sample.last - 1);
    let engine = open(directory.path());
    expect_writes(&engine, WRITES).await;
    expect_clean(&engine).await;
}

#[tokio::test]
async fn a_cut_that_takes_acknowledged_batches_recovers_the_rest_and_is_recorded() {
    let mut random = fastrand::Rng::with_seed(seed("cut"));
    let sample = Sample::new().await;
    for lost in [1, 2, 7] {
        let first = &sample.batches[sample.batches.len() - lost];
        for offset in offsets(first.bytes.clone(), &mut random) {
            let directory = sample.damaged(&sample.bytes()[..offset], sample.last);
            let posing = seems_ended(&sample.bytes()[first.bytes.start..offset]);
            if posing || offset + END >= first.bytes.end {
                // Its marker is still there, or what looks like its end: that could be damage too,
                // and refusing loses nothing.
                let error = expect_refused(directory.path(), "a cut at a doubtful place");
                assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
                continue;
            }
            let engine = open(directory.path());
            expect_writes(&engine, WRITES - lost as u64).await;
            let range = format!("{} to {}", sample.last - lost as u64 + 1, sample.last);
            for _ in 0..2 {
                let [line] = &incidents(directory.path())[..] else { panic!("one incident") };
                says(line, &["acknowledged", &range]);
            }
            let findings = engine.check().await.expect("checks");
            assert_eq!(findings.len(), 1, "{findings:?}");
            // Said once: the next opening finds nothing new, and the store goes on.
            write(&store(&engine), WRITES - lost as u64).await;
            drop(engine);
            let engine = open(directory.path());
            expect_writes(&engine, WRITES - lost as u64 + 1).await;
            assert_eq!(incidents(directory.path()).len(), 1);
        }
    }
}

#[tokio::test]
async fn a_flipped_byte_in_any_region_of_an_acknowledged_batch_is_reported() {
    let mut random = fastrand::Rng::with_seed(seed("flip"));
    let sample = Sample::new().await;
    let count = sample.batches.len();
    for index in [0, 1, count / 2, count - 2, count - 1] {
        let batch = &sample.batches[index];
        for (region, range) in &batch.regions {
            for offset in offsets(range.clone(), &mut random) {
                let bit = random.u8(0..8);
                flip(&sample, index, region, offset, bit).await;
            }
        }
    }
}

#[tokio::test]
async fn a_flipped_byte_anywhere_is_reported() {
    let mut random = fastrand::Rng::with_seed(seed("flip anywhere"));
    let sample = Sample::new().await;
    for _ in 0..parts::pick(150, 3000) {
        let offset = random.usize(0..sample.bytes().len());
        let index = sample.batches.iter().position(|batch| batch.bytes.contains(&offset));
        let index = index.expect("in a batch");
        let regions = &sample.batches[index].regions;
        let region = regions.iter().find(|(_, range)| range.contains(&offset)).expect("a region");
        flip(&sample, index, region.0, offset, random.u8(0..8)).await;
    }
}

/// Every bit of a sequence number, which fjall's own checksum does not cover.
#[tokio::test]
async fn a_flipped_bit_of_a_sequence_number_is_reported_or_harmless() {
    let sample = Sample::new().await;
    let count = sample.batches.len();
    for index in [0, 1, count / 2, count - 1] {
        let seqno = sample.batches[index].regions[2].1.clone();
        for offset in seqno {
            for bit in 0..8 {
                flip(&sample, index, "seqno", offset, bit).await;
            }
        }
    }
}

async fn flip(sample: &Sample, index: usize, region: &str, offset: usize, bit: u8) {
    let mut journal = sample.bytes().to_vec();
    journal[offset] ^= 1 << bit;
    let directory = sample.damaged(&journal, sample.last);
    let what = format!("bit {bit} of byte {offset}, {region} of batch {index}");
    let batch = &sample.batches[index];
    let is_last = index + 1 == sample.batches.len();
    if region == "seqno" && is_last {
        // A little higher than it was: nothing follows that it could hide.
        if let Ok(engine) = try_open(directory.path()) {
            expect_writes(&engine, WRITES).await;
            write(&store(&engine), WRITES).await;
            drop(engine);
            let engine = open(directory.path());
            expect_writes(&engine, WRITES + 1).await;
            return expect_clean(&engine).await;
        }
    }
    let error = expect_refused(directory.path(), &what);
    let OpenError::Damaged { file, offset: at, last, .. } = &error else {
        panic!("{what}: {error}");
    };
    assert_eq!(*file, directory.path().join(&sample.journal), "{what}");
    // A sequence number that is a little too high shows at the batch behind it.
    let blamed = [batch.bytes.start as u64, batch.bytes.end as u64];
    let right = *at == blamed[0] || region == "seqno" && *at == blamed[1];
    assert!(right, "{what}: {at} is blamed, not {}", blamed[0]);
    assert_eq!(*last, sample.last, "{what}");
    says(&error, &["nothing was changed", "restore a backup", &format!("byte {at}")]);
}

#[tokio::test]
async fn a_batch_of_zeroes_in_the_middle_is_reported() {
    let sample = Sample::new().await;
    for index in [0, 5, sample.batches.len() - 2] {
        let mut journal = sample.bytes().to_vec();
        journal[sample.batches[index].bytes.clone()].fill(0);
        let directory = sample.damaged(&journal, sample.last);
        let error = expect_refused(directory.path(), "zeroes");
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_batch_cut_out_of_the_middle_is_reported() {
    let sample = Sample::new().await;
    for index in [0, 5, sample.batches.len() - 2] {
        let hole = sample.batches[index].bytes.clone();
        let journal = [&sample.bytes()[..hole.start], &sample.bytes()[hole.end..]].concat();
        let directory = sample.damaged(&journal, sample.last);
        match try_open(directory.path()).map(drop).expect_err("a batch is missing") {
            OpenError::Missing { from, to } => assert_eq!((from, to), (index as u64 + 1, from)),
            // The first batch is missed only when fjall's tables are asked.
            error => says(&error, &["batches 1 to 1", "in no journal"]),
        }
    }
}

#[tokio::test]
async fn a_removed_journal_is_reported() {
    let sample = Sample::new().await;
    let directory = sample.damaged(sample.bytes(), sample.last);
    std::fs::remove_file(directory.path().join(&sample.journal)).expect("is there");
    let error = expect_refused(directory.path(), "no journal");
    assert!(matches!(error, OpenError::Missing { .. }), "{error}");

    // Three journals, as after two rotations, and one of them removed.
    let cuts = [0, 8, 16, sample.batches.len()];
    for removed in 0..3 {
        let directory = sample.damaged(&[], sample.last);
        for part in (0..3).filter(|part| *part != removed) {
            let (first, last) = (&sample.batches[cuts[part]], &sample.batches[cuts[part + 1] - 1]);
            let bytes = &sample.bytes()[first.bytes.start..last.bytes.end];
            std::fs::write(directory.path().join(format!("fjall/{part}.jnl")), bytes).expect("ok");
        }
        if removed == 0 {
            std::fs::remove_file(directory.path().join("fjall/0.jnl")).expect("is there");
        }
        match removed {
            0 => {
                let error = try_open(directory.path()).map(drop).expect_err("the oldest is gone");
                says(&error, &["batches 1 to 8", "in no journal", "removed", "restore a backup"]);
            }
            1 => {
                let error = expect_refused(directory.path(), "a middle one is gone");
                assert!(matches!(error, OpenError::Missing { from: 9, to: 16 }), "{error}");
            }
            _ => {
                // Nothing tells a removed newest journal from a cut end: recovered and recorded.
                let engine = open(directory.path());
                expect_writes(&engine, 15).await;
                let [line] = &incidents(directory.path())[..] else { panic!("one incident") };
                says(line, &["batches 17 to"]);
            }
        }
    }
}

#[tokio::test]
async fn several_journals_are_read_one_after_the_other() {
    let sample = Sample::new().await;
    let directory = sample.damaged(&sample.bytes()[..sample.batches[9].bytes.end], sample.last);
    let rest = &sample.bytes()[sample.batches[9].bytes.end..];
    std::fs::write(directory.path().join("fjall/1.jnl"), rest).expect("is written");
    let engine = open(directory.path());
    expect_writes(&engine, WRITES).await;
    expect_clean(&engine).await;
}

/// The story: a journal can begin with the batch that a kill tore, when everything before it is in
/// tables. Whether that batch was ever acknowledged shows only in what is left of it, and a value
/// inside it may look like the end of a batch.
#[tokio::test]
async fn a_torn_first_batch_of_a_journal_is_cut_even_if_its_values_pose_as_ends() {
    let mut random = fastrand::Rng::with_seed(seed("torn first"));
    let directory = tempfile::tempdir().expect("a directory");
    let engine = open(directory.path());
    for n in 0..WRITES - 1 {
        write(&store(&engine), n).await;
    }
    engine.close().await.expect("flushes");
    drop(engine);
    let engine = open(directory.path());
    // The last write must be a put, for the values in it.
    store(&engine).put(vec![ROWS.row(&99, &0, &posing(0)).expect("ok")]).await.expect("ok");
    drop(engine);
    drop(open(directory.path()));
    let sample = Sample::of(directory.path());
    let last = sample.batches.last().expect("a batch").bytes.clone();
    let posing = last.start
        + sample.bytes()[last.clone()]
            .windows(4)
            .position(|w| w == b"FJL\x03")
            .expect("a value that poses");
    // One byte behind the posing end and on; right behind it nobody can tell.
    let cuts = offsets(posing + 5..last.end, &mut random);
    for offset in cuts.into_iter().chain(last.start + 1..posing) {
        let directory = sample.damaged(&sample.bytes()[last.start..offset], sample.last - 1);
        match try_open(directory.path()) {
            Ok(engine) => {
                expect_writes(&engine, WRITES - 1).await;
                expect_clean(&engine).await;
            }
            // A cut right behind such an end is the one doubtful place.
            Err(error) => {
                let cut = &sample.bytes()[last.start..offset];
                assert!(seems_ended(cut), "{offset}: {error}");
            }
        }
    }
}
