//! All tables of the platform itself.

use placement::Placement;
use serde::{Deserialize, Serialize};
use store::{Bounds, DecodeError, KeyPart, KeyReader, Query, Sequenced, Table, Touches};

/// Seconds from one sample to the next.
pub(crate) const SAMPLE_SECONDS: u64 = 5;
/// Samples of one partition: an hour of one process.
pub(crate) const SAMPLES_PER_BUCKET: u64 = 3600 / SAMPLE_SECONDS;
/// Buckets that are kept beside the current one; older ones are swept.
pub(crate) const SAMPLE_BUCKETS: u64 = 24;
/// Processes that may sample one store at the same time without passing the bound.
const SAMPLERS: u64 = 16;
/// Starts of one partition.
pub(crate) const STARTS_PER_BUCKET: u64 = 1000;

/// The number of a start of the program on one store, from 1. A start a second fits for 10¹¹ years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct StartNumber(pub(crate) u64);

impl KeyPart for StartNumber {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        u64::decode(reader).map(Self)
    }
    fn size(&self) -> usize {
        self.0.size()
    }
}

/// The number of a sample: Unix seconds over [`SAMPLE_SECONDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SampleNumber(pub(crate) u64);

impl KeyPart for SampleNumber {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        u64::decode(reader).map(Self)
    }
    fn size(&self) -> usize {
        self.0.size()
    }
}

/// One start of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Unix second.
    pub(crate) at: u64,
    /// Version of the program.
    pub(crate) version: String,
    /// Its process id.
    pub(crate) process: u32,
}
store::serde_value!(Start, format 1);

/// What one process measured about its store. Totals count from the start of that process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Bytes on disk.
    pub(crate) disk_bytes: u64,
    /// Rows written.
    pub(crate) rows_written: u64,
    /// Commits applied.
    pub(crate) commits: u64,
    /// Batches synced.
    pub(crate) batches: u64,
    /// Microseconds spent in them.
    pub(crate) batch_micros: u64,
    /// Microseconds of the longest.
    pub(crate) longest_micros: u64,
}
store::serde_value!(Sample, format 1);

/// Something settled for the whole store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Setting {
    /// What this store is called, and since when it exists. Set once.
    Instance {
        /// Name, random unless the operator chose one.
        name: String,
        /// Unix second of its first start.
        created: u64,
    },
    /// The number of the last start.
    Starts(StartNumber),
    /// Samples in buckets below this one are gone.
    SweptTo(u64),
}
store::serde_value!(Setting, format 1);

/// Sort keys of [`SETTINGS`].
pub(crate) mod setting {
    /// [`Setting::Instance`](super::Setting::Instance).
    pub(crate) const INSTANCE: &str = "instance";
    /// [`Setting::Starts`](super::Setting::Starts).
    pub(crate) const STARTS: &str = "starts";
    /// [`Setting::SweptTo`](super::Setting::SweptTo).
    pub(crate) const SWEPT_TO: &str = "samples_swept_to";
}

/// Settings of the store. A handful of rows that rarely change: one partition is right.
pub(crate) static SETTINGS: Table<(), String, Setting> = Table::guarded(
    "system.settings",
    "Something settled for the whole store, under its name.",
    Placement::Single,
    Bounds::rows(16).values(256).pages(16),
)
.answers(&[Query { name: "all settings", touches: Touches::One }]);

/// Starts of the program. The number is reserved by a commit of [`SETTINGS`] and given to one start
/// only, so the row is a function of it although a clock is read.
pub(crate) static STARTS: Table<Sequenced<()>, StartNumber, Start> = Table::once(
    "system.starts",
    "A start of the program: when, which version, which process.",
    Placement::Bucketed { size: STARTS_PER_BUCKET },
    Bounds::rows(STARTS_PER_BUCKET).values(256).pages(100),
)
.answers(&[Query { name: "the latest starts", touches: Touches::Few(2) }]);

/// Measurements. A start measures at most once under one number, so the row is a function of its
/// key. A day and the current hour are kept; a bucket is swept when the hour that needs its place
/// begins.
pub(crate) static SAMPLES: Table<Sequenced<()>, (SampleNumber, StartNumber), Sample> = Table::once(
    "system.samples",
    "What a process measured about its store, every 5 seconds, for a day.",
    Placement::Bucketed { size: SAMPLES_PER_BUCKET },
    Bounds::rows(SAMPLES_PER_BUCKET * SAMPLERS).values(128).pages(1000),
)
.answers(&[
    Query { name: "samples of the last hour", touches: Touches::Few(2) },
    Query { name: "samples of the last day", touches: Touches::Few(25) },
]);

#[cfg(test)]
mod tests {
    use super::*;
    use store::Value as _;

    #[test]
    fn values_come_back_and_are_within_their_bounds() {
        let start = Start { at: u64::MAX, version: "99.99.99-alpha.99".into(), process: u32::MAX };
        assert_eq!(Start::from_bytes(&start.to_bytes()), Ok(start.clone()));
        assert!(start.to_bytes().len() <= STARTS.def().bounds().value_bytes);
        let sample = Sample {
            disk_bytes: u64::MAX,
            rows_written: u64::MAX,
            commits: u64::MAX,
            batches: u64::MAX,
            batch_micros: u64::MAX,
            longest_micros: u64::MAX,
        };
        assert_eq!(Sample::from_bytes(&sample.to_bytes()), Ok(sample.clone()));
        assert!(sample.to_bytes().len() <= SAMPLES.def().bounds().value_bytes);
    }

    #[test]
    fn samples_of_one_hour_share_a_partition() {
        let partition = |number| SAMPLES.partition(&Sequenced((), number)).expect("a partition");
        assert_eq!(partition(720), partition(1439));
        assert_ne!(partition(1439), partition(1440));
    }
}
