//! Workload configurations for the tests.

use ssd_core::host::request::TimedRequest;
use ssd_core::host::source::Source;
use ssd_trace::config::{Arrival, ArrivalKind, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;

/// A plain workload of this kind: 4 KiB writes every 10 us, addresses as they are.
pub(crate) fn workload(kind: WorkloadKind) -> Workload {
    Workload {
        kind,
        format: TraceFormat::BlockEvent,
        max_bad: 1.0,
        requests: 10_000,
        arrival: Arrival { kind: ArrivalKind::Fixed, interval_ns: 10_000, burst: 4, pause_ns: 0 },
        ..Workload::default()
    }
}

/// Everything that a source gives.
pub(crate) fn drain(source: &mut dyn Source) -> Vec<TimedRequest> {
    let expected = source.expected();
    let mut requests = Vec::new();
    while let Some(timed) = source.next_request().expect("the source goes on") {
        requests.push(timed);
    }
    assert_eq!(expected, Some(requests.len() as u64));
    assert!(requests.windows(2).all(|pair| pair[0].at <= pair[1].at), "arrivals ascend");
    requests
}
