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
    }
}
