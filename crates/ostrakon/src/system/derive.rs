//! From measurements to rows, and from rows to what a page shows. Pure.

use store::Stat;

use super::tables::{SAMPLE_BUCKETS, SAMPLE_SECONDS, SAMPLES_PER_BUCKET, Sample, SampleNumber};

/// The sample that belongs to a moment.
pub(crate) fn sample_number(unix: u64) -> SampleNumber {
    SampleNumber(unix / SAMPLE_SECONDS)
}

/// The Unix second at which a sample was due.
pub(crate) fn sample_time(number: SampleNumber) -> u64 {
    number.0 * SAMPLE_SECONDS
}

/// The bucket of a sample.
pub(crate) fn bucket(number: SampleNumber) -> u64 {
    number.0 / SAMPLES_PER_BUCKET
}

/// The buckets that are due to be swept: from the first that may still hold rows, at most `limit`
/// of them. Empty when the clock went back.
pub(crate) fn to_sweep(swept_to: u64, now: SampleNumber, limit: u64) -> std::ops::Range<u64> {
    let keep_from = bucket(now).saturating_sub(SAMPLE_BUCKETS);
    swept_to..keep_from.min(swept_to.saturating_add(limit)).max(swept_to)
}

/// A sample from what the engine measures.
pub(crate) fn sample(stats: &[Stat]) -> Sample {
    let value = |name: &str| stats.iter().find(|stat| stat.name == name).map_or(0.0, |s| s.value);
    let whole = |name: &str| value(name).max(0.0) as u64;
    let micros = |name: &str| (value(name).max(0.0) * 1e6) as u64;
    Sample {
        disk_bytes: whole("disk_bytes"),
        rows_written: whole("rows_put_total") + whole("rows_bulk_total"),
        commits: whole("commits_total"),
        batches: whole("groups_total"),
        batch_micros: micros("group_seconds_total"),
        longest_micros: micros("commit_seconds_max"),
    }
}

/// A moment of a chart: Unix second and value.
pub(crate) type Point = (u64, f64);

/// Bytes on disk over time.
pub(crate) fn disk_over_time(samples: &[(SampleNumber, u64, Sample)]) -> Vec<Point> {
    samples.iter().map(|(number, _, s)| (sample_time(*number), s.disk_bytes as f64)).collect()
}

/// Mean seconds of a batch between neighbouring samples of one start; totals begin anew with each.
pub(crate) fn batch_time_over_time(samples: &[(SampleNumber, u64, Sample)]) -> Vec<Point> {
    let between = |pair: &[(SampleNumber, u64, Sample)]| {
        let [(_, before, a), (number, start, b)] = pair else { return None };
        let batches = b.batches.checked_sub(a.batches).filter(|batches| *batches > 0)?;
        let micros = b.batch_micros.checked_sub(a.batch_micros)?;
        (before == start).then(|| (sample_time(*number), micros as f64 / 1e6 / batches as f64))
    };
    samples.windows(2).filter_map(between).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_swept_once_and_never_too_early() {
        let now = SampleNumber(100 * SAMPLES_PER_BUCKET + 7);
        for (swept_to, limit, expected) in [
            (70, 1000, 70..76),
            (70, 2, 70..72),
            (76, 1000, 76..76),
            (100, 1000, 100..100),
            (u64::MAX, 1000, u64::MAX..u64::MAX),
        ] {
            assert_eq!(to_sweep(swept_to, now, limit), expected);
        }
    }

    #[test]
    fn a_sample_takes_what_the_engine_measures_and_nothing_for_what_it_does_not() {
        let stat = |name, value| Stat { name, help: "", counter: true, value };
        let stats = [
            stat("rows_put_total", 3.0),
            stat("rows_bulk_total", 4.0),
            stat("commit_seconds_max", 0.0015),
        ];
        let expected = Sample { rows_written: 7, longest_micros: 1500, ..Sample::default() };
        assert_eq!(sample(&stats), expected);
    }

    #[test]
    fn batch_times_do_not_cross_a_restart() {
        let sample = |number, start, batches, batch_micros| {
            let sample = Sample { batches, batch_micros, ..Sample::default() };
            (SampleNumber(number), start, sample)
        };
        let samples = [
            sample(1, 1, 10, 1000),
            sample(2, 1, 12, 5000),
            sample(3, 1, 12, 5000),
            sample(4, 2, 1, 100),
            sample(5, 2, 2, 1100),
        ];
        assert_eq!(batch_time_over_time(&samples), [(10, 0.002), (25, 0.001)]);
        assert_eq!(disk_over_time(&samples).len(), 5);
    }
}
