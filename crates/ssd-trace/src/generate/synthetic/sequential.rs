//! Ascending addresses that start again at 0 where a request would cross the end of the span.

/// State of a sequential workload.
pub(super) struct Sequential {
    next: u64,
    span: u64,
}

impl Sequential {
    /// Creates a workload on the first `span` sectors, which have room for every request.
    pub(super) fn new(span: u64) -> Sequential {
        assert!(span > 0, "a span has sectors");
        Sequential { next: 0, span }
    }

    /// Returns the first sector of a request of `sectors` sectors: the next free aligned one.
    #[inline(always)]
    pub(super) fn sector(&mut self, sectors: u32, sectors_per_page: u64) -> u64 {
        let size = u64::from(sectors);
        let mut start = self.next;
        let within = start % sectors_per_page;
        if size >= sectors_per_page {
            start = start.next_multiple_of(sectors_per_page);
        } else {
            let slot = within.next_multiple_of(size);
            let next_page = start - within + sectors_per_page;
            start = if slot + size <= sectors_per_page { start - within + slot } else { next_page };
        }
        if start + size > self.span {
            start = 0;
        }
        self.next = start + size;
        start
    }
}
