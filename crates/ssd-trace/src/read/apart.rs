//! A consumer in a thread of its own, so that what reads a trace need not wait for it.

use ssd_core::host::source::SourceError;
use std::mem::{replace, take};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Items that are handed over at once.
const BATCH: usize = 1 << 10;
/// Batches that may wait for the thread.
const WAITING: usize = 16;

/// What takes items in order.
pub(crate) trait Consumer: Send + 'static {
    type Item: Copy + Send;

    /// Takes the next items.
    ///
    /// # Errors
    /// One of them cannot be taken. Nothing follows.
    fn take(&mut self, items: &[Self::Item]) -> Result<(), SourceError>;
}

/// A consumer with its thread.
pub(crate) struct Apart<C: Consumer> {
    batch: Vec<C::Item>,
    sender: SyncSender<Vec<C::Item>>,
    /// None behind an error.
    worker: Option<Worker<C>>,
}

type Worker<C> = JoinHandle<Result<Box<C>, SourceError>>;

impl<C: Consumer> Apart<C> {
    #[expect(clippy::disallowed_methods, reason = "the order of the items decides the result")]
    pub(crate) fn new(consumer: C) -> Apart<C> {
        let mut consumer = Box::new(consumer);
        let (sender, batches): (_, Receiver<Vec<C::Item>>) = sync_channel(WAITING);
        let worker = thread::spawn(move || {
            for batch in batches {
                consumer.take(&batch)?;
            }
            Ok(consumer)
        });
        Apart { batch: Vec::with_capacity(BATCH), sender, worker: Some(worker) }
    }

    /// Hands the next item over.
    ///
    /// # Errors
    /// That of the consumer, perhaps of an item before this one. Nothing may follow.
    pub(crate) fn push(&mut self, item: C::Item) -> Result<(), SourceError> {
        self.batch.push(item);
        if self.batch.len() < BATCH {
            return Ok(());
        }
        let batch = replace(&mut self.batch, Vec::with_capacity(BATCH));
        match self.sender.send(batch) {
            Ok(()) => Ok(()),
            // The thread has ended, which only an error does.
            Err(_) => self.joined().map(drop),
        }
    }

    /// The consumer, which has taken all items.
    ///
    /// # Errors
    /// That of the consumer.
    pub(crate) fn finish(mut self) -> Result<Box<C>, SourceError> {
        let (closed, _) = sync_channel(0);
        // If the thread has ended, it says why.
        let _ = replace(&mut self.sender, closed).send(take(&mut self.batch));
        self.joined()
    }

    fn joined(&mut self) -> Result<Box<C>, SourceError> {
        let worker = self.worker.take().expect("nothing follows an error");
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refuses the item that is its number.
    struct Held(Vec<u64>, u64);

    impl Consumer for Held {
        type Item = u64;

        fn take(&mut self, items: &[u64]) -> Result<(), SourceError> {
            self.0.extend(items);
            let is_refused = items.contains(&self.1);
            if is_refused { Err(SourceError(format!("item {}", self.1))) } else { Ok(()) }
        }
    }

    #[test]
    fn all_items_arrive_in_order() {
        // Without a whole batch, with a last one that is whole or not, and with more than may wait.
        for count in [0, 1023, 1024, 1025, 100_000] {
            let mut apart = Apart::new(Held(Vec::new(), u64::MAX));
            (0..count).for_each(|item| apart.push(item).unwrap());
            assert_eq!(apart.finish().unwrap().0, (0..count).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn an_error_arrives_at_the_latest_at_the_end() {
        for (count, refused) in [(10, 3), (5000, 4999), (1_000_000, 0)] {
            let mut apart = Apart::new(Held(Vec::new(), refused));
            let error = (0..count).find_map(|item| apart.push(item).err());
            let error = error.or_else(|| apart.finish().err()).expect("it refuses an item");
            assert_eq!(error.0, format!("item {refused}"));
        }
    }
}
