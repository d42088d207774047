//! Version edits: the records of a manifest. Each describes a change of the set of files.

use super::Damage;
use super::coding::{prefixed, put_prefixed, put_varint, varint32, varint64};
use super::key::MAX_SEQUENCE;
use super::names::MAX_NUMBER;

/// The number of levels of a store.
pub(crate) const LEVELS: usize = 7;
/// The name of the only key order that is supported.
pub(crate) const COMPARATOR: &str = "leveldb.BytewiseComparator";

const COMPARATOR_TAG: u32 = 1;
const LOG_NUMBER: u32 = 2;
const NEXT_FILE: u32 = 3;
const LAST_SEQUENCE: u32 = 4;
const COMPACT_POINTER: u32 = 5;
const DELETED_FILE: u32 = 6;
const NEW_FILE: u32 = 7;
const PREVIOUS_LOG: u32 = 9;

/// A table as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewFile {
    pub(crate) level: usize,
    pub(crate) number: u64,
    pub(crate) size: u64,
    pub(crate) smallest: Vec<u8>,
    pub(crate) largest: Vec<u8>,
}

/// A change of the set of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) comparator: Option<String>,
    pub(crate) log_number: Option<u64>,
    pub(crate) previous_log: Option<u64>,
    pub(crate) next_file: Option<u64>,
    pub(crate) last_sequence: Option<u64>,
    pub(crate) compact_pointers: Vec<(usize, Vec<u8>)>,
    /// Level and number.
    pub(crate) deleted: Vec<(usize, u64)>,
    pub(crate) added: Vec<NewFile>,
}

impl Edit {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(self.deleted.iter().all(|&(level, _)| level < LEVELS), "readers refuse the level");
        assert!(self.added.iter().all(|f| f.level < LEVELS), "readers refuse the level");
        assert!(self.last_sequence <= Some(MAX_SEQUENCE), "readers refuse the sequence number");
        let keys = self.added.iter().flat_map(|f| [&f.smallest, &f.largest]);
        assert!(keys.into_iter().all(|key| key.len() >= 8), "readers refuse the key");
        let pointers = self.compact_pointers.iter();
        assert!(pointers.into_iter().all(|(_, key)| key.len() >= 8), "readers refuse the key");
        if let Some(name) = &self.comparator {
            put_varint(&mut out, COMPARATOR_TAG.into());
            put_prefixed(&mut out, name.as_bytes());
        }
        let numbers = [
            (LOG_NUMBER, self.log_number),
            (PREVIOUS_LOG, self.previous_log),
            (NEXT_FILE, self.next_file),
            (LAST_SEQUENCE, self.last_sequence),
        ];
        for (tag, number) in numbers {
            if let Some(number) = number {
                put_varint(&mut out, tag.into());
                put_varint(&mut out, number);
            }
        }
        for (level, key) in &self.compact_pointers {
            put_varint(&mut out, COMPACT_POINTER.into());
            put_varint(&mut out, *level as u64);
            put_prefixed(&mut out, key);
        }
        let mut deleted = self.deleted.clone();
        deleted.sort_unstable();
        for (level, number) in deleted {
            put_varint(&mut out, DELETED_FILE.into());
            put_varint(&mut out, level as u64);
            put_varint(&mut out, number);
        }
        for file in &self.added {
            put_varint(&mut out, NEW_FILE.into());
            put_varint(&mut out, file.level as u64);
            put_varint(&mut out, file.number);
            put_varint(&mut out, file.size);
            put_prefixed(&mut out, &file.smallest);
            put_prefixed(&mut out, &file.largest);
        }
        debug_assert!(self.is_read_from(&out), "the manifest would tell something else");
        out
    }

    /// Whether reading `encoded` gives this edit; the order of deletions does not matter.
    fn is_read_from(&self, encoded: &[u8]) -> bool {
        if self.next_file > Some(MAX_NUMBER) {
            // A file was found whose number has hardly a next one: whoever reads this refuses it.
            return true;
        }
        let Ok(mut read) = Edit::decoded(encoded) else { return false };
        let mut deleted = self.deleted.clone();
        deleted.sort_unstable();
        let in_order = std::mem::replace(&mut read.deleted, self.deleted.clone()) == deleted;
        in_order && read == *self
    }

    pub(crate) fn decoded(data: &[u8]) -> Result<Edit, Damage> {
        let mut edit = Edit::default();
        let mut at = 0;
        while at < data.len() {
            let end = edit.field(data, at).map_err(|what| Damage::at(at, what))?;
            debug_assert!(end > at && end <= data.len(), "reading moves on, in the record");
            at = end;
        }
        Ok(edit)
    }

    /// Decode the field at `at`; where it ends, or what is wrong with it.
    fn field(&mut self, data: &[u8], at: usize) -> Result<usize, &'static str> {
        let (tag, at) = varint32(data, at).ok_or("bad tag")?;
        let number = |at, what| varint64(data, at).ok_or(what);
        let file = |at, what| {
            number(at, what).and_then(|(n, end)| {
                if n <= MAX_NUMBER { Ok((n, end)) } else { Err("a file number with no next one") }
            })
        };
        match tag {
            COMPARATOR_TAG => {
                let (name, end) = prefixed(data, at).ok_or("bad name of the comparator")?;
                self.comparator = Some(String::from_utf8_lossy(name).into_owned());
                Ok(end)
            }
            LOG_NUMBER => take(&mut self.log_number, file(at, "bad log number")?),
            PREVIOUS_LOG => take(&mut self.previous_log, file(at, "bad previous log number")?),
            NEXT_FILE => take(&mut self.next_file, file(at, "bad next file number")?),
            LAST_SEQUENCE => match number(at, "bad last sequence")? {
                (sequence, _) if sequence > MAX_SEQUENCE => Err("a sequence of more than 56 bits"),
                last => take(&mut self.last_sequence, last),
            },
            COMPACT_POINTER => {
                let (level, at) = level(data, at)?;
                let (key, end) = internal_key(data, at)?;
                self.compact_pointers.push((level, key));
                Ok(end)
            }
            DELETED_FILE => {
                let (level, at) = level(data, at)?;
                let (number, end) = file(at, "bad number of a deleted file")?;
                self.deleted.push((level, number));
                Ok(end)
            }
            NEW_FILE => {
                let (level, at) = level(data, at)?;
                let (number, at) = file(at, "bad number of a new file")?;
                let (size, at) = varint64(data, at).ok_or("bad size of a new file")?;
                let (smallest, at) = internal_key(data, at)?;
                let (largest, end) = internal_key(data, at)?;
                self.added.push(NewFile { level, number, size, smallest, largest });
                Ok(end)
            }
            _ => Err("an unknown tag"),
        }
    }
}

