//! The workloads of LevelDB's `db_bench`, without a clock: the caller measures the time.
//!
//! `lab/ssdlab_lab/kv/leveldb_bench.cc` runs the same operations on LevelDB.

use crate::db::Db;
use crate::error::{Error, Result};
use crate::options::{Background, ReadOptions};
use crate::vfs::Work;

/// Names of the workloads.
pub const NAMES: [&str; 8] = [
    "fillseq",
    "fillrandom",
    "overwrite",
    "readrandom",
    "readseq",
    "readmissing",
    "seekrandom",
    "deleterandom",
];

/// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", TOMS 2016):
/// a few lines in any language, so that both sides run the same operations.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(2_685_821_657_736_338_717)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }
}

/// Keys of 16 digits, and values that do not compress.
pub struct Bench {
    n: u64,
    values: Vec<u8>,
    value_size: usize,
    key: Vec<u8>,
}

impl Bench {
    /// Workloads of `n` operations on `n` keys with values of `value_size` bytes.
    ///
    /// # Errors
    /// If there are no keys, or values of 1 MiB or more.
    pub fn new(n: u64, value_size: usize) -> Result<Bench> {
        if n == 0 || value_size >= 1 << 20 {
            return Err(Error::invalid(format!(
                "{n} operations with values of {value_size} bytes: expected at least one, and values \
                 below 1 MiB"
            )));
        }
        let mut random = Random(301);
        let values = (0..1 << 20).map(|_| (random.next() >> 56) as u8).collect();
        Ok(Bench { n, values, value_size, key: Vec::new() })
    }

    /// Bytes of a pair.
    fn bytes(&self) -> usize {
        16 + self.value_size
    }

    fn set_key(&mut self, mut k: u64, suffix: &[u8]) {
        self.key.clear();
        self.key.resize(16, b'0');
        for digit in self.key.iter_mut().rev() {
            *digit += (k % 10) as u8;
            k /= 10;
        }
        self.key.extend_from_slice(suffix);
    }

    /// Run one workload; `seed` selects its random numbers. Returns how many operations found or wrote a pair.
    ///
    /// # Errors
    /// If an operation fails, the name is unknown, or the file layer asks to stop.
    pub fn run(&mut self, db: &mut Db, name: &str, seed: u64) -> Result<u64> {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
        let mut work = Work::new(&db.files);
        match name {
            "readseq" => self.read_all(db, &mut work),
            "seekrandom" => self.seek(db, &mut random, &mut work),
            "readrandom" => self.read(db, &mut random, b"", &mut work),
            "readmissing" => self.read(db, &mut random, b".", &mut work),
            "fillseq" | "fillrandom" | "overwrite" | "deleterandom" => {
                self.write(db, name, &mut random, &mut work)
            }
            _ => Err(Error::invalid(format!("{name}: expected one of {}", NAMES.join(", ")))),
        }
    }

    fn write(
        &mut self,
        db: &mut Db,
        name: &str,
        random: &mut Random,
        work: &mut Work,
    ) -> Result<u64> {
        for i in 0..self.n {
            work.add(self.bytes())?;
            let k = if name == "fillseq" { i } else { random.below(self.n) };
            self.set_key(k, b"");
            if name == "deleterandom" {
                db.delete(&self.key, false)?;
            } else {
                let at = random.below((self.values.len() - self.value_size) as u64) as usize;
                db.put(&self.key, &self.values[at..at + self.value_size], false)?;
            }
        }
        Ok(self.n)
    }

    fn read(
        &mut self,
        db: &mut Db,
        random: &mut Random,
        suffix: &[u8],
        work: &mut Work,
    ) -> Result<u64> {
        let eager = db.options().background == Background::Eager;
        let mut hits = 0;
        for _ in 0..self.n {
            work.add(self.bytes())?;
            self.set_key(random.below(self.n), suffix);
            hits += u64::from(db.get(&self.key, ReadOptions::default(), None)?.is_some());
            if eager && db.has_work() {
                db.settle()?;
            }
        }
        Ok(hits)
    }

    fn read_all(&mut self, db: &Db, work: &mut Work) -> Result<u64> {
        let mut iter = db.iter(ReadOptions::default(), None)?;
        let mut hits = 0;
        iter.seek_to_first()?;
        while iter.valid() {
            work.add(self.bytes())?;
            hits += u64::from(!iter.value().is_empty());
            iter.next()?;
        }
        Ok(hits)
    }

    fn seek(&mut self, db: &Db, random: &mut Random, work: &mut Work) -> Result<u64> {
        let mut iter = db.iter(ReadOptions::default(), None)?;
        let mut hits = 0;
        for _ in 0..self.n {
            work.add(self.bytes())?;
            self.set_key(random.below(self.n), b"");
            iter.seek(&self.key)?;
            hits += u64::from(iter.valid() && iter.key() == self.key);
        }
        Ok(hits)
    }
}
