//! `[metrics]`: what is measured and logged.

use super::prelude::*;

crate::config_table! {
    "What is measured and logged."
    Metrics: metrics in Config {
        interval: time(YEAR) => interval_ns: u64 = 100_000_000,
            "Sample period of the time series; \"0 s\": no time series.";
        op_log: flag() => op_log: bool = false,
            "Write a log of all flash operations.";
        request_log: flag() => request_log: bool = false,
            "Write a log of all requests.";
        tenants: flag() =>
            #[serde(default, skip_serializing_if = "is_off")]
            tenants: bool = false,
            "Count pages written, programs and copies by volume and by stream: a program counts for the request that \
            has written its logical page last (timed mode).";
    }
}
