//! Setting a key to a value of the input.

use super::{Key, Num, Slot};
use crate::config::draft::Draft;
use crate::config::text::error::Errors;
use crate::config::text::parse::{Node, RawValue};
use crate::config::text::read;

impl<C> Key<C> {
    /// Set it to the value of `node`, or report why not.
    pub(crate) fn apply(&self, draft: &mut Draft<'_, C>, errors: &mut Errors, node: &Node) {
        let config = &mut *draft.config;
        let result = match &self.slot {
            Slot::Int { at, min, max } => read::int(node, *min, *max).map(|n| match at(config) {
                Num::U32(field) => *field = n as u32,
                Num::U64(field) => *field = n,
            }),
            Slot::Real { at, span } => read::real(node, *span).map(|x| *at(config) = x),
            Slot::Time { at, max } => read::time(node, *max).map(|ns| *at(config) = ns),
            Slot::Flag { at } => read::flag(node).map(|flag| *at(config) = flag),
            Slot::Word(slot) => {
                if let (RawValue::Table(table), true) = (&node.literal, slot.policy) {
                    return self.answer(draft, errors, node, table);
                }
                let words = slot.words.iter().map(|&(word, _)| word);
                read::word(node, words).map(|word| (slot.set)(config, word))
            }
            Slot::Policy { registry, at } => {
                let before = at(config).clone();
                if let Some(spec) = registry.read(errors, self.path, node, Some(&before)) {
                    *at(config) = spec;
                }
                Ok(())
            }
            Slot::Special(special) => {
                (special.read)(draft, errors, self.path, node);
                Ok(())
            }
        };
        if let Err(message) = result {
            errors.add(node.place, self.path, message);
        }
    }

    /// `{ policy = "word" }` for a key whose policies have no parameters.
    fn answer(
        &self,
        draft: &mut Draft<'_, C>,
        errors: &mut Errors,
        node: &Node,
        table: &[(String, Node)],
    ) {
        if table.is_empty() {
            errors.add(
                node.place,
                self.path,
                "the policy is missing; expected { policy = \"...\" }",
            );
        }
        for (name, value) in table {
            if name == "policy" && value.text().is_some() {
                self.apply(draft, errors, value);
            } else {
                let path = format!("{}.{name}", self.path);
                let message =
                    format!("found {}; expected only policy = \"...\" here", value.describe());
                errors.add(value.place, &path, message);
            }
        }
    }
}
