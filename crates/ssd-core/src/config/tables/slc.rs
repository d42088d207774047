//! `[slc]`: blocks programmed with one bit a cell, which take the writes of the host first.

use super::prelude::*;

crate::config_table! {
    "A cache of blocks that are programmed with one bit a cell: faster, and with 1 / `device.bits` of the pages. \
    Collection folds them: it copies their pages to blocks with all bits."
    Slc: slc in Config {
        mode: word() => mode: SlcMode = SlcMode::Off,
            "Whether the host writes to SLC blocks first, and how many a pool may have.";
        static: special(STATIC) => static_bytes: u64 = 0,
            "Capacity of the SLC blocks that the device may have however few blocks are erased, rounded down to \
            whole blocks of each pool.";
        share: real(Span::above(0.0, 1.0)) => share: f64 = 1.0,
            "Share of the erased blocks that may become SLC blocks.";
        read: time(MINUTE) => read_ns: u64 = 25_000,
            "Array read of an SLC page.";
        program: time(MINUTE) => program_ns: u64 = 200_000,
            "Array program of an SLC page.";
        fold: word() => fold: Fold = Fold::Full,
            "When SLC blocks are folded.";
        idle: time(YEAR) => idle_ns: u64 = 100 * MILLISECOND,
            "Time for which a pool has had no host operation when its SLC blocks are folded.";
        path: word() => path: FoldPath = FoldPath::Controller,
            "Path of the copies of folds.";
        full: word() => full: SlcFull = SlcFull::Direct,
            "What the host does when no SLC block may be opened.";
        endurance: int(1, 1 << 31) => endurance: u32 = 30_000,
            "Erases that a block survives if they all end its use as an SLC block: one takes 1 / `slc.endurance` of \
            its life, any other 1 / `wear.endurance`.";
    }
}

impl Slc {
    /// There are no SLC blocks.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.mode == SlcMode::Off
    }
}

impl Config {
    /// Pages of a flash block that is an SLC block.
    #[must_use]
    pub fn slc_pages(&self) -> u32 {
        self.device.pages_per_block / self.device.bits.max(1)
    }

    /// SLC blocks that each pool may have however few blocks are erased.
    #[must_use]
    pub fn static_slc_units(&self) -> u64 {
        let pages = self.pages_per_unit() / u64::from(self.device.bits.max(1));
        let bytes = pages * u64::from(self.device.page_bytes) * self.pools();
        if self.slc.mode.has_static() { self.slc.static_bytes / bytes.max(1) } else { 0 }
    }
}

static STATIC: Special<Config> = Special {
    form: "size",
    default: None,
    read: |draft, errors, path, node| {
        let set = read::size(node, 0, 1 << 60).map(|bytes| draft.config.slc.static_bytes = bytes);
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&show_size(config.slc.static_bytes))),
    text: false,
    types: SIZE_TYPES,
};
