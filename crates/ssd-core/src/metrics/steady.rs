//! Whether write amplification is stable: its course over the host's writes, in bounded memory.
//!
//! The rule, in [`Course::judge`]: the device is in a steady state when
//! 1. the victim policy decided what was collected (`verdict`), not what the device has to spare,
//! 2. the host has written every user page once on average, preconditioning included, and has then
//!    written over the live data once, unless the device started in a constructed steady state
//!    (`precondition.steady_state`),
//! 3. within the measurement the host has written at least as many pages as the device has spare: if the
//!    device starts with more erased blocks than in the steady state, that many writes are needed to show it,
//! 4. at least [`MIN_CALLS`] blocks were collected within the measurement, and
//! 5. write amplification over the third and the fourth quarter of the host's writes differs by at
//!    most 5 % of the latter.

use super::declare::section;
use super::numbers::count;

/// Fewer collected blocks say nothing about a steady state: ten for each quarter of the writes.
pub const MIN_CALLS: u64 = 40;
/// Write amplification of the last two quarters may differ by this share.
pub const TOLERANCE: f64 = 0.05;
/// Points kept at most; between half of them and all once there are that many.
const MAX_POINTS: usize = 256;

/// Programs done when the host had written so many pages, at evenly spaced points whose spacing
/// doubles as the run grows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Course {
    points: Vec<(u64, u64)>,
    spacing: u64,
    next: u64,
}

impl Default for Course {
    fn default() -> Course {
        Course { points: Vec::new(), spacing: 1, next: 1 }
    }
}

section! {
    /// Whether write amplification has settled, and why.
    pub struct SteadyState;
    fields {
        /// All conditions hold.
        reached: bool,
        /// The first condition that does not hold, or the values compared.
        reason: String,
        /// Write amplification over the third quarter of the host's writes.
        wa_first: Option<f64> [Ratio],
        /// Write amplification over the fourth quarter.
        wa_second: Option<f64> [Ratio],
    }
}

/// Input of the rule besides the course.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// Pages the host has written within the measurement.
    pub host_pages: u64,
    /// Pages programmed within the measurement.
    pub programs: u64,
    /// Pages written before it: preconditioning and warm-up.
    pub pages_before: u64,
    /// User pages of the device.
    pub user_pages: u64,
    /// Pages beyond them.
    pub spare_pages: u64,
    /// Pages that hold current data at the end: they have been written once, and not over yet.
    pub live_pages: u64,
    /// The device began in a steady state.
    pub starts_steady: bool,
    /// The victim policy has not decided what was collected.
    pub reserve_decided: bool,
    /// Blocks collected within the measurement.
    pub gc_calls: u64,
}

impl Course {
    /// The host has now written `host_pages` pages and the device programmed `programs`, both since
    /// the start of the measurement. Call it after every page or request written.
    #[inline(always)]
    pub fn record(&mut self, host_pages: u64, programs: u64) {
        if host_pages >= self.next {
            self.keep(host_pages, programs);
        }
    }

    /// The host has written `host_pages` pages: is a point due? Saves the sum of the programs.
    #[inline(always)]
    #[must_use]
    pub const fn due(&self, host_pages: u64) -> bool {
        host_pages >= self.next
    }

    #[inline(never)]
    fn keep(&mut self, host_pages: u64, programs: u64) {
        self.points.push((host_pages, programs));
        if self.points.len() == MAX_POINTS {
            let mut odd = false;
            self.points.retain(|_| {
                odd = !odd;
                !odd
            });
            self.spacing *= 2;
        }
        self.next = host_pages + self.spacing;
    }

    /// The kept point nearest to `host_pages`; the origin if there is none.
    fn near(&self, host_pages: u64) -> (u64, u64) {
        let nearest = self.points.iter().min_by_key(|p| p.0.abs_diff(host_pages));
        nearest.copied().unwrap_or((0, 0))
    }

    /// Write amplification over the third and the fourth quarter of the host's writes.
    #[must_use]
    pub fn last_two_quarters(&self, host_pages: u64, programs: u64) -> Option<(f64, f64)> {
        let a = self.near(host_pages / 2);
        let b = self.near(host_pages - host_pages / 4);
        let slope = |from: (u64, u64), to: (u64, u64)| {
            (to.0 > from.0).then(|| (to.1 - from.1) as f64 / (to.0 - from.0) as f64)
        };
        Some((slope(a, b)?, slope(b, (host_pages, programs))?))
    }

    /// Write amplification over at most `most` equal stretches of the host's writes, in order,
    /// without the remainder at the end.
    ///
    /// # Panics
    /// If `most` is 0.
    #[must_use]
    pub fn slopes(&self, most: usize) -> Vec<f64> {
        assert!(most > 0, "no stretches");
        let every = self.points.len().div_ceil(most).max(1);
        let ends = self.points.iter().skip(every - 1).step_by(every);
        let mut from = (0, 0);
        let slope = |&to: &(u64, u64)| {
            assert!(to.0 > from.0, "points rise");
            let slope = (to.1 - from.1) as f64 / (to.0 - from.0) as f64;
            from = to;
            slope
        };
        ends.map(slope).collect()
    }

