//! Streams: classes of pages that share an active block, as coordinates.
//!
//! A mechanism names an axis, the classes by which it tells pages apart (host or copy, region). A stream is a class on
//! each axis, and the kernel multiplies them. Pages of a map in flash have a stream of their own, behind these, and so have
//! cold data that wear leveling moves into worn units.

use base::Slot;

use crate::stream::{MAX_STREAMS, Stream};

/// The number of axes.
pub(crate) const AXES: usize = 5;

/// How the blocks of a stream are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Density {
    /// All pages.
    Full,
    /// LSB pages only: a block that is full waits aside, and is no victim.
    LsbOnly,
}

/// The classes by which a mechanism tells pages apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) classes: usize,
    /// The class whose blocks use LSB pages only.
    pub(crate) lsb_only: Option<usize>,
    /// True if the pages of one victim may be copied to different classes.
    pub(crate) splits: bool,
    /// True if the victim decides to which class its pages are copied.
    pub(crate) by_victim: bool,
    /// True if garbage collection copies to the first class alone.
    pub(crate) first_alone: bool,
    /// The class whose units come from an offset of their domain on, as long as one of these is free.
    pub(crate) high: Option<(usize, u32)>,
}

impl Axis {
    /// No distinction.
    pub(crate) const ONE: Axis =
        Axis { classes: 1, lsb_only: None, splits: false, by_victim: false, first_alone: false, high: None };
}

/// All streams of a domain.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    strides: [usize; AXES],
    classes: [usize; AXES],
    /// Streams of data; that of the map, if it has one, is the next.
    data: usize,
    has_map: bool,
    /// True if cold data have a stream of their own: the last one.
    has_cold: bool,
    /// True if the pages of one victim may be copied to different streams.
    splits: bool,
    /// The axis on which the victim decides to which class its pages are copied.
    by_victim: Option<usize>,
    /// A bit for each stream that uses LSB pages only.
    lsb_only: u64,
    /// By slot: the LSB page behind it; empty where no stream asks.
    next_lsb: Vec<u16>,
    /// A bit for each stream whose units come from an offset on, and that offset.
    high: (u64, u32),
    /// See [`Streams::sets`].
    sets: Vec<u64>,
}

impl Streams {
    /// The product of the axes. `next_lsb` says of each slot which LSB page follows it.
    ///
    /// # Panics
    /// If there are more than [`MAX_STREAMS`], which the configuration check refuses.
    pub(crate) fn new(
        axes: [Axis; AXES],
        has_map: bool,
        has_cold: bool,
        next_lsb: impl FnOnce() -> Vec<u16>,
    ) -> Streams {
        let mut strides = [1; AXES];
        let mut data = 1;
        for (stride, axis) in strides.iter_mut().zip(axes) {
            *stride = data;
            data *= axis.classes;
        }
        assert!(data + usize::from(has_map) + usize::from(has_cold) <= MAX_STREAMS, "{data} streams are too many");
        let uses_lsb_only = |stream: usize| {
            strides.iter().zip(axes).any(|(stride, axis)| axis.lsb_only == Some(stream / stride % axis.classes))
        };
        let lsb_only = (0..data).filter(|&stream| uses_lsb_only(stream)).fold(0, |bits, stream| bits | 1 << stream);
        let of_high = strides.iter().zip(axes).find_map(|(&stride, axis)| Some((stride, axis.classes, axis.high?)));
        let high = of_high.map_or((0, 0), |(stride, classes, (class, offset))| {
            let streams = (0..data).filter(|stream| stream / stride % classes == class);
            (streams.fold(0, |bits, stream| bits | 1 << stream), offset)
        });
        let splits = axes.iter().any(|axis| axis.splits);
        let by_victim = axes.iter().position(|axis| axis.by_victim);
        let set_of = |stream: usize| by_victim.map_or(0, |axis| stream / strides[axis] % axes[axis].classes);
        let mut sets = vec![0; by_victim.map_or(1, |axis| axes[axis].classes)];
        (0..data).for_each(|stream| sets[set_of(stream)] |= 1 << stream);
        Streams {
            strides,
            classes: axes.map(|axis| axis.classes),
            data,
            has_map,
            has_cold,
            splits,
            by_victim,
            lsb_only,
            next_lsb: if lsb_only == 0 { Vec::new() } else { next_lsb() },
            high,
            sets,
        }
    }

    /// The number of streams of data that these axes make.
    pub(crate) fn product(axes: [Axis; AXES]) -> usize {
        axes.iter().map(|axis| axis.classes).product()
    }

    /// The stream of a class on each axis.
    #[inline]
    pub(crate) fn at(&self, classes: [usize; AXES]) -> Stream {
        Stream::new(classes.iter().zip(self.strides).map(|(class, stride)| class * stride).sum())
    }

    /// The class of a stream of data on an axis; cold data are of the first one on each.
    #[inline]
    pub(crate) fn class(&self, stream: Stream, axis: usize) -> usize {
        if self.is_cold(stream) { 0 } else { stream.index() / self.strides[axis] % self.classes[axis] }
    }

