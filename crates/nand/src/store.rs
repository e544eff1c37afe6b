//! The contents of pages: nothing, a stamp or real data; with a spare area.
//!
//! A word stands for the data of a page: the stamp itself or, where data are real, a frame of the controller's memory or the
//! page of the array that they lie in.
//!
//! Nobody outside asks which of them it is. What is read of a store that keeps nothing is empty, and what is written there is gone.

use crate::Shape;
use crate::image::Image;

/// Which store an array has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// No content.
    Nothing,
    /// A stamp of 8 bytes in place of a page's data, and a spare area of 16.
    Stamps,
    /// Real data and a spare area, in an [`Image`].
    Bytes,
}

impl StoreKind {
    /// Bytes of memory that a page takes.
    pub fn bytes_of_page(self) -> u64 {
        match self {
            StoreKind::Nothing | StoreKind::Bytes => 0,
            StoreKind::Stamps => (size_of::<u64>() + size_of::<u128>()) as u64,
        }
    }
}

/// The contents of all pages, by block × pages per block + page.
///
/// One branch tells the kinds apart, which the processor predicts. The kind as a type parameter would make every type above the array
/// generic, and each of them would be compiled once for each kind (docs/design.md has the figure).
#[derive(Clone)]
pub(crate) enum Store {
    Nothing,
    Stamps(Stamps),
    Bytes(Box<Image>),
}

/// A word in place of a page's data, and its spare area.
#[derive(Clone, Default)]
pub(crate) struct Stamps {
    pub(crate) data: Vec<u64>,
    pub(crate) spares: Vec<u128>,
}

impl Store {
    pub(crate) fn new(kind: StoreKind, shape: &Shape) -> Store {
        let pages = shape.planes as usize * shape.blocks_per_plane as usize * shape.pages_per_block as usize;
        match kind {
            // Bytes come with the image.
            StoreKind::Nothing | StoreKind::Bytes => Store::Nothing,
            StoreKind::Stamps => Store::Stamps(Stamps { data: vec![0; pages], spares: vec![0; pages] }),
        }
    }

    /// Which one it is.
    #[inline]
    pub(crate) fn kind(&self) -> StoreKind {
        match self {
            Store::Nothing => StoreKind::Nothing,
            Store::Stamps(_) => StoreKind::Stamps,
            Store::Bytes(_) => StoreKind::Bytes,
        }
    }

    /// The word of a page; 0 where nothing is kept.
    #[inline]
    pub(crate) fn data(&self, index: usize) -> u64 {
        match self {
            Store::Nothing => 0,
            Store::Stamps(stamps) => stamps.data[index],
            Store::Bytes(image) => image.data(index),
        }
    }

    /// The spare area of a page; 0 likewise.
    #[inline]
    pub(crate) fn spare(&self, index: usize) -> u128 {
        match self {
            Store::Nothing => 0,
            Store::Stamps(stamps) => stamps.spares[index],
            Store::Bytes(image) => image.spare(index),
        }
    }

    /// Keeps the content of a page, if stamps are kept.
    #[inline]
    pub(crate) fn write(&mut self, index: usize, data: u64, spare: u128) {
        if let Store::Stamps(stamps) = self {
            (stamps.data[index], stamps.spares[index]) = (data, spare);
        }
    }

    /// A page loses its content.
    pub(crate) fn lose(&mut self, index: usize) {
        match self {
            Store::Nothing => {}
            Store::Stamps(stamps) => (stamps.data[index], stamps.spares[index]) = (0, 0),
            Store::Bytes(image) => image.lose(index),
        }
    }

    /// The words and the spare areas of all pages; empty where nothing is kept.
    pub(crate) fn saved(&self) -> (&[u64], &[u128]) {
        match self {
            Store::Nothing | Store::Bytes(_) => (&[], &[]),
            Store::Stamps(Stamps { data, spares }) => (data, spares),
        }
    }

    /// The store with these contents, if they are those of a store of its kind and size.
    pub(crate) fn restored(&self, data: Vec<u64>, spares: Vec<u128>) -> Option<Store> {
        let (own, beside) = self.saved();
        if (own.len(), beside.len()) != (data.len(), spares.len()) {
            return None;
        }
        Some(match self {
            Store::Nothing | Store::Bytes(_) => Store::Nothing,
            Store::Stamps(_) => Store::Stamps(Stamps { data, spares }),
        })
    }
}
