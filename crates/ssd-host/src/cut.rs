//! What a power cut takes from the store: the drive mounts, the file system mounts from its pages, the store opens, and
//! its pairs are compared with the writes that had been acknowledged.

use crate::executor::{Acknowledged, HostError, Machine};
use crate::settings::HostSettings;
use crate::workload::{Values, Workload};
use serde_json::{Value, json};
use ssd_core::config::Config;
use ssd_core::host::device::Device as _;
use ssd_kv::{Db, ReadOptions};
use ssd_trace::keys::KeyOp;
use std::collections::{BTreeMap, BTreeSet};

/// A write of the workload: its key, and version and bytes of its value; `None` for a deletion.
pub type Write = (Vec<u8>, Option<(u64, usize)>);

/// Cut the power of a machine now and recover it. Returns what the report says about it, and the machine with the store
/// open. `workload` is that of the machine, from its beginning.
///
/// # Errors
/// Drive, file system or store do not recover, which is an error in the simulator.
pub(crate) fn recover(
    mut machine: Machine,
    config: &Config,
    settings: &HostSettings,
    mut workload: Workload,
) -> Result<(Value, Machine), HostError> {
    let (acknowledged, begun) = machine.take_acknowledged();
    let cut_at = machine.now();
    let mut ssd = machine.into_drive();
    ssd.power_cut()?;
    ssd.mount(false)?;
    let mounted = ssd.now().0;
    let (history, values) = (writes(&mut workload), workload.values().clone());
    let mut machine = Machine::remounted(ssd, config, settings.clone(), workload)?;
    // The simulator has read every page of every file one after the other, which says nothing about a real mount.
    let read = machine.now();
    machine.open()?;
    let losses = losses(machine.store(), &acknowledged, begun, (&history, &values))?;
    let report = json!({
        "at_ns": cut_at,
        "drive_ns": mounted - cut_at,
        "store_ns": machine.now() - read,
        "acknowledged": acknowledged.len(),
        "lost": losses.writes,
        "lost_synced": losses.synced,
        "lost_ns": losses.since_ns.map_or(0, |since| cut_at - since),
    });
    Ok((report, machine))
}

/// What is lost, of the acknowledged writes in the order of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Losses {
    /// The first write that is lost, and all after it.
    pub writes: usize,
    /// Those of them that had to be durable: up to the last synced write.
    pub synced: usize,
    /// When the first of them was acknowledged.
    pub since_ns: Option<u64>,
}

/// All writes that are left in the workload, in the order in which clients take them.
fn writes(workload: &mut Workload) -> Vec<Write> {
    let (mut all, mut version) = (Vec::new(), 0);
    loop {
        while let Some((request, key)) = workload.next_operation() {
            match request.op {
                KeyOp::Read | KeyOp::Scan => {}
                KeyOp::Delete => all.push((key, None)),
                KeyOp::Insert | KeyOp::Update | KeyOp::ReadModifyWrite => {
                    all.push((key, Some((version, request.value_bytes as usize))));
                    version += 1;
                }
            }
        }
        if !workload.next_phase() {
            return all;
        }
    }
}

/// What the store `db` lacks of the `acknowledged` writes. `begun`: writes that clients have taken, acknowledged or
/// not. The last argument is the whole history of writes, and their values.
///
/// # Errors
/// The store cannot be read.
pub fn losses(
    db: &Db,
    acknowledged: &[Acknowledged],
    begun: u64,
    (history, values): (&[Write], &Values),
) -> Result<Losses, HostError> {
    let written = |number: u64| &history[number as usize - 1];
    // Places in the log by key.
    let mut places = BTreeMap::<&[u8], Vec<usize>>::new();
    for (place, write) in acknowledged.iter().enumerate() {
        places.entry(&written(write.number).0).or_default().push(place);
    }
    let known: BTreeSet<u64> = acknowledged.iter().map(|write| write.number).collect();
    let under_way: Vec<u64> = (1..=begun).filter(|number| !known.contains(number)).collect();
    let mut first_lost = acknowledged.len();
    let read = ReadOptions { verify_checksums: true, fill_cache: false };
    for (key, places) in &places {
        let found = db.get(key, read, None)?;
        let is_there = |number: u64| {
            let value = written(number).1.map(|(version, bytes)| values.value(version, bytes));
            found.as_deref() == value
        };
        let last = places.iter().rposition(|&place| is_there(acknowledged[place].number));
        let lost = places.get(last.map_or(0, |at| at + 1));
        let Some(&lost) = lost.filter(|&&place| place < first_lost) else { continue };
        // A write that had not been acknowledged may be there, too: then its key has lost nothing.
        if !under_way.iter().any(|&number| written(number).0 == *key && is_there(number)) {
            first_lost = lost;
        }
    }
    let last_synced = acknowledged.iter().rposition(|write| write.sync).map_or(0, |at| at + 1);
    Ok(Losses {
        writes: acknowledged.len() - first_lost,
        synced: last_synced.saturating_sub(first_lost),
        since_ns: acknowledged.get(first_lost).map(|write| write.at_ns),
    })
}
