//! How the rows of features become one chip: what is asked of it is asked of each of them, in the order of rows.

/// How the answers of several features become one:
///
/// - `all`: everybody is told, and nobody answers.
/// - `any`: whether anybody says so; who comes behind is not asked.
/// - `every`: everybody is asked, and whether one said so.
/// - `first`: the first answer that is one.
macro_rules! fold {
    (all $($asked:expr),+) => {{
        $($asked;)+
    }};
    (any $($asked:expr),+) => {
        $($asked)||+
    };
    (every $($asked:expr),+) => {
        false $(| $asked)+
    };
    (first $($asked:expr),+) => {{
        $(if let Some(answer) = $asked {
            return Some(answer);
        })+
        None
    }};
}

/// The answer of a feature that has nothing to say.
macro_rules! silence {
    (all) => {{}};
    (any) => {
        false
    };
    (every) => {
        false
    };
    (first) => {
        None
    };
}

/// The features: a row each, with its place in `Features` and its type.
macro_rules! features {
    ($($row:ident: $type:ty,)+) => {
        /// All features that a chip can have. One that is not configured takes no memory.
        pub(in crate::timed) struct Features {
            $(pub(in crate::timed) $row: $type,)+
            /// The feature to begin one with, which nobody asks: it is to compile.
            #[cfg(test)]
            pub(in crate::timed) blank: blank::Blank,
        }

        /// The scopes of all features.
        pub(in crate::timed) fn scopes() -> Vec<&'static base::Scope> {
            vec![$(&<$type as base::scope::Scoped>::SCOPE),+]
        }

        impl Feature for Features {
            fn is_configured(config: &Config) -> bool {
                $(<$type>::is_configured(config))||+
            }

            fn check(config: &Config) -> Result<(), Refusal> {
                $(<$type>::check(config)?;)+
                Ok(())
            }

            fn bytes_of_die(config: &Config) -> usize {
                0 $(+ if <$type>::is_configured(config) { <$type>::bytes_of_die(config) } else { 0 })+
            }

            fn pages_of_a_plane(config: &Config) -> u32 {
                [$(<$type>::pages_of_a_plane(config)),+].into_iter().fold(1, u32::max)
            }

            fn new(config: &Config, dies: u32, timing: &mut Timing) -> Features {
                Features {
                    $($row: Feature::new(config, dies, timing),)+
                    #[cfg(test)]
                    blank: Feature::new(config, dies, timing),
                }
            }

            fn is_over(&self) -> bool {
                $(self.$row.is_over())&&+
            }
        }

        macro_rules! ask {
            ($how:ident $name:ident $with:tt) => {
                fold!($how $(<$type as Chip<Any>>::$name $with),+)
            };
        }
    };
}

/// The trait [`Chip`](super::Chip): each method once, with the way in which answers become one. Its default is silence, which
/// `Bare` keeps, and `Features` ask the rows.
macro_rules! asked {
    ($($(#[$doc:meta])* $how:ident $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $answer:ty)?;)*) => {
        /// The changes of a feature of the chip in the life of a die and its commands. The defaults are those of a chip that does one
        /// thing after the other.
        #[allow(unused_variables)]
        pub(in crate::timed) trait Chip<P: Plan>: Sized {
            $(
                $(#[$doc])*
                #[inline(always)]
                fn $name($($arg: $type),*) $(-> $answer)? {
                    silence!($how)
                }
            )*
        }

        mod ask_all {
            use super::*;

            /// Only where anything may be in force are there features.
            type P = Any;

            impl Chip<P> for Features {
                $(
                    #[inline]
                    fn $name($($arg: $type),*) $(-> $answer)? {
                        ask!($how $name ($($arg),*))
                    }
                )*
            }
        }
    };
}
