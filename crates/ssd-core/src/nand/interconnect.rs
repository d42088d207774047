//! The time that a page takes to cross the interconnect between its flash controller and the host side
//! of the controller.
//!
//! A page is sent as flits. The first flit passes slice after slice, and one more follows per slice time,
//! so a page has passed n slices after `(flits + n - 1) * slice_time`. Source: Ahn et
//! al., "High-Performance Garbage Collection Scheme with Low Data Transfer Overhead for NoC-Based SSDC",
//! Electronics 13:4838, 2024, equation 1. Decision: the last flit of a page may be a partial one.

use crate::config::{Config, InterconnectModel};

/// Time of a page through `slices` slices, at least 1, nanoseconds.
#[must_use]
pub fn through(config: &Config, slices: u64) -> u64 {
    assert!(slices > 0, "a page passes at least one slice");
    let net = &config.interconnect;
    (flits(config) + slices - 1) * net.slice_ns
}

/// Flits of a page.
fn flits(config: &Config) -> u64 {
    let bits = u64::from(config.device.page_bytes) * 8;
    bits.div_ceil(u64::from(config.interconnect.flit_bits))
}

/// The formula: the time of a page over the mean path, to the nearest multiple of `rounding`, halves rounded up; 0 in
/// the other models.
#[must_use]
pub fn formula_ns(config: &Config) -> u64 {
    let net = &config.interconnect;
    if net.model != InterconnectModel::Formula {
        return 0;
    }
    // Only the path may be fractional, and it is short; the rest stays in integers.
    let path = (net.mean_path - 1.0) * net.slice_ns as f64;
    let (integer, fraction) = (path.floor(), path.fract());
    let ns = flits(config) * net.slice_ns + integer as u64;
    let (multiples, rest) = (ns / net.rounding_ns, ns % net.rounding_ns);
    let up = 2.0 * (rest as f64 + fraction) >= net.rounding_ns as f64;
    (multiples + u64::from(up)) * net.rounding_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_is_the_one_of_the_paper() {
        let mut c = Config::default();
        assert_eq!(formula_ns(&c), 0, "there is none");
        c.interconnect.model = InterconnectModel::Formula;
        // 8204.5 * 87 = 713 791.5 ns, which the paper calls 714 us.
        assert_eq!(formula_ns(&c), 713_792);
        c.interconnect.rounding_ns = 1000;
        assert_eq!(formula_ns(&c), 714_000);
        (c.interconnect.mean_path, c.interconnect.rounding_ns) = (13.25, 1);
        assert_eq!(formula_ns(&c), 713_770, "8204.25 * 87 = 713 769.75");
        c.interconnect.mean_path = 1.0;
        assert_eq!(formula_ns(&c), 8192 * 87);
    }

    #[test]
    fn flits_pages_and_paths_of_any_size() {
        let mut c = Config::default();
        c.interconnect.model = InterconnectModel::Formula;
        for (page, bits, flits) in
            [(4096, 3, 10_923), (16_384, 128, 1024), (2048, 65_536, 1), (65_536, 1, 524_288)]
        {
            (c.device.page_bytes, c.interconnect.flit_bits) = (page, bits);
            for slices in [1u32, 2, 7, 23] {
                c.interconnect.mean_path = f64::from(slices);
                let ns = (flits + u64::from(slices) - 1) * 87;
                assert_eq!((formula_ns(&c), through(&c, u64::from(slices))), (ns, ns));
            }
        }
    }
}
