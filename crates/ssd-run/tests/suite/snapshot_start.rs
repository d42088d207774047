//! A run that starts from a snapshot equals the run after the preconditioning that made it.

use crate::rig;
use ssd_core::config::{Config, DataMode, Mode};
use ssd_core::ftl::gc::victim::ALL;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::units::Nanos;
use ssd_run::{Circumstances, Ending, PullDriver, Unattended};
use ssd_trace::config::RunConfig;

/// 2,000 writes of a page.
struct Writes(Stream, u64, u64);

impl Source for Writes {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.1 == 0 {
            return Ok(None);
        }
        self.1 -= 1;
        let request = Request::new(Op::Write, self.0.below(self.2) * rig::PAGE, rig::PAGE as u32);
        Ok(Some(TimedRequest { at: Nanos::ZERO, request }))
    }
}

#[test]
fn a_run_from_a_snapshot_is_the_run_after_preconditioning() {
    for superblocks in [false, true] {
        for mode in [Mode::Timed, Mode::Functional] {
            let mut kernel = rig::snapshot_shape(DataMode::Digest, superblocks);
            kernel.run.mode = mode;
            same_run(kernel);
        }
    }
}

/// The state of a victim policy continues in both; only random numbers start over.
#[test]
fn a_victim_policy_knows_as_much_after_a_snapshot_as_after_preconditioning() {
    let draws = ["random", "d-choices"];
    for info in ALL.iter().filter(|info| !draws.contains(&info.name)) {
        for start in ["seal", "invalidation"] {
            let mut kernel = rig::snapshot_shape(DataMode::Digest, false);
            kernel.gc.victim = rig::twins::victim(info.name);
            if info.params.iter().any(|p| p.name == "age") {
                kernel.gc.victim = kernel.gc.victim.with("age", Value::Word(start.to_string()));
            }
            same_run(kernel);
        }
    }
}

fn same_run(kernel: Config) {
    let config = RunConfig { kernel, ..RunConfig::default() };
    let writes = || Writes(Stream::new(3, "writes"), 2000, 200);
    let circumstances = &Circumstances::default();
    let (config, caller) = (&config, &mut Unattended);
    let mut driver = PullDriver { config, circumstances, caller, log: None };
    let whole = driver.run(&mut writes());
    let device = Functional::restore(config, &rig::preconditioned(config), &Plugs::default());
    let from = driver.run_from(device.expect("the same configuration"), &mut writes());
    assert_eq!(whole.ending, Ending::Completed, "{}", config.gc.victim.policy);
    assert_eq!(whole.event_digest, from.event_digest, "{}", config.gc.victim.policy);
    assert!(whole.report.without_clock() == from.report.without_clock(), "every number");
    assert_eq!(whole.distributions, from.distributions);
}
