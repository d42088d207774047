//! Joins: something is done when several parts have ended.
//!
//! The waiting party owns the join and knows what to do then: a request completes when its pages have ended, a block is
//! free when all of its flash blocks have been erased. A part may be another join.

/// Parts that have not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Join {
    left: u32,
}

impl Join {
    /// Wait for `parts` parts.
    pub(crate) const fn of(parts: u32) -> Join {
        Join { left: parts }
    }

    /// Parts that have not ended.
    #[inline(always)]
    pub(crate) fn add(&mut self, parts: u32) {
        debug_assert!(self.left.checked_add(parts).is_some(), "{parts} parts are too many");
        self.left += parts;
    }

    /// Parts that have not ended.
    pub(crate) const fn left(self) -> u32 {
        self.left
    }

    /// Whether no part is left.
    #[inline(always)]
    pub(crate) const fn is_done(self) -> bool {
        self.left == 0
    }

    /// Note that a part has ended. True if it was the last one.
    #[inline(always)]
    pub(crate) fn part_ends(&mut self) -> bool {
        assert!(self.left > 0, "no part is left");
        self.left -= 1;
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_ends_a_join() {
        let mut join = Join::of(2);
        join.add(1);
        assert_eq!([join.part_ends(), join.part_ends(), join.is_done()], [false, false, false]);
        assert!(join.part_ends() && join.is_done());
    }

    #[test]
    #[should_panic(expected = "no part is left")]
    fn no_part_ends_after_the_last_one() {
        Join::default().part_ends();
    }
}