fn take(place: &mut Option<u64>, (number, end): (u64, usize)) -> Result<usize, &'static str> {
    *place = Some(number);
    Ok(end)
}

fn level(data: &[u8], at: usize) -> Result<(usize, usize), &'static str> {
    match varint32(data, at) {
        Some((level, end)) if (level as usize) < LEVELS => Ok((level as usize, end)),
        _ => Err("bad level"),
    }
}

fn internal_key(data: &[u8], at: usize) -> Result<(Vec<u8>, usize), &'static str> {
    match prefixed(data, at) {
        Some((key, end)) if key.len() >= 8 => Ok((key.to_vec(), end)),
        _ => Err("bad key"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_come_back() {
        let edit = Edit {
            comparator: Some(COMPARATOR.to_owned()),
            log_number: Some(1 << 50),
            previous_log: None,
            next_file: Some(3),
            last_sequence: Some(500),
            compact_pointers: vec![(3, b"k2345678".to_vec())],
            deleted: vec![(2, 9), (4, 7)],
            added: vec![NewFile {
                level: 6,
                number: 12,
                size: 1 << 40,
                smallest: b"a1234567".to_vec(),
                largest: b"zz1234567".to_vec(),
            }],
        };
        let bytes = edit.encoded();
        assert_eq!(Edit::decoded(&bytes), Ok(edit));
        for cut in 1..bytes.len() {
            // A shorter edit is damaged, or is the edit of fewer fields; never a panic.
            let _ = Edit::decoded(&bytes[..cut]);
        }
        assert!(Edit::decoded(&[8]).is_err());
    }
}
