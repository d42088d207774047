//! Power cuts with parity groups of which pages are not at home: redirected writes, and shared pages of copies.

use crate::rig::cuts::{Cuts, Load};
use crate::rig::group_cuts::{
    NEVER, cut_everywhere, fail_everywhere, failing, filled, groups, storm, with_checkpoints,
    with_little_nvram,
};
use crate::rig::parity::on_demand;
use crate::rig::runs::Mix;
use crate::rig::{PAGE, alone, finish, named, whole};
use ssd_core::config::{
    Blocking, BlockingScope, BusyUnit, Config, DataMode, Granularity, PowerCut, RemapMode,
    TimingModel,
};
use ssd_core::ftl::raid::redirect;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::Device as _;
use ssd_core::host::request::Op;
use ssd_core::plug::Value;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, PlaneId};

/// Two groups of three chips, with room to spare.
fn two_groups() -> Config {
    let mut c = groups(3);
    (c.device.channels, c.device.user_pages) = (6, 4 * 40);
    c
}

/// `config`, whose writes go to chips of other groups while theirs would have to collect.
fn redirecting(mut c: Config) -> Config {
    c.timing.busy_unit = BusyUnit::Chip;
    c.gc.trigger = vec![on_demand(4, "any", true)];
    c.gc.blocking = Blocking { scope: BlockingScope::Plane, granularity: Granularity::Job };
    c.raid.redirect = named(redirect::ALL, "deferred-gc").with("foreign", Value::Real(0.1));
    c
}

/// `config`, whose copies share pages.
fn sharing(mut c: Config) -> Config {
    c.remap.mode = RemapMode::Share;
    c
}

const REDIRECTED: Load = Load { pages: 2, depth: 8, trim: 25, ..Load::MIXED };
const COPIED: Load = Load { copy: 30, trim: 20, ..Load::MIXED };

/// The pages that are not at home, each with its plane.
fn pages_away(ssd: &Ssd) -> Vec<(Lpn, PlaneId)> {
    let (ftl, groups) = (&ssd.core.ftl, ssd.core.ftl.parity_groups());
    let lpns = (0..ftl.geo.logical_pages).map(Lpn);
    let planes = lpns.filter_map(|lpn| Some((lpn, ftl.geo.plane_of(ftl.owners.committed(lpn)?))));
    planes.filter(|&(lpn, plane)| plane != groups.home(lpn)).collect()
}

/// At this step of a run: pages that are not at home; pages that have been redirected and shared so far.
fn count_away(config: &Config, load: Load, at: u64) -> [u64; 3] {
    let mut run = filled(config, load);
    run.run(at);
    let m = run.ssd.measured();
    [pages_away(&run.ssd).len() as u64, m.raid.redirected, m.remap.shared]
}

/// A chip that fails during the mount takes along pages of the other group, which are at home on chips that are there.
#[test]
fn redirected_pages_survive_cuts_and_the_failure_of_their_chip() {
    let config = redirecting(two_groups());
    let steps = || 400..800;
    let [away, redirected, _] = count_away(&config, REDIRECTED, 700);
    assert!(away > 5 && redirected > 10, "{redirected} pages were redirected, {away} are away");
    let undone = cut_everywhere(&config, REDIRECTED, steps());
    assert!(undone > 50, "{undone} updates were cut off");
    fail_everywhere(&config, REDIRECTED, steps().step_by(29), 0);
    fail_everywhere(&with_checkpoints(config, 40), REDIRECTED, steps().step_by(23), 1);
}

#[test]
fn so_do_redirected_pages_of_a_write_buffer() {
    let mut config = redirecting(two_groups());
    (config.host.write_buffer_pages, config.timing.sram_ns) = (4, 30);
    let load = Load { flush: 5, fua: 40, ..REDIRECTED };
    let [away, redirected, _] = count_away(&config, load, 900);
    assert!(away > 5 && redirected > 10, "{redirected} pages were redirected, {away} are away");
    let undone = cut_everywhere(&config, load, (400..1000).step_by(2));
    assert!(undone > 50, "{undone} updates were cut off");
    fail_everywhere(&with_checkpoints(config, 40), load, (400..1000).step_by(53), 1);
}

