//! The options of fio 3.33 and of its engines for block devices, and newer options that change what a device sees.

use Class::{Host, Modelled as Model, Refused as No};

/// How an option is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// It has the effect that it has in fio.
    Modelled,
    /// It concerns the host, fio's files or its output, and changes nothing that a device sees.
    Host,
    /// It would change what a device sees; says why it is not simulated, or what to use instead.
    Refused(&'static str),
}

/// An option of fio.
#[derive(Debug)]
pub struct FioOption {
    /// Its name.
    pub name: &'static str,
    /// Its alias, if it has one.
    pub alias: Option<&'static str>,
    /// How it is treated.
    pub class: Class,
}

pub(super) const PATTERNS: &str = "read, write, trim, rw, trimwrite, or one with rand before it; then, \
    after a colon, a number of requests (random) or a size (sequential)";
pub(super) const SIZE: &str = "a multiple of 512 bytes up to 1g, or those of reads,writes,trims; k, m and g \
    are powers of 1024, kib, mib and gib powers of 1000 unless kb_base=1000, as in fio";
pub(super) const RANGE: &str = "multiples of 512 bytes, as 4k-16k, or those of reads,writes,trims; the smaller \
    one a power of two: fio draws lengths of any number of bytes otherwise";
pub(super) const SPLIT: &str = "multiples of 512 bytes with percentages that sum to at most 100, as \
    4k/60:16k/40, or those of reads,writes,trims";
pub(super) const AMOUNT: &str = "a size as 1g, or a share of the device as 40%";
pub(super) const DISTRIBUTIONS: &str = "random, zipf:THETA, pareto:H (0 to 1) or normal:PERCENT, each with \
    :CENTRE (0 to 1) after it or not, zoned:ACCESS/SPACE:... or zoned_abs:ACCESS/SIZE:..., with accesses that \
    sum to 100 and spaces to at most 100, or those of reads,writes,trims";

const VERIFY: &str =
    "fio would read back what it has written; pages are checked with run.data = \"digest\"";
const VERIFY_TRIM: &str = "trims among the blocks to verify; write a job with rw=trimwrite";
const REPLAY: &str = "name the log itself as workload.trace";
const ZONED: &str = "zoned devices are not simulated";
const LATENCY: &str = "a depth that follows the latency is not simulated: set iodepth";
const STEADY: &str = "a run that ends by its own results is not simulated: set runtime";
const FLOW: &str = "shares of jobs are not simulated: set rate or iodepth of each";
const PLACEMENT: &str =
    "placement identifiers are taken from traces (docs/fdp.md), not from job files";
const OUTCOME: &str = "a job that ends by its own results is not simulated: set runtime";

