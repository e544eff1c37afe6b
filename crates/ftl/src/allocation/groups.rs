//! Reclaim groups: equal parts of the dies, each with logical pages of its own (flexible data placement, NVM Express TP4146).
//!
//! A placement identifier of the standard names a reclaim group besides its handle. Here the group follows from the address: a namespace
//! lies in one, and what is in no such namespace fills the room that is left of each, in order. So two versions of a page never wait for
//! dies of two groups.

use base::{Geometry, Lpn};

/// A namespace that lies in a reclaim group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupedNamespace {
    /// Its first logical page.
    pub first: Lpn,
    /// Its length.
    pub pages: u32,
    /// The number of its group.
    pub group: u32,
}

/// More logical pages in a reclaim group than it has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverfullGroup {
    pub(crate) group: u32,
    pub(crate) pages: u64,
    pub(crate) most: u64,
}

/// Logical pages that follow each other in one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u32,
    group: u32,
    /// The position in its group of the first one.
    position: u32,
}

/// Where a logical page is among those of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InGroup {
    pub(super) group: u32,
    pub(super) position: u32,
    /// The page behind the last one that follows it in its group.
    pub(super) end: Lpn,
}

/// The logical pages of each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReclaimGroups {
    count: u32,
    /// In order, without a gap.
    ranges: Vec<Range>,
}

impl ReclaimGroups {
    /// All logical pages, by group, of which each has room for its share. `most`: see [`room_of_group`].
    pub(crate) fn new(
        count: u32,
        namespaces: &[GroupedNamespace],
        user_pages: u64,
        most: u64,
    ) -> Result<ReclaimGroups, OverfullGroup> {
        let mut of_namespaces = vec![0; count as usize];
        for namespace in namespaces {
            of_namespaces[namespace.group as usize] += u64::from(namespace.pages);
        }
        if let Some((group, &pages)) = (0..).zip(&of_namespaces).find(|(_, pages)| **pages > most) {
            return Err(OverfullGroup { group, pages, most });
        }
        let mut left: Vec<u64> = of_namespaces.iter().map(|pages| most - pages).collect();
        let (mut ranges, mut used) = (Vec::new(), vec![0u32; count as usize]);
        let mut add = |first: u32, pages: u32, group: u32| {
            ranges.push(Range { first, group, position: used[group as usize] });
            used[group as usize] += pages;
        };
        let mut between = |from: u32, to: u32, add: &mut dyn FnMut(u32, u32, u32)| {
            let mut first = from;
            while first < to {
                let group = left.iter().position(|&left| left > 0).expect("the groups have room for all pages");
                let pages = left[group].min(u64::from(to - first)) as u32;
                add(first, pages, group as u32);
                left[group] -= u64::from(pages);
                first += pages;
            }
        };
        let mut sorted: Vec<&GroupedNamespace> = namespaces.iter().filter(|namespace| namespace.pages > 0).collect();
        sorted.sort_by_key(|namespace| namespace.first.0);
        let mut next = 0;
        for &&GroupedNamespace { first, pages, group } in &sorted {
            between(next, first.0, &mut add);
            add(first.0, pages, group);
            next = first.0 + pages;
        }
        between(next, user_pages as u32, &mut add);
        Ok(ReclaimGroups { count, ranges })
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    #[inline]
    pub(super) fn find(&self, lpn: Lpn) -> InGroup {
        let behind = self.ranges.partition_point(|range| range.first <= lpn.0);
        let Range { first, group, position } = self.ranges[behind - 1];
        let end = self.ranges.get(behind).map_or(u32::MAX, |range| range.first);
        InGroup { group, position: position + (lpn.0 - first), end: Lpn(end) }
    }
}

/// The most logical pages that a group has, of so many in all. Under a static order planes have whole flash pages of them.
pub(crate) fn room_of_group(geometry: &Geometry, groups: u32, user_pages: u64, is_dynamic: bool) -> u64 {
    if is_dynamic {
        return user_pages.div_ceil(groups.into());
    }
    let parts = u64::from(geometry.parts);
    let of_domain = user_pages.div_ceil(u64::from(geometry.domains()) * parts) * parts;
    of_domain * u64::from(geometry.domains() / groups)
}

/// Channels, chips of a channel, dies of a chip and domains of a die that a group has of its own, where the dies can be divided into so
/// many: channels first, then the chips of one, then the dies of one.
pub(crate) fn shape_of_group(geometry: &Geometry, groups: u32) -> Option<[u32; 4]> {
    let mut shape = [geometry.channels, geometry.chips_per_channel, geometry.dies_per_chip, geometry.domains_per_die()];
    let mut left = groups;
    for size in &mut shape[..3] {
        let by = left.min(*size);
        if !size.is_multiple_of(by) || !left.is_multiple_of(by) {
            return None;
        }
        (*size, left) = (*size / by, left / by);
    }
    (left == 1).then_some(shape)
}

#[cfg(test)]
mod tests {
    use base::Dimensions;

    use super::*;

    fn geometry(parts: u32) -> Geometry {
        let sizes = Dimensions {
            channels: 2,
            chips_per_channel: 2,
            planes_per_die: 2,
            blocks_per_plane: 8,
            pages_per_block: 8 * parts,
            parts,
            ..Dimensions::ONE_PAGE
        };
        Geometry::new(sizes)
    }

    fn namespace(first: u32, pages: u32, group: u32) -> GroupedNamespace {
        GroupedNamespace { first: Lpn(first), pages, group }
    }

    #[test]
    fn pages_of_no_namespace_fill_what_is_left_of_each_group() {
        let groups = ReclaimGroups::new(2, &[namespace(100, 60, 0), namespace(30, 20, 1)], 320, 160).unwrap();
        // Each has room for 160: the first has 100 of others, in front of and behind its namespace, and the second all that follows.
        let found = |lpn| groups.find(Lpn(lpn));
        let runs: Vec<(u32, u32)> = groups.ranges.iter().map(|range| (range.first, range.group)).collect();
        assert_eq!(runs, [(0, 0), (30, 1), (50, 0), (100, 0), (160, 0), (180, 1)]);
        assert_eq!((found(49).group, found(49).position, found(49).end), (1, 19, Lpn(50)));
        assert_eq!((found(100).position, found(179).position), (80, 159));
        let mut positions: Vec<(u32, u32)> = (0..320).map(found).map(|it| (it.group, it.position)).collect();
        positions.sort_unstable();
        let expected = (0..2).flat_map(|group| (0..160).map(move |position| (group, position)));
        assert_eq!(positions, expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_group_has_room_for_its_share_and_no_more() {
        // 8 domains with 40 pages each, or with 3 whole flash pages of 16 parts.
        for (parts, is_dynamic, most) in [(1, false, 160), (16, false, 192), (16, true, 160)] {
            let room = room_of_group(&geometry(parts), 2, 320, is_dynamic);
            let made = |pages| ReclaimGroups::new(2, &[namespace(0, pages, 1)], 320, room);
            assert!(made(most).is_ok());
            assert_eq!(
                made(most + 1),
                Err(OverfullGroup { group: 1, pages: u64::from(most) + 1, most: u64::from(most) })
            );
        }
    }

    #[test]
    fn channels_are_divided_before_chips_and_dies() {
        let shape = |groups| shape_of_group(&geometry(1), groups);
        assert_eq!([1, 2, 4].map(shape), [[2, 2, 1, 2], [1, 2, 1, 2], [1, 1, 1, 2]].map(Some));
        assert_eq!([3, 8].map(shape), [None, None]);
    }
}
