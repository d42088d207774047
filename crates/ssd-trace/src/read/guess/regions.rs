//! Columns with a part of the device, such as a zone or an object, in which an address may count from 0.

use super::names::letters_of;
use super::table::Table;
use crate::read::formats::{Head, Mapping};
use std::collections::BTreeSet;

/// Names of such columns, reduced to letters and digits in lower case.
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
/// Names among these that may identify requests instead.
const NAMES_OF_REQUESTS: [&str; 3] = ["uuid", "guid", "fd"];
/// Parts of names of addresses from the start of the device. An offset, a block or a page may count from the start of a
/// part.
const OF_DEVICE: [&str; 5] = ["lba", "lbn", "sector", "lpn", "blk"];

/// Returns the first such column of the table in `head`, in the notation of a mapping, if it has several values,
/// `columns` does not use it, and neither the volume nor the address determines it.
pub(crate) fn of(head: &Head<'_>, columns: &Mapping) -> Option<String> {
    let table = Table::of(head)?;
    let letters = &table.columns.offset.letters;
    // An address counts from the start of the device, unless two parts have the same address.
    let is_address = letters.contains("addr");
    if OF_DEVICE.iter().any(|part| letters.contains(part)) {
        return None;
    }
    let used: Vec<&str> = columns.places().iter().filter_map(|(_, place)| place.name()).collect();
    let is_region = |&at: &usize| {
        let letters = letters_of(&table.names[at]);
        REGIONS.contains(&letters.as_str())
            && !used.contains(&table.names[at].as_str())
            && (!NAMES_OF_REQUESTS.contains(&letters.as_str()) || has_ranges(&table, at))
            && (!is_address || has_equal_addresses(&table, at))
            && !is_in_order(&table, at)
    };
    let at = (0..table.names.len()).find(is_region)?;
    Some(super::columns::place_of(&table.names, at))
}

/// Returns the numbers of distinct values of the column, of distinct addresses, and of distinct pairs of both.
fn distinct(table: &Table, at: usize) -> [usize; 3] {
    let (rows, offset) = (&table.rows, table.columns.offset.at);
    let pairs: BTreeSet<_> = rows.whole_column(at).zip(rows.whole_column(offset)).collect();
    [rows.distinct(at), rows.distinct(offset), pairs.len()]
}

/// Returns whether a value of the column has several addresses. The name of a request has only one.
fn has_ranges(table: &Table, at: usize) -> bool {
    let [values, _, pairs] = distinct(table, at);
    pairs > values
}

/// Returns whether several values of the column share an address.
fn has_equal_addresses(table: &Table, at: usize) -> bool {
    let [_, addresses, pairs] = distinct(table, at);
    pairs > addresses
}

/// Returns whether the values of the column are constant or rise with the addresses of each volume, as in a column
/// calculated from addresses.
fn is_in_order(table: &Table, at: usize) -> bool {
    let number = |cell: &str| cell.parse::<u64>().ok();
    let offset = table.columns.offset.at;
    let volume = table.columns.volume(&table.rows).map(|volume| volume.at);
    let of_row = |row: &Vec<String>| {
        let volume = volume.map(|volume| row[volume].clone());
        (volume, number(&row[offset]), number(&row[at]), row[at].clone())
    };
    let mut keys: Vec<_> = table.rows.rows.iter().map(of_row).collect();
    keys.sort();
    keys.is_sorted_by_key(|(volume, _, value, text)| (volume, value, text))
}
