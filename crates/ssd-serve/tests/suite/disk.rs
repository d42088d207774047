//! The thread that writes: the order of its actions, and who is told of them.

use crate::rig::{Temporary, open, with_state};
use ssd_serve::disk::{Disk, Range};
use ssd_serve::slots::Slots;
use ssd_serve::table::{NONE, SlotTable};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

fn file(folder: &Temporary) -> Arc<File> {
    let mut options = File::options();
    let options = options.read(true).write(true).create_new(true);
    Arc::new(options.open(folder.0.join("file")).expect("a file"))
}

#[test]
fn what_it_is_told_is_done_in_order() {
    let (folder, mut disk) = (Temporary::new(), Disk::start().expect("a disk"));
    let file = file(&folder);
    for i in 0..1000u64 {
        disk.write(&file, i % 7 * 10, vec![i as u8; 10].into()).expect("room");
    }
    let position = disk.position();
    disk.punch(&file, Range { at: 0, bytes: 10 });
    disk.wait(position).expect("room");
    assert!(disk.done() >= position);
    disk.settle().expect("room");
    assert_eq!((disk.done(), disk.position()), (1001, 1001));
    let data = std::fs::read(folder.0.join("file")).expect("the file");
    assert_eq!(data[..10], [0; 10]);
    for i in 994..1000u64 {
        let at = i as usize % 7 * 10;
        if at > 0 {
            assert_eq!(data[at..at + 10], [i as u8; 10]);
        }
    }
}

#[test]
fn a_disk_that_fails_does_nothing_more_and_says_so() {
    let (folder, mut disk) = (Temporary::new(), Disk::start().expect("a disk"));
    let (good, full) = (file(&folder), File::options().write(true).open("/dev/full"));
    disk.write(&Arc::new(full.expect("it is there")), 0, vec![1].into()).expect("it is not full");
    let _ = disk.write(&good, 0, vec![2].into());
    let failed = disk.settle().map_err(|error| error.kind());
    assert_eq!(failed, Err(ErrorKind::StorageFull));
    assert_eq!(disk.done(), 0, "something has been done");
    drop(disk);
    assert!(std::fs::read(folder.0.join("file")).expect("the file").is_empty());
}

#[test]
fn more_than_may_wait_is_waited_for() {
    let (folder, mut disk) = (Temporary::new(), Disk::start().expect("a disk"));
    let (file, data): (_, Arc<[u8]>) = (file(&folder), vec![7; 8 << 20].into());
    for i in 0..24 {
        disk.write(&file, i % 3 * (8 << 20), Arc::clone(&data)).expect("room");
        assert!(disk.position() - disk.done() <= 9, "too much waits");
    }
}

#[test]
fn data_are_there_before_they_are_on_the_disk_and_after() {
    let (folder, mut disk) = (Temporary::new(), Disk::start().expect("a disk"));
    let path = folder.0.join("pages");
    let mut slots = Slots::open(&path, 4096).expect("a file");
    let mut known = std::collections::BTreeMap::new();
    for i in 0..2000u32 {
        let slot = slots.add(&[i as u8; 4096], &mut disk).expect("room");
        assert!(known.insert(slot, i as u8).is_none(), "slot {slot} is in use");
        match i % 5 {
            0 => {
                known.remove(&slot);
                slots.free(slot);
            }
            1 => {
                known.remove(&slot);
                slots.give_back(vec![slot], &mut disk);
            }
            _ => {}
        }
        let (&any, &byte) =
            known.iter().nth(i as usize / 2 % known.len().max(1)).unwrap_or((&NONE, &0));
        let mut page = [1; 100];
        slots.read(any, 50, &mut page).expect("the disk works");
        assert_eq!(page, [byte; 100]);
    }
    let mut table = SlotTable::new(known.len() as u32);
    for (lpn, &slot) in (0u32..).zip(known.keys()) {
        table.replace(lpn, slot);
    }
    slots.keep_only(&table, &disk).expect("the disk works");
    assert!(slots.allocated() > known.len() as u64, "nothing is left to release");
    while slots.release_some(&mut disk) {
        disk.settle().expect("the disk works");
    }
    assert_eq!(slots.allocated(), known.len() as u64);
    for (&slot, &byte) in &known {
        let mut page = [1; 4096];
        slots.read(slot, 0, &mut page).expect("the disk works");
        assert_eq!(page, [byte; 4096]);
    }
    let room = std::fs::metadata(&path).expect("the file").blocks() * 512;
    // And the space that the file system needs for many extents.
    assert!(room < 4096 * (known.len() as u64 + 16), "others take room: {room} bytes");
}