    /// Apply the rule.
    #[must_use]
    pub fn judge(&self, e: &Evidence) -> SteadyState {
        let quarters = self.last_two_quarters(e.host_pages, e.programs);
        let answer = |reached: bool, reason: String| SteadyState {
            reached,
            reason,
            wa_first: quarters.map(|q| q.0),
            wa_second: quarters.map(|q| q.1),
        };
        if e.host_pages == 0 {
            return answer(false, "the host wrote nothing".into());
        }
        if e.reserve_decided {
            return answer(false, "the reserve decided, not the victim policy".into());
        }
        let written = e.host_pages + e.pages_before;
        if written < e.user_pages {
            let share = 100.0 * written as f64 / e.user_pages as f64;
            return answer(
                false,
                format!("the host wrote {share:.1} % of the user pages, preconditioning included"),
            );
        }
        let over = written.saturating_sub(e.live_pages);
        if over < e.live_pages && !e.starts_steady {
            let share = 100.0 * over as f64 / e.live_pages as f64;
            return answer(
                false,
                format!(
                    "the host wrote over {share:.1} % of the live data, preconditioning included"
                ),
            );
        }
        if e.host_pages < e.spare_pages {
            let (pages, spare) = (count(e.host_pages), count(e.spare_pages));
            let text = format!("the host wrote {pages} pages, fewer than the {spare} spare pages");
            return answer(false, text);
        }
        if e.gc_calls < MIN_CALLS {
            let calls = e.gc_calls;
            return answer(false, format!("{calls} blocks were collected; {MIN_CALLS} are needed"));
        }
        let Some((first, second)) = quarters else {
            return answer(false, "too few writes to compare two quarters of them".into());
        };
        let drift = if second > 0.0 { (second - first) / second } else { first };
        let text = format!(
            "write amplification {first:.3} over the third and {second:.3} over the fourth quarter \
             of the writes"
        );
        answer(drift.abs() <= TOLERANCE, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(pages: u64, wa: impl Fn(u64) -> u64) -> (Course, Evidence) {
        let (mut c, mut programs) = (Course::default(), 0);
        for n in 1..=pages {
            programs += wa(n);
            c.record(n, programs);
            assert!(c.points.len() < MAX_POINTS);
        }
        let e = Evidence {
            host_pages: pages,
            programs,
            pages_before: 0,
            user_pages: 1000,
            spare_pages: 100,
            live_pages: 1000,
            starts_steady: false,
            reserve_decided: false,
            gc_calls: 1000,
        };
        (c, e)
    }

    #[test]
    fn too_short_a_measurement_says_nothing() {
        let (c, e) = course(99, |_| 3);
        let s = c.judge(&Evidence { pages_before: 5000, ..e });
        assert!(!s.reached && s.reason.contains("fewer than the 100 spare pages"), "{}", s.reason);
        let (c, e) = course(100, |_| 3);
        assert!(c.judge(&Evidence { pages_before: 5000, ..e }).reached);
    }

    #[test]
    fn constant_amplification_is_steady() {
        let (c, e) = course(100_000, |_| 3);
        let s = c.judge(&e);
        assert!(s.reached, "{}", s.reason);
        assert_eq!((s.wa_first, s.wa_second), (Some(3.0), Some(3.0)));
    }

    #[test]
    fn slopes_are_those_of_equal_stretches() {
        for (pages, stretches) in [(1, 1), (62, 62), (63, 63), (64, 32), (1000, 62), (100_000, 48)]
        {
            let (c, _) = course(pages, |n| if n <= pages / 2 { 1 } else { 3 });
            let slopes = c.slopes(63);
            assert_eq!(slopes.len(), stretches, "{pages}");
            assert!(slopes.iter().all(|s| (1.0..=3.0).contains(s)), "{pages}");
            let ends = (slopes.first().copied(), slopes.last().copied());
            assert!(pages < 62 || ends == (Some(1.0), Some(3.0)), "{pages}: {ends:?}");
        }
        assert!(Course::default().slopes(63).is_empty());
    }

    #[test]
    fn growing_amplification_is_not() {
        let (c, e) = course(100_000, |n| 1 + n / 10_000);
        let s = c.judge(&e);
        assert!(!s.reached, "{}", s.reason);
        assert!(s.wa_second > s.wa_first);
        let (c, e) = course(100_000, |n| if n <= 25_000 { 1 } else { 3 });
        assert!(c.judge(&e).reached, "settled in the first half");
    }

    #[test]
    fn each_condition_is_needed_and_named() {
        let (c, e) = course(10_000, |_| 2);
        assert!(c.judge(&e).reached);
        let few = Evidence { gc_calls: MIN_CALLS - 1, ..e };
        assert!(c.judge(&few).reason.contains("39 blocks were collected"));
        assert!(c.judge(&Evidence { gc_calls: MIN_CALLS, ..e }).reached);
        let large = Evidence { user_pages: 10_001, ..e };
        assert!(c.judge(&large).reason.contains("100.0 % of the user pages"));
        assert!(c.judge(&Evidence { pages_before: 1, ..large }).reached);
        let live = Evidence { live_pages: 5001, ..e };
        assert!(c.judge(&live).reason.contains("wrote over 100.0 % of the live data"));
        assert!(c.judge(&Evidence { pages_before: 2, ..live }).reached, "one more than twice");
        assert!(c.judge(&Evidence { starts_steady: true, ..live }).reached);
        let reserve = c.judge(&Evidence { reserve_decided: true, ..e });
        assert_eq!(reserve.reason, "the reserve decided, not the victim policy");
        assert!(!reserve.reached);
        let (c, e) = course(0, |_| 0);
        assert_eq!(c.judge(&e).reason, "the host wrote nothing");
        assert_eq!(c.judge(&e).wa_first, None);
    }
}
