//! `[alloc]`: where writes go and what space is shared.

use super::prelude::*;

crate::config_table! {
    "Where writes go and what space is shared."
    Alloc: alloc in Config {
        placement: policy(PLACEMENTS) => placement: PolicySpec = default_spec(PLACEMENTS, "static"),
            "Plane of an admitted write.";
        frontiers: special(FRONTIERS) => frontiers: Frontiers = Frontiers::HostGc,
            "Open blocks: one shared by host and GC; one each; or N for the host by request stream and \
            one for GC.";
        separation: policy(SEPARATIONS) => separation: PolicySpec = default_spec(SEPARATIONS, "none"),
            "Class of each page written or copied: which pages share a block. Any policy but \"none\" has open blocks \
            of its own, instead of `frontiers`.";
        pool: word() => pool: PoolScope = PoolScope::Plane,
            "Which planes share free blocks and are collected together.";
        erase_unit: word() => erase_unit: EraseUnit = EraseUnit::Block,
            "What is erased together.";
    }
}

static FRONTIERS: Special<Config> = Special {
    form: Frontiers::FORMS,
    default: None,
    read: |draft, errors, path, node| {
        let text = node.text().unwrap_or_default();
        let set = text.parse().map(|value| draft.config.alloc.frontiers = value);
        let near = || did_you_mean(text, ["single", "host+gc", "streams:4"]);
        let set = set
            .map_err(|expected: String| format!("found {}; {expected}{}", node.describe(), near()));
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&config.alloc.frontiers.to_string())),
    text: false,
    types: TEXT,
};
