//! Writes the platform's own rows: a start when it happens, samples as time goes by.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use store::{Change, Commit, CommitError, OpId, PageRequest, Read, Sequenced, Store, Version};
use tokio::sync::watch;

use super::derive;
use super::tables::{
    SAMPLE_SECONDS, SAMPLES, SAMPLES_PER_BUCKET, SETTINGS, STARTS, SampleNumber, Setting, Start,
    StartNumber, setting,
};
use crate::opening::OpenStore;
use crate::server::stopped;

/// How often a lost race for the settings is tried again: starts are rare, races rarer.
const ATTEMPTS: usize = 16;
/// Buckets swept at a time; after a long pause the rest follows an hour later.
const SWEEP_BUCKETS: u64 = 1000;

/// Unix seconds by this machine's clock.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A start that has its number.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    /// The number.
    pub(crate) number: StartNumber,
    /// The row.
    pub(crate) start: Start,
}

/// Takes the next number and puts the start's row under it.
pub(crate) async fn register(store: &Store) -> anyhow::Result<Registered> {
    let start = Start {
        at: now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        process: std::process::id(),
    };
    let number = reserve(store, start.at).await.context("the start could not be registered")?;
    let row = STARTS.row(&Sequenced((), number.0), &number, &start)?;
    store.put(vec![row]).await.context("the start could not be written")?;
    Ok(Registered { number, start })
}

/// The next start number; with the first one the store also gets its name.
async fn reserve(store: &Store, at: u64) -> anyhow::Result<StartNumber> {
    for _ in 0..ATTEMPTS {
        let settings = Settings::read(store).await?;
        let number = match settings.get(setting::STARTS) {
            Some(Setting::Starts(StartNumber(last))) => StartNumber(last + 1),
            _ => StartNumber(1),
        };
        let mut changes = vec![change(setting::STARTS, &Setting::Starts(number))];
        if settings.get(setting::INSTANCE).is_none() {
            let instance = Setting::Instance { name: random_name()?, created: at };
            changes.push(change(setting::INSTANCE, &instance));
            let bucket = derive::bucket(derive::sample_number(at));
            changes.push(change(setting::SWEPT_TO, &Setting::SweptTo(bucket)));
        }
        if settings.commit(store, changes).await? {
            return Ok(number);
        }
    }
    bail!("other processes kept changing system.settings; try again")
}

/// All settings, and the version they were read at.
struct Settings {
    version: Version,
    rows: Vec<(String, Setting)>,
}

impl Settings {
    async fn read(store: &Store) -> anyhow::Result<Self> {
        let limit = SETTINGS.def().bounds().page_rows;
        let request = PageRequest { read: Read::Serial, ..PageRequest::first(limit) };
        let listing = store.page(&SETTINGS, &(), request).await?;
        Ok(Self { version: listing.version, rows: listing.rows })
    }

    fn get(&self, name: &str) -> Option<&Setting> {
        self.rows.iter().find(|(key, _)| key == name).map(|(_, setting)| setting)
    }

