//! MQSim's ASCII traces: `TIME DEVICE SECTOR SECTORS TYPE`, type 0 = write, 1 = read.
//!
//! Times in nanoseconds, MQSim's `Time_Unit` NANOSECOND. Source: README of CMU-SAFARI/MQSim,
//! "Trace-based workload definition".
//!
//! Carries reads and writes, volumes (as the device number) and exact arrivals. Cannot carry: trims, flushes, stream
//! and flags.

use super::text::{Form, put};
use ssd_core::host::request::{Op, Request};

/// MQSim's ASCII traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mqsim;

impl Form for Mqsim {
    const NAME: &'static str = "MQSim text";
    const UNIT_NS: u64 = 1;

    fn cannot_carry(&self, request: &Request) -> Option<&'static str> {
        match request.op {
            Op::Read | Op::Write => None,
            Op::Trim => Some("has no trims"),
            Op::Flush => Some("has no flushes"),
            Op::Copy => Some("has no copies"),
        }
    }

    fn would_forget(&self, request: &Request) -> Option<&'static str> {
        let forgets = request.stream != 0 || request.flags != 0;
        forgets.then_some("has no streams and flags")
    }

    fn line(&self, _number: u64, time: u64, request: &Request, text: &mut Vec<u8>) -> bool {
        let Request { sector, sectors, volume, op, .. } = *request;
        put!(text, "{time} {volume} {sector} {sectors} {}\n", u8::from(op == Op::Read));
        true
    }
}
