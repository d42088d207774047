//! What a snapshot of a device that separates pages contains in addition: how its blocks were opened, and the state of
//! its policy.

use super::columns::Columns;
use crate::ftl::Ftl;
use crate::ftl::blocks::{BlockState, Origin};

impl Ftl {
    /// Frontiers on each plane, and whether they are classes.
    pub(super) fn frontiers_and_classes(&self) -> (u32, bool) {
        debug_assert!(self.space.frontiers() > 1, "wear levelling has a frontier, and others too");
        (self.space.frontiers(), self.separates())
    }

    pub(super) fn save_separation(&self, columns: &mut Columns) {
        let Some(separated) = self.separated.as_deref() else { return };
        let origins = &self.blocks.origins;
        assert_eq!(origins.len(), self.blocks.len(), "nobody notes how blocks were opened");
        debug_assert!(origins.iter().all(|origin| origin.class <= 255), "a class of 9 bits");
        columns.class = origins.iter().map(|origin| origin.class as u8).collect();
        columns.opened_at = origins.iter().map(|origin| origin.opened).collect();
        let bytes = &mut columns.separation;
        let name = separated.name.as_bytes();
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&self.space.clock().to_le_bytes());
        separated.save(bytes);
    }

    /// Whether pages are separated here as on the device of `columns`: an external policy is not in the configuration.
    pub(super) fn has_policy_of(&self, columns: &Columns) -> Result<(), String> {
        let stored = (!columns.separation.is_empty()).then(|| policy_and_rest(&columns.separation));
        let stored = stored.transpose()?.map(|(name, _)| name);
        let current = self.separated.as_deref().map(|separated| separated.name.as_str());
        debug_assert_eq!(current.is_some(), self.separates(), "half of a policy");
        if stored == current {
            return Ok(());
        }
        let shown = |name: Option<&str>| name.unwrap_or("none").to_string();
        Err(format!(
            "the snapshot is of another device: alloc.separation is {} in the snapshot and {} here; make a \
             snapshot with this policy, or precondition the device",
            shown(stored),
            shown(current)
        ))
    }

    /// Call after the blocks have been loaded and before the space.
    pub(super) fn load_separation(&mut self, columns: &Columns) -> Result<(), String> {
        let Some(separated) = self.separated.as_deref_mut() else { return Ok(()) };
        let (_, mut rest) = policy_and_rest(&columns.separation)?;
        let clock = rest.split_first_chunk().ok_or("its clock of separation ends early")?;
        let clock = u64::from_le_bytes(*clock.0);
        rest = &rest[8..];
        let streams = self.space.streams();
        assert_eq!(columns.class.len(), self.blocks.len(), "the sizes have been checked");
        for (block, (&class, &opened)) in columns.class.iter().zip(&columns.opened_at).enumerate() {
            let class = u32::from(class);
            if class > streams || opened > clock {
                return Err(format!(
                    "block {block} was opened for class {class} of {streams} at {opened} of {clock}"
                ));
            }
            self.blocks.origins[block] = Origin { class, opened };
        }
        separated.load(&mut rest)?;
        if !rest.is_empty() {
            return Err(format!("its separation policy leaves {} bytes", rest.len()));
        }
        debug_assert!(self.blocks.origins.iter().all(|origin| origin.opened <= clock), "checked");
        self.space.take_clock(clock);
        Ok(())
    }

    /// Check, after the space has been loaded, that every open block was opened for its frontier.
    pub(super) fn check_origins(&self) -> Result<(), String> {
        debug_assert!(self.separates() || self.blocks.origins.is_empty(), "classes of no policy");
        let wrong = self.space.open_list().find(|&(_, stream, block, _)| {
            let open = self.blocks.state[block.at()] == BlockState::Open;
            self.separates() && open && self.blocks.origin(block).class != stream
        });
        match wrong {
            Some((_, stream, block, _)) => {
                let class = self.blocks.origin(block).class;
                Err(format!("block {} of class {class} is open for frontier {stream}", block.0))
            }
            None => Ok(()),
        }
    }
}

/// The name of the policy at the head of `bytes`, and the rest.
fn policy_and_rest(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let short = || "the name of its separation policy ends early".to_string();
    let (length, rest) = bytes.split_first_chunk().ok_or_else(short)?;
    let (name, rest) =
        rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(short)?;
    let name = std::str::from_utf8(name).map_err(|_| "its separation policy has no name")?;
    Ok((name, rest))
}
