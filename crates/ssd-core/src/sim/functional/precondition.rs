//! Preconditioning: how a device is filled before the run.

use super::Functional;
use crate::config::{Config, FillOrder, SteadyStart};
use crate::ftl::gc::Demand;
use crate::ftl::gc::trigger::SpaceView;
use crate::host::ahead::Lookahead;
use crate::host::device::DeviceError;
use crate::rng::Stream;
use crate::units::{Lpn, PoolId};
use std::convert::Infallible;

impl Functional {
    /// Write the first `share` of the user pages once and overwrite them `overwrite` times at random.
    ///
    /// [`DeviceError::NoSpace`] when a pool cannot free a block. `keep_going` is called every 65,536 pages programmed,
    /// including copies, with the pages written and the total to write; false ends early.
    pub fn precondition(
        &mut self,
        config: &Config,
        keep_going: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, DeviceError> {
        let p = &config.precondition;
        let user_pages = self.host_pages();
        let pages = (f64::from(user_pages) * p.fill).floor() as u64;
        let overwrites = (pages as f64 * p.overwrite).round() as u64;
        assert!(pages <= u64::from(user_pages), "{pages} pages are to be filled");
        let mut rng = Stream::new(config.run.seed, "precondition");
        let mut going = |done| keep_going(done, pages + overwrites);
        let in_order = p.order == FillOrder::Sequential;
        let is_complete = if p.steady_state == SteadyStart::MeanField {
            self.build_steady_state(pages as u32, &mut rng, &mut going)?
        } else if in_order && self.ftl.groups.is_some() {
            self.fill_groups(pages, &mut going)?
        } else {
            let order = (!in_order).then(|| rng.permutation(pages as u32));
            self.fill(pages, order.as_deref(), &mut going)?
        };
        Ok(is_complete && self.overwrite(pages, overwrites, rng, keep_going)?)
    }

    /// Write the first `pages` pages, in sequence or in the order of `order`. False if `keep_going` ended it.
    fn fill(
        &mut self,
        pages: u64,
        order: Option<&[u32]>,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, DeviceError> {
        assert!(order.is_none_or(|o| o.len() as u64 == pages), "pages without a place");
        for i in 0..pages {
            if self.is_time_to_look() && !keep_going(i) {
                return Ok(false);
            }
            self.write(Lpn(order.map_or(i as u32, |order| order[i as usize])), 0)?;
        }
        Ok(true)
    }

    /// Build the steady state of greedy collection under uniform writes, with as few erased blocks as possible without
    /// any trigger holding.
    fn build_steady_state(
        &mut self,
        pages: u32,
        rng: &mut Stream,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, DeviceError> {
        let geo = &self.ftl.geo;
        assert!(pages <= geo.user_pages, "{pages} pages are more than the device has");
        assert_eq!(self.sequence, 0, "the device has been written");
        let pages_of = |blocks: u32| u64::from(blocks) * u64::from(geo.pages_per_block);
        let wants = |free_blocks: u32, pool: PoolId| {
            let view = self.ftl.space_view(pool);
            let pool_used_pages = view.pool_pages.saturating_sub(pages_of(free_blocks));
            let erased = pages_of(free_blocks) * u64::from(geo.pools);
            let used_pages = view.pages.saturating_sub(erased);
            let view = SpaceView { free_blocks, pool_used_pages, used_pages, ..view };
            self.agenda.demand(&view) != Demand::None
        };
        let suits = |free: &u32| !(0..geo.pools).any(|pool| wants(*free, PoolId(pool)));
        let free = (0..geo.blocks_per_pool).find(suits).unwrap_or(geo.blocks_per_pool);
        self.sequence = u64::from(pages);
        let layout = &self.layout;
        self.ftl.build_steady_state(layout, pages, free, rng, keep_going).map_err(|pool| {
            DeviceError::NoSteadyState {
                pool: pool.0,
                reason: format!(
                    "its triggers keep {free} of its {} blocks erased, and its share of the {pages} filled \
                     pages does not fit beside them and the open blocks; give the device more \
                     over-provisioning, or fill it page by page (precondition.steady_state = \"none\")",
                    self.ftl.space.good_blocks(pool)
                ),
            }
        })
    }

    /// Overwrite the first `pages` pages at random.
    fn overwrite(
        &mut self,
        pages: u64,
        overwrites: u64,
        mut rng: Stream,
        keep_going: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, DeviceError> {
        assert!(pages > 0 || overwrites == 0, "no page can be overwritten");
        let (mut ahead, mut drawn) = (Lookahead::new(), 0);
        for i in 0..overwrites {
            if self.is_time_to_look() && !keep_going(pages + i, pages + overwrites) {
                return Ok(false);
            }
            let lpn = loop {
                let far = |&lpn: &Lpn| self.ftl.owners.prefetch(lpn);
                let near = |&lpn: &Lpn| self.ftl.prefetch_write(lpn);
                if let Some(lpn) = ahead.next(far, near) {
                    break lpn;
                }
                let Ok(more) = ahead.turn(|batch, most| {
                    let count = (overwrites - drawn).min(most as u64);
                    drawn += count;
                    batch.extend((0..count).map(|_| Lpn(rng.below(pages) as u32)));
                    Ok::<(), Infallible>(())
                });
                assert!(more, "as many are drawn as are written");
            };
            self.write(lpn, 0)?;
        }
        assert_eq!(drawn, overwrites, "pages were drawn and not written");
        Ok(true)
    }
}