/// Options in the order of fio's own list, `NAME ALIAS`.
const ALL: &[(&str, Class)] = &[
    ("description", Host),
    ("name", Host),
    ("wait_for", Model),
    ("filename", Model),
    ("lockfile", No("jobs that lock their files take turns: use stonewall or wait_for")),
    ("directory", Host),
    ("filename_format", No("files of jobs have the names of the jobs here: use filename")),
    ("unique_filename", Host),
    ("opendir", No("files of a folder: name one with filename")),
    ("rw readwrite", Model),
    ("bs blocksize", Model),
    ("ba blockalign", Model),
    ("bsrange blocksize_range", Model),
    ("bssplit", Model),
    ("bs_unaligned blocksize_unaligned", No("requests are whole sectors of 512 bytes")),
    ("bs_is_seq_rand", No("use bssplit, or two jobs")),
    ("randrepeat", Model),
    ("randseed", Model),
    ("norandommap", Model),
    ("softrandommap", Host),
    ("ignore_error", Host),
    ("rw_sequencer", Model),
    ("ioengine", Model),
    ("iodepth", Model),
    ("iodepth_batch iodepth_batch_submit", Host),
    ("iodepth_batch_complete_min iodepth_batch_complete", Model),
    ("iodepth_batch_complete_max", Host),
    ("iodepth_low", Model),
    ("serialize_overlap", No("requests that overlap go to the device as they come")),
    ("io_submit_mode", Model),
    ("size", Model),
    ("io_size io_limit", Model),
    (
        "fill_device fill_fs",
        No("a device has an end but no ENOSPC: leave out size to write all of it"),
    ),
    ("filesize", Model),
    ("file_append", Host),
    ("offset fileoffset", Model),
    ("offset_increment", Model),
    ("offset_align", Model),
    ("number_ios", Model),
    ("random_generator", Model),
    ("random_distribution", Model),
    ("percentage_random", Model),
    ("allrandrepeat", Model),
    ("nrfiles nr_files", Model),
    ("file_service_type", Host),
    ("openfiles", Host),
    ("fallocate", Host),
    ("fadvise_hint", Host),
    ("fsync", Model),
    ("fdatasync", Model),
    ("write_barrier", No("barriers are not simulated: use fsync")),
    ("sync_file_range", Host),
    ("direct", Host),
    ("atomic", Host),
    ("buffered", Host),
    ("overwrite", Host),
    ("loops", Model),
    ("numjobs", Model),
    ("startdelay", Model),
    ("runtime timeout", Model),
    ("time_based", Model),
    ("verify_only", No(VERIFY)),
    ("ramp_time", No("use workload.warmup_requests in its place")),
    ("clocksource", Host),
    ("mem iomem", Host),
    ("verify", No(VERIFY)),
    ("do_verify", Host),
    ("verify_interval", Host),
    ("verify_offset", Host),
    ("verify_pattern", Host),
    ("verify_fatal", Host),
    ("verify_dump", Host),
    ("verify_async", Host),
    ("verify_async_cpus", Host),
    ("verify_backlog", No(VERIFY)),
    ("verify_backlog_batch", No(VERIFY)),
    ("experimental_verify", No(VERIFY)),
    ("verify_state_load", Host),
    ("verify_state_save", Host),
    ("trim_percentage", No(VERIFY_TRIM)),
    ("trim_verify_zero", Host),
    ("trim_backlog", No(VERIFY_TRIM)),
    ("trim_backlog_batch", No(VERIFY_TRIM)),
    ("write_iolog", Host),
    ("read_iolog", No(REPLAY)),
    ("read_iolog_chunked", No(REPLAY)),
    ("replay_no_stall", No(REPLAY)),
    ("replay_redirect", No(REPLAY)),
    ("replay_scale", No(REPLAY)),
    ("replay_align", No(REPLAY)),
    ("replay_time_scale", No(REPLAY)),
    ("replay_skip", No(REPLAY)),
    ("merge_blktrace_file", No(REPLAY)),
    ("merge_blktrace_scalars", No(REPLAY)),
    ("merge_blktrace_iters", No(REPLAY)),
    ("exec_prerun", Host),
    ("exec_postrun", Host),
    ("ioscheduler", Host),
    ("zonemode", Model),
    ("zonesize", Model),
    ("zonecapacity", No(ZONED)),
    ("zonerange", Model),
    ("zoneskip", Model),
    ("read_beyond_wp", No(ZONED)),
    ("max_open_zones", No(ZONED)),
    ("job_max_open_zones", No(ZONED)),
    ("ignore_zone_limits", No(ZONED)),
    ("zone_reset_threshold", No(ZONED)),
    ("zone_reset_frequency", No(ZONED)),
    ("lockmem", Host),
    ("rwmixread", Model),
    ("rwmixwrite", Model),
    ("nice", Host),
    ("prio", Host),
    ("prioclass", Host),
    ("thinktime", Model),
    ("thinktime_spin", Host),
    ("thinktime_blocks", Model),
    ("thinktime_blocks_type", Model),
    ("thinktime_iotime", Model),
    ("thinkcycles", Host),
    ("rate", Model),
    ("rate_min ratemin", Host),
    ("rate_process", Model),
    ("rate_cycle ratecycle", Host),
    ("rate_ignore_thinktime", Model),
    ("rate_iops", Model),
    ("rate_iops_min", Host),
    ("max_latency", No(OUTCOME)),
    ("latency_target", No(LATENCY)),
    ("latency_window", No(LATENCY)),
    ("latency_percentile", No(LATENCY)),
    ("latency_run", No(LATENCY)),
    ("invalidate", Host),
    ("sync", Model),
    ("write_hint", No("hints of lifetimes are not simulated: use alloc.separation")),
    ("create_serialize", Host),
    ("create_fsync", Host),
    ("create_on_open", Host),
    ("create_only", No("fio would make its files and do nothing else")),
    ("allow_file_create", Host),
    ("allow_mounted_write", Host),
    (
        "pre_read",
        No("write the reads before the test as a job of their own, with stonewall after it"),
    ),
    ("cpumask", Host),
    ("cpus_allowed", Host),
    ("cpus_allowed_policy", Host),
    ("numa_cpu_nodes", Host),
    ("numa_mem_policy", Host),
    ("end_fsync", Model),
    ("fsync_on_close", Model),
    ("unlink", Host),
    ("unlink_each_loop", Host),
    ("exitall", Model),
    ("exit_what", Model),
    ("exitall_on_error", Host),
    ("stonewall wait_for_previous", Model),
    ("new_group", Model),
    ("thread threads", Host),
    ("per_job_logs", Host),
    ("write_bw_log", Host),
    ("bwavgtime", Host),
    ("write_lat_log", Host),
    ("write_iops_log", Host),
    ("iopsavgtime", Host),
    ("log_entries", Host),
    ("log_avg_msec", Host),
    ("log_hist_msec", Host),
    ("log_hist_coarseness", Host),
    ("write_hist_log", Host),
    ("log_max_value", Host),
    ("log_window_value", Host),
    ("log_offset", Host),
    ("log_prio", Host),
    ("log_issue_time", Host),
    ("log_compression", Host),
    ("log_compression_cpus", Host),
    ("log_store_compressed", Host),
    ("log_unix_epoch", Host),
    ("log_alternate_epoch", Host),
    ("log_alternate_epoch_clock_id", Host),
    ("block_error_percentiles", Host),
    ("group_reporting", Host),
    ("stats", Host),
    ("zero_buffers", Host),
    ("refill_buffers", Host),
    ("scramble_buffers", Host),
    ("buffer_pattern", Host),
    ("buffer_compress_percentage", Host),
    ("buffer_compress_chunk", Host),
    ("dedupe_percentage", Host),
    ("dedupe_mode", Host),
    ("dedupe_working_set_percentage", Host),
    ("dedupe_global", Host),
    ("clat_percentiles", Host),
    ("lat_percentiles", Host),
    ("slat_percentiles", Host),
    ("percentile_list", Host),
    ("significant_figures", Host),
    ("disk_util", Host),
    ("gtod_reduce", Host),
    ("disable_lat", Host),
    ("disable_clat", Host),
    ("disable_slat", Host),
    ("disable_bw_measurement disable_bw", Host),
    ("gtod_cpu", Host),
    ("unified_rw_reporting", Host),
    ("continue_on_error", Host),
    ("error_dump", Host),
    ("profile", No("a benchmark that is built into fio: write its jobs out")),
    ("cgroup", Host),
    ("cgroup_nodelete", Host),
    ("cgroup_weight", Host),
    ("uid", Host),
    ("gid", Host),
    ("kb_base", Model),
    ("unit_base", Host),
    ("hugepage-size", Host),
    ("flow_id", No(FLOW)),
    ("flow", No(FLOW)),
    ("flow_sleep", No(FLOW)),
    ("steadystate ss", No(STEADY)),
    ("steadystate_duration ss_dur", No(STEADY)),
    ("steadystate_ramp_time ss_ramp", No(STEADY)),
    ("steadystate_check_interval ss_interval", No(STEADY)),
    // Options of engines for block devices.
    ("hipri", Host),
    ("hipri_percentage", Host),
    ("userspace_reap", Host),
    ("fixedbufs", Host),
    ("registerfiles", Host),
    ("sqthread_poll", Host),
    ("sqthread_poll_cpu", Host),
    ("nonvectored", Host),
    ("uncached", Host),
    ("nowait", Host),
    ("force_async", Host),
    ("cmd_type", Host),
    ("cmdprio_percentage", Host),
    ("cmdprio_class", Host),
    ("cmdprio", Host),
    ("cmdprio_bssplit", Host),
    ("thp", Host),
    ("readfua", Host),
    ("writefua", No("use sync=1: every write then reaches the flash before it completes")),
    ("sg_write_mode", No("other SCSI commands than reads, writes and unmaps are not simulated")),
    ("stream_id", No("SCSI streams are not simulated: use alloc.separation")),
    ("uri", Model),
    ("xnvme_async", Host),
    ("xnvme_sync", Host),
    ("xnvme_admin", Host),
    ("xnvme_dev_nsid", Host),
    ("xnvme_iovec", Host),
    // Options newer than 3.33.
    ("num_range", No("a trim has one range here")),
    ("fdp", No(PLACEMENT)),
    ("fdp_pli", No(PLACEMENT)),
    ("fdp_pli_select", No(PLACEMENT)),
    ("dataplacement", No(PLACEMENT)),
    ("plids", No(PLACEMENT)),
    ("plid_select", No(PLACEMENT)),
    ("dp_scheme", No(PLACEMENT)),
    ("ramp_size", No("use workload.warmup_requests in its place")),
    ("sprandom", No("precondition the device with precondition.fill and precondition.overwrite")),
];

