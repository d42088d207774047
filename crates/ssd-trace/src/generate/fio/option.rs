//! Options of fio: supported ones, those that concern only the host, and refused ones.

pub(super) const PATTERNS: &str = "read, write, trim, rw, trimwrite, or one with rand before it";
pub(super) const SIZE: &str = "a multiple of 512 bytes up to 1g, or those of reads,writes,trims";
pub(super) const SPLIT: &str = "sizes with percentages that sum to 100, as 4k/60:16k/40";
pub(super) const AMOUNT: &str = "a size as 1g, or a share of the device as 40%";
pub(super) const DISTRIBUTIONS: &str = "random, zipf:THETA, pareto:H (0 to 1), normal:PERCENT, or \
    zoned:ACCESS/SPACE:... with percentages that sum to 100";

/// Options that affect what a device sees.
const TAKEN: [&str; 29] = [
    "rw",
    "rwmixread",
    "rwmixwrite",
    "bs",
    "bssplit",
    "size",
    "offset",
    "io_size",
    "number_ios",
    "loops",
    "iodepth",
    "numjobs",
    "random_distribution",
    "norandommap",
    "rate",
    "rate_iops",
    "rate_process",
    "thinktime",
    "thinktime_blocks",
    "percentage_random",
    "fsync",
    "fdatasync",
    "end_fsync",
    "sync",
    "runtime",
    "time_based",
    "startdelay",
    "stonewall",
    "filename",
];

/// Options that concern the host, its files and fio's own output.
const HOST: [&str; 61] = [
    "allow_file_create",
    "allow_mounted_write",
    "buffer_compress_percentage",
    "buffer_pattern",
    "buffered",
    "clat_percentiles",
    "continue_on_error",
    "cpus_allowed",
    "cpus_allowed_policy",
    "create_on_open",
    "create_serialize",
    "description",
    "direct",
    "directory",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "disk_util",
    "error_dump",
    "exitall",
    "fallocate",
    "file_service_type",
    "fixedbufs",
    "group_reporting",
    "gtod_reduce",
    "hipri",
    "hugepage-size",
    "invalidate",
    "iodepth_batch",
    "iodepth_batch_complete",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_batch_submit",
    "iodepth_low",
    "ioengine",
    "iomem",
    "ioscheduler",
    "lat_percentiles",
    "log_avg_msec",
    "log_hist_msec",
    "mem",
    "name",
    "new_group",
    "nice",
    "numa_cpu_nodes",
    "overwrite",
    "per_job_logs",
    "percentile_list",
    "prio",
    "randrepeat",
    "refill_buffers",
    "registerfiles",
    "scramble_buffers",
    "sqthread_poll",
    "thinktime_blocks_type",
    "thinktime_spin",
    "thread",
    "unlink",
    "write_bw_log",
    "write_iops_log",
    "write_lat_log",
];

/// Options that would affect what a device sees and are not simulated.
const REFUSED: [(&str, &str); 6] = [
    ("ramp_time", "use workload.warmup_requests instead"),
    ("verify", "pages are checked with run.data = \"digest\""),
    ("thinktime_iotime", "pauses come after a number of requests here: use thinktime_blocks"),
    ("rw_sequencer", "only the default, sequential, is simulated"),
    ("read_iolog", "name the log itself as workload.trace"),
    ("zonemode", "zoned devices are not simulated"),
];

/// The first name of an option that has several.
pub(super) fn canonical(key: &str) -> &str {
    match key {
        "readwrite" => "rw",
        "blocksize" => "bs",
        "io_limit" => "io_size",
        "fileoffset" => "offset",
        "wait_for_previous" => "stonewall",
        "randommap" => "norandommap",
        "start_delay" => "startdelay",
        _ => key,
    }
}

/// Whether `key` has no effect on what a device sees.
pub(super) fn without_effect(key: &str) -> bool {
    HOST.contains(&key)
}

/// Why `key` is refused, if it is.
pub(super) fn why_not(key: &str) -> Option<&'static str> {
    REFUSED.iter().find(|one| one.0 == key).map(|one| one.1)
}

/// Every option that is supported or ignored.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    TAKEN.into_iter().chain(HOST)
}
