//! `[timing]`: flash and bus times.

use super::prelude::*;
use crate::config::text::parse::Node;

crate::config_table! {
    "Flash and bus times."
    Timing: timing in Config {
        model: word() => model: TimingModel = TimingModel::Pipelined,
            "Timing model.";
        busy_unit: word() => busy_unit: BusyUnit = BusyUnit::Chip,
            "What one operation occupies.";
        read: time(MINUTE) => read_ns: u64 = 75_000,
            "Array read (tR).";
        read_types: special(READ_TYPES) =>
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            read_types_ns: Vec<u64> = Vec::new(),
            "Array read of a page of each type, as many as `device.bits`. Alternative to `read`, which then is their \
            mean, to the nearest nanosecond.";
        program: time(MINUTE) => program_ns: u64 = 750_000,
            "Array program (tPROG).";
        program_types: special(PROGRAM_TYPES) =>
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            program_types_ns: Vec<u64> = Vec::new(),
            "Array program of a page of each type, as many as `device.bits`. Alternative to `program`, which then is \
            their mean, to the nearest nanosecond.";
        erase: time(MINUTE) => erase_ns: u64 = 3_800_000,
            "Block erase (tBERS).";
        transfer: special(TRANSFER) => transfer_ns: u64 = 0,
            "Time of one page on the bus or interconnect. Alternative to `bus_rate`.";
        bus_rate: special(BUS_RATE),
            "Rate at which pages cross the bus; in \"333 MT/s\" a transfer is 8 bit. Alternative to \
            `transfer`.";
        command: time(MINUTE) => command_ns: u64 = 0,
            "Command and address cycles on the bus before each operation (pipelined model).";
        sram: time(MINUTE) => sram_ns: u64 = 0,
            "Time of one page into or out of the controller's SRAM.";
        multi_plane: flag() => multi_plane: bool = false,
            "Program one page on every plane of a chip at once (pipelined model, busy unit chip).";
        partial: flag() =>
            #[serde(default, skip_serializing_if = "is_off")]
            partial: bool = false,
            "Of a page that the host reads, only the sectors that it asks for cross the bus (pipelined model).";
        suspend: word() => suspend: Suspend = Suspend::None,
            "Which array operations reads of the host interrupt (pipelined model).";
        suspend_time: time(MINUTE) => suspend_ns: u64 = 20_000,
            "From the command to suspend until the busy unit takes a read. An operation that has no more than that \
            left is not suspended.";
        resume_time: time(MINUTE) => resume_ns: u64 = 5_000,
            "From the command to resume until the array works on. It cannot be suspended meanwhile.";
        suspend_limit: int(1, 1000) => suspend_limit: u32 = 10,
            "How often one operation is suspended at most.";
    }
}

/// A list of times, one for each type of pages, in the field `$field`.
macro_rules! times_of_types {
    ($field:ident, $default:literal) => {
        Special {
            form: "list of times, each at most 60 s, or \"equal\"",
            default: Some($default),
            read: |draft, errors, path, node| {
                let set = times(node).map(|times| draft.config.timing.$field = times);
                report(errors, path, node, set);
            },
            show: |config| show_times(&config.timing.$field),
            text: false,
            types: &["array", "string"],
        }
    };
}

static READ_TYPES: Special<Config> = times_of_types!(read_types_ns, "equal: all `read`");
static PROGRAM_TYPES: Special<Config> = times_of_types!(program_types_ns, "equal: all `program`");

/// The times of the list at `node`, in nanoseconds.
fn times(node: &Node) -> Result<Vec<u64>, String> {
    match &node.literal {
        RawValue::Text(word) if word == "equal" => Ok(Vec::new()),
        RawValue::List(list) if !list.is_empty() => {
            list.iter().map(|time| read::time(time, MINUTE)).collect()
        }
        _ => Err(format!(
            "found {}; expected a list of times, one for each of device.bits, or \"equal\"",
            node.describe()
        )),
    }
}

fn show_times(times: &[u64]) -> Option<String> {
    let texts: Vec<String> = times.iter().map(|&ns| quoted(&show_time(ns))).collect();
    (!times.is_empty()).then(|| format!("[{}]", texts.join(", ")))
}

static TRANSFER: Special<Config> = Special {
    form: "time, at most 60 s",
    default: Some("from `bus_rate`"),
    read: |draft, errors, path, node| {
        let set =
            read::time(node, 60_000_000_000).map(|ns| draft.pending.transfer = Transfer::Time(ns));
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&show_time(config.timing.transfer_ns))),
    text: false,
    types: TEXT,
};

static BUS_RATE: Special<Config> = Special {
    form: "rate",
    default: Some(draft::BUS_RATE),
    read: |draft, errors, path, node| {
        let set = read::rate(node).map(|rate| draft.pending.transfer = Transfer::Rate(rate));
        report(errors, path, node, set);
    },
    show: |_| None,
    text: false,
    types: TEXT,
};
