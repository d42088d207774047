//! The form in which tables are declared.

/// Declares a table: meaning, type of the struct, its field in the configuration, and the keys. A key has a
/// name, a kind with the allowed values, and a meaning; after `=>` the field with type and default. Kinds:
///
/// - `int(min, max)`, `real(span)`, `time(max)` in nanoseconds, `flag()`;
/// - `word()`: the words of the field's type; `answer()`: the same, and `{ policy = "word" }` is accepted;
/// - `policy(registry)`;
/// - `special(static)`: a [`Special`](crate::config::keys::Special). Without a field it sets something else.
#[macro_export]
macro_rules! config_table {
    (
        $about:literal
        $name:ident : $section:ident in $config:ty {
            $($key:ident : $kind:ident ( $($arg:tt)* )
              $(=> $(#[$meta:meta])* $field:ident : $type:ty = $default:expr)?, $doc:literal;)+
        }
    ) => {
        #[doc = $about]
        #[derive(Clone, PartialEq, Debug, ::serde::Serialize, ::serde::Deserialize)]
        pub struct $name {
            $($(#[doc = $doc] $(#[$meta])* pub $field: $type,)?)+
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($($field: $default,)?)+ }
            }
        }

        /// The table with its keys.
        pub(crate) const TABLE: $crate::config::keys::Table<$config> =
            $crate::config::keys::Table {
                name: stringify!($section),
                doc: $about,
                keys: &[$($crate::config::keys::Key {
                    path: concat!(stringify!($section), ".", stringify!($key)),
                    slot: $crate::config_slot!($kind [$section $($field $type)?] $($arg)*),
                    doc: $doc,
                }),+],
            };
    };
}

/// The allowed values of one key, and its field.
#[doc(hidden)]
#[macro_export]
macro_rules! config_slot {
    (int [$s:ident $f:ident $t:ty] $min:expr, $max:expr) => {
        $crate::config::keys::Slot::Int {
            at: |c| $crate::config::keys::IntegerField::num(&mut c.$s.$f),
            min: $min,
            max: $max,
        }
    };
    (real [$s:ident $f:ident $t:ty] $span:expr) => {
        $crate::config::keys::Slot::Real { at: |c| &mut c.$s.$f, span: $span }
    };
    (time [$s:ident $f:ident $t:ty] $max:expr) => {
        $crate::config::keys::Slot::Time { at: |c| &mut c.$s.$f, max: $max }
    };
    (flag [$s:ident $f:ident $t:ty]) => {
        $crate::config::keys::Slot::Flag { at: |c| &mut c.$s.$f }
    };
    (word [$s:ident $f:ident $t:ty]) => {
        $crate::config_slot!(words [$s $f $t] false)
    };
    (answer [$s:ident $f:ident $t:ty]) => {
        $crate::config_slot!(words [$s $f $t] true)
    };
    (words [$s:ident $f:ident $t:ty] $policy:expr) => {
        $crate::config::keys::Slot::Word($crate::config::keys::WordSlot {
            words: <$t as $crate::config::words::Word>::WORDS,
            set: |c, word| {
                if let Some(value) = <$t as $crate::config::words::Word>::from_word(word) {
                    c.$s.$f = value;
                }
            },
            get: |c| $crate::config::words::Word::word(c.$s.$f),
            policy: $policy,
        })
    };
    (policy [$s:ident $f:ident $t:ty] $registry:expr) => {
        $crate::config::keys::Slot::Policy { registry: $registry, at: |c| &mut c.$s.$f }
    };
    (special [$($field:tt)*] $special:path) => {
        $crate::config::keys::Slot::Special(&$special)
    };
}
