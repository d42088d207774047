//! `[precondition]`: state of the device before the workload, prepared in functional mode.

use super::prelude::*;

crate::config_table! {
    "State of the device before the workload, prepared in functional mode."
    Precondition: precondition in Config {
        fill: real(SHARE) => fill: f64 = 1.0,
            "Share of the user pages that are written once.";
        order: word() => order: FillOrder = FillOrder::Sequential,
            "Order of the fill.";
        overwrite: real(Span::closed(0.0, 1000.0)) => overwrite: f64 = 0.0,
            "Uniformly random overwrites of the filled pages, in multiples of their number.";
        steady_state: word() => steady_state: SteadyStart = SteadyStart::None,
            "Build the steady state directly, instead of the fill; overwrites come after it.";
        snapshot: special(SNAPSHOT) => snapshot: Option<String> = None,
            "Snapshot to start from, written by `ssdlab snapshot make`; replaces all other keys of \
            this table.";
    }
}

static SNAPSHOT: Special<Config> = Special {
    form: "path of a file, or \"none\"",
    default: Some("none"),
    read: |draft, errors, path, node| {
        let set = read::text(node).and_then(|file| {
            if file.is_empty() {
                return Err("found \"\"; expected the path of a snapshot, or \"none\"".to_string());
            }
            draft.config.precondition.snapshot = (file != "none").then(|| file.to_string());
            Ok(())
        });
        report(errors, path, node, set);
    },
    show: |config| config.precondition.snapshot.as_deref().map(quoted),
    text: true,
    types: TEXT,
};
