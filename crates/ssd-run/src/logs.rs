//! The logs of a run: `ops.csv.zst`, `requests.csv.zst`, `state.csv.zst`, `power.csv.zst`,
//! `units.csv.zst` (docs/logs.md).
//!
//! CSV with a header, zstd; one line per operation in order of start, one line per request in order of
//! completion. Fields are empty if the model has no such phase.

use crate::caller::RunLog;
use crate::table::Table;
use ssd_core::ftl::reclaim::UnitRecord;
use ssd_core::host::request::flags;
use ssd_core::metrics::counters::Cause;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord, StateRow};
use ssd_core::sim::logs::power::{PowerEvent, PowerRecord};
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_core::units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const OPS: &str = "op,cause,channel,chip,plane,block,page,lpn,sequence,request,queued,start,end,\
                   bus_start,bus_end,array_start,array_end,outcome\n";
const REQUESTS: &str = "id,volume,stream,op,lpn,pages,arrival,completion,queue,chip,transfer,\
                        gc_wait,metadata,digest,sources,durability,sector,sectors\n";
const STATE: &str = "channel,chip,plane,block,page,lpn,sequence,valid,owners\n";
const POWER: &str = "event,start,end,channel,chip,plane,block,pages,outcome,types\n";
const UNITS: &str = "event,at,handle,data,channel,chip,plane,block,pages\n";

/// Sorts operation records by start.
///
/// Records come in the order in which their operations began. That is the order of start except for a copy-back, whose
/// program follows its read at once and starts when the read ends.
#[derive(Default)]
struct StartSorter {
    /// By start and number of arrival.
    waiting: BTreeMap<(Nanos, u64), OpRecord>,
    arrived: u64,
    last: Option<OpRecord>,
}

impl StartSorter {
    /// Take `record`; pass records that may be written now to `write`.
    fn take(
        &mut self,
        record: &OpRecord,
        mut write: impl FnMut(&OpRecord) -> Result<(), String>,
    ) -> Result<(), String> {
        let copied = self.last.is_some_and(|read| {
            record.op == FlashOp::Program
                && matches!(record.cause, Cause::Gc | Cause::Wear | Cause::Fold)
                && read.op == FlashOp::Read
                && (read.end, read.queued) == (record.start, record.queued)
                && (read.place.channel, read.place.chip, read.place.plane)
                    == (record.place.channel, record.place.chip, record.place.plane)
        });
        self.last = Some(*record);
        self.waiting.insert((record.start, self.arrived), *record);
        self.arrived += 1;
        if copied {
            return Ok(());
        }
        // Nothing that starts earlier can still come.
        while let Some(first) = self.waiting.first_entry() {
            if first.key().0 > record.start {
                break;
            }
            write(&first.remove())?;
        }
        Ok(())
    }
}

/// Writers of the logs that a run requests, in its folder.
pub struct Logs {
    ops: Option<(Table, Option<Table>)>,
    requests: Option<Table>,
    /// Created at the first cut.
    power: Option<Table>,
    /// Created at the first reclaim unit.
    units: Option<Table>,
    folder: PathBuf,
    order: StartSorter,
}

impl Logs {
    /// Create the requested files in `folder`, which exists and contains none of them.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn create(folder: &Path, ops: bool, requests: bool) -> Result<Logs, String> {
        let create_both = || {
            let ops = Table::create(folder, "ops.csv.zst", OPS)?;
            Ok::<_, String>((ops, Some(Table::create(folder, "state.csv.zst", STATE)?)))
        };
        Ok(Logs {
            ops: ops.then(create_both).transpose()?,
            requests: requests
                .then(|| Table::create(folder, "requests.csv.zst", REQUESTS))
                .transpose()?,
            power: None,
            units: None,
            folder: folder.to_path_buf(),
            order: StartSorter::default(),
        })
    }
}