#[test]
fn freed_slots_are_used_again_or_released_later() {
    let (folder, mut disk) = (Temporary::new(), Disk::start().expect("a disk"));
    let mut slots = Slots::open(&folder.0.join("pages"), 4096).expect("a file");
    let all: Vec<u32> =
        (0..3000).map(|_| slots.add(&[7; 4096], &mut disk).expect("room")).collect();
    disk.settle().expect("the disk works");
    let position = disk.position();
    all.iter().for_each(|&slot| slots.free(slot));
    assert_eq!(disk.position(), position, "a free slot costs the disk work at once");
    assert_eq!(slots.add(&[8; 4096], &mut disk).expect("room"), 0);
    let before = slots.allocated();
    disk.settle().expect("the disk works");
    let mut calls = 0;
    while slots.release_some(&mut disk) {
        disk.settle().expect("the disk works");
        calls += 1;
    }
    // Neighbours take one call, and enough for the next writes stay.
    assert_eq!(calls, 1);
    assert_eq!((before > 3000, slots.allocated()), (true, 1 + 1024));
}

#[test]
fn neighbours_are_given_back_in_one_piece() {
    let (folder, mut disk) = (Temporary::new(), Disk::start().expect("a disk"));
    let path = folder.0.join("pages");
    let mut slots = Slots::open(&path, 4096).expect("a file");
    let mut all: Vec<u32> =
        (0..200).map(|_| slots.add(&[7; 4096], &mut disk).expect("room")).collect();
    assert!(all.iter().copied().eq(0..200));
    disk.settle().expect("the disk works");
    let full = std::fs::metadata(&path).expect("the file").blocks();
    // Of three runs, in any order: 0 to 99, 120 to 149 and 199.
    all.reverse();
    all.retain(|&slot| slot < 100 || (120..150).contains(&slot) || slot == 199);
    let before = disk.position();
    slots.give_back(all, &mut disk);
    assert_eq!(disk.position() - before, 3);
    disk.settle().expect("the disk works");
    let left = std::fs::metadata(&path).expect("the file").blocks();
    assert_eq!((full - left) * 512, 131 * 4096);
    let mut page = [1; 4096];
    slots.read(150, 0, &mut page).expect("the disk works");
    assert_eq!(page, [7; 4096], "a slot between them has gone");
}

#[test]
fn only_a_reply_that_promises_something_waits_for_the_disk() {
    let buffered = ("host.write_buffer_pages", "8");
    for (sets, fua, waits) in [
        (&[][..], false, true),
        (&[buffered], false, false),
        (&[buffered], true, true),
        (&[buffered, ("power.cut", "on-request"), ("power.buffer", "protected")], false, true),
    ] {
        let (folder, config) = (Temporary::new(), with_state(sets));
        let (_state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
        let log = || std::fs::metadata(folder.0.join("1.log")).expect("the log").len();
        let written = engine.write(1, 0, &[7; 4096], fua).expect("room");
        while !engine.has_completions() {
            let at = engine.next_event().expect("it is under way");
            engine.run(at);
        }
        let mut heard = engine.completions().expect("the disk works");
        assert!(waits || heard.len() == 1, "{sets:?}");
        while heard.is_empty() {
            assert!(engine.wake_fd().is_some(), "nobody is woken");
            heard = engine.completions().expect("the disk works");
        }
        assert_eq!(heard[0].id.0, written.first);
        assert!(engine.wake_fd().is_none());
        // A request with the slot of a page, and a mark.
        assert!(!waits || log() == 28 + 24, "{} bytes of the log are there", log());
    }
}
