//! The rebuild against a literal version of its rules: which page is next, when it begins, and when it is on flash,
//! while the host reads, writes and trims.

use crate::rig::parity::{PROGRAM, READ, with_bytes};
use crate::rig::{filled, finish, whole};
use ssd_core::config::{ChipFailure, Config};
use ssd_core::host::device::Device;
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};
use std::collections::BTreeSet;

const FAILS: u64 = 1_000;
/// Long enough for everything that the host does between two pages.
const INTERVAL: u64 = 4_000_000;

/// A device of `chips` chips, one of which fails and is replaced at once. Returns it and the chip.
fn failed(chips: u32, group: u32, rng: &mut Stream) -> (Config, u32) {
    let mut c = with_bytes([chips, 1, 1], group, 40 + rng.below(20) as u32);
    let chip = rng.below(u64::from(chips)) as u32;
    c.raid.fail = vec![ChipFailure { chip, at_ns: FAILS }];
    (c.raid.spares, c.metrics.op_log) = (1, true);
    (c, chip)
}

/// The logical pages with their home on `chip`: lowest numbers first, parity behind the pages of the host.
fn pages_at_home(ssd: &Ssd, chip: u32) -> BTreeSet<u32> {
    let groups = ssd.core.ftl.parity_groups();
    let at_home = |&lpn: &u32| groups.home(Lpn(lpn)).0 == chip;
    (0..ssd.core.ftl.geo.logical_pages).filter(at_home).collect()
}

fn rebuilds(ssd: &mut Ssd, op: FlashOp) -> Vec<OpRecord> {
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    log.retain(|row| row.cause == Cause::Rebuild && row.op == op);
    log
}

/// Page after page in the order of their numbers. Each begins an interval after the previous one, when fewer than the
/// window are under way. It is read from the other chips at the same time, behind what waits there, then programmed.
#[test]
fn pages_are_rebuilt_when_room_in_the_window_and_the_rate_allow() {
    let mut rng = Stream::new(5, "rebuilds");
    let (mut by_window, mut by_rate) = (0, 0);
    for round in 0..16 {
        let (chips, group) = [(4, 4), (6, 3), (4, 2), (8, 8)][round % 4];
        let (mut c, chip) = failed(chips, group, &mut rng);
        c.raid.rebuild_window = 1 + rng.below(5) as u32;
        let interval = if rng.chance(0.3) {
            0
        } else {
            let rate = 4_000_000 + rng.below(40_000_000);
            c.raid.rebuild_rate = Some(rate);
            (u64::from(c.device.page_bytes) * 1_000_000_000).div_ceil(rate)
        };
        let mut ssd = filled(&c);
        let lost = pages_at_home(&ssd, chip);
        let others: Vec<u32> =
            (0..chips).filter(|&o| o / group == chip / group && o != chip).collect();
        // Reads of the host from the chips that are read.
        let mut arrivals: Vec<(u64, u32, u32)> = Vec::new();
        for _ in 0..rng.below(150) {
            let at = FAILS + 1 + rng.below(10_000_000);
            let lpn = rng.below(u64::from(c.device.user_pages)) as u32;
            let home = ssd.core.ftl.parity_groups().home(Lpn(lpn)).0;
            if others.contains(&home) {
                arrivals.push((at, home, lpn));
            }
        }
        arrivals.sort_unstable();
        for &(at, _, lpn) in &arrivals {
            ssd.submit(Nanos(at), &whole(Op::Read, lpn, 1), None).expect("a read");
        }
        finish(&mut ssd).expect("reads complete");
        ssd.run_until(Nanos(1_000_000_000), &mut Vec::new()).expect("the rebuild ends");
        let log: Vec<_> = rebuilds(&mut ssd, FlashOp::Program)
            .iter()
            .map(|row| (row.lpn, row.queued.0, row.end.0))
            .collect();
        let mut free = vec![0; chips as usize];
        let (mut next_at, mut ends, mut arrivals) =
            (FAILS, Vec::new(), arrivals.into_iter().peekable());
        let mut expected = Vec::new();
        for (&lpn, number) in lost.iter().zip(0..) {
            let room = usize::checked_sub(number, c.raid.rebuild_window as usize);
            let room_at = room.map_or(0, |before| ends[before]);
            by_window += u32::from(room_at > next_at);
            by_rate += u32::from(room_at < next_at);
            let begin = next_at.max(room_at);
            next_at = begin + interval;
            while let Some((at, home, _)) = arrivals.next_if(|&(at, ..)| at < begin) {
                free[home as usize] = at.max(free[home as usize]) + READ;
            }
            for &other in &others {
                free[other as usize] = begin.max(free[other as usize]) + READ;
            }
            let is_read = others.iter().map(|&other| free[other as usize]).max().expect("a group");
            let end = is_read.max(free[chip as usize]) + PROGRAM;
            free[chip as usize] = end;
            ends.push(end);
            expected.push((lpn, is_read, end));
        }
        assert_eq!(log, expected, "round {round}: window {}, {interval} ns", c.raid.rebuild_window);
    }
    assert!(by_window > 100 && by_rate > 100, "{by_window} by the window, {by_rate} by the rate");
}

/// A page that the host has written or trimmed need not be rebuilt, nor need the parity of its group.
#[test]
fn the_lowest_page_that_is_still_lost_is_next() {
    let mut rng = Stream::new(6, "rebuilds");
    let mut spared = 0;
    for round in 0..12 {
        let (chips, group) = [(4, 4), (6, 3), (4, 2)][round % 3];
        let (mut c, chip) = failed(chips, group, &mut rng);
        c.raid.rebuild_rate = Some(u64::from(c.device.page_bytes) * 1_000_000_000 / INTERVAL);
        let mut ssd = filled(&c);
        let mut lost = pages_at_home(&ssd, chip);
        let all = lost.len();
        let mut expected = Vec::new();
        for number in 0.. {
            let begin = FAILS + number * INTERVAL;
            let Some(lpn) = lost.pop_first() else { break };
            expected.push((lpn, begin + READ));
            // Between two pages, so that neither waits for the other.
            for place in 0..rng.below(3) {
                let at = begin + 500_000 * (1 + place) + rng.below(500_000);
                let lpn = rng.below(u64::from(c.device.user_pages)) as u32;
                let op = if rng.chance(0.5) { Op::Write } else { Op::Trim };
                ssd.submit(Nanos(at), &whole(op, lpn, 1), None).expect("a valid request");
                let groups = ssd.core.ftl.parity_groups();
                lost.remove(&lpn);
                lost.remove(&groups.parity(groups.group_of(Lpn(lpn))).0);
            }
        }
        finish(&mut ssd).expect("requests complete");
        ssd.run_until(Nanos(2_000_000_000), &mut Vec::new()).expect("the rebuild ends");
        let log: Vec<_> = rebuilds(&mut ssd, FlashOp::Program)
            .iter()
            .map(|row| (row.lpn, row.queued.0))
            .collect();
        assert_eq!(log, expected, "round {round}");
        let degraded = ssd.measured().degraded.as_ref().expect("a chip has failed");
        assert_eq!((degraded.rebuilt, degraded.pages_left), (log.len() as u64, 0));
        spared += all - log.len();
    }
    assert!(spared > 50, "{spared} pages were spared");
}
