//! The tables of all tallies, and what stands in their rows.

use placement::{Placement, Route};
use serde::{Deserialize, Serialize};
use store::{
    Bounds, DecodeError, KeyPart, KeyReader, Query, Table, TableDef, Touches, serde_value,
};

use crate::generations::Generations;
use crate::name::{Entry, Part};
use crate::{Tally, Values, limits};

/// How many shards a tally has and had. One row per tally, changed when K is raised.
pub(crate) static GENERATIONS: Table<Tally, (), Generations> = Table::guarded(
    "tally.generations",
    "How many logical shards a tally has and had.",
    Placement::Hashed,
    Bounds::rows(1).values(512),
)
.answers(&[Query { name: "shards of a tally", touches: Touches::One }]);

/// Entries and their sum. A shard is one partition, so that an entry and the sum change in one
/// commit. The shard is part of the key and not left to [`Placement::Logical`], because K differs
/// from generation to generation.
pub(crate) static SHARDS: Table<Shard, RowName, Record> = Table::guarded(
    "tally.shards",
    "The sum of a logical shard, and behind it the sums of parts and every entry in them.",
    Placement::Hashed,
    Bounds::rows(limits::SHARD_ENTRIES + 1).values(limits::ROW_BYTES).pages(limits::PAGE + 1),
)
.answers(&[
    Query { name: "sums of a tally", touches: Touches::All },
    Query { name: "sums of a part", touches: Touches::Few(limits::GENERATIONS as u32) },
    Query { name: "one entry", touches: Touches::Few(limits::GENERATIONS as u32) },
    Query { name: "entries of a shard", touches: Touches::One },
]);

/// The tables of this crate, for the schema of whoever uses it.
#[must_use]
pub fn tables() -> [&'static TableDef; 2] {
    [GENERATIONS.def(), SHARDS.def()]
}

/// A logical shard of one generation of one tally.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Shard {
    pub(crate) tally: Tally,
    pub(crate) generation: u16,
    pub(crate) number: u16,
}

impl KeyPart for Shard {
    fn encode(&self, out: &mut Vec<u8>) {
        self.tally.encode(out);
        self.generation.encode(out);
        self.number.encode(out);
    }
    fn size(&self) -> usize {
        self.tally.size() + 4
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let (tally, generation, number) = KeyPart::decode(reader)?;
        Ok(Self { tally, generation, number })
    }
}

/// The shard of an entry among `shards`: a function of the entry alone, or of its part alone, so
/// that a duplicate meets its first copy.
pub(crate) fn shard_of(home: &[u8], shards: u16) -> u16 {
    let mut key = Vec::with_capacity(2);
    // `Logical` takes an entry and nothing else, so this cannot fail.
    let _ = Placement::Logical { shards }.locate(&[], Route::Entry(home), &mut key);
    key.as_slice().try_into().map_or(0, u16::from_be_bytes)
}

/// The sort keys of a shard: its sum first, then entries without a part, then each part's sum with
/// the entries of the part behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowName {
    Sum,
    Part(Part),
    Entry(Entry),
    /// Behind the last entry of a part. No row is called so.
    EndOf(Part),
}

impl KeyPart for RowName {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Sum => out.push(0),
            Self::Part(Part(part)) | Self::EndOf(Part(part)) => {
                out.push(2);
                part.encode(out);
                out.push(if matches!(self, Self::Part(_)) { 0 } else { 2 });
            }
            Self::Entry(Entry { part: None, key }) => {
                out.push(1);
                key.encode(out);
            }
            Self::Entry(Entry { part: Some(Part(part)), key }) => {
                out.push(2);
                part.encode(out);
                out.push(1);
                key.encode(out);
            }
        }
    }
    fn size(&self) -> usize {
        match self {
            Self::Sum => 1,
            Self::Part(Part(part)) | Self::EndOf(Part(part)) => 2 + part.size(),
            Self::Entry(Entry { part: None, key }) => 1 + key.size(),
            Self::Entry(Entry { part: Some(Part(part)), key }) => 2 + part.size() + key.size(),
        }
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let unknown = |kind| DecodeError::value(format!("a shard has no rows of kind {kind}"));
        let entry = |part, key: Vec<u8>| Self::Entry(Entry { part, key: key.into() });
        match u8::decode(reader)? {
            0 => Ok(Self::Sum),
            1 => Ok(entry(None, Vec::decode(reader)?)),
            2 => {
                let part = Part(Vec::decode(reader)?.into());
                match u8::decode(reader)? {
                    0 => Ok(Self::Part(part)),
                    1 => Ok(entry(Some(part), Vec::decode(reader)?)),
                    kind => Err(unknown(kind)),
                }
            }
            kind => Err(unknown(kind)),
        }
    }
}

