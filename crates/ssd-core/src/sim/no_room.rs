//! Why a pool has no room for the host: the ends of a run that both machines share.

use super::ssd::Ssd;
use crate::ftl::Ftl;
use crate::ftl::plugs::Plugs;
use crate::host::device::DeviceError;
use crate::units::PoolId;

/// Why `pool` cannot free a block for the `outstanding` requests, of which `first` is the oldest; `more` is
/// appended to the reason.
pub(crate) fn no_space(
    ftl: &Ftl,
    pool: PoolId,
    plugs: &Plugs,
    (outstanding, first): (u64, u64),
    more: &str,
) -> DeviceError {
    if ftl.worn_out_in(pool) > 0 {
        return worn_out(ftl, pool);
    }
    let reason = no_space_reason(ftl, pool, plugs) + more;
    DeviceError::NoSpace { pool: pool.0, reason, outstanding, first }
}

/// The end of a device whose `pool` has lost too many blocks.
pub(crate) fn worn_out(ftl: &Ftl, pool: PoolId) -> DeviceError {
    assert!(ftl.worn_out_in(pool) > 0, "{pool:?} has lost no block");
    let erases = ftl.blocks.of_pool(pool).map(|b| u64::from(ftl.blocks.erases[b.at()])).sum();
    DeviceError::WornOut {
        pool: pool.0,
        worn_out: ftl.worn_out_in(pool),
        blocks: ftl.geo.blocks_per_pool,
        good: ftl.space.good_blocks(pool),
        erases,
        host_bytes: ftl.host_bytes_written(),
    }
}

/// The numbers behind [`DeviceError::NoSpace`], and the remedy.
fn no_space_reason(ftl: &Ftl, pool: PoolId, plugs: &Plugs) -> String {
    let view = ftl.space_view(pool);
    let invalid: u64 = ftl
        .blocks
        .of_pool(pool)
        .filter(|&b| ftl.blocks.is_candidate(b))
        .map(|b| u64::from(ftl.blocks.invalid(b)))
        .sum();
    debug_assert!(invalid <= view.pool_used_pages, "more pages are invalid than used: {view:?}");
    format!(
        "{} of {} blocks are erased and its sealed blocks hold {invalid} invalid pages; {}{}",
        view.free_blocks,
        view.blocks,
        remedy(ftl, pool),
        plugs.mention()
    )
}

/// What to do about it. If placement has given `pool` more than its share of the pages, more spare is not the remedy.
fn remedy(ftl: &Ftl, pool: PoolId) -> String {
    let blocks = ftl.blocks.of_pool(pool);
    let valid: u64 = blocks.map(|b| u64::from(ftl.blocks.valid[b.at()])).sum();
    let share = u64::from(ftl.geo.logical_pages.div_ceil(ftl.geo.pools));
    let even = match ftl.geo.members {
        1 => "use alloc.placement = \"static\"",
        _ => "use a larger alloc.pool",
    };
    debug_assert!(pool.0 < ftl.geo.pools, "there is no {pool:?}");
    if valid > share {
        return format!("it holds {valid} pages, and its share of all is {share}: {even}");
    }
    "give the device more over-provisioning, a smaller reserve or fewer frontiers".to_string()
}

impl Ssd {
    /// Why the requests in the device cannot complete.
    #[must_use]
    pub fn stalled(&self) -> DeviceError {
        debug_assert!(self.core.array.events.next_time().is_none(), "an event may still come");
        let (outstanding, first) =
            (self.core.front.outstanding(), self.core.front.requests.oldest().unwrap_or(0));
        let buffered = match self.core.front.buffered_pages() {
            0 => String::new(),
            pages => format!("; {pages} pages of the write buffer are not on flash"),
        };
        match self.core.gc.agenda.starved_pool(&self.core.ftl) {
            Some(pool) => {
                let waiting = (outstanding, first);
                no_space(&self.core.ftl, pool, &self.plugs, waiting, &buffered)
            }
            None => DeviceError::Stalled {
                outstanding,
                first,
                reason: format!(
                    "{} operations are queued or running{buffered}",
                    self.core.array.ops.len()
                ),
            },
        }
    }
}
