//! A consumer in a separate thread, so that the reader of a trace need not wait for it.

use ssd_core::host::source::SourceError;
use std::mem::{replace, take};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Items per batch.
const BATCH: usize = 1 << 10;
/// Maximum number of batches that wait for the thread.
const WAITING: usize = 16;

/// A consumer of items in order.
pub(crate) trait Consumer: Send + 'static {
    type Item: Copy + Send;

    /// Consumes the next items.
    ///
    /// # Errors
    /// The consumer refuses an item. No call may follow.
    fn consume(&mut self, items: &[Self::Item]) -> Result<(), SourceError>;
}

/// A consumer with its thread.
pub(crate) struct Worker<C: Consumer> {
    batch: Vec<C::Item>,
    /// Both are `None` after an error has been returned.
    sender: Option<SyncSender<Vec<C::Item>>>,
    handle: Option<Handle<C>>,
}

type Handle<C> = JoinHandle<Result<Box<C>, SourceError>>;

impl<C: Consumer> Worker<C> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system starts no thread.
    pub(crate) fn new(consumer: C) -> Result<Worker<C>, SourceError> {
        let mut consumer = Box::new(consumer);
        let (sender, batches): (_, Receiver<Vec<C::Item>>) = sync_channel(WAITING);
        let work = move || {
            for batch in batches {
                consumer.consume(&batch)?;
            }
            Ok(consumer)
        };
        let refused = |error| SourceError(format!("the system starts no thread: {error}"));
        let handle = Builder::new().spawn(work).map_err(refused)?;
        let batch = Vec::with_capacity(BATCH);
        Ok(Worker { batch, sender: Some(sender), handle: Some(handle) })
    }

    /// Passes on the next item.
    ///
    /// # Errors
    /// The consumer has refused this or an earlier item. No call may follow.
    pub(crate) fn push(&mut self, item: C::Item) -> Result<(), SourceError> {
        self.batch.push(item);
        if self.batch.len() < BATCH {
            return Ok(());
        }
        let batch = replace(&mut self.batch, Vec::with_capacity(BATCH));
        let is_taken = self.sender.as_ref().is_some_and(|sender| sender.send(batch).is_ok());
        // Otherwise the thread has ended, because the consumer returned an error or panicked.
        if is_taken { Ok(()) } else { self.join().map(drop) }
    }

    /// Returns the consumer after it has consumed all items.
    ///
    /// # Errors
    /// The consumer has refused an item.
    pub(crate) fn finish(mut self) -> Result<Box<C>, SourceError> {
        let batch = take(&mut self.batch);
        // If the thread has ended, `join` returns the reason.
        let _ = self.sender.as_ref().map(|sender| sender.send(batch));
        self.join()
    }

    /// Closes the channel and waits for the thread.
    fn join(&mut self) -> Result<Box<C>, SourceError> {
        self.sender = None;
        let handle = self.handle.take().expect("no call follows an error");
        handle.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<C: Consumer> Drop for Worker<C> {
    /// Waits for the thread, which may use much memory.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(handle) = self.handle.take() {
            // The result is not needed.
            let _ = handle.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refuses the item with this number.
    struct RefusingConsumer(Vec<u64>, u64);

    impl Consumer for RefusingConsumer {
        type Item = u64;

        fn consume(&mut self, items: &[u64]) -> Result<(), SourceError> {
            self.0.extend(items);
            let is_refused = items.contains(&self.1);
            if is_refused { Err(SourceError(format!("item {}", self.1))) } else { Ok(()) }
        }
    }

    #[test]
    fn all_items_arrive_in_order() {
        // Counts without a complete batch, with a complete or incomplete last batch, and with more than may wait.
        for count in [0, 1023, 1024, 1025, 100_000] {
            let mut worker = Worker::new(RefusingConsumer(Vec::new(), u64::MAX)).unwrap();
            (0..count).for_each(|item| worker.push(item).unwrap());
            assert_eq!(worker.finish().unwrap().0, (0..count).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn an_error_arrives_at_the_latest_at_the_end() {
        for (count, refused) in [(10, 3), (5000, 4999), (1_000_000, 0)] {
            let mut worker = Worker::new(RefusingConsumer(Vec::new(), refused)).unwrap();
            let error = (0..count).find_map(|item| worker.push(item).err());
            let error = error.or_else(|| worker.finish().err()).expect("it refuses an item");
            assert_eq!(error.0, format!("item {refused}"));
        }
    }
}
