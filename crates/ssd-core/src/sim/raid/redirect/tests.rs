use super::super::tests::{PROGRAM, READ, device, fill_up, homes, run_until, submit};
use super::*;
use crate::ftl::raid::redirect::deferred_gc;
use crate::host::device::Device as _;
use crate::host::request::Op;
use crate::plug::{PolicySpec, Value};
use crate::rng::Stream;
use crate::sim::ssd::Ssd;

fn redirecting(planned: bool, queue: u32) -> Ssd {
    device(|c| {
        let redirect = PolicySpec::with_defaults(&deferred_gc::INFO);
        c.raid.redirect = redirect.with("planned", Value::Bool(planned));
        c.raid.queue = queue;
    })
}

/// The estimates of each chip: when its operations have ended (CT), when the next request arrives (AT), and the
/// programs that wait (C_w).
fn estimates(ssd: &Ssd) -> Vec<(u64, u64, u64)> {
    let raid = ssd.raid.as_deref().expect("parity");
    let all = raid.every_chip(&ssd.core);
    all.iter().map(|chip| (chip.completion_ns, chip.next_arrival_ns, chip.waiting)).collect()
}

/// The estimates according to the head of the module, for the update of `first`, which reads behind two more reads of
/// its chip, and that of `second`, in line behind it; both are of one group.
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
    // The one in line comes after a read and a program, and does not count as planned yet.
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
            let page = ssd.core.ftl.owners.committed(*lpn).expect("it is written");
            ssd.core.ftl.geo.plane_of(page) == chip
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
        // It programs; the update behind it is next for its chips.
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

/// When a chip has finished what was queued on it: each operation begins once those before it have ended, and at once
/// on an idle chip. Operations: when they were queued, and how long they take.
fn ended(queued: &[(u64, u64)]) -> u64 {
    queued.iter().fold(0, |end: u64, &(at, ns)| end.max(at) + ns)
}

/// Let everything until `at` happen, and check the estimates of each chip against `queued`. Returns the last
/// completion.
fn checked_until(ssd: &mut Ssd, at: u64, queued: &[Vec<(u64, u64)>]) -> u64 {
    let done = run_until(ssd, at);
    let expected: Vec<u64> = queued.iter().map(|chip| ended(chip).max(at)).collect();
    let estimated: Vec<u64> = estimates(ssd).iter().map(|chip| chip.0).collect();
    assert_eq!(estimated, expected, "at {at}");
    done.last().map_or(0, |last| last.at.0)
}

#[test]
fn a_chip_has_ended_what_it_was_given_in_turn() {
    let mut ssd = redirecting(true, 64);
    let mut random = Stream::new(7, "estimates");
    let mut queued = vec![Vec::new(); 8];
    let (mut updates, mut idle, mut busy, mut last) = (0, 0, 0, 0);
    for _ in 0..2000 {
        let now = ssd.now().0;
        let lpn = Lpn(random.below(1000) as u32);
        let rests = queued.iter().all(|chip| ended(chip) <= now);
        // Few enough for all chips to have room. A lone update reads at once, and programs when it has read.
        let update = updates < 200 && rests && random.chance(0.3);
        if update {
            updates += 1;
            submit(&mut ssd, Op::Write, lpn);
            for (at, ns) in [(now, READ), (now + READ, PROGRAM)] {
                homes(&ssd, lpn).iter().for_each(|home| queued[home.at()].push((at, ns)));
                last = checked_until(&mut ssd, at, &queued).max(last);
            }
        } else {
            let page = ssd.core.ftl.owners.committed(lpn).expect("all pages are written");
            let chip = &mut queued[ssd.core.ftl.geo.plane_of(page).at()];
            *(if ended(chip) > now { &mut busy } else { &mut idle }) += 1;
            chip.push((now, READ));
            submit(&mut ssd, Op::Read, lpn);
            last = checked_until(&mut ssd, now, &queued).max(last);
        }
        // An update is alone until it has ended, and sometimes all chips are idle.
        let ends = queued.iter().map(|chip| ended(chip)).max().unwrap_or(0);
        let then = ssd.now().0 + random.below(READ);
        let then = if update || random.chance(0.2) { then.max(ends) } else { then };
        last = checked_until(&mut ssd, then, &queued).max(last);
        if ends <= then {
            assert_eq!(last, ends, "the estimates were right");
        }
    }
    let kinds = [updates, idle, busy];
    assert!(
        kinds.iter().all(|&times| times > 100),
        "updates, reads of idle and busy chips: {kinds:?}"
    );
}