/// A TRIM programs only a parity. If this went to a chip of the other group, which fails, the list of the TRIM is gone;
/// the parity before it is on flash, and covers what the record says is trimmed.
#[test]
fn an_older_parity_does_not_stand_in_for_a_redirected_one() {
    let config = redirecting(two_groups());
    let load = Load { trim: 60, pages: 1, depth: 4, ..Load::MIXED };
    let mut parities = 0;
    for at in (400..1000).step_by(7) {
        let mut run = filled(&config, load);
        run.run(at);
        let away = pages_away(&run.ssd);
        let groups = run.ssd.core.ftl.parity_groups();
        let parity = away.iter().find(|&&(lpn, _)| groups.is_parity(lpn));
        let Some(&(_, plane)) = parity else { continue };
        let cut_at = run.ssd.now().0;
        let mut run = filled(&failing(&config, &[(plane.0, cut_at + 1)], 0), load);
        run.run(at);
        run.cut();
        run.mount_and_judge(&(at, plane));
        run.read_back();
        parities += 1;
    }
    assert!(parities > 20, "{parities} parities were redirected");
}

#[test]
fn shared_pages_survive_cuts_and_failed_chips() {
    let config = sharing(two_groups());
    let steps = || 100..500;
    let [away, _, shared] = count_away(&config, COPIED, 400);
    assert!(away > 3 && shared > 20, "{shared} pages were shared, {away} are away");
    let undone = cut_everywhere(&config, COPIED, steps());
    assert!(undone > 50, "{undone} updates were cut off");
    fail_everywhere(&config, COPIED, steps().step_by(29), 0);
    fail_everywhere(&with_checkpoints(config, 40), COPIED, steps().step_by(23), 1);
}

/// A copy trims the pages whose sources hold nothing. The page between them has data since.
#[test]
fn a_copy_trims_no_page_between_trimmed_ones() {
    let mut c = sharing(groups(4));
    c.device.channels = 8;
    let mut ssd = crate::rig::filled(&c);
    alone(&mut ssd, whole(Op::Trim, 3, 1));
    alone(&mut ssd, whole(Op::Trim, 5, 1));
    let source = SourceRange { sector: 3 * PAGE, sectors: 3 * PAGE };
    ssd.submit(ssd.now(), &whole(Op::Copy, 0, 3), Some(&encode(&[source]))).unwrap();
    finish(&mut ssd).unwrap();
    let digests = |ssd: &Ssd| {
        let ftl = &ssd.core.ftl;
        let pages = [0, 1, 2].map(|lpn| ftl.owners.committed(Lpn(lpn)));
        pages.map(|page| page.map_or(0, |page| ftl.flash.digest(page)))
    };
    let before = digests(&ssd);
    assert!(before[1] != 0 && [before[0], before[2]] == [0, 0], "{before:x?}");
    ssd.power_cut().unwrap();
    ssd.mount(false).unwrap();
    ssd.audit().unwrap();
    assert_eq!(digests(&ssd), before);
}

/// Records that find no room wait for checkpoints, and with them the copies, later writes of their groups, and erases.
#[test]
fn so_do_those_whose_records_wait() {
    let config = with_little_nvram(sharing(two_groups()));
    let load = Load { pages: 2, ..COPIED };
    let undone = cut_everywhere(&config, load, 0..500);
    assert!(undone > 50, "{undone} updates were cut off");
    fail_everywhere(&config, load, (0..400).step_by(17), 1);
    cut_everywhere(&with_checkpoints(sharing(two_groups()), 5), COPIED, (0..600).step_by(2));
    let mut slow = sharing(two_groups());
    slow.power.nvram_ns = 2_000_000;
    cut_everywhere(&slow, load, (0..900).step_by(3));
    fail_everywhere(&slow, load, (100..900).step_by(43), 1);
}

/// Of a copy that is computed, because its chip is missing, no other page has the number.
#[test]
fn copies_with_own_pages_survive_as_well() {
    let mut config = sharing(two_groups());
    config.remap.mode = RemapMode::Copy;
    let undone = cut_everywhere(&config, COPIED, 0..300);
    assert!(undone > 50, "{undone} updates were cut off");
    fail_everywhere(&config, COPIED, (20..300).step_by(41), 1);
}

