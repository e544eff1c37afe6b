//! The quotas that can be left to a page after copybacks, as classes.

use std::collections::{BTreeMap, BTreeSet};

use base::{ECC_LIMIT, Quality, Wear};

/// Quotas from the full one down. A page whose quota lies between two of them counts as of the lower one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Classes {
    quotas: Vec<u32>,
}

impl Classes {
    /// The quotas that copybacks from blocks of such thresholds can leave, in any order. Of quotas that allow the same copybacks
    /// from then on, however they come, only the lowest is one.
    pub(super) fn new(thresholds: &BTreeSet<u32>) -> Classes {
        let costs: Vec<u32> = thresholds.iter().filter(|&&of| of > 0).map(|of| ECC_LIMIT.div_ceil(*of)).collect();
        let mut left = BTreeSet::from([ECC_LIMIT]);
        let mut at = Some(ECC_LIMIT);
        while let Some(quota) = at {
            left.extend(costs.iter().filter_map(|cost| quota.checked_sub(*cost)));
            at = left.range(..quota).next_back().copied();
        }
        // From the lowest on: what each copyback leaves is known when a quota comes.
        let mut lowest_like: BTreeMap<Vec<Option<u32>>, u32> = BTreeMap::new();
        let mut stands_for: BTreeMap<u32, u32> = BTreeMap::new();
        for &quota in &left {
            let future = costs.iter().map(|cost| quota.checked_sub(*cost).map(|left| stands_for[&left])).collect();
            stands_for.insert(quota, *lowest_like.entry(future).or_insert(quota));
        }
        let lower = stands_for.iter().filter(|(quota, _)| **quota < ECC_LIMIT).map(|(_, stands_for)| *stands_for);
        let quotas: BTreeSet<u32> = lower.chain([ECC_LIMIT]).collect();
        Classes { quotas: quotas.into_iter().rev().collect() }
    }

    /// The number of classes.
    pub(super) fn count(&self) -> usize {
        self.quotas.len()
    }

    /// The quota of a class.
    pub(super) fn quota(&self, class: usize) -> u32 {
        self.quotas[class]
    }

    /// The class of a page with such a quota; nothing where it is below all.
    pub(super) fn at_most(&self, quota: u32) -> Option<usize> {
        self.quotas.iter().position(|&of_class| of_class <= quota)
    }
}

/// The thresholds that the blocks of a device can have at its age at the start. When blocks pass on to another band, what
/// copybacks leave is rounded down to a class.
pub(super) fn thresholds_in_force(wear: &Wear, is_aware: bool) -> BTreeSet<u32> {
    let of = |quality: &Quality| wear.table.threshold(wear.pe_cycles, *quality);
    if is_aware { wear.qualities.iter().map(of).collect() } else { BTreeSet::from([of(&Quality::WORST)]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As parts of the full quota, which is given.
    fn classes(full: u32, thresholds: &[u32]) -> Vec<u32> {
        let classes = Classes::new(&thresholds.iter().copied().collect());
        assert_eq!(classes.at_most(ECC_LIMIT), Some(0));
        classes.quotas.iter().map(|quota| quota / (ECC_LIMIT / full)).collect()
    }

    #[test]
    fn the_papers_example_has_five_active_blocks() {
        // Section IV.A: with a quota of 6 they are "divided into 0, 2, 3, 4, and 6". 1 is left too, and of no more use than 0.
        assert_eq!(classes(6, &[1, 2, 3]), [6, 4, 3, 2, 0]);
    }

    #[test]
    fn quotas_that_allow_the_same_are_one_class() {
        assert_eq!(classes(2, &[2, 1, 0]), [2, 1, 0]);
        assert_eq!(classes(4, &[4, 2]), [4, 3, 2, 1, 0]);
        assert_eq!(classes(12, &[4, 3, 2]), [12, 9, 8, 6, 4, 3, 0]);
        assert_eq!(classes(15, &[5, 3]), [15, 12, 10, 9, 6, 5, 3, 0]);
        assert_eq!(classes(1, &[1]), [1, 0]);
        assert_eq!(classes(1, &[0]), [1]);
        assert_eq!(classes(1, &[]), [1]);
    }

    #[test]
    fn what_is_left_is_rounded_down() {
        let classes = Classes::new(&BTreeSet::from([2]));
        assert_eq!(
            [ECC_LIMIT, ECC_LIMIT - 1, ECC_LIMIT / 2, 1].map(|left| classes.at_most(left)),
            [0, 1, 1, 2].map(Some)
        );
        assert_eq!(Classes::new(&BTreeSet::new()).at_most(ECC_LIMIT - 1), None);
    }
}
