//! The present state of a drive: its space, its blocks, and its slowest requests.

use serde::Serialize;
use ssd_core::ftl::blocks::BlockState;
use ssd_core::metrics::parts::Parts;
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{BlockId, PlaneId, PoolId};
use std::collections::BTreeMap;

/// The number of slowest requests that are kept.
const SLOWEST: usize = 10;

/// The largest number of groups into which the blocks of a channel are divided.
const GROUPS: usize = 64;

/// Space on the drive and on the disk of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Space {
    /// Size of the drive.
    pub drive_bytes: u64,
    /// Bytes of the mapped logical pages.
    pub mapped_bytes: u64,
    /// Bytes of data on the disk of the server, including older data that a power cut could bring back.
    pub stored_bytes: u64,
    /// Length of the log in bytes.
    pub log_bytes: u64,
}

/// A request and the parts of its latency.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SlowRequest {
    /// Its number.
    pub id: u64,
    /// Its kind, such as `read`.
    pub op: &'static str,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// When it arrived, ns of the drive's time.
    pub arrival_ns: u64,
    /// From its arrival to its completion by the drive, ns.
    pub latency_ns: u64,
    /// See [`Parts::queue_ns`].
    pub queue_ns: u64,
    /// See [`Parts::chip_ns`].
    pub chip_ns: u64,
    /// See [`Parts::transfer_ns`].
    pub transfer_ns: u64,
    /// See [`Parts::gc_wait_ns`].
    pub gc_wait_ns: u64,
    /// See [`Parts::metadata_ns`].
    pub metadata_ns: u64,
}

/// The slowest requests.
#[derive(Default)]
pub(crate) struct SlowestRequests {
    /// By latency and number.
    entries: BTreeMap<(u64, u64), SlowRequest>,
    /// Buffer for the records of the machine.
    records: Vec<RequestRecord>,
}

impl SlowestRequests {
    /// Add the requests that `ssd` has completed since the last call.
    pub(crate) fn update(&mut self, ssd: &mut Ssd) {
        ssd.drain_requests(&mut self.records);
        for record in self.records.drain(..) {
            let latency = record.parts.total();
            let least = self.entries.first_key_value().map_or(0, |(&(ns, _), _)| ns);
            if self.entries.len() < SLOWEST || latency > least {
                self.entries.insert((latency, record.id), slow(&record));
                if self.entries.len() > SLOWEST {
                    self.entries.pop_first();
                }
            }
        }
    }

    /// The requests, the slowest one first.
    pub(crate) fn in_order(&self) -> Vec<SlowRequest> {
        self.entries.values().rev().cloned().collect()
    }
}

pub(crate) fn slow(record: &RequestRecord) -> SlowRequest {
    let Parts { queue_ns, chip_ns, transfer_ns, gc_wait_ns, metadata_ns } = record.parts;
    SlowRequest {
        id: record.id,
        op: record.request.op.name(),
        sector: record.request.sector,
        sectors: record.request.sectors,
        arrival_ns: record.arrival.0,
        latency_ns: record.parts.total(),
        queue_ns,
        chip_ns,
        transfer_ns,
        gc_wait_ns,
        metadata_ns,
    }
}

/// The blocks of a channel.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Channel {
    /// Erased blocks.
    pub free: u64,
    /// Blocks that are not bad.
    pub blocks: u64,
    /// Whether one of its blocks is being collected.
    pub is_collecting: bool,
    /// The share of valid pages in the written blocks of each group of consecutive blocks; `None` if none is written.
    pub valid: Vec<Option<f64>>,
}

/// The blocks of each channel. A superblock across several channels belongs to the first of them.
#[must_use]
pub(crate) fn channels(ssd: &Ssd) -> Vec<Channel> {
    let (blocks, geo) = (&ssd.core.ftl.blocks, &ssd.core.ftl.geo);
    let mut of_channel: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pool in 0..blocks.pools() {
        let first = PlaneId(geo.planes_of_pool(PoolId(pool)).start);
        of_channel.entry(geo.channel_of(first).0).or_default().push(pool);
    }
    let channels = of_channel.into_values().map(|pools| {
        let channel_blocks: Vec<_> =
            pools.iter().flat_map(|&pool| blocks.of_pool(PoolId(pool))).collect();
        let state = |block: &BlockId| blocks.state[block.at()];
        let is = |states: &[BlockState]| {
            channel_blocks.iter().filter(|block| states.contains(&state(block))).count()
        };
        let bad = is(&[BlockState::Bad]);
        let share = |group: &[BlockId]| {
            let written = group.iter().filter(|block| {
                matches!(
                    state(block),
                    BlockState::Open | BlockState::Sealed | BlockState::Collecting
                )
            });
            let valid: Vec<u64> =
                written.map(|block| u64::from(blocks.valid[block.at()])).collect();
            let pages = valid.len() as u64 * u64::from(blocks.pages_per_block);
            (pages > 0).then(|| valid.iter().sum::<u64>() as f64 / pages as f64)
        };
        Channel {
            free: is(&[BlockState::Free]) as u64,
            blocks: (channel_blocks.len() - bad) as u64,
            is_collecting: is(&[BlockState::Collecting, BlockState::Erasing]) > 0,
            valid: channel_blocks
                .chunks(channel_blocks.len().div_ceil(GROUPS))
                .map(share)
                .collect(),
        }
    });
    channels.collect()
}