    /// Whether the changes were made: not when somebody was faster.
    async fn commit(&self, store: &Store, changes: Vec<Change>) -> anyhow::Result<bool> {
        let commit = Commit {
            table: SETTINGS.def(),
            partition: SETTINGS.partition(&())?,
            expected: self.version,
            changes,
            op: OpId(random()?),
            result: Bytes::new(),
        };
        match store.commit(commit).await {
            Ok(_) => Ok(true),
            Err(CommitError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn change(name: &str, setting: &Setting) -> Change {
    SETTINGS.insert(&name.to_owned(), setting)
}

fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(bytes)
}

/// A name that is easy to read out: two syllables and a number.
fn random_name() -> anyhow::Result<String> {
    const SYLLABLES: [&str; 16] = [
        "al", "bor", "cal", "dor", "el", "far", "gal", "hel", "kor", "lar", "mar", "nor", "pel",
        "ral", "sol", "tel",
    ];
    let [a, b, c] = random::<3>()?;
    let syllable = |byte: u8| SYLLABLES.get(usize::from(byte % 16)).copied().unwrap_or_default();
    Ok(format!("{}{}-{c}", syllable(a), syllable(b)))
}

/// Measures every few seconds until told to stop, and sweeps what is too old.
pub(crate) async fn sample(
    opened: Arc<OpenStore>,
    start: StartNumber,
    mut stop: watch::Receiver<bool>,
) {
    let mut ticks = tokio::time::interval(Duration::from_secs(SAMPLE_SECONDS));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut sampler = Sampler { opened, start, last: None, swept: None };
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return,
            _ = ticks.tick() => {}
        }
        // Measurements are a courtesy: a store that cannot take them has louder ways to say so.
        if let Err(error) = sampler.step(now()).await {
            tracing::warn!(error = %format!("{error:#}"), "a sample was not written");
        }
    }
}

struct Sampler {
    opened: Arc<OpenStore>,
    start: StartNumber,
    last: Option<SampleNumber>,
    swept: Option<u64>,
}

impl Sampler {
    async fn step(&mut self, unix: u64) -> anyhow::Result<()> {
        let number = derive::sample_number(unix);
        // One row per number and start: also when the clock goes back, or ticks come too early.
        if self.last.is_some_and(|last| number <= last) {
            return Ok(());
        }
        let sample = derive::sample(&self.opened.engine.stats());
        let row = SAMPLES.row(&Sequenced((), number.0), &(number, self.start), &sample)?;
        self.opened.store.put(vec![row]).await?;
        self.last = Some(number);
        let bucket = derive::bucket(number);
        if self.swept != Some(bucket) {
            sweep(&self.opened.store, number).await?;
            self.swept = Some(bucket);
        }
        Ok(())
    }
}

/// Deletes the samples of buckets that no page shows any more, and writes down how far it came.
async fn sweep(store: &Store, now: SampleNumber) -> anyhow::Result<()> {
    let settings = Settings::read(store).await?;
    let Some(Setting::SweptTo(swept_to)) = settings.get(setting::SWEPT_TO) else { return Ok(()) };
    let due = derive::to_sweep(*swept_to, now, SWEEP_BUCKETS);
    if due.is_empty() {
        return Ok(());
    }
    for bucket in due.clone() {
        sweep_bucket(store, bucket).await?;
    }
    // Whoever was faster has swept the same rows.
    let reached = change(setting::SWEPT_TO, &Setting::SweptTo(due.end));
    settings.commit(store, vec![reached]).await?;
    Ok(())
}

async fn sweep_bucket(store: &Store, bucket: u64) -> anyhow::Result<()> {
    let partition = Sequenced((), bucket * SAMPLES_PER_BUCKET);
    let limit = SAMPLES.def().bounds().page_rows;
    loop {
        let page = store.page(&SAMPLES, &partition, PageRequest::first(limit)).await?;
        let rows = page.rows.iter().map(|(sort, _)| SAMPLES.sweep(&partition, sort));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let is_last = page.next.is_none();
        store.put(rows).await?;
        if is_last {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::query;

    #[tokio::test]
    async fn starts_are_numbered_without_a_gap_and_the_name_stays() {
        let opened = OpenStore::model().await;
        let store = &opened.store;
        let first = register(store).await.expect("registered");
        let instance = query::instance(store).await.expect("read").expect("named");
        let second = register(store).await.expect("registered");
        assert_eq!((first.number, second.number), (StartNumber(1), StartNumber(2)));
        assert_eq!(query::instance(store).await.expect("read"), Some(instance));
        let latest = query::latest_starts(store, second.number, 5).await.expect("read");
        assert_eq!(latest, [(second.number, second.start), (first.number, first.start)]);
    }

    #[tokio::test]
    async fn starts_that_race_get_numbers_of_their_own() {
        let opened = OpenStore::model().await;
        let racers: Vec<_> = (0..8)
            .map(|_| {
                let store = opened.store.clone();
                tokio::spawn(async move { register(&store).await.expect("registered").number.0 })
            })
            .collect();
        let mut numbers = Vec::new();
        for racer in racers {
            numbers.push(racer.await.expect("ended"));
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn samples_are_written_once_per_number_and_swept_after_a_day() {
        let opened = Arc::new(OpenStore::model().await);
        let start = register(&opened.store).await.expect("registered");
        let mut sampler =
            Sampler { opened: opened.clone(), start: start.number, last: None, swept: None };
        let begin = start.start.at;
        for unix in [begin, begin, begin + 1, begin + 5, begin - 60] {
            sampler.step(unix).await.expect("written");
        }
        let count = |unix| {
            let store = opened.store.clone();
            async move { query::recent_samples(&store, unix).await.expect("read").len() }
        };
        let written = count(begin + 5).await;
        assert!((2..=3).contains(&written), "{written} samples");
        sampler.step(begin + 26 * 3600).await.expect("written");
        assert_eq!(count(begin + 5).await, 0, "the first hour is gone");
        assert_eq!(count(begin + 26 * 3600).await, 1);
    }
}
