//! Parity over chips: where the pages of a group are, what an update of its parity reads and programs (`layout`,
//! `plan`, both without a device), its steps, which pages may share one (`share`), and the audit.

pub(in crate::ftl) mod durable;
pub mod layout;
pub mod lost;
pub mod plan;
pub mod redirect;
mod replace;
pub(crate) mod share;
mod steps;
pub mod verify;

pub use layout::{GroupId, Groups, Homes, MOST_CHIPS};
pub use plan::{Change, Changes, GroupState, Method, Plan};
