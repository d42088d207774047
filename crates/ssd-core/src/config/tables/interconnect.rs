//! `[interconnect]`: the network between the flash controllers and the host side (serial model).

use super::prelude::*;

crate::config_table! {
    "The network between the flash controllers and the host side (serial model)."
    Interconnect: interconnect in Config {
        model: word() => model: InterconnectModel = InterconnectModel::None,
            "How long a page takes to cross the interconnect.";
        flit_bits: int(1, 65_536) => flit_bits: u32 = 4,
            "Bits that move between slices at once. A page is a whole number of flits, rounded up.";
        slice_time: time(MILLISECOND) => slice_ns: u64 = 87,
            "Time of one flit from one slice to the next.";
        columns: int(1, 256) => columns: u32 = 16,
            "Columns of the slice grid (`slices`). The flash controllers are spaced evenly along one \
            edge, and the ports of the task queues (R_host, W_host, R_gc and W_gc of every channel) \
            along the opposite one.";
        rows: int(1, 256) => rows: u32 = 8,
            "Rows of the slice grid, from that edge to the opposite one (`slices`).";
        mean_path: real(Span::closed(1.0, 1000.0)) => mean_path: f64 = 13.5,
            "Mean number of slices that a page crosses (`formula`): a traversal takes (flits + \
            mean_path - 1) * slice_time.";
        rounding: time(MILLISECOND) => rounding_ns: u64 = 1,
            "The traversal time is rounded to the nearest multiple of this, halves up (`formula`).";
    }
}
