//! Which copies the device accepts.

use crate::config::RemapMode;
use crate::config::text::quantity::show_size;
use crate::host::copy;
use crate::host::request::Request;
use crate::metrics::counters::RemapCounts;
use crate::nand::geometry::Geometry;
use crate::nand::nvram::SHARE_BYTES;
use crate::sim::front::MAX_SECTORS;
use crate::units::Lpn;

/// The pages that are the sources of an accepted copy, one for each page of its destination.
///
/// # Errors
/// What is wrong with `request`, which brings the ranges in `data`, and what to do about it; `counts` has counted it.
pub(crate) fn sources(
    geo: &Geometry,
    mode: RemapMode,
    request: &Request,
    data: Option<&[u8]>,
    counts: &mut RemapCounts,
) -> Result<Vec<Lpn>, String> {
    if mode == RemapMode::Off {
        return Err("a copy, and the device refuses copies: set remap.mode = \"share\" or \
                    \"copy\""
            .to_string());
    }
    let ranges =
        data.and_then(copy::decode).filter(|ranges| !ranges.is_empty()).ok_or_else(|| {
            counts.refused_range += 1;
            "a copy without source ranges: name at least one".to_string()
        })?;
    let page = 1u64 << geo.sector_shift;
    let odd = |&number: &u64| !number.is_multiple_of(page);
    let numbers = ranges.iter().flat_map(|r| [r.sector, r.sectors]);
    let start_and_length = [request.sector, u64::from(request.sectors)];
    if let Some(number) = start_and_length.into_iter().chain(numbers).find(odd) {
        counts.refused_alignment += 1;
        return Err(format!(
            "a copy with {number} sectors in an address or length; copies are of whole pages: use multiples of \
             {page} sectors"
        ));
    }
    let capacity = geo.user_sectors();
    let inside = |sector: u64, sectors: u64| sector < capacity && sectors <= capacity - sector;
    if let Some(range) = ranges.iter().find(|r| r.sectors == 0 || !inside(r.sector, r.sectors)) {
        counts.refused_range += 1;
        return Err(format!(
            "a copy of sectors {} + {}; a source has at least one page of the device of {capacity} sectors",
            range.sector, range.sectors
        ));
    }
    let (sector, sectors) = (request.sector, u64::from(request.sectors));
    let total = ranges.iter().map(|r| r.sectors).fold(0, u64::saturating_add);
    let sized = sectors > 0 && request.sectors <= MAX_SECTORS && inside(sector, sectors);
    if !sized || total != sectors {
        counts.refused_range += 1;
        return Err(format!(
            "a copy of {total} sectors to sectors {sector} + {sectors}; the destination is as long as its sources \
             together, at most {MAX_SECTORS} sectors, and inside the device of {capacity} sectors"
        ));
    }
    if let Some(range) =
        ranges.iter().find(|r| r.sector < sector + sectors && sector < r.sector + r.sectors)
    {
        counts.refused_overlap += 1;
        return Err(format!(
            "a copy of sectors {} + {} to sectors {sector} + {sectors}, which overlap: copy to another place, or in \
             parts that do not overlap",
            range.sector, range.sectors
        ));
    }
    debug_assert_eq!(total, sectors, "the sources are of another length");
    debug_assert!(sector + sectors <= capacity, "the destination is beyond the device");
    let pages = ranges.iter().flat_map(|r| {
        let (first, count) = (r.sector / page, r.sectors / page);
        (first..first + count).map(|lpn| Lpn(lpn as u32))
    });
    Ok(pages.collect())
}

/// Whether the records of a copy of `pages` fit into an NVRAM of so many bytes; `None`: no record is needed.
///
/// # Errors
/// They do not fit, and what to do about it; `counts` has counted it.
pub(crate) fn fit(pages: u64, nvram: Option<u64>, counts: &mut RemapCounts) -> Result<(), String> {
    debug_assert!(pages > 0, "a copy of nothing");
    let needed = pages * SHARE_BYTES;
    match nvram {
        Some(bytes) if needed > bytes => {
            counts.refused_range += 1;
            Err(format!(
                "a copy of {pages} pages, whose records take {}; the NVRAM holds {}: copy at most {} pages at a time, \
                 or set power.nvram = \"{}\" or more",
                show_size(needed),
                show_size(bytes),
                bytes / SHARE_BYTES,
                show_size(needed)
            ))
        }
        _ => Ok(()),
    }
}