    /// The number of streams.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.data + usize::from(self.has_map) + usize::from(self.has_cold)
    }

    /// All of them, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = Stream> + Clone + use<> {
        (0..self.count()).map(Stream::new)
    }

    /// All of data, in order.
    pub(crate) fn all_of_data(&self) -> impl DoubleEndedIterator<Item = Stream> + Clone + use<> {
        (0..self.data).map(Stream::new)
    }

    /// The last one of data: the last class on every axis.
    pub(crate) fn last_of_data(&self) -> Stream {
        Stream::new(self.data - 1)
    }

    /// The stream that a spare area names.
    pub(crate) fn of_byte(&self, byte: u8) -> Option<Stream> {
        (usize::from(byte) < self.count()).then_some(Stream::new(byte.into()))
    }

    /// The offset of a domain from which on the units of a stream come, if any of these is free.
    pub(super) fn high(&self, stream: Stream) -> Option<u32> {
        let (streams, offset) = self.high;
        (streams >> stream.byte() & 1 != 0).then_some(offset)
    }

    /// True if the pages of one victim may be copied to different streams.
    #[inline]
    pub(crate) fn split_victims(&self) -> bool {
        self.splits
    }

    /// True if the streams of copies depend on their victim.
    #[inline]
    pub(crate) fn depend_on_victim(&self) -> bool {
        self.by_victim.is_some()
    }

    /// Streams of data in sets, a bit for each stream: the pages of one victim go to streams of one set.
    #[inline]
    pub(crate) fn sets(&self) -> &[u64] {
        &self.sets
    }

    /// That of the map's pages.
    ///
    /// # Panics
    /// If the map is not in flash.
    #[inline]
    pub(crate) fn of_map(&self) -> Stream {
        assert!(self.has_map, "the map is in flash");
        Stream::new(self.data)
    }

    /// True if a stream is that of the map's pages.
    #[inline]
    pub(crate) fn is_map(&self, stream: Stream) -> bool {
        self.has_map && stream.index() == self.data
    }

    /// That of cold data, if they have one.
    #[inline]
    pub(crate) fn of_cold(&self) -> Option<Stream> {
        self.has_cold.then(|| Stream::new(self.data + usize::from(self.has_map)))
    }

    /// True of the stream of cold data.
    #[inline]
    pub(crate) fn is_cold(&self, stream: Stream) -> bool {
        self.has_cold && stream.index() == self.data + usize::from(self.has_map)
    }

    /// How the blocks of a stream are used.
    #[inline]
    pub(crate) fn density(&self, stream: Stream) -> Density {
        if self.lsb_only >> stream.byte() & 1 == 0 { Density::Full } else { Density::LsbOnly }
    }

    /// The slot that a stream fills after a slot; that behind the last one if there is none.
    #[inline]
    pub(crate) fn slot_after(&self, stream: Stream, slot: Slot) -> Slot {
        let skips = self.lsb_only >> stream.byte() & 1 != 0;
        if skips { Slot::new(u32::from(self.next_lsb[slot.index()])) } else { slot.next() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_the_product_of_their_axes() {
        let regions = Axis { classes: 3, splits: true, ..Axis::ONE };
        let buffered = Axis { classes: 2, lsb_only: Some(0), ..Axis::ONE };
        let streams =
            Streams::new([regions, buffered, Axis::ONE, Axis::ONE, Axis::ONE], true, false, || vec![2, 2, 4, 4]);
        assert_eq!((streams.count(), streams.all_of_data().count(), streams.of_map().index()), (7, 6, 6));
        let at = |classes| streams.at(classes).index();
        assert_eq!([[0, 0], [2, 0], [0, 1], [2, 1]].map(|[first, second]| at([first, second, 0, 0, 0])), [0, 2, 3, 5]);
        let class = |(stream, axis)| streams.class(Stream::new(stream), axis);
        assert_eq!([(5, 0), (5, 1), (5, 2), (3, 0)].map(class), [2, 1, 0, 0]);
        let full = streams.all().filter(|&stream| streams.density(stream) == Density::Full).map(Stream::index);
        assert_eq!(full.collect::<Vec<_>>(), [3, 4, 5, 6]);
        let after_first = |number| streams.slot_after(Stream::new(number), Slot::FIRST).number();
        assert_eq!((after_first(1), after_first(4)), (2, 1));
        assert_eq!(streams.sets(), [0b11_1111]);
        let by_victim = Axis { classes: 2, by_victim: true, ..Axis::ONE };
        let axes = [regions, by_victim, Axis::ONE, Axis::ONE, Axis::ONE];
        assert_eq!(Streams::new(axes, true, true, Vec::new).sets(), [0b00_0111, 0b11_1000]);
    }

    #[test]
    fn cold_data_are_behind_all_others_and_of_the_first_classes() {
        let three = Axis { classes: 3, ..Axis::ONE };
        for has_map in [false, true] {
            let streams = Streams::new([three, Axis::ONE, three, Axis::ONE, Axis::ONE], has_map, true, Vec::new);
            let cold = streams.of_cold().unwrap();
            assert_eq!(cold.index(), 9 + usize::from(has_map));
            assert_eq!((streams.count(), streams.all_of_data().count()), (cold.index() + 1, 9));
            assert_eq!([0, 1, 2, 3, 4].map(|axis| streams.class(cold, axis)), [0; AXES]);
            assert!(streams.is_cold(cold) && !streams.is_map(cold) && !streams.is_cold(Stream::new(8)));
        }
    }
}
