//! Columns with a part of the device, such as a zone or an object, in which an address may count from 0.

use super::derived::Table;
use super::letters_of;
use crate::read::formats::{Head, Mapping};
use std::collections::BTreeSet;

/// Names of such columns, as their letters and digits in lower case.
const REGIONS: [&str; 31] = [
    "zone",
    "zoneid",
    "zonenumber",
    "zonenr",
    "zoneno",
    "segment",
    "segmentid",
    "seg",
    "segno",
    "extent",
    "extentid",
    "object",
    "objectname",
    "objname",
    "oid",
    "inode",
    "ino",
    "inodenumber",
    "inodenr",
    "fileid",
    "fd",
    "guid",
    "uuid",
    "volumeguid",
    "diskguid",
    "chunk",
    "chunkid",
    "stripe",
    "blob",
    "shard",
    "shardid",
];
/// Parts of names of addresses that count from the start of the device.
const OF_DEVICE: [&str; 5] = ["lba", "lbn", "sector", "lpn", "blk"];

/// The first such column of the table in `head`, as a mapping calls it, if it has several values, if `columns` does not
/// use it, and if neither the volume nor the address determines it.
pub(crate) fn of(head: &Head<'_>, columns: &Mapping) -> Option<String> {
    let table = Table::of(head)?;
    let (rows, offset) = (&table.rows, &table.columns.offset);
    if OF_DEVICE.iter().any(|part| offset.letters.contains(part)) {
        return None;
    }
    let used: Vec<&str> = columns.places().iter().filter_map(|(_, place)| place.name()).collect();
    let volume = table.columns.volume(rows).map(|volume| volume.at);
    let is_region = |&at: &usize| {
        let name = &table.names[at];
        let of_volume = |row: &Vec<String>| volume.map(|volume| row[volume].clone());
        let pairs: BTreeSet<_> = rows.rows.iter().map(|row| (of_volume(row), &row[at])).collect();
        let volumes: BTreeSet<_> = rows.rows.iter().map(of_volume).collect();
        REGIONS.contains(&letters_of(name).as_str())
            && !used.contains(&name.as_str())
            && pairs.len() > volumes.len()
            && !is_in_order(&table, at)
    };
    let at = (0..table.names.len()).find(is_region)?;
    Some(super::columns::place_of(&table.names, at))
}

/// Whether the values of the column rise with the addresses, as those of a column do that is calculated from them.
fn is_in_order(table: &Table, at: usize) -> bool {
    let number = |cell: &str| cell.parse::<u64>().ok();
    let offset = table.columns.offset.at;
    let rows = table.rows.rows.iter();
    let mut pairs: Vec<(Option<u64>, Option<u64>, &str)> =
        rows.map(|row| (number(&row[offset]), number(&row[at]), row[at].as_str())).collect();
    pairs.sort();
    pairs.is_sorted_by_key(|&(_, value, text)| (value, text))
}
