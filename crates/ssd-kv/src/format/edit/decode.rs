//! A version edit from bytes.

use super::super::Damage;
use super::super::coding::{prefixed, varint32, varint64};
use super::super::key::MAX_SEQUENCE;
use super::super::names::MAX_NUMBER;
use super::{
    COMPACT_POINTER, COMPARATOR_TAG, DELETED_FILE, Edit, LAST_SEQUENCE, LEVELS, LOG_NUMBER,
    NEW_FILE, NEXT_FILE, NewFile, PREVIOUS_LOG, ROCKSDB_TAG,
};

impl Edit {
    pub(crate) fn decoded(data: &[u8]) -> Result<Edit, Damage> {
        let mut edit = Edit::default();
        let mut at = 0;
        while at < data.len() {
            let end = edit.field(data, at).map_err(|message| Damage::at(at, message))?;
            debug_assert!(end > at && end <= data.len(), "reading moves on, in the record");
            at = end;
        }
        Ok(edit)
    }

    /// Decode the field at `at`; where it ends, or what is wrong with it.
    fn field(&mut self, data: &[u8], at: usize) -> Result<usize, &'static str> {
        let (tag, at) = varint32(data, at).ok_or("bad tag")?;
        let number = |at, message| varint64(data, at).ok_or(message);
        let file = |at, message| {
            number(at, message).and_then(|(n, end)| {
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
            // Retained logs, files, column families, atomic groups, blobs; from 8192 on, tags that a reader may skip.
            10 | 100 | 102 | 103 | 200..=203 | 300 | 400 | 401 | 8192..=8447 => Err(ROCKSDB_TAG),
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
