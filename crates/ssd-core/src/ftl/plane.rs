//! Chooses, within the pool, the plane on which a host page is bound: one rule for the timed and the functional
//! executor.

use super::Ftl;
use crate::units::PlaneId;

impl Ftl {
    /// The plane on which a page of frontier `stream` that was placed on `plane` is bound. It is the first plane of the
    /// same busy unit and pool, in turn from `plane` on, that has room and is `open`. If the unit has no room at all,
    /// it is the first such plane of the pool on another unit.
    #[inline]
    #[must_use]
    pub fn host_plane(
        &self,
        plane: PlaneId,
        stream: u32,
        open: impl Fn(PlaneId) -> bool,
    ) -> Option<PlaneId> {
        let fits = |p| open(p) && self.space.host_may_bind(p, stream);
        if fits(plane) {
            return Some(plane);
        }
        let others = self.geo.planes_per_unit() > 1;
        let on_unit = if others { self.plane_of_unit(plane, fits) } else { None };
        on_unit.or_else(|| self.plane_of_another_unit(plane, stream, open))
    }

    /// The first plane that `fits`, in turn from `plane` on, among those of the same unit and pool.
    #[inline]
    #[must_use]
    pub fn plane_of_unit(&self, plane: PlaneId, fits: impl Fn(PlaneId) -> bool) -> Option<PlaneId> {
        let geo = &self.geo;
        if geo.planes_per_unit() == 1 {
            return fits(plane).then_some(plane);
        }
        let of_unit = geo.planes_of_unit(geo.unit_of(plane));
        let of_pool = geo.planes_of_pool(geo.pool_of(plane));
        let (start, end) = (of_unit.start.max(of_pool.start), of_unit.end.min(of_pool.end));
        debug_assert!((start..end).contains(&plane.0), "{plane:?} is on another unit");
        if start + 1 == end {
            return fits(plane).then_some(plane);
        }
        let n = end - start;
        (0..n).map(|i| PlaneId(start + (plane.0 - start + i) % n)).find(|&p| fits(p))
    }

    /// The first open plane with room on another unit of the pool; `None` if a closed plane on the unit of `plane` has
    /// room. No open one has.
    fn plane_of_another_unit(
        &self,
        plane: PlaneId,
        stream: u32,
        open: impl Fn(PlaneId) -> bool,
    ) -> Option<PlaneId> {
        let geo = &self.geo;
        if geo.planes_per_pool() <= geo.planes_per_unit() {
            return None;
        }
        let (own, may_bind) = (geo.unit_of(plane), |p| self.space.host_may_bind(p, stream));
        let mut own_planes = geo.planes_of_unit(own).map(PlaneId);
        if own_planes.any(|p| !open(p) && may_bind(p)) {
            return None;
        }
        let mut planes = geo.planes_of_pool(geo.pool_of(plane)).map(PlaneId);
        planes.find(|&p| geo.unit_of(p) != own && open(p) && may_bind(p))
    }
}