impl RunLog for Logs {
    fn state(&mut self, rows: &mut dyn Iterator<Item = StateRow>) -> Result<(), String> {
        let Some(mut table) = self.ops.as_mut().and_then(|(_, state)| state.take()) else {
            return Ok(());
        };
        for r in rows {
            let p = r.place;
            let valid = u8::from(r.valid);
            let owners: Vec<String> = r.owners.iter().map(u32::to_string).collect();
            let owners = owners.join(";");
            let _ = writeln!(
                table.text,
                "{},{},{},{},{},{},{},{valid},{owners}",
                p.channel, p.chip, p.plane, p.block, p.page, r.lpn, r.sequence
            );
            table.end_line()?;
        }
        table.finish()
    }

    fn operations(&mut self, records: &[OpRecord]) -> Result<(), String> {
        let Some((table, _)) = &mut self.ops else { return Ok(()) };
        for record in records {
            self.order.take(record, |next| {
                operation(&mut table.text, next);
                table.end_line()
            })?;
        }
        Ok(())
    }

    fn power(&mut self, records: &[PowerRecord]) -> Result<(), String> {
        for record in records {
            if self.power.is_none() {
                self.power = Some(Table::create(&self.folder, "power.csv.zst", POWER)?);
            }
            let Some(table) = &mut self.power else { return Ok(()) };
            power_event(&mut table.text, record);
            table.end_line()?;
        }
        Ok(())
    }

    fn units(&mut self, records: &[UnitRecord]) -> Result<(), String> {
        for record in records {
            if self.units.is_none() {
                self.units = Some(Table::create(&self.folder, "units.csv.zst", UNITS)?);
            }
            let Some(table) = &mut self.units else { return Ok(()) };
            reclaim_unit(&mut table.text, record);
            table.end_line()?;
        }
        Ok(())
    }

