use super::*;
use crate::host::device::Device as _;
use crate::host::request::{Completion, Op, Request};
use crate::plug::{PolicySpec, Value};
use crate::sim::functional::Functional;
use crate::sim::ssd::Ssd;

pub(super) const READ: u64 = 25_000;
pub(super) const PROGRAM: u64 = 200_000;

/// Two groups of four chips with the times of the paper and 470 written stripes; `change` changes the configuration.
pub(super) fn device(change: impl Fn(&mut Config)) -> Ssd {
    let mut c = Config::default();
    (c.device.channels, c.device.chips_per_channel, c.device.planes_per_chip) = (8, 1, 1);
    (c.device.blocks_per_plane, c.device.pages_per_block, c.device.page_bytes) = (40, 16, 2048);
    c.raid.group = 4;
    c.device.user_pages = 470 * c.data_pages_per_stripe() as u32;
    (c.timing.model, c.timing.busy_unit) =
        (crate::config::TimingModel::Serial, crate::config::BusyUnit::Chip);
    (c.timing.read_ns, c.timing.program_ns, c.timing.erase_ns) = (READ, PROGRAM, 1_500_000);
    (c.timing.transfer_ns, c.timing.command_ns, c.timing.sram_ns) = (0, 0, 0);
    let on_demand = PolicySpec::with_defaults(&crate::ftl::gc::trigger::on_demand::INFO);
    c.gc.trigger = vec![on_demand.with("soft", Value::Int(4))];
    change(&mut c);
    let mut functional = Functional::new(&c, Ftl::new(&c));
    functional.write_run(Lpn(0), c.device.user_pages, 0).expect("the user pages fit");
    let sequence = functional.sequence();
    Ssd::new(&c, functional.ftl, sequence)
}

/// Submit a request for page `lpn` now.
pub(super) fn submit(ssd: &mut Ssd, op: Op, lpn: Lpn) {
    let sectors = 2048 / 512;
    let request = Request::new(op, u64::from(lpn.0 * sectors), sectors);
    ssd.submit(ssd.now(), &request, None).expect("a valid request");
}

/// Let everything until `at` happen.
pub(super) fn run_until(ssd: &mut Ssd, at: u64) -> Vec<Completion> {
    let mut done = Vec::new();
    while ssd.next_event().is_some_and(|next| next.0 <= at) {
        ssd.run_until(Nanos(at), &mut done).expect("it runs");
    }
    ssd.wait_until(Nanos(at)).expect("nothing happens before");
    done
}

/// The chips that an update of `lpn` alone programs: its own and that of the parity.
pub(super) fn homes(ssd: &Ssd, lpn: Lpn) -> [PlaneId; 2] {
    let groups = ssd.core.ftl.parity_groups();
    [lpn, groups.parity(groups.group_of(lpn))].map(|page| groups.home(page))
}

/// Hold all room of `plane`. Returns the number of pages.
pub(super) fn fill_up(ssd: &mut Ssd, plane: PlaneId) -> usize {
    let (mut held, stream) = (0, ssd.core.ftl.space.host_stream(0));
    while ssd.core.ftl.space.can_hold(plane, stream) {
        ssd.core.ftl.space.hold(plane, stream);
        held += 1;
    }
    held
}

#[test]
fn a_pool_that_an_update_waits_for_is_not_taken_from_by_a_later_one() {
    let mut ssd = device(|_| ());
    let first = Lpn(0);
    let [full, shared] = homes(&ssd, first);
    // The later update shares a chip with it, but not the full one.
    let later = |lpn: &Lpn| {
        let [data, parity] = homes(&ssd, *lpn);
        data != full && parity != full && (data == shared || parity == shared)
    };
    let later = (3..500).map(Lpn).find(later).expect("groups share chips");
    let apart = |lpn: &Lpn| !homes(&ssd, *lpn).iter().any(|home| [full, shared].contains(home));
    let apart = (3..500).map(Lpn).find(apart).expect("there are eight chips");
    let held = fill_up(&mut ssd, full);
    submit(&mut ssd, Op::Write, first);
    submit(&mut ssd, Op::Write, later);
    submit(&mut ssd, Op::Write, apart);
    let done = run_until(&mut ssd, 5_000_000);
    assert_eq!(done.len(), 1, "the update without a chip in common goes");
    let raid = ssd.raid.as_deref().expect("parity");
    assert_eq!(raid.waiting.len(), 2, "two wait, one of them in line behind the other");
    assert_eq!(ssd.measured().raid.waited_for_room, 0, "the third one had room");
    let stream = ssd.core.ftl.space.host_stream(0);
    (0..held).for_each(|_| ssd.core.ftl.space.let_go(full, stream));
    ssd.core.note_room();
    submit(&mut ssd, Op::Read, Lpn(999));
    let done = run_until(&mut ssd, 20_000_000);
    assert_eq!(done.iter().filter(|c| c.op == Op::Write).count(), 2);
    assert_eq!(ssd.measured().raid.waited_for_room, 2);
    ssd.audit().expect("it is whole");
}
