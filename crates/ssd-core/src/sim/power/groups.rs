//! Power cuts and parity groups (ADR 0033): a mount ends with a checkpoint, which settles what it has decided.
//!
//! The mount decides which updates count by the pages that it finds. A chip that fails later takes some of them along,
//! and then the same question could get another answer. Nothing that the checkpoint covers is asked again.

use super::Power;
use crate::ftl::recover::image::Image;
use crate::nand::geometry::Geometry;
use crate::nand::timing::Times;
use crate::sim::core::Core;
use crate::units::{PlaneId, UnitId};

/// Time to program the first `pages` pages of an area on every plane.
fn program_time_ns(times: &Times, geo: &Geometry, pages: u32) -> u64 {
    let of_page = |page: u32| times.program_in_block(geo, page % geo.pages_per_flash_block);
    let bus = times.gc_local_bus_ns;
    let programs: u64 = (0..pages).map(of_page).sum();
    let on_plane = programs + u64::from(pages) * bus;
    let planes = (0..geo.units).map(|unit| geo.planes_of_unit(UnitId(unit)).len() as u64).max();
    debug_assert!(pages > 0, "a checkpoint without pages");
    // A bus carries the pages of its channel one after the other; the last one is then programmed.
    let on_channel = u64::from(geo.planes / geo.channels) * u64::from(pages) * bus;
    let of_bus = if times.serial { 0 } else { on_channel + of_page(pages - 1) };
    (planes.unwrap_or(1) * on_plane).max(of_bus)
}

impl Power {
    /// Begin the checkpoint with which a mount ends. Returns its pages, and the time that they take.
    pub(super) fn begin_last_step(&mut self, core: &Core) -> (u64, u64) {
        let (times, geo) = (&core.array.times, &core.ftl.geo);
        let (logical, blocks) = (u64::from(geo.logical_pages), core.ftl.blocks.len() as u64);
        let bytes = Image::bytes(logical, blocks * u64::from(geo.members), blocks);
        let listed = Image::NUMBER * logical + Image::OWNER * core.ftl.recorded_owners();
        let pages = self.area.pages_for(bytes + listed);
        let erases = self.area.begin(self.area.next_half(), pages);
        let planes = geo.planes_of_unit(UnitId(0)).len() as u64;
        let time = u64::from(erases) * planes * times.erase_ns + program_time_ns(times, geo, pages);
        let present = (0..geo.planes).filter(|&plane| !core.ftl.is_dead(PlaneId(plane))).count();
        (u64::from(pages) * present as u64, time)
    }

    /// End that checkpoint. No record is needed any more.
    pub(in crate::sim) fn end_last_step(&mut self, core: &mut Core) {
        assert!(self.backlog.is_empty(), "a record has survived without a place");
        let half = self.area.next_half();
        let image = Image::of(&mut core.ftl, half, &[], &[]);
        self.area.end(half, image, &mut core.ftl);
        self.nvram.clean(self.nvram.len());
        self.checkpointed = self.admitted(core.front.sequence);
        self.area.misses_pages = false;
    }

    /// Note that the chip of `planes` has failed: the pages of its victims do not come back.
    pub(in crate::sim) fn chip_fails(&mut self, core: &Core, planes: &[PlaneId]) {
        debug_assert!(planes.iter().all(|&plane| core.ftl.is_dead(plane)), "{planes:?} are there");
        self.moved.retain(|&(source, _)| !planes.contains(&core.ftl.geo.plane_of(source)));
    }

    /// Note that a spare has taken the place of the chip of `planes`: checkpoints cover nothing there, and the next one
    /// is due.
    pub(in crate::sim) fn chip_replaced(&mut self, core: &mut Core, planes: &[PlaneId]) {
        let writing = self.writing.as_mut().map(|writing| &mut writing.image);
        for image in self.area.current.as_deref_mut().into_iter().chain(writing) {
            image.uncover(&core.ftl, planes);
        }
        self.area.misses_pages = true;
        self.checkpoint_if_due(core);
    }
}
