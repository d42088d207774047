//! What fits into the NVRAM and the checkpoints of a device that copies, what copies leave behind after cuts, and how
//! long a page that a copy has replaced waits for room.

use crate::rig::{
    self,
    runs::{Mix, Run},
};
use crate::rig::{device, whole};
use ssd_core::config::{BufferPower, Config, DataMode, PoolScope, PowerCut, RemapMode};
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

fn small(mode: RemapMode, nvram_bytes: u64) -> Config {
    let mut c = device([1, 1, 1], 64, 8, 300);
    (c.remap.mode, c.power.cut, c.power.nvram_bytes) = (mode, PowerCut::OnRequest, nvram_bytes);
    c
}

fn copy(ssd: &mut Ssd, to: u32, from: u32, pages: u32) -> Result<(), DeviceError> {
    let data = encode(&[SourceRange {
        sector: u64::from(from) * rig::PAGE,
        sectors: u64::from(pages) * rig::PAGE,
    }]);
    ssd.submit(ssd.now(), &whole(Op::Copy, to, pages), Some(&data)).map(drop)
}

fn idle(ssd: &mut Ssd) {
    while let Some(next) = ssd.next_event() {
        ssd.run_until(next, &mut Vec::new()).expect("it goes on");
    }
}

#[test]
fn a_copy_whose_records_the_nvram_cannot_hold_is_refused_with_the_remedy() {
    for mode in [RemapMode::Share, RemapMode::Copy] {
        let mut ssd = rig::with_pages(&small(mode, 64), 8);
        let error = copy(&mut ssd, 100, 0, 3).expect_err("it takes 96 B").to_string();
        for words in ["3 pages", "96 B", "holds 64 B", "at most 2 pages", "power.nvram = \"96 B\""]
        {
            assert!(error.contains(words), "{error}");
        }
        assert_eq!((ssd.outstanding(), ssd.measured().remap.refused_range), (0, 1));
        copy(&mut ssd, 100, 0, 2).expect("it takes 64 B");
        idle(&mut ssd);
        assert_eq!(ssd.outstanding(), 0);
        // Without power cuts no record is needed.
        let mut c = small(mode, 64);
        c.power.cut = PowerCut::Never;
        copy(&mut rig::with_pages(&c, 8), 100, 0, 3).expect("there are no records");
    }
}

/// Pages of a checkpoint of 300 LPNs and 64 blocks, 1584 B, with what else it lists.
#[test]
fn a_checkpoint_takes_pages_for_the_owners_and_trims_that_it_lists() {
    // Due with the 16th page; records alone do not trigger a checkpoint.
    let mut c = small(RemapMode::Share, 1 << 20);
    c.power.checkpoint_bytes = 120 * 2048;
    for (owners, pages) in [(20, 1), (60, 2)] {
        let mut ssd = rig::with_pages(&c, 100);
        copy(&mut ssd, 200, 0, owners).expect("a copy");
        idle(&mut ssd);
        for lpn in owners..120 {
            rig::alone(&mut ssd, whole(Op::Write, 100 + lpn % 30, 1));
        }
        idle(&mut ssd);
        let m = ssd.measured();
        assert_eq!(m.power.checkpoints, 1, "{owners} owners");
        assert_eq!(m.flash.programs[Cause::Metadata.at()], pages, "{owners} owners");
        ssd.power_cut().expect("power is on");
        let recovery = ssd.mount(false).expect("power is off");
        assert_eq!(recovery.checkpoint_pages, pages, "{owners} owners");
    }
    // 60 writes under way are trimmed: a checkpoint that begins then lists at least 48 of them.
    let mut ssd = rig::with_pages(&small(RemapMode::Off, 1024), 0);
    for op in [Op::Write, Op::Trim] {
        for lpn in 0..60 {
            ssd.submit(Nanos::ZERO, &whole(op, lpn, 1), None).expect("a valid request");
        }
    }
    while ssd.measured().power.checkpoints == 0 {
        let next = ssd.next_event().expect("a checkpoint is written");
        ssd.run_until(next, &mut Vec::new()).expect("it goes on");
    }
    assert!(ssd.measured().flash.programs[Cause::Metadata.at()] >= 2, "the trims took no room");
}

#[test]
fn every_copy_has_a_page_of_its_own_after_cuts() {
    for (seed, cut) in (0..6).flat_map(|seed| [60_000, 25_000].map(|cut| (seed, cut))) {
        let mut c = device([1, 2, 1], 16, 8, 150);
        (c.run.data, c.alloc.pool) = (DataMode::Bytes, PoolScope::Device);
        (c.remap.mode, c.power.cut) = (RemapMode::Copy, PowerCut::Random(cut));
        let mut run = Run::new(&c, Mix { seed, copy: 40, ..Mix::ALL });
        run.run(1500);
        let ssd = run.end();
        assert!(ssd.measured().power.cuts > 5, "{:?}", ssd.measured().power);
        let shared = ssd.core.ftl.pages_by_owners().iter().skip(1).sum::<u64>();
        assert_eq!(shared, 0, "seed {seed}: pages with several owners");
    }
}

/// Pages 0, 1 and 2 are written at once into a buffer of one page, and page 2 is replaced while it waits: by a copy of
/// page `source`, after a TRIM if `is_trimmed`. Returns when the writes of pages 1 and 2 complete, and how many pages
/// go from the buffer to flash.
fn replace_in_line(c: &Config, source: u32, is_trimmed: bool) -> (Nanos, Nanos, u64) {
    let mut ssd = rig::with_pages(c, 8);
    ssd.audit_every(1);
    for lpn in 0..3 {
        ssd.submit(Nanos::ZERO, &whole(Op::Write, lpn, 1), None).expect("a valid write");
    }
    if is_trimmed {
        ssd.submit(Nanos::ZERO, &whole(Op::Trim, 2, 1), None).expect("a valid TRIM");
    }
    copy(&mut ssd, 2, source, 1).expect("a valid copy");
    let done = rig::finish(&mut ssd).expect("they complete");
    let end = |id| done.iter().find(|c| c.id.0 == id).expect("it was submitted").at;
    ssd.empty_buffer().expect("there is room");
    (end(1), end(2), ssd.measured().buffer.evicted)
}

#[test]
fn a_page_waits_for_room_until_the_copy_over_it_has_the_page_of_its_source() {
    for (mode, buffer) in [RemapMode::Share, RemapMode::Copy]
        .into_iter()
        .flat_map(|mode| [BufferPower::Volatile, BufferPower::Protected].map(|b| (mode, b)))
    {
        let mut c = small(mode, 4096);
        (c.host.write_buffer_pages, c.host.write_buffer_threshold) = (1, 1.0);
        c.power.buffer = buffer;
        // Page 5 is on flash, and page 1 waits, too: when it enters, page 2 is the first in line. With a source on
        // flash, or after a TRIM, it needs no room; otherwise it waits until the source has left the buffer for flash.
        for (source, is_trimmed, waits) in [(5, false, false), (1, true, false), (1, false, true)] {
            let what = format!("{mode:?}, {buffer:?}, source {source}, {is_trimmed}");
            let (entered, ended, evicted) = replace_in_line(&c, source, is_trimmed);
            assert_eq!(
                ended > entered,
                waits,
                "{what}: page 2 ended at {ended:?}, after {entered:?}"
            );
            assert_eq!(evicted, 2, "{what}: page 2 was programmed for nobody");
        }
    }
}
