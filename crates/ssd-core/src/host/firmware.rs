//! Firmware time: what the firmware adds to a request between the end of its last part and its completion.
//!
//! The times are log-normal, with a given median and 99th percentile: the simplest family with both and a long tail.
//! Besides, the map may take a fixed time for each page of the request. Liang et al., IEICE Electronics Express 2018,
//! figure 4, show such a time (`T_meta`: searching or updating metadata of a data chunk) and do not give it.
//! Requests do not wait for each other's firmware.

use crate::config::Config;
use crate::rng::Stream;

/// The 99th percentile of the standard normal distribution.
const Z_99: f64 = 2.326_347_874_040_841;

/// Draws the firmware time of every request.
pub(crate) struct Firmware {
    median_ns: f64,
    sigma: f64,
    stream: Stream,
    /// For each page, in the map.
    page_ns: u64,
}

impl Firmware {
    /// The firmware of a resolved config; `None` if it takes no time.
    pub(crate) fn new(config: &Config) -> Option<Firmware> {
        let (median, p99) = (config.controller.firmware_p50_ns, config.controller.firmware_p99_ns);
        let page_ns = config.controller.metadata_ns;
        if median == 0 && page_ns == 0 {
            return None;
        }
        assert!(p99 >= median, "the config layer has checked them");
        let sigma = if median == 0 { 0.0 } else { libm::log(p99 as f64 / median as f64) / Z_99 };
        let stream = Stream::new(config.run.seed, "firmware");
        Some(Firmware { median_ns: median as f64, sigma, stream, page_ns })
    }

    /// The time of `pages` pages in the map, nanoseconds.
    pub(crate) fn metadata_ns(&self, pages: u32) -> u64 {
        self.page_ns
            .checked_mul(u64::from(pages))
            .expect("pages of a request, a minute each at most")
    }

    /// The time of the next request that ends, nanoseconds.
    pub(crate) fn next_ns(&mut self) -> u64 {
        // Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
        let radius = libm::sqrt(2.0 * self.stream.exponential());
        let normal = radius * libm::cos(std::f64::consts::TAU * self.stream.unit());
        (self.median_ns * libm::exp(self.sigma * normal)).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(p50_ns: u64, p99_ns: u64) -> Option<Firmware> {
        let mut config = Config::default();
        (config.controller.firmware_p50_ns, config.controller.firmware_p99_ns) = (p50_ns, p99_ns);
        Firmware::new(&config)
    }

    #[test]
    fn times_have_the_quantiles_and_the_mean_of_the_closed_form() {
        let n = 400_000;
        let mut firmware = of(13_000, 325_000).expect("it takes time");
        let mut times: Vec<u64> = (0..n).map(|_| firmware.next_ns()).collect();
        times.sort_unstable();
        let sigma = libm::log(325.0 / 13.0) / Z_99;
        // Standard normal quantiles of the shares.
        let quantiles =
            [(0.01, -Z_99), (0.25, -0.674_490), (0.5, 0.0), (0.75, 0.674_490), (0.99, Z_99)];
        for (share, z) in quantiles {
            let expected = 13_000.0 * libm::exp(sigma * z);
            let found = times[(share * f64::from(n)) as usize] as f64;
            assert!((found / expected - 1.0).abs() < 0.02, "{share}: {found}, not {expected}");
        }
        let mean = times.iter().sum::<u64>() as f64 / f64::from(n);
        let expected = 13_000.0 * libm::exp(sigma * sigma / 2.0);
        assert!((mean / expected - 1.0).abs() < 0.02, "mean {mean}, not {expected}");
    }

    #[test]
    fn equal_percentiles_are_a_constant_and_none_is_none() {
        let mut constant = of(7_777, 7_777).expect("it takes time");
        assert!((0..1000).all(|_| constant.next_ns() == 7_777));
        assert!(of(0, 0).is_none());
        let mut config = Config::default();
        config.controller.metadata_ns = 150;
        let mut map = Firmware::new(&config).expect("it takes time");
        assert_eq!((map.next_ns(), map.metadata_ns(0), map.metadata_ns(3)), (0, 0, 450));
    }
}
