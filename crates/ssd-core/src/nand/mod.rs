//! The flash: geometry, times and legality of operations.
