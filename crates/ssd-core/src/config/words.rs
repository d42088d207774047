//! Keys whose value is one of a few words. Word, variant and description are declared once; parsing, printing,
//! schema and reference use them.

/// An enum whose variants are words of the config.
pub trait Word: Copy + PartialEq + 'static {
    /// Every word with its meaning, in the order in which they are shown.
    const WORDS: &'static [(&'static str, &'static str)];
    /// The variant of a word.
    fn from_word(word: &str) -> Option<Self>;
    /// The word of a variant.
    fn word(self) -> &'static str;
}

/// Declares an enum whose variants are words of the config, each with its meaning.
#[macro_export]
macro_rules! word_enum {
    ($(#[doc = $key:literal])+ $name:ident {
        $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+
    }) => {
        $(#[doc = $key])+
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ::serde::Serialize, ::serde::Deserialize,
        )]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+
        }
        impl $crate::config::words::Word for $name {
            const WORDS: &'static [(&'static str, &'static str)] =
                &[$(($word, concat!($($doc),+))),+];
            fn from_word(word: &str) -> Option<$name> {
                match word {
                    $($word => Some($name::$variant),)+
                    _ => None,
                }
            }
            fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }
    };
}
