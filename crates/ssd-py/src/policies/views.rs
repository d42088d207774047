//! What triggers and concurrency rules see.

use pyo3::prelude::*;
use ssd_core::ftl::gc::concurrency::DeviceView;
use ssd_core::ftl::gc::trigger::SpaceView;
use ssd_core::ftl::separation::ClassBlocks;

/// One pool and the device, as a trigger sees them.
#[pyclass(frozen, get_all, module = "ssdlab._core")]
pub(crate) struct TriggerView {
    /// The pool.
    pool: u32,
    /// Host pages bound so far.
    clock: u64,
    /// Erased blocks of the pool.
    free_blocks: u32,
    /// Blocks of the pool.
    blocks: u32,
    /// Pages of the pool that are not erased.
    pool_used_pages: u64,
    /// Pages of the pool.
    pool_pages: u64,
    /// Pages of the device that are not erased.
    used_pages: u64,
    /// Pages of the device.
    pages: u64,
    /// How long no host operation has waited or run in the pool, ns; None while one does, and for triggers without
    /// `idle_after_ns`.
    idle_ns: Option<u64>,
    /// A read of the host waits for the pool; for triggers without `watches_requests` always True.
    read_waits: bool,
    /// Whether a write waits.
    write_waits: bool,
    /// The policy's own random numbers.
    rng: Py<PyAny>,
}

impl TriggerView {
    pub(super) fn new(view: &SpaceView, rng: Py<PyAny>) -> TriggerView {
        TriggerView {
            pool: view.pool.0,
            clock: view.clock,
            free_blocks: view.free_blocks,
            blocks: view.blocks,
            pool_used_pages: view.pool_used_pages,
            pool_pages: view.pool_pages,
            used_pages: view.used_pages,
            pages: view.pages,
            idle_ns: view.idle_for.map(|idle| idle.0),
            read_waits: view.read_waits,
            write_waits: view.write_waits,
            rng,
        }
    }
}

/// The device, as a concurrency rule sees it.
#[pyclass(frozen, get_all, module = "ssdlab._core")]
pub(crate) struct ConcurrencyView {
    /// Pools of the device.
    pools: u32,
    /// Channels of the device.
    channels: u32,
    /// Pages that are not erased.
    used_pages: u64,
    /// All pages.
    pages: u64,
    /// The policy's own random numbers.
    rng: Py<PyAny>,
}

impl ConcurrencyView {
    pub(super) fn new(view: &DeviceView, rng: Py<PyAny>) -> ConcurrencyView {
        let DeviceView { pools, channels, used_pages, pages } = *view;
        ConcurrencyView { pools, channels, used_pages, pages, rng }
    }
}

/// The sealed blocks of a class in a pool, as a separation policy sees them.
#[pyclass(frozen, get_all, module = "ssdlab._core")]
pub(crate) struct ClassView {
    /// How many there are.
    sealed: u32,
    /// Their invalid pages.
    invalid: u64,
    /// The fewest valid pages of any of them; 0 if there are none.
    least_valid: u32,
}

impl ClassView {
    pub(super) fn new(blocks: &ClassBlocks) -> ClassView {
        let ClassBlocks { sealed, invalid, least_valid } = *blocks;
        ClassView { sealed, invalid, least_valid }
    }
}
