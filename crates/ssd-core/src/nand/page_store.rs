//! Where the bytes of pages are kept: here in memory, or in a file of the caller.

/// Slots of one page each, numbered from 0 without gaps.
pub trait PageStore: Send {
    /// Write a slot, which is at most one beyond those written so far.
    ///
    /// # Errors
    /// Why the store cannot hold it.
    fn write(&mut self, slot: u32, bytes: &[u8]) -> Result<(), String>;

    /// Read a slot that has been written.
    ///
    /// # Errors
    /// Why the store cannot return it.
    fn read(&self, slot: u32, bytes: &mut [u8]) -> Result<(), String>;
}

/// Pages of one allocation.
const SLAB: usize = 64;

/// Slots in memory.
#[derive(Default)]
pub struct Slabs {
    slabs: Vec<Box<[u8]>>,
}

impl PageStore for Slabs {
    fn write(&mut self, slot: u32, bytes: &[u8]) -> Result<(), String> {
        let (slab, at) = (slot as usize / SLAB, slot as usize % SLAB * bytes.len());
        if slab == self.slabs.len() {
            self.slabs.push(vec![0; SLAB * bytes.len()].into_boxed_slice());
        }
        self.slabs[slab][at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, slot: u32, bytes: &mut [u8]) -> Result<(), String> {
        let (slab, at) = (slot as usize / SLAB, slot as usize % SLAB * bytes.len());
        bytes.copy_from_slice(&self.slabs[slab][at..at + bytes.len()]);
        Ok(())
    }
}
