//! `[raid]`: parity over the chips of the device.

use super::prelude::*;

crate::config_table! {
    "Parity over the chips of the device, so that it survives the loss of one (RAID-5)."
    Raid: raid in Config {
        group: int(0, 64) => group: u32 = 0,
            "Chips of a parity group; 0: no parity. Chips are grouped in striping order. Of each group one \
            page of a stripe is parity, on each chip in turn.";
        update: word() => update: ParityUpdate = ParityUpdate::Fewest,
            "What is read to update the parity of a group of which the host writes a part.";
        redirect: policy(REDIRECTS) => redirect: PolicySpec = default_spec(REDIRECTS, "none"),
            "Which writes go to a chip of another parity group.";
        merge: flag() => merge: bool = false,
            "Whether writes of a group that wait for its lock become one update when it is free: their pages are \
            read for and programmed together, with one parity. Two versions of a page stay two updates.";
        queue: int(1, 1 << 20) => queue: u32 = 20,
            "Updates of groups that count as waiting in the controller when the next request for a chip is \
            estimated (`raid.redirect`).";
        read_buffer_pages: int(0, 1 << 24) => read_buffer_pages: u32 = 0,
            "Pages last read for the update of a parity that the controller keeps: they are not read again \
            until they are overwritten; 0: none.";
        reads: word() => reads: GroupReads = GroupReads::Home,
            "Where the host reads a page.";
        fail: special(FAIL) => fail: Vec<ChipFailure> = Vec::new(),
            "Failures of chips: { chip, at }, or a list of them. Chips are counted as \
            `channel * device.chips_per_channel + chip`; `at` is a simulated time. The report \
            names the chips that form parity groups with a failed one.";
        spares: int(0, 64) => spares: u32 = 0,
            "Spare chips: each replaces a failed one, and the pages that are lost are rebuilt; 0: the device \
            stays degraded.";
        rebuild_rate: special(REBUILD_RATE) => rebuild_rate: Option<u64> = None,
            "Most bytes a second that are rebuilt. \"unlimited\": only `rebuild_window` limits it.";
        rebuild_window: int(1, 4096) => rebuild_window: u32 = 4,
            "Pages rebuilt at a time.";
        until_rebuilt: flag() => until_rebuilt: bool = false,
            "After its last request the run goes on until every lost page that a spare can hold is rebuilt. \
            That time is part of the measurement: throughput and utilisation include it, latencies do not.";
    }
}

/// A chip fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChipFailure {
    /// Counted over the device.
    pub chip: u32,
    /// When.
    pub at_ns: u64,
}

static FAIL: Special<Config> = Special {
    form: "{ chip, at }, a list of them, or \"none\"",
    default: Some("none"),
    read: |draft, errors, path, node| {
        let items = match &node.literal {
            RawValue::Text(none) if none == "none" => &[],
            RawValue::List(items) => &items[..],
            _ => std::slice::from_ref(node),
        };
        let before = errors.count();
        let mut failures = Vec::new();
        for item in items {
            let RawValue::Table(table) = &item.literal else {
                let example = "{ chip = 3, at = \"10 ms\" }, a list of them, or \"none\"";
                let message = format!("found {}; expected {example}", item.describe());
                errors.add(item.place, path, message);
                continue;
            };
            let mut failure = ChipFailure { chip: 0, at_ns: 0 };
            for (key, value) in entries(errors, path, item, &["chip", "at"]) {
                let set = match key.as_str() {
                    "chip" => read::int(value, 0, u64::from(u32::MAX))
                        .map(|chip| failure.chip = chip as u32),
                    _ => read::time(value, YEAR).map(|at| failure.at_ns = at),
                };
                report(errors, &format!("{path}.{key}"), value, set);
            }
            for key in ["chip", "at"] {
                if !table.iter().any(|(name, _)| name == key) {
                    let message = format!("{key} is missing; expected {{ chip, at }}");
                    errors.add(item.place, path, message);
                }
            }
            failures.push(failure);
        }
        if errors.count() == before {
            draft.config.raid.fail = failures;
        }
    },
    show: |config| {
        let shown =
            |f: &ChipFailure| format!("{{ chip = {}, at = {:?} }}", f.chip, show_time(f.at_ns));
        let shown: Vec<String> = config.raid.fail.iter().map(shown).collect();
        match &shown[..] {
            [] => None,
            [text] => Some(text.clone()),
            texts => Some(format!("[{}]", texts.join(", "))),
        }
    },
    text: false,
    types: &["string", "object", "array"],
};

static REBUILD_RATE: Special<Config> = Special {
    form: "rate, or \"unlimited\"",
    default: None,
    read: |draft, errors, path, node| {
        let set = read::rate_or_unlimited(node).map(|rate| draft.config.raid.rebuild_rate = rate);
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&show_rate_or_unlimited(config.raid.rebuild_rate))),
    text: false,
    types: TEXT,
};

impl Raid {
    /// There is no parity; then no key of the table has an effect.
    pub(crate) fn is_off(&self) -> bool {
        self.group == 0
    }
}
