//! The file format of a snapshot.
//!
//! `ssdsnap\n`, version (4 bytes), length of the header (4 bytes), the header as JSON, the columns one after the other,
//! and the digest of all that (8 bytes): XXH3, 64 bits, which also identifies the state. Numbers are little endian. The
//! header lists the configuration keys that the state depends on, its counters, and every column with its size, so that
//! a reader recognises what it does not support: a new column or key that is written only if it matters does not change
//! the version. Pages with several owners do: a snapshot with the column `owners` has version 2, all others have
//! version 1.

use super::columns::OWNERS;
use super::{Columns, Counters, DeviceSnapshot, PageFields, Shape, fits, may_share};
use crate::config::Config;
use crate::plug::PolicySpec;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::hash::Hasher;
use twox_hash::XxHash3_64;

const MAGIC: &[u8; 8] = b"ssdsnap\n";
/// Without pages of several owners.
const VERSION: u32 = 1;
/// With such pages.
const WITH_OWNERS: u32 = 2;
/// Longest header that is read.
const MOST_HEAD: u32 = 1 << 16;

/// Why a snapshot cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FormError {
    /// The bytes do not begin like a snapshot.
    #[error("it is not a snapshot of ssdlab")]
    Foreign,
    /// Another version of the format.
    #[error(
        "it is a snapshot of version {0}; this ssdlab reads versions {VERSION} and {WITH_OWNERS}: make it again"
    )]
    Version(u32),
    /// The bytes end early.
    #[error("it is truncated: make it again")]
    Truncated,
    /// The bytes are not what was written.
    #[error("it is damaged ({0}): make it again")]
    Damaged(String),
    /// It belongs to another device.
    #[error("{0}")]
    Unfit(String),
    /// The bytes cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    shape: Shape,
    counters: Counters,
    keeps: PageFields,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    victim: Option<PolicySpec>,
    columns: Vec<(String, u64)>,
}

/// Reads piece by piece, and computes the digest of what has been read.
struct Reader<'a> {
    source: &'a mut dyn FnMut(&mut [u8]) -> Result<usize, String>,
    hash: XxHash3_64,
}

impl Reader<'_> {
    /// Read bytes into `buffer`; fewer than its length only at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, FormError> {
        let mut done = 0;
        while done < buffer.len() {
            match (self.source)(&mut buffer[done..]).map_err(FormError::Unreadable)? {
                0 => break,
                n => done += n,
            }
        }
        assert!(done <= buffer.len(), "a source returns no more than was asked for");
        Ok(done)
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), FormError> {
        if self.read(buffer)? < buffer.len() {
            return Err(FormError::Truncated);
        }
        self.hash.write(buffer);
        Ok(())
    }

    fn number(&mut self) -> Result<u32, FormError> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// The header. Version 2, and only it, lists owners.
    fn head(&mut self) -> Result<Head, FormError> {
        let mut magic = [0; MAGIC.len()];
        let filled = self.read(&mut magic)?;
        if filled == 0 || magic[..filled] != MAGIC[..filled] {
            return Err(FormError::Foreign);
        }
        if filled < magic.len() {
            return Err(FormError::Truncated);
        }
        self.hash.write(&magic);
        let version = self.number()?;
        if version != VERSION && version != WITH_OWNERS {
            return Err(FormError::Version(version));
        }
        let length = self.number()?;
        if length > MOST_HEAD {
            return Err(FormError::Damaged(format!("its header has {length} bytes")));
        }
        let mut json = vec![0; length as usize];
        self.fill(&mut json)?;
        let head: Head = serde_json::from_slice(&json)
            .map_err(|e| FormError::Damaged(format!("its header: {e}")))?;
        let has_owners = head.columns.iter().any(|(name, _)| name == OWNERS);
        if has_owners != (version == WITH_OWNERS) {
            let (no, contents) = if has_owners { ("", "has none") } else { ("no ", "has them") };
            return Err(FormError::Damaged(format!(
                "it has {no}column {OWNERS:?}, and version {version} {contents}"
            )));
        }
        Ok(head)
    }
}