    fn requests(&mut self, records: &[RequestRecord]) -> Result<(), String> {
        let Some(table) = &mut self.requests else { return Ok(()) };
        for r in records {
            request(&mut table.text, r);
            table.end_line()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        let Logs { ops, requests, power, units, order, .. } = *self;
        if let Some((mut ops, state)) = ops {
            for record in order.waiting.values() {
                operation(&mut ops.text, record);
                ops.end_line()?;
            }
            ops.finish()?;
            state.map_or(Ok(()), Table::finish)?;
        }
        power.map_or(Ok(()), Table::finish)?;
        units.map_or(Ok(()), Table::finish)?;
        requests.map_or(Ok(()), Table::finish)
    }
}

/// Append these numbers, each with a comma behind it.
fn push_fields<const N: usize>(line: &mut String, numbers: [u64; N]) {
    for number in numbers {
        line.push_str(itoa::Buffer::new().format(number));
        line.push(',');
    }
}

fn operation(line: &mut String, r: &OpRecord) {
    let p = r.place;
    for name in [r.op.name(), r.cause.name()] {
        line.push_str(name);
        line.push(',');
    }
    push_fields(line, [p.channel, p.chip, p.plane, p.block].map(u64::from));
    if r.op == FlashOp::Erase {
        line.push_str(",,,");
    } else {
        push_fields(line, [p.page.into(), r.lpn.into(), r.sequence]);
    }
    match r.request {
        Some(id) => push_fields(line, [id]),
        None => line.push(','),
    }
    push_fields(line, [r.queued.0, r.start.0, r.end.0]);
    for phase in [r.bus, r.array] {
        match phase {
            Some((Nanos(from), Nanos(to))) => push_fields(line, [from, to]),
            None => line.push_str(",,"),
        }
    }
    line.push_str(if r.cut_off { "cut\n" } else { "ended\n" });
}

fn request(line: &mut String, r: &RequestRecord) {
    let (q, p) = (&r.request, &r.parts);
    push_fields(line, [r.id, q.volume.into(), q.stream.into()]);
    line.push_str(q.op.name());
    line.push(',');
    push_fields(line, [r.lpn.into(), r.pages.into(), r.arrival.0, r.completion.0]);
    push_fields(line, [p.queue_ns, p.chip_ns, p.transfer_ns, p.gc_wait_ns, p.metadata_ns]);
    let _ = write!(line, "{:016x},", r.digest);
    for (index, (lpn, pages)) in r.sources.iter().enumerate() {
        let separator = if index == 0 { "" } else { ";" };
        let _ = write!(line, "{separator}{lpn}+{pages}");
    }
    line.push(',');
    line.push_str(durability(q.flags));
    let _ = writeln!(line, ",{},{}", q.sector, q.sectors);
}

fn power_event(line: &mut String, r: &PowerRecord) {
    let _ = write!(line, "{},{},{},", r.event.name(), r.start.0, r.end.0);
    match r.place {
        Some(p) if r.event == PowerEvent::Erase => {
            let _ = write!(line, "{},{},{},{},", p.channel, p.chip, p.plane, p.block);
        }
        Some(p) => _ = write!(line, "{},{},{},,", p.channel, p.chip, p.plane),
        None => line.push_str(",,,,"),
    }
    if !r.pages.is_empty() {
        let _ = write!(line, "{}", r.pages.iter().sum::<u64>());
    }
    line.push_str(if r.interrupted { ",cut," } else { ",ended," });
    let by_type: Vec<String> = r.pages.iter().map(u64::to_string).collect();
    line.push_str(&by_type.join(";"));
    line.push('\n');
}

fn reclaim_unit(line: &mut String, r: &UnitRecord) {
    let p = r.place;
    let number = |n: Option<u32>| n.map_or_else(String::new, |n| n.to_string());
    let (handle, pages) = (number(r.handle), number(r.pages));
    let data = if r.copies { "copies" } else { "host" };
    let _ = writeln!(
        line,
        "{},{},{handle},{data},{},{},{},{},{pages}",
        r.step.name(),
        r.at.0,
        p.channel,
        p.chip,
        p.plane,
        p.block
    );
}

/// What a request asks for beyond its data.
fn durability(bits: u8) -> &'static str {
    match (bits & flags::PREFLUSH != 0, bits & flags::FUA != 0) {
        (false, false) => "",
        (false, true) => "fua",
        (true, false) => "preflush",
        (true, true) => "preflush+fua",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd_core::nand::geometry::PageAddress;

    /// A read for the host.
    fn read(start: u64) -> OpRecord {
        OpRecord {
            op: FlashOp::Read,
            cause: Cause::Host,
            place: PageAddress { channel: 0, chip: 0, plane: 0, block: 0, page: 0 },
            lpn: 0,
            sequence: 0,
            request: Some(0),
            queued: Nanos(0),
            start: Nanos(start),
            end: Nanos(start + 1),
            bus: None,
            array: None,
            cut_off: false,
        }
    }

    #[test]
    fn a_record_is_written_when_nothing_earlier_can_come() {
        let mut order = StartSorter::default();
        for start in [1, 2, 2, 5] {
            let mut written = Vec::new();
            let taken = order.take(&read(start), |record| {
                written.push(record.start);
                Ok(())
            });
            assert_eq!((taken, written), (Ok(()), vec![Nanos(start)]));
        }
    }

    #[test]
    fn the_program_of_a_copy_back_waits_for_what_starts_before_it() {
        let mut order = StartSorter::default();
        let mut written = Vec::new();
        let copied = OpRecord { cause: Cause::Gc, end: Nanos(9), ..read(1) };
        let program = OpRecord { op: FlashOp::Program, start: Nanos(9), end: Nanos(12), ..copied };
        for record in [&copied, &program, &read(4), &read(6), &read(10)] {
            let write = |record: &OpRecord| {
                written.push(record.start.0);
                Ok(())
            };
            assert_eq!(order.take(record, write), Ok(()));
        }
        assert_eq!(written, [1, 4, 6, 9, 10]);
    }
}
