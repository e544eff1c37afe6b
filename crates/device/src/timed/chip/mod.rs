//! Features of a chip besides one read, program or erase after the other, each in a folder of its own.

pub(crate) mod one_shot;
