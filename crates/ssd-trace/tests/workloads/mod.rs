//! Workload configurations for the tests.

use ssd_core::config::{
    Arrival, ArrivalKind, Fit, ParameterSet, SizeShare, TraceFormat, TraceUnit, Workload,
    WorkloadKind,
};
use ssd_core::host::request::{Source, TimedRequest};

/// A plain workload of this kind: 4 KiB writes every 10 us, addresses as they are.
pub(crate) fn workload(kind: WorkloadKind) -> Workload {
    Workload {
        kind,
        trace: None,
        format: TraceFormat::BlockEvent,
        volume: None,
        action: 'Q',
        from_ns: 0,
        until_ns: None,
        fit: Fit::None,
        loops: 1,
        time_scale: 1.0,
        unit: TraceUnit::Auto,
        page_bytes: 4096,
        sort: false,
        skip_bad: false,
        max_bad: 1.0,
        dedup: false,
        set: ParameterSet::AdaptiveChannel,
        like: None,
        msr: None,
        job: None,
        seed: None,
        requests: 10_000,
        sizes: vec![SizeShare { bytes: 4096, weight: 1.0 }],
        read: 0.0,
        trim: 0.0,
        theta: 0.99,
        hot_space: 0.1,
        hot_access: 0.9,
        span: 1.0,
        arrival: Arrival { kind: ArrivalKind::Fixed, interval_ns: 10_000, burst: 4, pause_ns: 0 },
        warmup_requests: 0,
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
