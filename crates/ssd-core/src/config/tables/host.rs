//! `[host]`: how requests reach the device.

use super::prelude::*;

crate::config_table! {
    "How requests reach the device."
    Host: host in Config {
        interface: word() =>
            #[serde(default = "block", skip_serializing_if = "Interface::is_block")]
            interface: Interface = Interface::Block,
            "What the device is to the host.";
        mode: special(HOST_MODE) => mode: HostMode = HostMode::Closed,
            "Open loop: requests arrive at the times of the workload. Closed loop: `queue_depth` \
            requests are kept outstanding.";
        queue_depth: int(1, 65_536) => queue_depth: u32 = 32,
            "Outstanding requests in the closed loop.";
        think_time: time(YEAR) => think_time_ns: u64 = 0,
            "Pause between a completion and the next request of its slot (closed loop).";
        think_every: int(1, 1 << 24) => think_every: u32 = 1,
            "Requests between two pauses of `think_time`. If above 1, all outstanding requests \
            complete before a pause.";
        stop_after: time(YEAR) => stop_after_ns: u64 = 0,
            "Time after the first request at which submission ends (closed loop); \"0 s\": never.";
        max_outstanding: int(0, 1 << 24) => max_outstanding: u32 = 0,
            "Limit of outstanding requests in the open loop; 0: no limit. Requests beyond it wait in \
            the host; their latency counts from the intended arrival.";
        queues: int(1, 256) =>
            #[serde(default = "single_queue", skip_serializing_if = "is_single_queue")]
            queues: u32 = 1,
            "Submission queues in which requests wait for `max_outstanding`, each in the queue with the \
            number of its stream, modulo the number of queues. The device takes the oldest request of \
            the next queue that has one (round robin).";
        link_rate: special(LINK_RATE) => link_bytes_per_s: Option<u64> = None,
            "Rate of the serial link to the host, net of line coding and protocol. Write data cross it \
            page by page before anything else happens, read data last, first come first served; \
            commands take no time. \"unlimited\": data take no time either.";
        link_duplex: word() => link_duplex: LinkDuplex = LinkDuplex::Full,
            "Whether reads and writes share `link_rate`.";
        write_buffer_pages: int(0, 1 << 24) => write_buffer_pages: u32 = 0,
            "Pages of the write-back buffer; 0: no buffer. A write completes when its pages are in the \
            buffer. A later write of a buffered page replaces it, the least recently written pages \
            are evicted (LRU), and a full buffer makes writes wait. FUA writes and flushes complete \
            when the data are on flash. Pages left at the end of the run are written to flash. Timed \
            mode only.";
        write_buffer_threshold: real(SHARE) => write_buffer_threshold: f64 = 0.5,
            "Share of the write buffer that keeps pages for later writes to replace. Pages beyond it \
            are evicted, so that the rest is room for new writes. 0: every page is evicted at once; \
            1: pages are evicted only when a write waits for room.";
    }
}

/// The queues of a configuration from before there were several.
const fn single_queue() -> u32 {
    1
}

/// Whether there is nothing to take turns.
fn is_single_queue(queues: &u32) -> bool {
    *queues == 1
}

/// The interface of a configuration from before there were others.
const fn block() -> Interface {
    Interface::Block
}

static HOST_MODE: Special<Config> = Special {
    form: "\"open\" or \"closed\"",
    default: None,
    read: |draft, errors, path, node| {
        let words = HostMode::WORDS.iter().map(|&(word, _)| word);
        let set = read::word(node, words).map(|word| {
            draft.config.host.mode = HostMode::from_word(word).unwrap_or(HostMode::Open);
        });
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(config.host.mode.word())),
    text: false,
    types: TEXT,
};

static LINK_RATE: Special<Config> = Special {
    form: "rate, or \"unlimited\"",
    default: None,
    read: |draft, errors, path, node| {
        let set =
            read::rate_or_unlimited(node).map(|rate| draft.config.host.link_bytes_per_s = rate);
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&show_rate_or_unlimited(config.host.link_bytes_per_s))),
    text: false,
    types: TEXT,
};
