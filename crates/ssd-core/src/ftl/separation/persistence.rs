//! What a separation policy knows, as the bytes of a snapshot.
//!
//! A policy lists its fields once, with [`keeps!`] or [`knows!`]; they are written and read in that order, as
//! little-endian numbers. Tables of pages (boxed slices) have the length that the device determines; other lists are
//! stored with their lengths.

use crate::rng::Stream;

/// Something that a policy knows.
pub(super) trait Persist {
    /// Append it to `bytes`.
    fn save(&self, bytes: &mut Vec<u8>);

    /// Read it from the front of `bytes`.
    ///
    /// # Errors
    /// The bytes end early or are not valid.
    fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String>;
}

macro_rules! numbers {
    ($($number:ty)+) => {$(
        impl Persist for $number {
            fn save(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
                let (first, rest) = bytes
                    .split_first_chunk()
                    .ok_or("what its separation policy knows ends early")?;
                (*self, *bytes) = (<$number>::from_le_bytes(*first), rest);
                Ok(())
            }
        }
    )+};
}
numbers!(u8 u16 u32 u64);

impl Persist for f64 {
    fn save(&self, bytes: &mut Vec<u8>) {
        debug_assert!(self.is_finite(), "a policy knows {self}");
        self.to_bits().save(bytes);
    }

    fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        let mut bits = 0u64;
        bits.load(bytes)?;
        *self = f64::from_bits(bits);
        if self.is_finite() { Ok(()) } else { Err(format!("its separation policy knows {self}")) }
    }
}

impl Persist for bool {
    fn save(&self, bytes: &mut Vec<u8>) {
        u8::from(*self).save(bytes);
    }

    fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        let mut flag = 0u8;
        flag.load(bytes)?;
        *self = flag == 1;
        if flag < 2 { Ok(()) } else { Err(format!("a flag of its separation policy is {flag}")) }
    }
}

impl<T: Persist + Default> Persist for Option<T> {
    fn save(&self, bytes: &mut Vec<u8>) {
        self.is_some().save(bytes);
        self.iter().for_each(|inner| inner.save(bytes));
    }

    fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        let mut is_some = false;
        is_some.load(bytes)?;
        *self = is_some.then(T::default);
        self.iter_mut().try_for_each(|inner| inner.load(bytes))
    }
}

macro_rules! tables {
    ($($Table:ty $(, $n:ident)?;)+) => {$(
        impl<T: Persist $(, const $n: usize)?> Persist for $Table {
            fn save(&self, bytes: &mut Vec<u8>) {
                debug_assert!(!self.is_empty(), "a table without pages");
                self.iter().for_each(|one| one.save(bytes));
            }

            fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
                debug_assert!(!self.is_empty(), "a table without pages");
                self.iter_mut().try_for_each(|one| one.load(bytes))
            }
        }
    )+};
}
tables!(Box<[T]>; [T; N], N;);

impl<T: Persist + Default> Persist for Vec<T> {
    fn save(&self, bytes: &mut Vec<u8>) {
        (self.len() as u64).save(bytes);
        self.iter().for_each(|item| item.save(bytes));
    }

    fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        let mut length = 0u64;
        length.load(bytes)?;
        self.clear();
        // It grows with the bytes that exist, whatever the length claims.
        for _ in 0..length {
            let mut item = T::default();
            item.load(bytes)?;
            self.push(item);
        }
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($Part:ident $at:tt),+))+) => {$(
        impl<$($Part: Persist),+> Persist for ($($Part,)+) {
            fn save(&self, bytes: &mut Vec<u8>) {
                $(self.$at.save(bytes);)+
            }

            fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
                $(self.$at.load(bytes)?;)+
                Ok(())
            }
        }
    )+};
}
tuples!((A 0, B 1) (A 0, B 1, C 2));

impl Persist for Stream {
    fn save(&self, bytes: &mut Vec<u8>) {
        self.state().save(bytes);
    }

    fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        let mut state = [0u8; 32];
        state.load(bytes)?;
        *self = Stream::in_state(state).ok_or("a random stream of its separation policy is 0")?;
        Ok(())
    }
}

/// `keeps!(Type: field, ...; given field, ...)` implements [`Persist`] by the first fields; the others follow from the
/// configuration. A field in neither list does not compile.
macro_rules! keeps {
    ($Type:ident: $($field:ident),+ $(; given $($given:ident),+)?) => {
        impl $crate::ftl::separation::persistence::Persist for $Type {
            $crate::ftl::separation::persistence::knows! { $Type: $($field),+ $(; given $($given),+)? }
        }
    };
}
pub(super) use keeps;

/// As [`keeps!`], but as methods, for the implementation of a policy; `if sound`: whether the loaded state is possible.
macro_rules! knows {
    ($Type:ident: $($field:ident),+ $(; given $($given:ident),+)? $(; if $sound:expr)?) => {
        fn save(&self, bytes: &mut Vec<u8>) {
            let $Type { $($field,)+ $($($given: _,)+)? } = self;
            $($crate::ftl::separation::persistence::Persist::save($field, bytes);)+
        }

        fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
            let $Type { $($field,)+ $($($given: _,)+)? } = self;
            $($crate::ftl::separation::persistence::Persist::load($field, bytes)?;)+
            $(
                let sound: fn(&$Type) -> bool = $sound;
                if !sound(self) {
                    return Err("what its separation policy knows cannot be".to_string());
                }
            )?
            Ok(())
        }
    };
}
pub(super) use knows;
