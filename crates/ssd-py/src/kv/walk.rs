//! A position between the pairs of a range.

use ssd_kv::{DbIter, Error, LockedIter};

/// The position of a walk, by the pair at which the engine's iterator stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkPosition {
    /// Before the first pair of the range, wherever the iterator is.
    Start,
    /// After the last pair of the range, likewise.
    End,
    /// Before the pair of the iterator.
    Before,
    /// After the pair of the iterator.
    After,
}

/// The sortable forms of the first key of a range and of the first key behind it; `None` for no bound.
pub(super) type Bounds = (Option<Vec<u8>>, Option<Vec<u8>>);

/// The iterator of the engine, kept within a range. It moves no further than requested, so seeking a position and
/// leaving it costs nothing else.
pub(super) struct Walk {
    iter: DbIter,
    bounds: Bounds,
    position: WalkPosition,
}

impl Walk {
    /// Before the first pair of the range; backwards, behind the last one.
    pub(super) fn new(iter: DbIter, bounds: Bounds, forward: bool) -> Walk {
        Walk {
            iter,
            bounds,
            position: if forward { WalkPosition::Start } else { WalkPosition::End },
        }
    }

    /// Go before the first pair of the range.
    pub(super) fn seek_to_start(&mut self) {
        self.position = WalkPosition::Start;
    }

    /// Go behind the last pair of the range.
    pub(super) fn seek_to_stop(&mut self) {
        self.position = WalkPosition::End;
    }

    /// Make several moves under one lock of what the store holds in memory.
    #[inline]
    pub(super) fn lock(&mut self) -> LockedWalk<'_> {
        LockedWalk { iter: self.iter.lock(), bounds: &self.bounds, position: &mut self.position }
    }

    /// Go before the first pair whose key is not below `target`, but stay within the range.
    pub(super) fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        let target = self.iter.sortable(target)?;
        self.lock().seek(&target)
    }

    /// As `seek`, with a sortable key.
    pub(super) fn seek_sortable(&mut self, target: &[u8]) -> Result<(), Error> {
        self.lock().seek(target)
    }

    /// As `LockedWalk::step`.
    pub(super) fn step(&mut self, forward: bool) -> Result<bool, Error> {
        self.lock().step(forward)
    }
}

/// A walk that keeps the memtables locked.
pub(super) struct LockedWalk<'a> {
    iter: LockedIter<'a>,
    bounds: &'a Bounds,
    position: &'a mut WalkPosition,
}

impl<'a> LockedWalk<'a> {
    /// As `Walk::seek_sortable`.
    fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        let (first, end) = self.bounds;
        *self.position = if first.as_deref().is_some_and(|first| target < first) {
            WalkPosition::Start
        } else if end.as_deref().is_some_and(|end| target >= end) {
            WalkPosition::End
        } else {
            self.iter.seek_sortable(target)?;
            if self.iter.valid() { WalkPosition::Before } else { WalkPosition::End }
        };
        Ok(())
    }

    /// Pass the next pair, in key order if `forward`; `pair` then returns it. False at the end of the range.
    #[inline]
    pub(super) fn step(&mut self, forward: bool) -> Result<bool, Error> {
        if forward { self.forward() } else { self.backward() }
    }

    #[inline]
    fn forward(&mut self) -> Result<bool, Error> {
        match (*self.position, &self.bounds.0) {
            (WalkPosition::End, _) => return Ok(false),
            (WalkPosition::Start, Some(first)) => self.iter.seek_sortable(first)?,
            (WalkPosition::Start, None) => self.iter.seek_to_first()?,
            (WalkPosition::Before, _) => {}
            (WalkPosition::After, _) => self.iter.next()?,
        }
        if !self.iter.valid() {
            *self.position = WalkPosition::End;
            return Ok(false);
        }
        let inside = self.bounds.1.as_deref().is_none_or(|end| self.iter.sortable_key() < end);
        *self.position = if inside { WalkPosition::After } else { WalkPosition::Before };
        Ok(inside)
    }

    fn backward(&mut self) -> Result<bool, Error> {
        match (*self.position, &self.bounds.1) {
            (WalkPosition::Start, _) => return Ok(false),
            (WalkPosition::End, Some(end)) => {
                self.iter.seek_sortable(end)?;
                if self.iter.valid() { self.iter.prev()? } else { self.iter.seek_to_last()? }
            }
            (WalkPosition::End, None) => self.iter.seek_to_last()?,
            (WalkPosition::Before, _) => self.iter.prev()?,
            (WalkPosition::After, _) => {}
        }
        if !self.iter.valid() {
            *self.position = WalkPosition::Start;
            return Ok(false);
        }
        let inside = self.bounds.0.as_deref().is_none_or(|first| self.iter.sortable_key() >= first);
        *self.position = if inside { WalkPosition::Before } else { WalkPosition::After };
        Ok(inside)
    }

    /// The location of the pair that the last step passed.
    #[inline]
    pub(super) fn pair(&self) -> &LockedIter<'a> {
        &self.iter
    }
}

/// What a caller says about a range.
pub(super) struct Range<'a> {
    pub(super) start: Option<&'a [u8]>,
    pub(super) stop: Option<&'a [u8]>,
    pub(super) include_start: bool,
    pub(super) include_stop: bool,
}

impl Range<'_> {
    /// The bounds in a store whose keys begin with `under`, which the caller leaves out.
    pub(super) fn bounds(&self, under: &[u8]) -> Bounds {
        let (lower_bound, upper_bound) = prefix_bounds(under);
        let next = |key: &[u8], after: bool| {
            let end: &[u8] = if after { b"\0" } else { b"" };
            [under, key, end].concat()
        };
        let first = self.start.map(|start| next(start, !self.include_start));
        let end = self.stop.map(|stop| next(stop, self.include_stop));
        (first.or(lower_bound), end.or(upper_bound))
    }
}

/// The bounds of all keys that begin with `prefix`.
pub(super) fn prefix_bounds(prefix: &[u8]) -> Bounds {
    let first = (!prefix.is_empty()).then(|| prefix.to_vec());
    let last = prefix.iter().rposition(|&byte| byte != 0xff);
    let end = last.map(|last| {
        let mut end = prefix[..=last].to_vec();
        end[last] += 1;
        end
    });
    (first, end)
}
