//! Reads the platform's own rows.

use store::{PageRequest, ReadError, Sequenced, Store};

use super::derive;
use super::tables::{
    SAMPLES, SAMPLES_PER_BUCKET, SETTINGS, STARTS, STARTS_PER_BUCKET, Sample, SampleNumber,
    Setting, Start, StartNumber, setting,
};

/// Samples of the last hour, at the most.
const RECENT: usize = SAMPLES_PER_BUCKET as usize;

/// Name and birth of the store; none before its first start.
pub(crate) async fn instance(store: &Store) -> Result<Option<(String, u64)>, ReadError> {
    Ok(match store.get(&SETTINGS, &(), &setting::INSTANCE.to_owned()).await? {
        Some(Setting::Instance { name, created }) => Some((name, created)),
        _ => None,
    })
}

/// The latest starts up to `number`, last one first.
pub(crate) async fn latest_starts(
    store: &Store,
    number: StartNumber,
    limit: usize,
) -> Result<Vec<(StartNumber, Start)>, ReadError> {
    let newest = Sequenced((), number.0);
    let mut rows = store.page(&STARTS, &newest, PageRequest::last(limit)).await?.rows;
    if let Some(before) = number.0.checked_sub(STARTS_PER_BUCKET).filter(|_| rows.len() < limit) {
        let missing = PageRequest::last(limit - rows.len());
        rows.extend(store.page(&STARTS, &Sequenced((), before), missing).await?.rows);
    }
    Ok(rows)
}

/// The samples of the hour before a Unix second, oldest first, each with its start.
pub(crate) async fn recent_samples(
    store: &Store,
    unix: u64,
) -> Result<Vec<(SampleNumber, u64, Sample)>, ReadError> {
    let last = derive::sample_number(unix);
    let first = SampleNumber(last.0.saturating_sub(SAMPLES_PER_BUCKET - 1));
    let mut rows = Vec::new();
    for bucket in derive::bucket(first)..=derive::bucket(last) {
        let partition = Sequenced((), bucket * SAMPLES_PER_BUCKET);
        let request = PageRequest {
            from: std::ops::Bound::Included((first, StartNumber(0))),
            to: std::ops::Bound::Included((last, StartNumber(u64::MAX))),
            ..PageRequest::last(RECENT)
        };
        let mut page = store.page(&SAMPLES, &partition, request).await?.rows;
        page.reverse();
        rows.extend(page);
    }
    let surplus = rows.len().saturating_sub(RECENT);
    let rows = rows.into_iter().skip(surplus);
    Ok(rows.map(|((number, start), sample)| (number, start.0, sample)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::OpenStore;

    #[tokio::test]
    async fn the_latest_starts_are_found_across_two_buckets() {
        let opened = OpenStore::model().await;
        let start = |number| Start { at: number, version: "1".into(), process: 1 };
        let rows = (998..=1001).map(|number| {
            let key = StartNumber(number);
            STARTS.row(&Sequenced((), number), &key, &start(number)).expect("a row")
        });
        opened.store.put(rows.collect()).await.expect("written");
        let numbers = |number, limit| {
            let store = opened.store.clone();
            async move {
                let rows = latest_starts(&store, StartNumber(number), limit).await.expect("read");
                rows.iter().map(|(number, _)| number.0).collect::<Vec<_>>()
            }
        };
        assert_eq!(numbers(1001, 3).await, [1001, 1000, 999]);
        assert_eq!(numbers(1001, 1).await, [1001]);
        assert_eq!(numbers(999, 9).await, [999, 998]);
    }

    #[tokio::test]
    async fn the_last_hour_is_read_across_two_buckets_in_order() {
        let opened = OpenStore::model().await;
        let rows = (700..760).map(|number| {
            let key = (SampleNumber(number), StartNumber(1));
            SAMPLES.row(&Sequenced((), number), &key, &Sample::default()).expect("a row")
        });
        opened.store.put(rows.collect()).await.expect("written");
        let found = recent_samples(&opened.store, 1425 * 5).await.expect("read");
        let numbers: Vec<u64> = found.iter().map(|(number, ..)| number.0).collect();
        assert_eq!(numbers, (706..760).collect::<Vec<_>>());
    }
}
