//! Synthetic workloads: addresses by one of four rules, operations, sizes and arrivals by share.
//!
//! Four random streams, so that changing one property of a workload leaves the draws of the others
//! as they were: `workload.address`, `workload.op`, `workload.size`, `workload.arrival`.
//!
//! Alignment: a request of at least a page starts on a page boundary; a smaller one lies within one
//! page, at a multiple of its size. Start pages are drawn from the first
//! `span * user_pages - (pages of the largest size - 1)` pages, so that every size fits behind
//! every start and none is moved or cut.

mod arrivals;
mod hot_cold;
mod mixture;
mod scatter;
mod sequential;
mod zipf;

pub use arrivals::Arriving;
pub use scatter::Scatter;
pub use zipf::Zipf;

use arrivals::Arrivals;
use hot_cold::HotCold;
use mixture::{Operations, Sizes};
use sequential::Sequential;
use ssd_core::config::{Origin, Word as _, Workload, WorkloadKind};
use ssd_core::host::request::{Request, Source, SourceError, TimedRequest};
use ssd_core::rng::Stream;
use ssd_core::units::SECTOR_BYTES;

/// A generated workload; the same configuration and seed give the same requests.
pub struct Synthetic {
    addresses: Addresses,
    operations: Operations,
    sizes: Sizes,
    arrivals: Arrivals,
    random: Stream,
    sectors_per_page: u64,
    requests: u64,
    made: u64,
}

/// Where a request starts.
enum Addresses {
    /// Every start page is equally likely; holds their number.
    Uniform(u64),
    Zipf(Zipf, Scatter),
    HotCold(HotCold),
    Sequential(Sequential),
}

impl Synthetic {
    /// The workload of `workload.kind` on a device of `user_pages` pages of `page_bytes` bytes.
    ///
    /// # Errors
    /// A value is out of range or the span is too small for it; the message names the key.
    pub fn new(
        workload: &Workload,
        page_bytes: u32,
        user_pages: u32,
        seed: u64,
    ) -> Result<Synthetic, SourceError> {
        crate::check_device(page_bytes, user_pages)?;
        let sectors_per_page = u64::from(page_bytes) / SECTOR_BYTES;
        let sizes = Sizes::new(&workload.sizes, Stream::new(seed, "workload.size"))?;
        let span = span_pages(workload.span, user_pages)?;
        let largest = u64::from(sizes.largest()).div_ceil(sectors_per_page);
        let Some(starts) = (span + 1).checked_sub(largest).filter(|&starts| starts > 0) else {
            return Err(SourceError(format!(
                "workload.sizes: the largest request takes {largest} pages, workload.span leaves \
                 {span}; lower the size or enlarge span or device"
            )));
        };
        let addresses = match workload.kind {
            WorkloadKind::Uniform => Addresses::Uniform(starts),
            WorkloadKind::Zipf => {
                Addresses::Zipf(Zipf::new(starts, workload.theta)?, Scatter::new(starts))
            }
            WorkloadKind::HotCold => {
                Addresses::HotCold(HotCold::new(starts, workload.hot_space, workload.hot_access)?)
            }
            WorkloadKind::Sequential => {
                Addresses::Sequential(Sequential::new(span * sectors_per_page))
            }
            kind => {
                assert_ne!(kind.origin(), Origin::Shares, "all kinds by shares are above");
                let text = format!("workload.kind = {:?} is not made by shares", kind.word());
                return Err(SourceError(text));
            }
        };
        Ok(Synthetic {
            addresses,
            operations: Operations::new(workload, Stream::new(seed, "workload.op"))?,
            sizes,
            arrivals: Arrivals::new(workload, Stream::new(seed, "workload.arrival"))?,
            random: Stream::new(seed, "workload.address"),
            sectors_per_page,
            requests: workload.requests,
            made: 0,
        })
    }

    /// First sector of the next request, which has `sectors` sectors.
    #[inline]
    fn sector(&mut self, sectors: u32) -> u64 {
        let random = &mut self.random;
        let page = match &mut self.addresses {
            Addresses::Uniform(starts) => random.below(*starts),
            Addresses::Zipf(zipf, scatter) => scatter.place(zipf.rank(random) - 1),
            Addresses::HotCold(regions) => regions.page(random),
            Addresses::Sequential(sequential) => {
                return sequential.sector(sectors, self.sectors_per_page);
            }
        };
        let start = page * self.sectors_per_page;
        let size = u64::from(sectors);
        if size >= self.sectors_per_page {
            return start;
        }
        start + random.below(self.sectors_per_page / size) * size
    }
}

impl Source for Synthetic {
    #[inline(always)]
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.made == self.requests {
            return Ok(None);
        }
        let at = self.arrivals.next_arrival(self.made)?;
        self.made += 1;
        let op = self.operations.draw();
        let sectors = self.sizes.draw();
        let sector = self.sector(sectors);
        Ok(Some(TimedRequest { at, request: Request::new(op, sector, sectors) }))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.requests)
    }
}

/// Pages that the workload addresses.
fn span_pages(span: f64, user_pages: u32) -> Result<u64, SourceError> {
    if !(span > 0.0 && span <= 1.0) {
        let text = format!("workload.span is {span}; it must be above 0 and at most 1");
        return Err(SourceError(text));
    }
    match (span * f64::from(user_pages)).floor() as u64 {
        0 => {
            let text = format!("workload.span = {span} of {user_pages} user pages is no page");
            Err(SourceError(format!("{text}; enlarge span or device")))
        }
        pages => Ok(pages),
    }
}

/// A share from 0 to 1.
fn check_share(key: &str, value: f64) -> Result<(), SourceError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(SourceError(format!("workload.{key} is {value}; it must be from 0 to 1")))
}