impl DeviceSnapshot {
    /// Write the file format to `sink`, in pieces. Returns the digest that ends it.
    ///
    /// # Errors
    /// Those of `sink`.
    pub fn encode<E>(&self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<u64, E> {
        let head = Head {
            shape: self.shape.clone(),
            counters: self.counters,
            keeps: self.keeps,
            victim: self.victim.clone(),
            columns: self.columns.sizes(),
        };
        let json = serde_json::to_vec(&head).expect("a header is plain data");
        assert!(json.len() < MOST_HEAD as usize, "a header is short");
        let (mut hash, mut written) = (XxHash3_64::new(), 0);
        let mut hashed = |bytes: &[u8]| {
            hash.write(bytes);
            written += bytes.len() as u64;
            sink(bytes)
        };
        hashed(MAGIC)?;
        let has_owners = head.columns.iter().any(|(name, _)| name == OWNERS);
        let version = if has_owners { WITH_OWNERS } else { VERSION };
        hashed(&version.to_le_bytes())?;
        hashed(&(json.len() as u32).to_le_bytes())?;
        hashed(&json)?;
        self.columns.encode(&mut hashed)?;
        let expected = MAGIC.len() as u64 + 8 + json.len() as u64 + self.bytes();
        assert_eq!(written, expected, "the header lists other columns than are written");
        let digest = hash.finish();
        sink(&digest.to_le_bytes())?;
        Ok(digest)
    }

    /// The digest that ends the file: equal states have equal digests.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let Ok(digest) = self.encode(&mut |_| Ok::<(), Infallible>(()));
        digest
    }

    /// Bytes of the columns: nearly all of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.columns.sizes().iter().map(|(_, bytes)| bytes).sum()
    }

    /// The snapshot that `source` provides, and its digest; checked against `config`, if given. `source` fills any part
    /// of its buffer and returns how much; 0 is the end.
    ///
    /// # Errors
    /// A [`FormError`]; a mismatch with `config` is found before the columns are read.
    pub fn decode(
        config: Option<&Config>,
        source: &mut dyn FnMut(&mut [u8]) -> Result<usize, String>,
    ) -> Result<(DeviceSnapshot, u64), FormError> {
        let mut reader = Reader { source, hash: XxHash3_64::new() };
        let head = reader.head()?;
        if let Some(config) = config {
            fits(&head.shape, head.keeps, config).map_err(FormError::Unfit)?;
            let pairs = head.columns.iter().find(|(name, _)| name == OWNERS);
            let pairs = pairs.map_or(0, |(_, bytes)| bytes / 8);
            may_share(pairs, config).map_err(FormError::Unfit)?;
        }
        let mut columns = Columns::default();
        for (i, (name, bytes)) in head.columns.iter().enumerate() {
            if head.columns[..i].iter().any(|(earlier, _)| earlier == name) {
                return Err(FormError::Damaged(format!("it has two columns {name:?}")));
            }
            let column = columns.decode(name, *bytes, &mut |buffer| reader.fill(buffer))?;
            column.ok_or_else(|| {
                FormError::Unfit(format!(
                    "it holds a column {name:?} that this version of ssdlab does not know"
                ))
            })?;
        }
        let listed: u64 = head.columns.iter().map(|(_, bytes)| bytes).sum();
        let read: u64 = columns.sizes().iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(read, listed, "columns of other sizes than the header lists");
        let expected = reader.hash.finish();
        let mut digest = [0; 8];
        reader.fill(&mut digest)?;
        let digest = u64::from_le_bytes(digest);
        if digest != expected {
            let message = format!("its checksum is {digest:016x}, its content has {expected:016x}");
            return Err(FormError::Damaged(message));
        }
        if reader.read(&mut [0])? > 0 {
            return Err(FormError::Damaged("it continues after its end".to_string()));
        }
        let Head { shape, counters, keeps, victim, .. } = head;
        Ok((DeviceSnapshot { shape, counters, keeps, victim, columns }, digest))
    }
}
