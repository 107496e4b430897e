//! Reads the journals before fjall does, and tells a torn end from damage in the middle.
//!
//! fjall shortens a journal at the first entry it cannot read. That is right for the last batch of
//! a crash, and silent loss for anything before it. So each batch of ours ends with a marker row:
//!
//! ```text
//! key    "marker"
//! value  identity:16  number:u64  floor:u64  xxh3(identity, number, floor):u64
//! ```
//!
//! and this module walks the batches by fjall's journal format (version 3, pinned in the
//! workspace):
//!
//! ```text
//! batch  1 count:u32 seqno:u64   item*   3 xxh3(items):u64 "FJL" 3
//! item   2 type:u8 compression:u8 keyspace:u64 klen:u16 vlen:u32 clen:u32 key value
//! ```
//!
//! The identity is random and secret to the store, so no stored value can pose as a marker.
//!
//! fjall's checksum does not cover the sequence number of a batch, and a wrong one is silent loss:
//! fjall skips a batch whose number it believes to be in its tables already, and hides a row behind
//! one with a higher number. So the marker also holds the floor: the least number the batch can
//! have, and more than any batch before it has.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a marker's value.
const MARKER_BYTES: usize = 40;
/// How far above its floor a batch's sequence number may be: flushes, compactions and bulk runs
/// that ended while it began. One would be many.
const SEQNO_REACH: u64 = 1 << 16;
const START_BYTES: usize = 1 + 4 + 8;
const ITEM_HEADER_BYTES: usize = 1 + 1 + 1 + 8 + 2 + 4 + 4;
const END_BYTES: usize = 1 + 8 + TRAILER.len();
const TRAILER: &[u8] = b"FJL\x03";
const TAG_START: u8 = 1;
const TAG_ITEM: u8 = 2;
const TAG_END: u8 = 3;
const TAG_CLEAR: u8 = 4;

/// Marks the batches of one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(pub(crate) [u8; 16]);

/// The value of the marker row that ends batch `number`.
pub(crate) fn marker(identity: Identity, number: u64, floor: u64) -> [u8; MARKER_BYTES] {
    let mut value = [0; MARKER_BYTES];
    let (head, checksum) = value.split_at_mut(32);
    let (name, digits) = head.split_at_mut(16);
    name.copy_from_slice(&identity.0);
    let (digits, least) = digits.split_at_mut(8);
    digits.copy_from_slice(&number.to_le_bytes());
    least.copy_from_slice(&floor.to_le_bytes());
    checksum.copy_from_slice(&xxh3_64(head).to_le_bytes());
    value
}

/// The batch number in a marker's value.
pub(crate) fn marker_number(identity: Identity, value: &[u8]) -> Option<u64> {
    Some(read_marker(identity, value)?.0)
}

/// Number and floor in a marker's value.
fn read_marker(identity: Identity, value: &[u8]) -> Option<(u64, u64)> {
    let number = u64::from_le_bytes(value.get(16..24)?.try_into().ok()?);
    let floor = u64::from_le_bytes(value.get(24..32)?.try_into().ok()?);
    (value == marker(identity, number, floor)).then_some((number, floor))
}

/// What the journals hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Audit {
    /// First and last readable batch, if there is any.
    pub(crate) batches: Option<(u64, u64)>,
    /// Numbers that are missing between two readable batches.
    pub(crate) gap: Option<(u64, u64)>,
    /// The first place that cannot be read.
    pub(crate) damage: Option<Damage>,
    /// Journal files seen.
    pub(crate) files: usize,
    /// Sequence number of the last readable batch.
    seqno: Option<u64>,
}

/// A place in a journal that cannot be read as a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The journal.
    pub(crate) file: PathBuf,
    /// Where the unreadable batch begins.
    pub(crate) offset: u64,
    /// Lowest and highest batch number found behind that place, in this journal or a later one.
    pub(crate) behind: Option<(u64, u64)>,
    /// Whether the written part of the journal ends as a batch does: it was written out, not cut
    /// short.
    pub(crate) ended: bool,
}

/// Reads all journals of a fjall directory, oldest first.
pub(crate) fn audit(directory: &Path, identity: Identity) -> io::Result<Audit> {
    let mut audit = Audit::default();
    for file in journals(directory)? {
        audit.files += 1;
        let bytes = fs::read(&file)?;
        audit.read(identity, &file, &bytes);
    }
    Ok(audit)
}