/// The rows of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Record {
    Sum(Sum),
    Entry(Counted),
}
serde_value!(Record, format 1);

/// What a shard adds up to, or a part in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) values: Values,
    pub(crate) entries: u64,
    /// No entry is inserted any more; those that are here may still change. Of shards only.
    pub(crate) sealed: bool,
}

/// An entry as it counts now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The rank that set it. Only a higher one changes it.
    pub rank: u64,
    /// Its share of the sums.
    pub values: Values,
}

impl Record {
    /// The sum in the sum row; nothing yet when there is no row.
    pub(crate) fn sum(found: Option<Self>) -> Result<Sum, DecodeError> {
        match found {
            None => Ok(Sum::default()),
            Some(Self::Sum(sum)) => Ok(sum),
            Some(Self::Entry(_)) => Err(DecodeError::value("an entry stands in a sum row")),
        }
    }

    /// The entry in an entry's row.
    pub(crate) fn entry(self) -> Result<Counted, DecodeError> {
        match self {
            Self::Entry(counted) => Ok(counted),
            Self::Sum(_) => Err(DecodeError::value("a sum stands in an entry's row")),
        }
    }
}

#[cfg(test)]
mod tests {
    use store::Value;

    use super::*;

    #[test]
    fn the_widest_rows_are_within_their_bounds() {
        let values = Values::new(&[i128::MIN; limits::VALUES]).expect("few enough");
        let sum = Sum { values: values.clone(), entries: u64::MAX, sealed: true };
        for record in [Record::Sum(sum), Record::Entry(Counted { rank: u64::MAX, values })] {
            let bytes = record.to_bytes();
            assert!(bytes.len() <= limits::ROW_BYTES, "{} bytes", bytes.len());
            assert_eq!(Record::from_bytes(&bytes), Ok(record));
        }
        let tally = Tally::new(vec![0; limits::TALLY_BYTES]).expect("a name");
        let shard = Shard { tally, generation: u16::MAX, number: u16::MAX };
        let part = vec![0; limits::PART_BYTES];
        let entry = Entry::new(Some(&part), &[0; limits::ENTRY_BYTES]).expect("an entry");
        SHARDS.key(&shard, &RowName::Entry(entry)).expect("within the store's limits");
        let generations = Generations::widest();
        assert!(generations.to_bytes().len() <= GENERATIONS.def().bounds().value_bytes);
    }

    #[test]
    fn a_sum_sorts_before_its_entries() {
        let entry = |key: &[u8]| RowName::Entry(Entry::new(None, key).expect("an entry"));
        let of_part = |part: &[u8], key| {
            RowName::Entry(Entry::new(Some(part), key).expect("an entry of a part"))
        };
        let part = |part: &[u8]| RowName::Part(Part::new(part).expect("a part"));
        let names = [
            RowName::Sum,
            entry(&[0]),
            entry(&[0, 0]),
            entry(&[1]),
            entry(b"zz"),
            part(&[0]),
            of_part(&[0], &[0]),
            of_part(&[0], b"zz"),
            part(&[0, 0]),
            of_part(&[0, 0], &[0]),
            part(&[1]),
        ];
        let encoded = names.iter().map(|name| {
            let mut bytes = Vec::new();
            name.encode(&mut bytes);
            assert_eq!(KeyReader::whole::<RowName>(&bytes).as_ref(), Ok(name));
            bytes
        });
        assert!(encoded.is_sorted());
        assert!(KeyReader::whole::<RowName>(&[3]).is_err());
        assert!(KeyReader::whole::<RowName>(&[2]).is_err());
    }

    #[test]
    fn entries_spread_over_all_shards() {
        let mut hits = vec![0u32; 7];
        for number in 0..7_000u32 {
            let key = number.to_be_bytes();
            assert_eq!(shard_of(&key, 7), shard_of(&key, 7));
            hits[usize::from(shard_of(&key, 7))] += 1;
        }
        assert!(hits.iter().all(|hits| (800..1200).contains(hits)), "{hits:?}");
    }
}