/// Writes are redirected away from chips where others share pages, and the other way round.
#[test]
fn so_do_both_together() {
    let config = redirecting(sharing(two_groups()));
    let load = Load { copy: 20, ..REDIRECTED };
    let steps = || 400..800;
    let [away, redirected, shared] = count_away(&config, load, 700);
    assert!(redirected > 10 && shared > 10, "{redirected} were redirected, {shared} shared");
    assert!(away > 8, "{away} pages are away");
    let undone = cut_everywhere(&config, load, steps());
    assert!(undone > 50, "{undone} updates were cut off");
    fail_everywhere(&config, load, steps().step_by(37), 0);
    fail_everywhere(&with_checkpoints(config, 40), load, steps().step_by(31), 1);
}

#[test]
fn a_second_cut_inside_every_step_of_their_recovery_changes_nothing() {
    let config = redirecting(sharing(two_groups()));
    let load = Load { copy: 20, ..REDIRECTED };
    let mut stopped = 0;
    for at in (400..1000).step_by(17) {
        for steps in 0.. {
            let mut run = filled(&config, load);
            run.run(at);
            run.cut();
            let again = run.ssd.mount_in_part(steps).expect("it can be recovered");
            run.mount_and_judge(&(at, steps));
            if !again {
                break;
            }
            stopped += 1;
        }
    }
    assert!(stopped > 5, "{stopped} mounts were cut off");
}

#[test]
fn random_cuts_in_a_long_run_lose_none_of_them() {
    let mut rng = ssd_core::rng::Stream::new(6, "cuts");
    let both = redirecting(sharing(two_groups()));
    let configs = [redirecting(two_groups()), sharing(two_groups()), both];
    for (number, config) in configs.into_iter().enumerate() {
        let config = with_checkpoints(config, 60);
        let load = Load { seed: 3, copy: if number > 0 { 25 } else { 0 }, ..REDIRECTED };
        let mut run: Cuts = filled(&failing(&config, &[(0, NEVER)], 0), load);
        for cut in 0..120 {
            // Sometimes cut after cut, so that no collection finishes.
            let longest = if cut % 3 == 0 { 400 } else { 25 };
            run.cut_after(rng.below(longest), &(number, cut));
        }
        assert!(run.completed > 80, "{number}: {} requests completed", run.completed);
    }
}

/// Cuts, failures of chips and the rebuild in storms of requests with their own data.
fn storms(seeds: std::ops::Range<u64>, requests: u64) {
    for seed in seeds {
        let at = |each: u64, of: u64| (seed / each % of) as usize;
        let [redirects, shares] = [[true, false], [false, true], [true, true]][at(1, 3)];
        let mut c = two_groups();
        c = if redirects { redirecting(c) } else { c };
        c = if shares { sharing(c) } else { c };
        c.run.data = DataMode::Bytes;
        c.timing.model = [TimingModel::Serial, TimingModel::Pipelined][at(3, 2)];
        c.raid.merge = [false, true][at(2, 2)];
        (c.power.nvram_bytes, c.power.nvram_ns) = [(4096, 500), (128, 3000)][at(4, 2)];
        c.power.checkpoint_bytes = [0, 40 * 2048][at(6, 2)];
        c.power.cut = PowerCut::Random(80_000);
        let chip = |n: u64| ((seed + n) % 6) as u32;
        c = failing(&c, &[(chip(0), 200_000), (chip(2), 900_000)], 2);
        let copy = if shares { 20 } else { 0 };
        let mix = Mix { seed, depth: 8, trim: 20, copy, pages: 2, span: 80, ..Mix::ALL };
        let m = storm(&c, mix, requests);
        let away = (m.raid.redirected > 0, m.remap.shared > 0);
        assert_eq!(away, (redirects, shares), "seed {seed}: {:?}, {:?}", m.raid, m.remap);
    }
}

#[test]
fn storms_with_cuts_and_failed_chips_lose_none_of_them() {
    storms(0..12, 3000);
}

/// Half a million requests over 20 seeds.
#[test]
#[ignore = "long"]
fn storms_with_cuts_and_failed_chips_lose_none_of_them_at_length() {
    storms(0..20, 25_000);
}
