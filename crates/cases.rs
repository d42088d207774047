//! How the property tests of all crates draw their cases.
//!
//! A test names its seed, so that every run draws the same cases. `PROPTEST_RNG_SEED=7 cargo test` draws others.
//! The seed of a case that fails is printed and appended to `regressions.txt` in the folder of its crate, whose
//! lines every property test of the crate tries first: commit the line with the fix.

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed};

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/regressions.txt");

/// `n` cases, drawn from `seed` unless the environment says otherwise.
pub(crate) fn cases(n: u32, seed: u64) -> Config {
    let default = Config::default();
    Config {
        cases: n,
        rng_seed: match default.rng_seed {
            RngSeed::Random => RngSeed::Fixed(seed),
            chosen => chosen,
        },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        max_global_rejects: 1_000_000,
        max_local_rejects: 1_000_000,
        ..default
    }
}
