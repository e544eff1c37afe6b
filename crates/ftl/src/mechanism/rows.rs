//! The rows: all mechanisms, in the order in which they are asked; and how the answers of several become one.

/// All mechanisms, a row each: its name in [`All`](super::All), and its type. Within a line of the agenda they are asked and told
/// in this order, and the first answer counts.
///
/// - Regions change before anybody looks at them.
/// - What the map needs comes before what protects pages: a victim waits for both, a host page for the map first. Map entries
///   change before what a protection makes of the page.
/// - Cold data go to their stream before read disturb is asked for one.
/// - Pages that reads have disturbed can be read but a few times more; those of a unit that has failed are read as before. Old data can wait
///   for both.
/// - The cache asks which stream a page would go to, so the classes on the other axes come before its own.
/// - Twin blocks are last: they pick what nobody else has named.
macro_rules! rows {
    ($then:ident! $($with:tt)*) => {
        $then! {
            [
                separation: Separation,
                dftl: Dftl,
                paired: Paired,
                migration: Migration,
                wear: WearLeveling,
                disturb: Disturb,
                retirement: Retirement,
                refresh: Refresh,
                slc: SlcCache,
                twin: Twin,
            ]
            $($with)*
        }
    };
}

/// How the answers of those in force become one:
///
/// - `all`: everybody is told, and nobody answers.
/// - `any`: whether anybody says so; who comes behind is not asked.
/// - `every`: everybody is asked, and whether one said so.
/// - `first`: the first answer that is one.
/// - `sound`: the first error.
macro_rules! fold {
    ([$($row:ident: $type:ty,)*] all ref $self:ident.$name:ident $with:tt) => {{
        $(if let Some(it) = &$self.$row {
            it.$name $with;
        })*
    }};
    ([$($row:ident: $type:ty,)*] all mut $self:ident.$name:ident $with:tt) => {{
        $(if let Some(it) = &mut $self.$row {
            it.$name $with;
        })*
    }};
    ([$($row:ident: $type:ty,)*] any ref $self:ident.$name:ident $with:tt) => {
        $($self.$row.as_ref().is_some_and(|it| it.$name $with))||*
    };
    ([$($row:ident: $type:ty,)*] any mut $self:ident.$name:ident $with:tt) => {
        $($self.$row.as_mut().is_some_and(|it| it.$name $with))||*
    };
    ([$($row:ident: $type:ty,)*] every mut $self:ident.$name:ident $with:tt) => {{
        let mut answer = Default::default();
        $(if let Some(it) = &mut $self.$row {
            answer = it.$name $with.or_before(answer);
        })*
        answer
    }};
    ([$($row:ident: $type:ty,)*] first ref $self:ident.$name:ident $with:tt) => {{
        $(if let Some(it) = &$self.$row
            && let Some(answer) = it.$name $with
        {
            return Some(answer);
        })*
        None
    }};
    ([$($row:ident: $type:ty,)*] first mut $self:ident.$name:ident $with:tt) => {{
        $(if let Some(it) = &mut $self.$row
            && let Some(answer) = it.$name $with
        {
            return Some(answer);
        })*
        None
    }};
    ([$($row:ident: $type:ty,)*] sound ref $self:ident.$name:ident $with:tt) => {{
        $(if let Some(it) = &$self.$row {
            it.$name $with?;
        })*
        Ok(())
    }};
    ([$($row:ident: $type:ty,)*] sound mut $self:ident.$name:ident $with:tt) => {{
        $(if let Some(it) = &mut $self.$row {
            it.$name $with?;
        })*
        Ok(())
    }};
}

/// The answer of a mechanism that has nothing to say.
macro_rules! silence {
    (all) => {{}};
    (any) => {
        false
    };
    (every) => {
        Default::default()
    };
    (first) => {
        None
    };
    (sound) => {
        Ok(())
    };
}

/// A trait of mechanisms: each method once, with the way in which answers become one. Its default is silence, [`Plain`](super::Plain)
/// keeps it, and [`All`](super::All) asks the rows.
macro_rules! asked {
    ($(#[$doc:meta])* trait $trait:ident { $($methods:tt)* }) => {
        asked! { @next [$(#[$doc])*] $trait [] [] $($methods)* }
    };
    (@next [$($doc:tt)*] $trait:ident [$($declared:tt)*] [$($forwarded:tt)*]) => {
        $($doc)*
        #[allow(unused_variables)]
        pub(crate) trait $trait {
            $($declared)*
        }

        impl $trait for super::Plain {}

        impl $trait for super::All {
            $($forwarded)*
        }
    };
    (
        @next $doc:tt $trait:ident [$($declared:tt)*] [$($forwarded:tt)*]
        $(#[$of:meta])*
        $how:ident $name:ident(&self $(, $arg:ident: $type:ty)*) $(-> $answer:ty)?;
        $($methods:tt)*
    ) => {
        asked! {
            @next $doc $trait
            [
                $($declared)*
                $(#[$of])*
                #[inline]
                fn $name(&self $(, $arg: $type)*) $(-> $answer)? {
                    silence!($how)
                }
            ]
            [
                $($forwarded)*
                #[inline]
                fn $name(&self $(, $arg: $type)*) $(-> $answer)? {
                    rows!(fold! $how ref self.$name($($arg),*))
                }
            ]
            $($methods)*
        }
    };
    (
        @next $doc:tt $trait:ident [$($declared:tt)*] [$($forwarded:tt)*]
        $(#[$of:meta])*
        $how:ident $name:ident(&mut self $(, $arg:ident: $type:ty)*) $(-> $answer:ty)?;
        $($methods:tt)*
    ) => {
        asked! {
            @next $doc $trait
            [
                $($declared)*
                $(#[$of])*
                #[inline]
                fn $name(&mut self $(, $arg: $type)*) $(-> $answer)? {
                    silence!($how)
                }
            ]
            [
                $($forwarded)*
                #[inline]
                fn $name(&mut self $(, $arg: $type)*) $(-> $answer)? {
                    rows!(fold! $how mut self.$name($($arg),*))
                }
            ]
            $($methods)*
        }
    };
}
