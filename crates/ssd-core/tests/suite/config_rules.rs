//! Combinations of keys at the limits of what is accepted.

use crate::rig::load;
use ssd_core::config::Config;
use ssd_core::ftl::Ftl;

/// One chip of one plane, with these settings.
fn small(sets: &[(&str, &str)]) -> Result<Config, String> {
    let chip = [
        ("device.channels", "1"),
        ("device.chips_per_channel", "1"),
        ("device.planes_per_chip", "1"),
        ("device.blocks_per_plane", "64"),
        ("device.pages_per_block", "32"),
        ("device.over_provisioning", "0.25"),
    ];
    load(&[&chip[..], sets].concat())
}

#[test]
fn both_watermarks_lie_within_the_pool() {
    for name in ["soft", "hard"] {
        let of = |level: u32| {
            let other = if name == "soft" { "" } else { "soft = 2, " };
            let said = format!("{{ policy = \"free-blocks\", {other}{name} = {level} }}");
            // Greedy ends whatever the watermark is.
            small(&[("gc.trigger", &said), ("gc.victim", "greedy")])
        };
        let error = of(64).expect_err("it would always collect");
        let words = format!("with {name} = 64 would always collect: a pool has 64 erase units");
        assert!(error.contains(&words), "{error}");
        of(63).expect("a block may be in use");
    }
}

#[test]
fn blocks_that_are_not_bad_hold_the_data_and_the_reserve() {
    let bad = ("wear.factory_bad_blocks", "0.1");
    let c = small(&[bad]).expect("12 blocks are spare");
    let count = Ftl::new(&c).bad_blocks().factory;
    // 1,638 pages of the host fill 52 of 64 blocks.
    assert_eq!((c.device.user_pages, count), (1638, 6));
    for reserve in 1..=12 {
        let reserve_is = reserve.to_string();
        let loaded = small(&[bad, ("gc.reserve", &reserve_is)]);
        assert_eq!(loaded.is_ok(), reserve + count <= 12, "reserve {reserve}: {loaded:?}");
    }
}

#[test]
fn every_key_without_effect_in_functional_mode_is_refused() {
    for (key, value, more) in [
        ("host.write_buffer_pages", "8", ""),
        ("host.link_rate", "\"1 GB/s\"", ""),
        ("controller.host_ecc_time", "\"1 us\"", ""),
        ("controller.retry_probability", "0.1", ""),
        ("controller.retry_growth", "0.1", ""),
        ("raid.read_buffer_pages", "8", "raid"),
        ("raid.reads", "reconstruct-if-busy", "raid"),
        ("raid.fail", "{ chip = 1, at = \"1 ms\" }", "raid"),
    ] {
        let mut sets = vec![(key, value)];
        if more == "raid" {
            sets.extend([("device.channels", "4"), ("raid.group", "4")]);
            sets.extend([("alloc.placement", "static"), ("alloc.frontiers", "host+gc")]);
        }
        small(&sets).unwrap_or_else(|error| panic!("{key}: {error}"));
        sets.push(("run.mode", "functional"));
        let error = small(&sets).expect_err(key);
        assert!(error.contains(&format!("so {key} would have no effect")), "{error}");
    }
}

#[test]
fn the_queue_of_updates_is_that_of_a_redirection() {
    let redirect = ("raid.redirect", "{ policy = \"deferred-gc\", foreign = 0.01 }");
    for redirects in [false, true] {
        let mut sets = vec![
            ("device.channels", "4"),
            ("timing.busy_unit", "chip"),
            ("raid.group", "2"),
            ("alloc.placement", "static"),
            ("alloc.frontiers", "host+gc"),
            ("gc.trigger", "on-demand"),
            ("raid.queue", "8"),
        ];
        sets.extend(redirects.then_some(redirect));
        match small(&sets) {
            Ok(c) => assert!(redirects && c.raid.queue == 8),
            Err(error) => {
                assert!(!redirects, "{error}");
                assert!(
                    error.contains("raid.queue") && error.contains("a raid.redirect"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn programs_on_several_planes_need_several() {
    let sets = |planes| {
        [
            ("device.planes_per_chip", planes),
            ("timing.model", "pipelined"),
            ("timing.busy_unit", "chip"),
            ("alloc.pool", "chip"),
            ("timing.multi_plane", "true"),
        ]
    };
    small(&sets("2")).expect("two planes");
    let error = small(&sets("1")).expect_err("one plane");
    assert!(error.contains("need device.planes_per_chip of at least 2"), "{error}");
}
