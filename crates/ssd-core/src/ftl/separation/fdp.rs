//! FDP: the host names a reclaim unit handle for each write, and data of different handles do not share a block.
//!
//! Source: NVMe 2.0, TP4146 "Flexible Data Placement". The stream of a request is its placement identifier, and handle
//! `h` takes the writes of stream `h`; preconditioning and writes without a stream are of handle 0, as writes without a
//! placement directive are. A *reclaim unit* is an erase unit (with superblocks: a superblock), and a handle has one
//! open on each plane of a pool (with superblocks: one in each pool). *Initially isolated* handles: copies of all
//! handles share reclaim units of their own. *Persistently isolated* ones: copies stay with their handle.
//! Where it is silent, decided: copies of a persistently isolated handle have reclaim units of their own, so that
//! copies do not enter the units that the host fills; every pool keeps an erased block for such copies, so that they
//! never go to units of another handle for lack of room; and a page that static wear levelling has moved, which fills
//! units of all handles, returns to the handle that it was last written with. A write whose stream has no handle is an
//! error, where NVMe would write it with a default handle and log an event. History: none; if persistently isolated,
//! one byte a logical page.

use super::persistence::Persist;
use super::{Classes, Ground, PageCopy, PageWrite, SeparationPolicy};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::units::Lpn;

/// Most handles of a device.
pub const MOST_HANDLES: u32 = 64;

/// Registry entry of FDP.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "fdp",
    summary: "by the stream of the request, as with NVMe's reclaim unit handles",
    paper: "NVM Express, TP4146 Flexible Data Placement, 2022",
    params: &[
        ParamInfo {
            name: "handles",
            kind: ParamKind::Int(1, MOST_HANDLES as u64),
            default: Some("1"),
            doc: "reclaim unit handles: handle h takes the writes of stream h",
        },
        ParamInfo {
            name: "isolation",
            kind: ParamKind::Choice(&["initially", "persistently"]),
            default: Some("initially"),
            doc: "initially: copies of all handles share blocks; persistently: each handle has blocks for its copies",
        },
    ],
};

/// The handles, and what is known of pages.
pub struct Policy {
    handles: u32,
    /// With persistent isolation, the handle of the newest write of each page.
    last: Option<Box<[u8]>>,
}

/// The handles that `spec` configures; `None` if it names another policy.
#[must_use]
pub fn handles(spec: &PolicySpec) -> Option<u32> {
    let handles = (spec.policy == INFO.name).then(|| spec.int("handles") as u32);
    debug_assert!(handles != Some(0), "a device without handles takes no writes");
    handles
}

/// Whether `spec` configures persistently isolated handles.
#[must_use]
pub fn isolates(spec: &PolicySpec) -> bool {
    spec.policy == INFO.name && spec.word("isolation") == "persistently"
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        let handles = handles(spec).expect("it names this policy");
        assert!(handles <= MOST_HANDLES, "{handles} handles have more than 128 classes");
        assert!(ground.pages > 0, "a device without pages");
        let last = isolates(spec).then(|| vec![0; ground.pages as usize].into_boxed_slice());
        Policy { handles, last }
    }

    /// The handles.
    #[must_use]
    pub fn handles(&self) -> u32 {
        debug_assert!(self.handles > 0, "a device without handles takes no writes");
        self.handles
    }

    /// Whether copies stay with their handle.
    #[must_use]
    pub fn isolates(&self) -> bool {
        self.last.is_some()
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        let of_copies = if self.isolates() { self.handles } else { 1 };
        debug_assert!(of_copies > 0, "no class takes copies");
        Classes { host: self.handles, all: self.handles + of_copies }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        let handle = u32::from(page.stream);
        debug_assert!(
            page.replaces.and_then(|old| old.class).is_none_or(|class| class < self.classes().all),
            "{page:?}"
        );
        assert!(handle < self.handles, "{page:?} has no handle: the device refuses its request");
        if let Some(last) = &mut self.last {
            last[page.lpn.at()] = page.stream;
        }
        handle
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        let Some(last) = &self.last else { return self.handles };
        // Data stay with the handle of their unit, even if a write of another handle is about to replace them.
        let handle =
            page.class.map_or(u32::from(last[page.lpn.at()]), |class| class % self.handles);
        debug_assert!(handle < self.handles, "{page:?} has no handle");
        self.handles + handle
    }

    fn of_rebuilt(&self, lpn: Lpn) -> Option<u32> {
        let handle = self.last.as_ref().map_or(0, |last| u32::from(last[lpn.at()]));
        debug_assert!(handle < self.handles, "{lpn:?} has no handle");
        Some(self.handles + handle)
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        self.last.iter().for_each(|last| last.save(bytes));
    }

    fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        let Some(last) = &mut self.last else { return Ok(()) };
        last.load(bytes)?;
        let most = last.iter().copied().max().map_or(0, u32::from);
        if most < self.handles {
            Ok(())
        } else {
            Err(format!("a page has reclaim unit handle {most}"))
        }
    }
}