/// All options, in the order of fio's own list.
pub fn all() -> impl Iterator<Item = FioOption> {
    ALL.iter().map(|&(names, class)| {
        let (name, alias) = names.split_once(' ').map_or((names, None), |(a, b)| (a, Some(b)));
        FioOption { name, alias, class }
    })
}

/// Returns the option with this name or alias.
pub(super) fn find(key: &str) -> Option<FioOption> {
    all().find(|option| option.name == key || option.alias == Some(key))
}

/// Returns all names and aliases.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().flat_map(|option| option.0.split(' '))
}

const FILES: &str = "works on files, not on a block device";
const NETWORK: &str = "moves data over a network, not to a block device";
const MEMORY: &str = "is for persistent memory, not for a block device";
const OBJECTS: &str = "stores objects in a cluster or a service, not on a block device";

/// Engines without a block device, each with what it does.
const NO_DEVICE: [(&str, &str); 39] = [
    ("cpuio", "uses CPUs only"),
    ("exec", "runs another program"),
    ("ftruncate", FILES),
    ("filecreate", FILES),
    ("filestat", FILES),
    ("filedelete", FILES),
    ("filexattr", FILES),
    ("dircreate", FILES),
    ("dirstat", FILES),
    ("dirdelete", FILES),
    ("falloc", FILES),
    ("e4defrag", FILES),
    ("nfs", FILES),
    ("gfapi", FILES),
    ("gfapi_async", FILES),
    ("libhdfs", FILES),
    ("ime_psync", FILES),
    ("ime_psyncv", FILES),
    ("ime_aio", FILES),
    ("libcufile", "moves data between files and a GPU"),
    ("libhipfile", "moves data between files and a GPU"),
    ("net", NETWORK),
    ("netsplice", NETWORK),
    ("rdma", NETWORK),
    ("librpma_apm_client", NETWORK),
    ("librpma_apm_server", NETWORK),
    ("librpma_gpspm_client", NETWORK),
    ("librpma_gpspm_server", NETWORK),
    ("http", OBJECTS),
    ("rados", OBJECTS),
    ("rbd", OBJECTS),
    ("dfs", OBJECTS),
    ("sheepdog", OBJECTS),
    ("pmemblk", MEMORY),
    ("libpmem", MEMORY),
    ("dev-dax", MEMORY),
    ("mtd", "is for raw flash, without a device that translates addresses"),
    ("libzbc", ZONED),
    ("page_fault", MEMORY),
];

/// Returns what an engine without a block device does instead; `None` for other engines.
pub(super) fn no_device(engine: &str) -> Option<&'static str> {
    NO_DEVICE.iter().find(|entry| entry.0 == engine).map(|entry| entry.1)
}

/// Returns the engines without a block device, each with what it does.
pub fn engines_without_device() -> impl Iterator<Item = (&'static str, &'static str)> {
    NO_DEVICE.into_iter()
}
