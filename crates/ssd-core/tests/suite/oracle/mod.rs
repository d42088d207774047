//! Literal definitions that the machine is compared with.

pub(crate) mod algorithm_1;
pub(crate) mod groups;
pub(crate) mod in_place;
pub(crate) mod naive_ftl;
