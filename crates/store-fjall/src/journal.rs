//! Reads the journals before fjall does, and tells a torn end from damage in the middle.
//!
//! fjall shortens a journal at the first entry it cannot read. That is right for the last batch of
//! a crash, and silent loss for anything before it. So each batch of ours ends with a marker row:
//!
//! ```text
//! key    "marker"
//! value  identity:16  number:u64  xxh3(identity, number):u64
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

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a marker's value.
const MARKER_BYTES: usize = 32;
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
pub(crate) fn marker(identity: Identity, number: u64) -> [u8; MARKER_BYTES] {
    let mut value = [0; MARKER_BYTES];
    let (head, checksum) = value.split_at_mut(24);
    let (name, digits) = head.split_at_mut(16);
    name.copy_from_slice(&identity.0);
    digits.copy_from_slice(&number.to_le_bytes());
    checksum.copy_from_slice(&xxh3_64(head).to_le_bytes());
    value
}

/// The batch number in a marker's value.
pub(crate) fn marker_number(identity: Identity, value: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(value.get(16..24)?.try_into().ok()?);
    (value == marker(identity, number)).then_some(number)
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
    /// Whether a whole batch end stands behind that place: the batch was written out, not cut
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
                Next::Batch { number, length } => {
                    self.see(number);
                    offset += length;
                }
                Next::Nothing => return,
                Next::Unreadable => {
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
        damage.ended |= memchr::memmem::find(rest, TRAILER).is_some();
        let numbers = memchr::memmem::find_iter(rest, &identity.0)
            .filter_map(|at| marker_number(identity, rest.get(at..at + MARKER_BYTES)?));
        for number in numbers {
            let (low, high) = damage.behind.unwrap_or((number, number));
            damage.behind = Some((low.min(number), high.max(number)));
        }
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

enum Next {
    Batch {
        number: u64,
        length: usize,
    },
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
        Some((number, length)) => Next::Batch { number, length },
        None => Next::Unreadable,
    }
}

/// Number and length of the batch at the start of `bytes`.
fn parse_batch(identity: Identity, bytes: &[u8]) -> Option<(u64, usize)> {
    if bytes.first() != Some(&TAG_START) {
        return None;
    }
    let count = u32::from_le_bytes(bytes.get(1..5)?.try_into().ok()?);
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
    Some((marker_number(identity, last_value)?, offset + END_BYTES))
}

/// Length and value of the item at the start of `bytes`.
fn parse_item(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match bytes.first()? {
        &TAG_CLEAR => Some((9, &[])),
        &TAG_ITEM => {
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
