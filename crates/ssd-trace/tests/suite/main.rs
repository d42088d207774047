//! The integration tests of `ssd-trace`: one binary, since each would compile and link the crate's generic code anew.

mod apps;
mod binary_formats;
#[path = "../../../cases.rs"]
mod cases;
mod columnar;
mod config;
mod config_errors;
mod conversions;
mod copies;
mod far_volumes;
mod fio_jobs;
mod fio_like;
mod fio_options;
mod fio_pace;
mod fit;
mod folder;
mod format_fuzz;
mod formats;
mod info;
mod keys;
#[path = "../../../resident.rs"]
mod resident;
mod samples;
mod small_files;
mod stand_in_patterns;
mod stand_ins;
mod synthetics;
mod trace_cache;
mod traces;
mod units;
mod unordered;
mod vocabulary;
mod workloads;
mod writers;