/// Journal files by their number.
fn journals(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(Ok(number)) = name.strip_suffix(".jnl").map(str::parse::<u64>) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

impl Audit {
    fn read(&mut self, identity: Identity, file: &Path, bytes: &[u8]) {
        let mut offset = 0;
        while self.damage.is_none() {
            match next_batch(identity, bytes.get(offset..).unwrap_or_default()) {
                Next::Batch(batch) if self.follows(&batch) => {
                    self.see(batch.number);
                    self.seqno = Some(batch.seqno);
                    offset += batch.length;
                }
                Next::Nothing => return,
                Next::Batch(_) | Next::Unreadable => {
                    self.damage = Some(Damage {
                        file: file.to_owned(),
                        offset: offset as u64,
                        behind: None,
                        ended: false,
                    });
                }
            }
        }
        let Some(damage) = &mut self.damage else { return };
        let start = if damage.file == file { offset } else { 0 };
        let rest = bytes.get(start..).unwrap_or_default();
        damage.ended |= is_ended(rest);
        let numbers = memchr::memmem::find_iter(rest, &identity.0)
            .filter_map(|at| marker_number(identity, rest.get(at..at + MARKER_BYTES)?));
        for number in numbers {
            let (low, high) = damage.behind.unwrap_or((number, number));
            damage.behind = Some((low.min(number), high.max(number)));
        }
    }

    /// Whether a batch has a sequence number that it can have after those before it.
    fn follows(&self, batch: &Batch) -> bool {
        let possible = batch.floor..batch.floor.saturating_add(SEQNO_REACH);
        possible.contains(&batch.seqno) && self.seqno.is_none_or(|last| last < batch.floor)
    }

    fn see(&mut self, number: u64) {
        self.batches = match self.batches {
            None => Some((number, number)),
            Some((first, last)) => {
                if number != last + 1 && self.gap.is_none() {
                    self.gap = Some((last + 1, number.saturating_sub(1)));
                }
                Some((first, number))
            }
        };
    }
}

/// A batch that can be read.
struct Batch {
    number: u64,
    floor: u64,
    seqno: u64,
    length: usize,
}

enum Next {
    Batch(Batch),
    /// Only the zeroes of preallocation, or the end of the file.
    Nothing,
    Unreadable,
}

fn next_batch(identity: Identity, bytes: &[u8]) -> Next {
    match bytes.first() {
        None => return Next::Nothing,
        Some(0) if bytes.iter().all(|byte| *byte == 0) => return Next::Nothing,
        Some(_) => {}
    }
    match parse_batch(identity, bytes) {
        Some(batch) => Next::Batch(batch),
        None => Next::Unreadable,
    }
}

/// Whether bytes end as a batch does, before the zeroes of preallocation. A value that merely
/// contains such an end is followed by more of its batch, unless it was cut right there.
fn is_ended(bytes: &[u8]) -> bool {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let written = bytes.get(..end).unwrap_or_default();
    let tag = end.checked_sub(END_BYTES).and_then(|start| written.get(start));
    tag == Some(&TAG_END) && written.ends_with(TRAILER)
}

/// The batch at the start of `bytes`.
fn parse_batch(identity: Identity, bytes: &[u8]) -> Option<Batch> {
    if bytes.first() != Some(&TAG_START) {
        return None;
    }
    let count = u32::from_le_bytes(bytes.get(1..5)?.try_into().ok()?);
    let seqno = u64::from_le_bytes(bytes.get(5..START_BYTES)?.try_into().ok()?);
    let mut offset = START_BYTES;
    let mut last_value = &[][..];
    for _ in 0..count {
        let (length, value) = parse_item(bytes.get(offset..)?)?;
        offset += length;
        last_value = value;
    }
    let end = bytes.get(offset..offset + END_BYTES)?;
    let items = bytes.get(START_BYTES..offset)?;
    let checksum = u64::from_le_bytes(end.get(1..9)?.try_into().ok()?);
    let intact = end.first() == Some(&TAG_END)
        && end.get(9..) == Some(TRAILER)
        && checksum == xxh3_64(items);
    if !intact {
        return None;
    }
    let (number, floor) = read_marker(identity, last_value)?;
    Some(Batch { number, floor, seqno, length: offset + END_BYTES })
}

/// Length and value of the item at the start of `bytes`.
fn parse_item(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match *bytes.first()? {
        TAG_CLEAR => Some((9, &[])),
        TAG_ITEM => {
            let header = bytes.get(..ITEM_HEADER_BYTES)?;
            let key = usize::from(u16::from_le_bytes(header.get(11..13)?.try_into().ok()?));
            let stored = u32::from_le_bytes(header.get(17..21)?.try_into().ok()?) as usize;
            let value = bytes.get(ITEM_HEADER_BYTES + key..ITEM_HEADER_BYTES + key + stored)?;
            Some((ITEM_HEADER_BYTES + key + stored, value))
        }
        _ => None,
    }
}

/// Cuts a journal at the batch that was never finished.
pub(crate) fn cut(damage: &Damage) -> io::Result<()> {
    let file = fs::OpenOptions::new().write(true).open(&damage.file)?;
    file.set_len(damage.offset)?;
    file.sync_all()
}

/// What a place that cannot be read means, knowing the last acknowledged batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A batch that was never acknowledged: cut it off.
    Torn,
    /// The journal was cut short after it was acknowledged, by a disk that lied or by hand: nothing
    /// can bring the rest back, so cut at the last whole batch and say so.
    Shortened,
    /// A batch in the middle: opening would lose what follows.
    Damaged,
}

