//! Runs a list of benchmarks on the store, as `tools/kv/leveldb_bench.cc` runs them on LevelDB: same
//! arguments, same operations, same output.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "a program that measures time and prints it"
)]

use ssd_kv::vfs::{MemoryVfs, PosixVfs, Vfs};
use ssd_kv::{Background, Compression, Db, Options, ReadOptions};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

/// xorshift64*: the same numbers as in `leveldb_bench.cc`.
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

/// User and system time of this process, in clock ticks of a hundredth of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|f| f.parse::<f64>().expect("ticks")).sum();
    ticks / 100.0
}

struct Bench {
    db: Db,
    n: u64,
    values: Vec<u8>,
    value_size: usize,
    key: Vec<u8>,
}

impl Bench {
    fn key(&mut self, k: u64, suffix: &str) -> &[u8] {
        self.key.clear();
        write!(self.key, "{k:016}{suffix}").expect("memory");
        &self.key
    }

    fn reads(&mut self, name: &str, mut random: Random) -> u64 {
        let options = ReadOptions::default();
        let mut found = 0;
        if name == "readseq" || name == "seekrandom" {
            let mut iter = self.db.iter(options, None).expect("an iterator");
            if name == "readseq" {
                iter.seek_to_first().expect("read");
                while iter.valid() {
                    found += u64::from(!iter.value().is_empty());
                    iter.next().expect("read");
                }
                return found;
            }
            for _ in 0..self.n {
                let k = random.below(self.n);
                let key = self.key(k, "");
                iter.seek(key).expect("read");
                found += u64::from(iter.valid() && iter.key() == key);
            }
            return found;
        }
        let suffix = if name == "readmissing" { "." } else { "" };
        for _ in 0..self.n {
            let k = random.below(self.n);
            self.key(k, suffix);
            found += u64::from(self.db.get(&self.key, options, None).expect("read").is_some());
            if self.db.has_work() && self.db.options().background == Background::Eager {
                self.db.settle().expect("settled");
            }
        }
        found
    }

    fn run(&mut self, name: &str, seed: u64) -> u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
        if name.starts_with("read") || name == "seekrandom" {
            return self.reads(name, random);
        }
        for i in 0..self.n {
            let k = if name == "fillseq" { i } else { random.below(self.n) };
            self.key(k, "");
            if name == "deleterandom" {
                self.db.delete(&self.key, false).expect("written");
            } else {
                let at = random.below((self.values.len() - self.value_size) as u64) as usize;
                let value = &self.values[at..at + self.value_size];
                self.db.put(&self.key, value, false).expect("written");
            }
        }
        self.n
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, folder, mode, value_size, n, bloom, names] = &args[..] else {
        println!("usage: bench DIR|memory eager|steps VALUE_SIZE N BLOOM_BITS NAMES");
        std::process::exit(2);
    };
    let vfs: Arc<dyn Vfs> = match folder.as_str() {
        "memory" => Arc::new(MemoryVfs::new()),
        folder => Arc::new(PosixVfs::new(folder)),
    };
    let options = Options {
        create_if_missing: true,
        compression: Compression::None,
        background: if mode == "eager" { Background::Eager } else { Background::Steps },
        bloom_bits_per_key: Some(bloom.parse().expect("bits")).filter(|&bits| bits > 0),
        ..Options::default()
    };
    let db = Db::open(vfs, options).expect("it opens");
    let mut random = Random(301);
    let values = (0..1 << 20).map(|_| (random.next() >> 56) as u8).collect();
    let (n, value_size) = (n.parse().expect("N"), value_size.parse().expect("VALUE_SIZE"));
    let mut bench = Bench { db, n, values, value_size, key: Vec::new() };
    for (seed, name) in (1..).zip(names.split(',')) {
        let (cpu, start) = (cpu_seconds(), Instant::now());
        let found = bench.run(name, seed);
        let wall = start.elapsed().as_secs_f64();
        println!("{name} {wall:.6} {:.6} {found}", cpu_seconds() - cpu);
    }
    println!("tables {}", bench.db.stats().bytes_written());
}
