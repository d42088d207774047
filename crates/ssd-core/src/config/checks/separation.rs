//! What separation needs, and what it cannot be combined with, each with the remedy.

use crate::config::keys::policy::SEPARATIONS;
use crate::config::tables::*;
use crate::ftl::separation::separates;

impl Config {
    /// Why a device of this configuration cannot separate pages, whatever policy does: an external one is not in the
    /// configuration.
    #[must_use]
    pub fn cannot_separate(&self) -> Option<String> {
        other_frontiers(self).or_else(|| without_classes(self)).or_else(|| {
            (!self.slc.is_off()).then(|| {
                "SLC blocks with classes of pages are not modelled: use slc.mode = \"off\""
                    .to_string()
            })
        })
    }
}

/// Classes have open blocks of their own.
pub(super) fn own_frontiers(config: &Config) -> Option<String> {
    separates(&config.alloc.separation).then(|| other_frontiers(config)).flatten()
}

fn other_frontiers(config: &Config) -> Option<String> {
    let frontiers = config.alloc.frontiers;
    (frontiers != Frontiers::HostGc).then(|| {
        format!(
            "the classes of a separation policy have open blocks of their own: leave out \
             alloc.frontiers (it is \"{frontiers}\"), or use alloc.separation = \"none\""
        )
    })
}

/// At the reserve every class may have an open block, and a sealed block must still have an invalid page.
pub(super) fn too_many_classes(config: &Config) -> Option<String> {
    if !separates(&config.alloc.separation) {
        return None;
    }
    let (classes, fit) = (config.alloc.classes().all, config.most_classes());
    let (spare, reserve) = (config.spare_units_per_pool(), config.gc.reserve);
    let per_frontier = config.open_units_per_frontier();
    let info = SEPARATIONS.find(&config.alloc.separation.policy);
    let counts = ["classes", "handles", "groups"];
    let fewer = info.and_then(|info| info.params.iter().find(|param| counts.contains(&param.name)));
    let fewer = fewer.map_or(String::new(), |param| format!("fewer {}, ", param.name));
    (classes > fit).then(|| {
        format!(
            "{:?} holds {classes} classes open, with {per_frontier} of the erase units of a pool each; the \
             {spare} spare ones, less gc.reserve = {reserve} and one to gain from, hold {fit}: use \
             {fewer}more device.over_provisioning, or more blocks in a pool",
            config.alloc.separation.policy
        )
    })
}

/// What does not know of classes.
pub(super) fn not_with(config: &Config) -> Option<String> {
    separates(&config.alloc.separation).then(|| without_classes(config)).flatten()
}

fn without_classes(config: &Config) -> Option<String> {
    (config.precondition.steady_state != SteadyStart::None).then(|| {
        "a separation policy cannot start in the mean field, which says how many pages of each block are valid under \
         greedy collection, and not what the policy would know of them: use precondition.steady_state = \"none\", \
         with precondition.fill and precondition.overwrite"
            .to_string()
    })
}