impl Audit {
    /// Judges the damage, if there is any.
    pub(crate) fn verdict(&self, acknowledged: u64) -> Option<Verdict> {
        let damage = self.damage.as_ref()?;
        let last = self.batches.map_or(0, |(_, last)| last);
        Some(match damage.behind {
            // Batches are synced one after the other, so two behind the damage prove the first was
            // whole.
            Some((low, high)) if high > low || high > last + 1 && last > 0 => Verdict::Damaged,
            Some((_, high)) if high <= acknowledged => Verdict::Damaged,
            Some(_) => Verdict::Torn,
            None if acknowledged <= last => Verdict::Torn,
            None if damage.ended => Verdict::Damaged,
            None => Verdict::Shortened,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: Identity = Identity(*b"a store's secret");

    fn item(key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![TAG_ITEM, 0, 0];
        bytes.extend(7_u64.to_le_bytes());
        bytes.extend(u16::try_from(key.len()).expect("short").to_le_bytes());
        let length = u32::try_from(value.len()).expect("short").to_le_bytes();
        bytes.extend([length, length].concat());
        bytes.extend([key, value].concat());
        bytes
    }

    /// A batch of one row and its marker, as fjall writes it.
    fn batch(number: u64, floor: u64, seqno: u64, value: &[u8]) -> Vec<u8> {
        let items = [item(b"key", value), item(b"marker", &marker(IDENTITY, number, floor))];
        let items = items.concat();
        let mut bytes = vec![TAG_START, 2, 0, 0, 0];
        bytes.extend(seqno.to_le_bytes());
        bytes.extend(&items);
        bytes.push(TAG_END);
        bytes.extend(xxh3_64(&items).to_le_bytes());
        bytes.extend(TRAILER);
        bytes
    }

    fn plain(number: u64) -> Vec<u8> {
        batch(number, number * 10, number * 10, b"value")
    }

    fn read(journals: &[&[u8]]) -> Audit {
        let mut audit = Audit::default();
        for (number, bytes) in journals.iter().enumerate() {
            audit.read(IDENTITY, Path::new(&format!("{number}.jnl")), bytes);
        }
        audit
    }

    #[test]
    fn a_marker_is_of_one_store_and_whole() {
        let value = marker(IDENTITY, 7, 70);
        assert_eq!(read_marker(IDENTITY, &value), Some((7, 70)));
        assert_eq!(read_marker(Identity([0; 16]), &value), None);
        for at in 0..value.len() {
            let mut flipped = value;
            flipped[at] ^= 1;
            assert_eq!(read_marker(IDENTITY, &flipped), None, "byte {at}");
        }
        assert_eq!(read_marker(IDENTITY, &value[..39]), None);
    }

    #[test]
    fn whole_journals_are_read_to_their_end() {
        let first = [plain(5), plain(6)].concat();
        let second = [plain(7), vec![0; 1000]].concat();
        let audit = read(&[&first, &second]);
        assert_eq!((audit.batches, audit.gap, audit.damage), (Some((5, 7)), None, None));
        let audit = read(&[&plain(5), &plain(8)]);
        assert_eq!((audit.batches, audit.gap), (Some((5, 8)), Some((6, 7))));
        assert_eq!(read(&[&[0; 100], &[]]).batches, None);
    }

    #[test]
    fn a_sequence_number_must_be_possible() {
        let check = |middle: Vec<u8>, damaged: Option<usize>| {
            let bytes = [plain(1), middle, plain(3)].concat();
            let offset = read(&[&bytes]).damage.map(|damage| damage.offset as usize);
            assert_eq!(offset, damaged);
        };
        let (first, both) = (plain(1).len(), 2 * plain(1).len());
        check(batch(2, 20, 20, b"value"), None);
        check(batch(2, 20, 29, b"value"), None);
        check(batch(2, 20, 19, b"value"), Some(first));
        check(batch(2, 10, 20, b"value"), Some(first));
        check(batch(2, 20, 20 + SEQNO_REACH, b"value"), Some(first));
        check(batch(2, 20, 1 << 63, b"value"), Some(first));
        check(batch(2, 20, 30, b"value"), Some(both));
    }

    #[test]
    fn only_the_end_of_a_journal_can_be_the_end_of_a_batch() {
        let end = [&[TAG_END][..], &[9; 8], TRAILER].concat();
        for (bytes, ended) in [
            (end.clone(), true),
            ([b"before".to_vec(), end.clone(), vec![0; 9]].concat(), true),
            ([end.clone(), b"behind".to_vec()].concat(), false),
            (end[1..].to_vec(), false),
            (end[..12].to_vec(), false),
            (vec![0; 50], false),
            (vec![], false),
        ] {
            assert_eq!(is_ended(&bytes), ended, "{bytes:?}");
        }
    }

    #[test]
    fn damage_is_told_from_a_torn_end() {
        use Verdict::{Damaged, Shortened, Torn};
        let check = |bytes: Vec<u8>, acknowledged: u64, expected: Option<Verdict>| {
            let audit = read(&[&bytes]);
            assert_eq!(audit.verdict(acknowledged), expected, "{acknowledged}: {audit:?}");
        };
        let flipped = |number: u64, at: usize| {
            let mut bytes = plain(number);
            bytes[at] ^= 4;
            bytes
        };
        let length = plain(1).len();
        let marker = length - END_BYTES - MARKER_BYTES;
        let cut = |number: u64, bytes: usize| plain(number)[..bytes].to_vec();
        let posing = |number| batch(number, number * 10, number * 10, &[TRAILER, b"more"].concat());

        check([plain(1), plain(2)].concat(), 2, None);
        // The last batch, cut anywhere, before it was acknowledged and after.
        for bytes in [1, 20, marker, length - 20] {
            check([plain(1), cut(2, bytes)].concat(), 1, Some(Torn));
            check([plain(1), cut(2, bytes), vec![0; 99]].concat(), 1, Some(Torn));
            check([plain(1), cut(2, bytes)].concat(), 2, Some(Shortened));
            check([plain(1), cut(2, bytes)].concat(), 5, Some(Shortened));
        }
        check([plain(1), cut(2, length - 1)].concat(), 1, Some(Torn));
        check([plain(1), cut(2, length - 1)].concat(), 2, Some(Damaged));
        // The last batch, whole but for a byte.
        for at in [0, 3, 15, 40, marker, marker + 39, length - 13, length - 5, length - 1] {
            check([plain(1), flipped(2, at)].concat(), 1, Some(Torn));
            check([plain(1), flipped(2, at)].concat(), 2, Some(Damaged));
            check([plain(1), flipped(2, at), vec![0; 99]].concat(), 2, Some(Damaged));
            // Batches behind it prove that it was whole, whoever was told.
            check([plain(1), flipped(2, at), plain(3), plain(4)].concat(), 0, Some(Damaged));
            check([plain(1), flipped(2, at), plain(3)].concat(), 1, Some(Damaged));
            check([flipped(1, at), plain(2), plain(3)].concat(), 3, Some(Damaged));
        }
        // The first batch of a journal whose forerunners are in tables.
        check(cut(9, marker), 8, Some(Shortened));
        check(posing(9)[..60].to_vec(), 8, Some(Shortened));
        check(flipped(9, 40), 9, Some(Damaged));
        check(flipped(9, marker), 9, Some(Damaged));
    }
}
