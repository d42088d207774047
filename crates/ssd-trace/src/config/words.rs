//! Words of the keys of `[workload]`; the words of trace formats are in `read::formats`.

use ssd_core::config::Word;

ssd_core::word_enum! {
    /// `workload.kind`
    WorkloadKind {
        /// From a file.
        Trace = "trace",
        /// Uniformly random.
        Uniform = "uniform",
        /// Zipf over the pages, ranks scattered by a fixed bijection.
        Zipf = "zipf",
        /// A hot and a cold region.
        HotCold = "hot-cold",
        /// Ascending, wrapping around.
        Sequential = "sequential",
        /// Like Cassandra.
        AppCassandra = "app:cassandra",
        /// Like MongoDB.
        AppMongodb = "app:mongodb",
        /// Like MySQL.
        AppMysql = "app:mysql",
        /// Like RocksDB.
        AppRocksdb = "app:rocksdb",
        /// Like SQLite.
        AppSqlite = "app:sqlite",
        /// Like dbench.
        AppDbench = "app:dbench",
        /// Like filebench's varmail.
        AppVarmail = "app:varmail",
        /// Like volume hm_0 of the MSR Cambridge traces.
        MsrHm0 = "msr:hm_0",
        /// Like volume stg_0.
        MsrStg0 = "msr:stg_0",
        /// Like volume src2_0.
        MsrSrc20 = "msr:src2_0",
        /// Like volume rsrch_0.
        MsrRsrch0 = "msr:rsrch_0",
        /// Like volume wdev_0.
        MsrWdev0 = "msr:wdev_0",
        /// A job file of fio.
        Fio = "fio",
    }
}

/// Origin of the requests of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A file of requests.
    Trace,
    /// Synthetic requests by the shares in `[workload]`.
    Shares,
    /// The model of an application, by its name.
    Application(&'static str),
    /// A stand-in for a volume of the MSR Cambridge traces, by its name.
    Volume(&'static str),
    /// A job file of fio.
    Jobs,
}

impl WorkloadKind {
    /// Returns the origin of the requests.
    #[must_use]
    pub fn origin(self) -> Origin {
        match (self, self.word().split_once(':')) {
            (WorkloadKind::Trace, _) => Origin::Trace,
            (WorkloadKind::Fio, _) => Origin::Jobs,
            (_, Some(("app", name))) => Origin::Application(name),
            (_, Some((_, name))) => Origin::Volume(name),
            (_, None) => Origin::Shares,
        }
    }
}

ssd_core::word_enum! {
    /// `workload.set`
    ParameterSet {
        /// Tables 4 and 5 of the adaptive-channel paper.
        AdaptiveChannel = "adaptive-channel",
        /// Table 3 of the invalidation-rate paper.
        InvalidationRate = "invalidation-rate",
        /// Table 3 of the noc-copyback paper.
        NocCopyback = "noc-copyback",
    }
}

ssd_core::word_enum! {
    /// `workload.pattern`: what a stand-in has where a key of its pattern is not set.
    Pattern {
        /// Every request is independent of the others.
        Independent = "independent",
        /// As in 10,000 recorded requests of an MSR volume.
        MsrSample = "msr-sample",
    }
}

ssd_core::word_enum! {
    /// `workload.unit`: unit of addresses and lengths in formats whose files differ in it.
    TraceUnit {
        /// As the format is defined; refused where the numbers fit another unit as well.
        Auto = "auto",
        /// Bytes.
        Bytes = "bytes",
        /// Sectors of 512 bytes.
        Sectors = "sectors",
        /// Pages of `workload.page_size`.
        Pages = "pages",
    }
}

ssd_core::word_enum! {
    /// `workload.time_unit`: unit of times in formats whose files differ in it.
    TimeUnit {
        /// As the format or the columns define it.
        Auto = "auto",
        /// Nanoseconds.
        Ns = "ns",
        /// 100 nanoseconds, as in Windows.
        Ticks = "100ns",
        /// Microseconds.
        Us = "us",
        /// Milliseconds.
        Ms = "ms",
        /// Seconds.
        S = "s",
    }
}

impl TimeUnit {
    /// Returns the nanoseconds per unit, or `None` if the format defines the unit.
    #[must_use]
    pub fn ns(self) -> Option<u64> {
        crate::read::formats::mapping::time_unit(self.word())
    }
}

ssd_core::word_enum! {
    /// `workload.fit`
    Fit {
        /// Addresses as recorded; an address beyond the device is an error.
        None = "none",
        /// Touched pages are renumbered from 0 in ascending order.
        Compact = "compact",
        /// Addresses modulo the device's capacity.
        Wrap = "wrap",
    }
}

ssd_core::word_enum! {
    /// `workload.phases`
    Phases {
        /// The order of the trace: one application, whose bursts grow with the drive.
        Recorded = "recorded",
        /// Every page begins at a random point of the loop: many applications, whose bursts mix.
        Independent = "independent",
    }
}

ssd_core::word_enum! {
    /// `workload.arrival.kind`
    ArrivalKind {
        /// Equal intervals.
        Fixed = "fixed",
        /// Exponential intervals.
        Poisson = "poisson",
        /// Bursts of Poisson arrivals with pauses between them.
        Bursty = "bursty",
        /// As in the application, the volume or the job file.
        Model = "model",
    }
}
