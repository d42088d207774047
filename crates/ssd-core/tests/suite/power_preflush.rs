//! A write with preflush and a cut at every instant: its data are on flash only after everything that it flushes.

use crate::rig::{self, device, whole};
use ssd_core::config::{BufferPower, Config, PowerCut};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, flags};
use ssd_core::units::{Lpn, Nanos};

/// Two planes, and a write buffer with room for all pages of the test.
fn buffered(buffer: BufferPower, nvram_ns: u64) -> Config {
    let mut c = device([1, 2, 1], 16, 8, 150);
    (c.power.cut, c.power.buffer) = (PowerCut::OnRequest, buffer);
    (c.power.nvram_ns, c.host.write_buffer_pages) = (nvram_ns, 16);
    c
}

/// A write of page 9 with preflush and FUA, alone on its plane, flushes pages 0, 2, 4 and 6. Before that, page 8 has
/// been written, flushed, overwritten and trimmed. Returns whether the commit is on flash after a cut at `at`.
fn commit_survives(c: &Config, at: Nanos) -> bool {
    let mut ssd = rig::with_pages(c, 0);
    rig::alone(&mut ssd, whole(Op::Write, 8, 1));
    rig::alone(&mut ssd, ssd_core::host::request::Request::new(Op::Flush, 0, 0));
    for lpn in [0, 2, 4, 6, 8] {
        rig::alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    let start = ssd.now();
    ssd.submit(start, &whole(Op::Trim, 8, 1), None).expect("a TRIM");
    let mut commit = whole(Op::Write, 9, 2);
    commit.flags = flags::PREFLUSH | flags::FUA;
    ssd.submit(start, &commit, None).expect("a write");
    let (cut, mut done) = (Nanos(start.0 + at.0), Vec::new());
    loop {
        let before = done.len();
        ssd.run_until(cut, &mut done).expect("it goes on");
        if done.len() == before {
            break;
        }
    }
    ssd.wait_until(cut).expect("in range");
    ssd.power_cut().expect("power is on");
    ssd.mount(false).expect("power is off");
    let there = |lpn| ssd.page_on_flash(Lpn(lpn)).is_some();
    let commit = there(9) || there(10);
    if commit && c.power.buffer == BufferPower::Volatile {
        assert!([0, 2, 4, 6].into_iter().all(there), "the commit was on flash before, at {at:?}");
        assert!(!there(8), "page 8 has risen at {at:?}");
    }
    assert!(there(9) && there(10) || done.iter().all(|c| c.op != Op::Write), "{at:?}");
    commit
}

#[test]
fn a_commit_is_on_flash_after_what_it_flushes() {
    for buffer in [BufferPower::Volatile, BufferPower::Protected] {
        // The TRIM is recorded before the flush ends, or long after.
        for nvram_ns in [10, 3000] {
            let c = buffered(buffer, nvram_ns);
            let survived = (1..700).filter(|&at| commit_survives(&c, Nanos(at * 10))).count();
            assert!((50..650).contains(&survived), "{buffer:?}: {survived} cuts after the commit");
        }
    }
}
