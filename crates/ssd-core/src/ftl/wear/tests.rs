//! The block to level against its rule, written down once more.

use super::*;
use crate::sim::functional::Functional;
use crate::units::Lpn;

/// Levelling is due all the time, and never begins by itself.
fn worn_unevenly() -> Functional {
    let mut c = Config::default();
    let d = &mut c.device;
    [d.channels, d.chips_per_channel, d.planes_per_chip] = [2, 1, 1];
    (d.blocks_per_plane, d.pages_per_block, d.user_pages) = (24, 8, 2 * 24 * 8 * 7 / 10);
    c.wear.static_threshold = u32::MAX;
    c.wear.factory_bad_blocks = 0.05;
    Functional::new(&c, Ftl::new(&c))
}

#[test]
fn the_data_of_the_youngest_block_move_if_it_is_beyond_the_threshold() {
    let mut f = worn_unevenly();
    let (mut rng, user) = (Stream::new(3, "cold"), f.ftl.geo.user_pages);
    let (mut named, mut ties, mut at_threshold) = (0, 0, 0);
    for write in 0..user * 30 {
        let most = if rng.chance(0.9) { user / 8 } else { user };
        f.write(Lpn(rng.below(u64::from(most)) as u32), 0).expect("room");
        if !write.is_multiple_of(20) {
            continue;
        }
        for (pool, threshold) in (0..8).map(|n| (PoolId(n % 2), 1 + n / 2 * 3)) {
            let blocks = &f.ftl.blocks;
            let erases = |b: &BlockId| blocks.erases[b.at()];
            let of = |state| blocks.of_pool(pool).filter(move |b| blocks.state[b.at()] == state);
            let worn = of(BlockState::Free).map(|b| erases(&b)).max();
            let beyond = |b: &BlockId| worn.is_some_and(|worn| worn > erases(b) + threshold);
            let rule = |b: &BlockId| (erases(b), blocks.invalid(*b), b.0);
            let expected = of(BlockState::Sealed).filter(beyond).min_by_key(rule);
            let alike = of(BlockState::Sealed)
                .filter(|b| expected.is_some_and(|e| erases(b) == erases(&e)));
            ties += u32::from(alike.count() > 1);
            let least = of(BlockState::Sealed).map(|b| erases(&b)).min();
            at_threshold += u32::from(least.map(|least| least + threshold) == worn);
            named += u32::from(expected.is_some());
            (f.ftl.wear.threshold, f.ftl.wear.due[pool.at()]) = (threshold, true);
            assert_eq!(f.ftl.take_cold(pool), expected, "{pool:?}, threshold {threshold}");
            f.ftl.wear.threshold = u32::MAX;
        }
    }
    assert!(named > 50 && ties > 50 && at_threshold > 10, "{named} {ties} {at_threshold}");
}
