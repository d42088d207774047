use super::super::tests::{PROGRAM, READ, device, fill_up, homes, run_until, submit};
use super::*;
use crate::ftl::raid::redirect::deferred_gc;
use crate::host::device::Device as _;
use crate::host::request::Op;
use crate::plug::{PolicySpec, Value};

fn redirecting(planned: bool, queue: u32) -> Ssd {
    device(|c| {
        let redirect = PolicySpec::with_defaults(&deferred_gc::INFO);
        c.raid.redirect = redirect.with("planned", Value::Bool(planned));
        c.raid.queue = queue;
    })
}

/// What is estimated of each chip: when its operations have ended (CT), when the next request arrives (AT), and the
/// programs that wait (C_w).
fn estimates(ssd: &Ssd) -> Vec<(u64, u64, u64)> {
    let all = ssd.every_chip();
    all.iter().map(|chip| (chip.completion_ns, chip.next_arrival_ns, chip.waiting)).collect()
}

/// The estimates as the head of the module says, for the update of `first`, which reads while two more reads of its
/// chip are before it, and that of `second`, in line behind it; both are of one group.
fn expected(ssd: &Ssd, first: Lpn, second: Lpn, of: (bool, u32)) -> Vec<(u64, u64, u64)> {
    let ([data, parity], [other, _]) = (homes(ssd, first), homes(ssd, second));
    let (now, (planned, queue)) = (ssd.now().0, of);
    let mut all = vec![(now, u64::MAX, 0); 8];
    // Two reads of the host and one of the update; of the parity only that of the update.
    all[data.at()].0 = 3 * READ;
    all[parity.at()].0 = READ.max(now);
    for home in [data, parity] {
        all[home.at()].1 = 3 * READ;
        all[home.at()].2 = u64::from(planned);
    }
    // The one in line comes after a read and a program, and is no plan yet.
    if queue > 1 {
        all[other.at()].1 = now + READ + PROGRAM;
    }
    all
}

#[test]
fn the_next_request_for_a_chip_comes_when_the_update_before_it_has_read() {
    for of in [(false, 64), (true, 64), (true, 1)] {
        let mut ssd = redirecting(of.0, of.1);
        let (first, second) = (Lpn(0), Lpn(1));
        let chip = homes(&ssd, first)[0];
        let there = |lpn: &Lpn| {
            let page = ssd.ftl.owners.committed(*lpn).expect("it is written");
            ssd.ftl.geo.plane_of(page) == chip
        };
        let reads: Vec<Lpn> = (6..500).map(Lpn).filter(there).take(2).collect();
        for lpn in reads {
            submit(&mut ssd, Op::Read, lpn);
        }
        submit(&mut ssd, Op::Write, first);
        submit(&mut ssd, Op::Write, second);
        for at in [0, 1, READ, 3 * READ - 1] {
            run_until(&mut ssd, at);
            assert_eq!(estimates(&ssd), expected(&ssd, first, second, of), "{of:?} at {at}");
        }
        // It programs: what comes next for its chips is the update behind it.
        run_until(&mut ssd, 3 * READ);
        let ([data, parity], [other, _]) = (homes(&ssd, first), homes(&ssd, second));
        let mut all = vec![(3 * READ, u64::MAX, 0); 8];
        for home in [data, parity] {
            all[home.at()].0 = 3 * READ + PROGRAM;
        }
        for home in [other, parity] {
            all[home.at()].1 = 3 * READ + READ + PROGRAM;
        }
        assert_eq!(estimates(&ssd), all, "{of:?}");
    }
}

#[test]
fn the_next_request_for_a_chip_is_here_when_it_waits_for_room() {
    for planned in [false, true] {
        let mut ssd = redirecting(planned, 64);
        let [data, parity] = homes(&ssd, Lpn(0));
        fill_up(&mut ssd, data);
        submit(&mut ssd, Op::Write, Lpn(0));
        run_until(&mut ssd, 1_000_000);
        let mut all = vec![(1_000_000, u64::MAX, 0); 8];
        for home in [data, parity] {
            all[home.at()] = (1_000_000, 1_000_000, u64::from(planned));
        }
        assert_eq!(estimates(&ssd), all, "planned: {planned}");
    }
}
