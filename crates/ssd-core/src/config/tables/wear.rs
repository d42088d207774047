//! `[wear]`: wear levelling, endurance and bad blocks.

use super::prelude::*;

crate::config_table! {
    "Wear levelling, endurance and bad blocks."
    Wear: wear in Config {
        dynamic: flag() => dynamic: bool = true,
            "Open the erased block with the fewest erases next (otherwise the one erased first).";
        static_threshold: int(0, 1 << 31) => static_threshold: u32 = 0,
            "Static wear levelling: cold data of a block are copied to an erased block of its pool \
            that has more than this many more erases; 0: never.";
        endurance: int(0, 1 << 31) => endurance: u32 = 0,
            "Erases that a block survives; it is bad after the last one. 0: unlimited.";
        endurance_spread: real(Span::closed(0.0, 1.0)) => endurance_spread: f64 = 0.0,
            "The endurance of blocks is uniform within plus or minus this share of `endurance`.";
        factory_bad_blocks: real(SHARE) => factory_bad_blocks: f64 = 0.0,
            "Share of blocks that are bad from the start, at random positions.";
        daily_writes: special(DAILY_WRITES) =>
            #[serde(default, skip_serializing_if = "Option::is_none")]
            daily_writes_bytes: Option<u64> = None,
            "Bytes that the host writes in a day, for the lifetime in reports. \"measured\": the rate of the run.";
        warranty_years: real(Span::closed(0.1, 100.0)) =>
            #[serde(default = "warranty", skip_serializing_if = "is_warranty")]
            warranty_years: f64 = warranty(),
            "Years for which reports tell how often the drive may be written a day.";
    }
}

// Newer than the first reports: a configuration that does not set it keeps its digest.

const fn warranty() -> f64 {
    5.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_warranty(years: &f64) -> bool {
    years.to_bits() == warranty().to_bits()
}

static DAILY_WRITES: Special<Config> = Special {
    form: "size, or \"measured\"",
    default: Some("measured"),
    read: |draft, errors, path, node| {
        let set = match &node.literal {
            RawValue::Text(measured) if measured == "measured" => Ok(None),
            _ => read::size(node, 1, 1 << 60).map(Some),
        };
        report(errors, path, node, set.map(|bytes| draft.config.wear.daily_writes_bytes = bytes));
    },
    show: |config| {
        Some(quoted(
            &config.wear.daily_writes_bytes.map_or_else(|| "measured".to_owned(), show_size),
        ))
    },
    text: false,
    types: SIZE_TYPES,
};
