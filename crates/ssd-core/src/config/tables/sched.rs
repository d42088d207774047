//! `[sched]`: the order of operations on a busy unit.

use super::prelude::*;

crate::config_table! {
    "The order of operations on a busy unit."
    Sched: sched in Config {
        order: policy(ORDERS) => order: PolicySpec = default_spec(ORDERS, "host-first"),
            "Which queue of a busy unit goes first.";
    }
}
