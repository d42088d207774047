//! Enums whose variants are words in reports and logs.

/// Declare an enum whose variants are words in reports and logs.
macro_rules! words {
    (
        $(#[$meta:meta])* pub enum $name:ident $(by default $default:ident)? {
            $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+
        }
        impl $name {
            /// All of them, in the order of their discriminants.
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];
            /// Their names, in the same order.
            pub const WORDS: [&'static str; $name::ALL.len()] = [$($word),+];
            /// Their definitions, in the same order.
            pub const DOCS: [&'static str; $name::ALL.len()] = [$(concat!($($doc),+)),+];
            /// Name in reports and logs.
            #[must_use]
            pub const fn name(self) -> &'static str {
                $name::WORDS[self as usize]
            }
        }
        $(impl Default for $name {
            fn default() -> $name {
                $name::$default
            }
        })?
        impl $crate::metrics::form::Form for $name {
            const KIND: $crate::metrics::field::Kind =
                $crate::metrics::field::Kind::Words(&$name::WORDS);
        }
    };
}

pub(super) use words;
