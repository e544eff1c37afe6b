//! Which pages are hot: a counter of two bits for each page, and the age against which overwrites are held.
//!
//! A page that dies soon counts up, one that is copied out of the first two groups counts down; with a full counter it is hot. Soon is within the
//! mean age of the units of the hot group when they are collected.

use std::collections::VecDeque;

use super::model::MeasuredHot;

/// A full counter.
const HOT: u8 = 3;

/// Values of the group that the model takes the mean of.
const KEPT: usize = 10;

/// The hot pages of a log.
#[derive(Clone, Debug)]
pub(super) struct HotFilter {
    /// Pages of the host within which a page dies soon.
    age: f64,
    /// Overwrites until the age is taken anew.
    left: i64,
    /// Overwrites and copies that are not counted yet.
    cold: u64,
    /// Collected units of the hot group since: the sum of their ages, that of their valid shares, and how many.
    ages: f64,
    valid: f64,
    units: u32,
    /// Pages of the host since, and those that were hot.
    pages: u64,
    hot_pages: u64,
    /// Newest first.
    seen: VecDeque<MeasuredHot>,
}

impl HotFilter {
    /// For a log of so many pages of the host.
    pub(super) fn new(capacity: u64) -> HotFilter {
        HotFilter {
            age: capacity as f64,
            left: capacity as i64,
            cold: capacity,
            ages: 0.0,
            valid: 0.0,
            units: 0,
            pages: 0,
            hot_pages: 0,
            seen: VecDeque::with_capacity(KEPT),
        }
    }

    pub(super) fn is_hot(counter: u8) -> bool {
        counter == HOT
    }

    /// The counter of a page that is overwritten, in the unit of a group that was filled so many pages ago.
    #[inline]
    pub(super) fn overwritten(&self, counter: u8, group: u8, age: u64) -> u8 {
        match group {
            _ if self.cold > 0 => counter,
            0 => (counter + 1).min(HOT),
            1 if age as f64 <= self.age => (counter + 1).min(HOT),
            1 => counter.saturating_sub(1),
            _ => counter,
        }
    }

    /// The counter of a page that is copied out of a group.
    #[inline]
    pub(super) fn copied(&mut self, counter: u8, group: u8) -> u8 {
        if group > 1 {
            return counter;
        }
        if self.cold > 0 {
            self.cold -= 1;
            return counter;
        }
        counter.saturating_sub(2 - group)
    }

    /// Takes note of a page that the host wrote. `size`: units of the hot group.
    #[inline]
    pub(super) fn wrote(&mut self, was_mapped: bool, is_hot: bool, size: impl FnOnce() -> f64) {
        self.pages += 1;
        self.hot_pages += u64::from(is_hot);
        if !was_mapped {
            return;
        }
        if self.cold > 0 {
            self.cold -= 1;
            return;
        }
        self.left -= 1;
        if self.left <= 0 && self.units > 0 {
            self.take_anew(size());
        }
    }

    /// A unit of the hot group was collected at this age, with this share of valid pages.
    pub(super) fn collected(&mut self, age: u64, valid: f64) {
        self.ages += age as f64;
        self.valid += valid;
        self.units += 1;
    }

    #[cold]
    fn take_anew(&mut self, size: f64) {
        let units = f64::from(self.units);
        if self.hot_pages > 0 {
            self.seen.truncate(KEPT - 1);
            let traffic = self.hot_pages as f64 / self.pages as f64;
            self.seen.push_front(MeasuredHot { size, traffic, valid: self.valid / units });
        }
        let age = self.ages / units;
        // It grows by half at most.
        self.age = if age >= 2.0 * self.age { 1.5 * self.age } else { (self.age + age) / 2.0 };
        self.left = self.age as i64;
        (self.ages, self.valid, self.units, self.pages, self.hot_pages) = (0.0, 0.0, 0, 0, 0);
    }

    /// The group as it was since the last epoch.
    pub(super) fn take_measured(&mut self) -> MeasuredHot {
        let count = self.seen.len() as f64;
        if self.seen.is_empty() {
            return MeasuredHot { size: 1.0, traffic: 0.01, valid: 0.05 };
        }
        let mean = |of: fn(&MeasuredHot) -> f64| self.seen.iter().map(of).sum::<f64>() / count;
        // With the one that is being filled.
        let size = (mean(|seen| seen.size) + 1.0).round();
        let measured = MeasuredHot { size, traffic: mean(|seen| seen.traffic), valid: mean(|seen| seen.valid) };
        self.seen.clear();
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_up_where_pages_die_soon_and_down_where_they_survive() {
        let mut filter = HotFilter::new(100);
        assert_eq!(filter.overwritten(1, 0, 5), 1, "nothing counts at first");
        (0..100).for_each(|_| filter.wrote(true, false, || 0.0));
        let overwritten = |counter, group, age| filter.overwritten(counter, group, age);
        assert_eq!([overwritten(2, 0, 1 << 40), overwritten(3, 0, 0), overwritten(2, 1, 100)], [3, 3, 3]);
        assert_eq!([overwritten(2, 1, 101), overwritten(0, 1, 101), overwritten(2, 2, 0)], [1, 0, 2]);
        assert_eq!(
            [(3, 0), (1, 0), (3, 1), (3, 2)].map(|(counter, group)| filter.copied(counter, group)),
            [1, 0, 2, 3]
        );
        assert!(HotFilter::is_hot(3) && !HotFilter::is_hot(2));
    }

    #[test]
    fn the_age_follows_that_of_collected_units() {
        let mut filter = HotFilter::new(100);
        (0..200).for_each(|write| filter.wrote(true, write % 4 == 0, || 7.0));
        assert_eq!(filter.age, 100.0, "no unit was collected");
        filter.collected(60, 0.1);
        filter.collected(20, 0.3);
        filter.wrote(true, false, || 7.0);
        assert_eq!(filter.age, 70.0, "the mean of 100 and 40");
        let measured = filter.take_measured();
        assert_eq!((measured.size, measured.valid), (8.0, 0.2));
        assert!((measured.traffic - 50.0 / 201.0).abs() < 1e-12);
        filter.collected(1000, 0.0);
        (0..70).for_each(|_| filter.wrote(true, true, || 1.0));
        assert_eq!(filter.age, 105.0, "half as much again");
    }
}
