//! Scratch timing.
#![allow(clippy::disallowed_types, clippy::print_stdout, reason = "a stop watch")]
use ssd_core::config::*;
use ssd_core::ftl::Ftl;
use ssd_core::host::device::Device;
use ssd_core::host::drive::drive;
use ssd_core::host::request::*;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use std::ops::ControlFlow;
struct Uniform(Stream, u64, u64);
impl Source for Uniform {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.2 == 0 {
            return Ok(None);
        }
        self.2 -= 1;
        Ok(Some(TimedRequest {
            at: Nanos(0),
            request: Request::new(Op::Write, self.0.below(self.1) * 8, 8),
        }))
    }
}
const N: u64 = 400_000;
fn main() {
    let mut c = Config::default();
    c.device.pages_per_block = 32;
    c.device.user_pages = (8 * 4 * 256 * 32) as u32 * 85 / 100;
    c.host.mode = HostMode::Closed;
    c.host.queue_depth = 64;
    c.gc.trigger[0].params.insert("soft".into(), ssd_core::plug::Value::Int(12));
    let ftl = Ftl::new(&c);
    let mut ssd = Ssd::new(&c, ftl, 0);
    if std::env::args().nth(1).is_some_and(|a| a == "audit") {
        ssd.audit_every(1000);
    }
    let user = c.device.user_pages as u64;
    for seed in 0..std::env::args().nth(2).map_or(6, |s| s.parse().unwrap()) {
        let mut s = Uniform(Stream::new(seed, "x"), user, N);
        ssd.measured.restart(ssd.now());
        let t = std::time::Instant::now();
        let o = drive(&mut ssd, &c.host, &mut s, &mut |_, _| ControlFlow::Continue(())).unwrap();
        let dt = t.elapsed().as_secs_f64();
        let m = &ssd.measured;
        println!(
            "{:?} {:.3}s {:.2} M/s WA {:.3} fg {} bg {} digest {:x}",
            o.progress,
            dt,
            0.4 / dt,
            m.flash.all_programs() as f64 / m.host.pages_written as f64,
            m.gc.foreground,
            m.gc.background,
            ssd.event_digest
        );
        let _ = ssd.next_event();
    }
    ssd.audit().unwrap();
}
