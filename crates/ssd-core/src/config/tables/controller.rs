//! `[controller]`: the controller, which every page passes.

use super::prelude::*;

crate::config_table! {
    "The controller, which every page passes."
    Controller: controller in Config {
        ecc_time: time(MINUTE) => ecc_ns: u64 = 0,
            "ECC decoding of a GC page between its read and its program. On the selective path the \
            task waits for it.";
        host_ecc_time: time(MINUTE) => host_ecc_ns: u64 = 0,
            "ECC decoding of a page read for the host, before it is sent on (to the host, or to \
            complete a page written in part).";
        retry_probability: real(SHARE) => retry_probability: f64 = 0.0,
            "Probability that a page read has to be retried, on a block without erases. Each retry \
            fails with the same probability. 0 together with `retry_growth` 0: no retries.";
        retry_growth: real(SHARE) => retry_growth: f64 = 0.0,
            "Increase of `retry_probability` with every erase of the block, up to 1 in total.";
        retry_limit: int(1, 100) => retry_limit: u32 = 5,
            "Maximum number of retries of one read; the last one always returns the data.";
        retry_factor: real(Span::above(0.0, 10.0)) => retry_factor: f64 = 1.0,
            "Array time of a retry in multiples of `timing.read`, rounded to nanoseconds; more than 1 \
            to include the transfer and decoding of the failed attempt.";
        buffers: special(BUFFERS) => buffers: Option<u32> = None,
            "Page slots of each flash controller for GC pages. A GC read starts only when a slot is \
            free, and holds it until the page has been programmed or dropped. Copy-back inside a \
            plane needs no slot.";
        page_error_probability: real(SHARE) => page_error_probability: f64 = 0.0,
            "Probability that the ECC engine finds an error in a GC page, drawn for every page it \
            decodes.";
        firmware_p50: time(MINUTE) => firmware_p50_ns: u64 = 0,
            "Median of the time that the firmware adds to every request before it completes. The times \
            are log-normal, and requests do not wait for each other's firmware. \"0 s\": no such time.";
        firmware_p99: time(MINUTE) => firmware_p99_ns: u64 = 0,
            "99th percentile of the firmware time, from `firmware_p50` (all times are equal) to 1000 \
            times as much.";
        metadata_time: time(MINUTE) => metadata_ns: u64 = 0,
            "Time to search and update the map for each page of a request, which the request takes before it \
            completes. It counts as `metadata`; requests do not wait for each other's.";
        traversals_host: int(0, 1) => traversals_host: u32 = 1,
            "1: host pages cross the interconnect as GC pages do. 0: they do not.";
    }
}

static BUFFERS: Special<Config> = Special {
    form: "whole number from 1 to 65536, or \"unlimited\"",
    default: None,
    read: |draft, errors, path, node| {
        let slots = match node.text() {
            Some("unlimited") => Ok(None),
            _ => read::int(node, 1, 65_536).map(|n| Some(n as u32)),
        };
        let slots = slots.map_err(|message| format!("{message}, or \"unlimited\""));
        let set = slots.map(|slots| draft.config.controller.buffers = slots);
        report(errors, path, node, set);
    },
    show: |config| {
        let slots = config.controller.buffers;
        Some(slots.map_or_else(|| quoted("unlimited"), |n| n.to_string()))
    },
    text: false,
    types: &["integer", "string"],
};
