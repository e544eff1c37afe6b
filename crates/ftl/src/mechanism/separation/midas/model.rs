//! The model of MiDAS: what a configuration of groups would cost, and the search for the one that costs least.
//!
//! Sizes and times are in units of the log, as many pages of the host. The distribution of update intervals says which share of the pages
//! is still valid at an age. A page that is collected out of a group has the age that its groups have taken to turn over, so the
//! valid share of each group's victims follows, group by group. They are the probabilities of a Markov chain whose states are the groups; its
//! stationary distribution gives the write amplification. In the last group victims are chosen, and hot and cold pages are mixed:
//! there it is Desnoyers' formula for two classes of pages.

/// Bins of time to a unit.
pub(super) const BINS: u64 = 4;

/// The most groups, that of hot pages included.
pub(in super::super) const MAX_GROUPS: usize = 10;

/// The most units for hot pages that are tried.
const MOST_HOT: u32 = 29;

/// The WAF that one more unit for hot pages has to gain in the first phase of the search.
const LEAST_GAIN: f64 = 0.05;

/// Rounds of the second phase of the search, at most.
const ROUNDS: usize = 4;

/// Pages with an interval of at most this share of the mean are the hot ones of the last group.
const HOT_SHARE: f64 = 0.7;

/// The share of hot pages, as it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeasuredHot {
    /// Units.
    pub(super) size: f64,
    /// The share of the host's pages that go there.
    pub(super) traffic: f64,
    /// The valid share of its victims.
    pub(super) valid: f64,
}

impl MeasuredHot {
    /// True if the group holds what dies, and enough of it, so that its size can be set as the model says.
    fn is_accurate(self) -> bool {
        self.valid <= 0.1 && self.traffic >= 0.15
    }

    /// True if so many of its pages survive that no model holds.
    pub(super) fn is_useless(self) -> bool {
        self.valid > if self.size > 1.0 { 0.18 } else { 0.3 }
    }
}

/// The group of hot pages in a configuration.
#[derive(Clone, Copy, Debug)]
enum Hot {
    /// As it is.
    Measured(MeasuredHot),
    /// It holds all pages that die within so many bins.
    Within {
        bins: usize,
        size: u32,
        /// Its valid pages count among those that groups hold. While its size is searched they do not, so that it grows only where it
        /// gains that much more.
        holds: bool,
    },
}

/// The figures that the model expects of a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    /// By group behind that of hot pages: the valid share of its victims.
    valid: [f64; MAX_GROUPS],
    /// Pages programmed for each page of the host.
    pub(super) waf: f64,
}

/// Sizes of groups, and what is expected of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Configuration {
    /// Groups, that of hot pages included.
    pub(super) groups: usize,
    /// By group: units.
    pub(super) sizes: [u32; MAX_GROUPS],
    /// By group: the valid share of its victims.
    pub(super) valid: [f64; MAX_GROUPS],
    pub(super) waf: f64,
}

/// A candidate of the search: the groups behind that of hot pages.
#[derive(Clone, Copy, Debug)]
struct Chain {
    hot: Hot,
    groups: usize,
    sizes: [u32; MAX_GROUPS],
    expected: Expected,
}

/// The model of a log.
pub(super) struct GroupModel {
    /// Units for data.
    units: u32,
    /// Valid pages, in units.
    valid: f64,
    /// Pages that are never overwritten, in units: they count in no group.
    still: f64,
    /// Updates, with pages that were written once.
    updates: f64,
    /// By bin: updates with a shorter interval.
    before: Vec<f64>,
    /// By bin: the sum of the intervals of these, in units.
    intervals_before: Vec<f64>,
    /// By bin: the sum over the bins before it of the share of pages that outlive them.
    outliving_before: Vec<f64>,
}

impl GroupModel {
    /// The model of a log with so many units for data, and so many valid and still pages, from the updates by their interval in bins.
    /// The last bin has pages that were written once.
    pub(super) fn new(units: u32, valid: f64, still: f64, counts: &[u64]) -> GroupModel {
        let epoch = counts.len() as f64;
        // An interval that an end of the epoch cuts is not counted: of a page that is written every so many bins, what is left over of
        // the epoch, and half an interval.
        let whole = |(bin, &count): (usize, &u64)| match bin {
            0 => count as f64,
            _ => count as f64 * (1.0 + ((counts.len() % bin) as f64 + bin as f64 / 2.0) / epoch),
        };
        let counts: Vec<f64> = counts.iter().enumerate().map(whole).collect();
        let updates: f64 = counts.iter().sum();
        let sums = |of: &dyn Fn(usize) -> f64| {
            let mut sum = 0.0;
            let mut sums = vec![0.0];
            sums.extend((0..counts.len()).map(|bin| {
                sum += of(bin);
                sum
            }));
            sums
        };
        let before = sums(&|bin| counts[bin]);
        let intervals_before = sums(&|bin| counts[bin] * bin as f64 / BINS as f64);
        let outliving_before = sums(&|bin| 1.0 - before[bin + 1] / updates);
        // Where little is still, some of it was only not seen yet.
        let still = if still < 0.2 * f64::from(units) { 0.0 } else { still };
        GroupModel { units, valid, still, updates, before, intervals_before, outliving_before }
    }

    fn bins(&self) -> usize {
        self.before.len() - 1
    }

    /// The share of the pages that die within so many bins.
    fn dying(&self, bins: usize) -> f64 {
        self.before[bins] / self.updates
    }

    /// The figures of a chain of groups; nothing where the model has none.
    fn expected(&self, hot: Hot, sizes: &[u32]) -> Option<Expected> {
        let (traffic, hot_valid, mut age) = match hot {
            Hot::Measured(hot) => (hot.traffic, hot.valid, (hot.size - 0.5) / hot.traffic),
            Hot::Within { bins, .. } => (self.dying(bins), 0.0, bins as f64 / BINS as f64),
        };
        let mut bin = self.bin_of(age)?;
        // Valid pages in the groups so far: those of an age, over all ages that the groups hold.
        let share = match hot {
            Hot::Measured(_) => traffic,
            Hot::Within { holds, .. } => f64::from(u8::from(holds)),
        };
        let mut held = share * self.outliving_before[bin] / BINS as f64;
        let first = 1.0 - traffic + traffic * hot_valid;
        let (mut inflow, mut copies) = (first, traffic * hot_valid);
        let mut valid = [0.0; MAX_GROUPS];
        let (last, sized) = sizes.split_last()?;
        for (valid, &size) in valid.iter_mut().zip(sized) {
            age += (f64::from(size) - 0.5) / inflow;
            let end = self.bin_of(age)?;
            let alive = self.updates - self.before[bin];
            *valid = 1.0 - (self.before[end] - self.before[bin]) / alive;
            held +=
                inflow * (self.outliving_before[end] - self.outliving_before[bin]) * self.updates / alive / BINS as f64;
            inflow *= *valid;
            copies += inflow;
            bin = end;
            if *valid <= 0.0 {
                return None;
            }
        }
        let left = self.valid - self.still - held;
        let room = f64::from(*last) - self.still;
        if left <= 0.0 || room <= left {
            return None;
        }
        let of_last = 1.0 - 1.0 / self.last_waf(bin, room / left);
        if of_last <= 0.0 {
            return None;
        }
        valid[sized.len()] = of_last;
        // Of what comes to the last group, and of what stays in it, that share is copied again.
        copies += inflow * of_last / (1.0 - of_last);
        Some(Expected { valid, waf: 1.0 + copies })
    }

    /// The bin of an age; nothing too near to the end of the epoch.
    fn bin_of(&self, age: f64) -> Option<usize> {
        let bin = (age * BINS as f64).ceil();
        (bin < self.bins() as f64 * 39.0 / 40.0).then_some(bin as usize)
    }

    /// The write amplification within the last group, whose pages have outlived a bin, with so many slots to a valid page.
    fn last_waf(&self, bin: usize, slots: f64) -> f64 {
        let (updates, intervals) =
            (self.updates - self.before[bin], self.intervals_before[self.bins()] - self.intervals_before[bin]);
        let hot_bin = (HOT_SHARE * intervals / updates * BINS as f64).floor() as usize + 1;
        let hot_bin = hot_bin.clamp(bin, self.bins());
        let of_updates = (self.before[hot_bin] - self.before[bin]) / updates;
        let of_pages = (self.intervals_before[hot_bin] - self.intervals_before[bin]) / intervals;
        mixed_waf(slots, of_updates, of_pages)
    }

    /// The group of hot pages with at least so many units.
    fn hot_of(&self, least: u32) -> Option<Hot> {
        let size = |bins: usize| (bins as f64 / BINS as f64 * self.dying(bins)).round();
        let bins = (1..=self.bins()).find(|&bins| size(bins) >= f64::from(least))?;
        Some(Hot::Within { bins, size: size(bins) as u32, holds: false })
    }

    /// The best sizes, with so many groups at most and the hot group as it was measured; nothing where there is no model, or one group is best.
    pub(super) fn best(&self, measured: MeasuredHot, most_groups: usize) -> Option<Configuration> {
        let is_free = measured.is_accurate();
        let mut best = if is_free { self.best_hot(None)? } else { self.chain(Hot::Measured(measured), &[])? };
        // Group by group, the last one first.
        let mut longer = best;
        while longer.groups + 1 < most_groups {
            let sized = longer.groups - 1;
            let Some(next) = self.best_size(&longer, sized, None) else { break };
            longer = next;
            if longer.expected.waf < best.expected.waf {
                best = longer;
            }
        }
        // Each size anew, as long as one gains.
        for _ in 0..ROUNDS {
            let before = best.expected.waf;
            if is_free && let Some(better) = self.best_hot(Some(&best)) {
                best = better;
            }
            for sized in 0..most_groups - 2 {
                match self.best_size(&best, sized, Some(best.expected.waf)) {
                    Some(better) => best = better,
                    None if sized + 1 >= best.groups => break,
                    None => {}
                }
            }
            if best.expected.waf == before {
                break;
            }
        }
        if best.groups < 2 {
            return None;
        }
        let mut made = Configuration {
            groups: best.groups + 1,
            sizes: [0; MAX_GROUPS],
            valid: [0.0; MAX_GROUPS],
            waf: best.expected.waf,
        };
        made.sizes[0] = size_of(best.hot);
        made.sizes[1..].copy_from_slice(&best.sizes[..MAX_GROUPS - 1]);
        made.valid[1..].copy_from_slice(&best.expected.valid[..MAX_GROUPS - 1]);
        Some(made)
    }

    /// A chain with these groups and a last one, which takes all other units.
    fn chain(&self, hot: Hot, sized: &[u32]) -> Option<Chain> {
        let taken = size_of(hot) + sized.iter().sum::<u32>();
        let last = self.units.checked_sub(taken).filter(|&last| last >= self.least_last())?;
        let mut sizes = [0; MAX_GROUPS];
        sizes[..sized.len()].copy_from_slice(sized);
        sizes[sized.len()] = last;
        let groups = sized.len() + 1;
        let expected = self.expected(hot, &sizes[..groups])?;
        Some(Chain { hot, groups, sizes, expected })
    }

    /// The last group is left this much.
    fn least_last(&self) -> u32 {
        (self.units / 10).max(2)
    }

    /// The best size of the hot group: alone with the last one, as long as it gains enough; or in a chain, where it gains.
    fn best_hot(&self, chain: Option<&Chain>) -> Option<Chain> {
        let sized: &[u32] = chain.map_or(&[], |chain| &chain.sizes[..chain.groups - 1]);
        let mut best: Option<Chain> = None;
        let mut least = 1;
        while least <= MOST_HOT {
            let Some(hot) = self.hot_of(least) else { break };
            least = size_of(hot) + 1;
            let Some(next) = self.chain(hot, sized) else { break };
            let than = match (chain, best) {
                (Some(chain), None) => chain.expected.waf,
                (Some(_), Some(best)) => best.expected.waf,
                (None, best) => best.map_or(f64::INFINITY, |best| best.expected.waf - LEAST_GAIN),
            };
            if next.expected.waf < than {
                best = Some(next);
            } else if chain.is_none() {
                break;
            }
        }
        best
    }

    /// The best chain in which the size of a group is another, or which has one more; `below`: only if it costs less than that.
    fn best_size(&self, chain: &Chain, sized: usize, below: Option<f64>) -> Option<Chain> {
        let (mut hot, mut sizes) = (chain.hot, chain.sizes);
        if let Hot::Within { holds, .. } = &mut hot {
            *holds = true;
        }
        let count = (chain.groups - 1).max(sized + 1);
        sizes[chain.groups - 1] = 0;
        // On a large device not every size is tried.
        let step = (self.units / 512).max(1);
        let mut best: Option<Chain> = None;
        let mut size = 1;
        while size < self.units {
            sizes[sized] = size;
            size += step;
            let Some(next) = self.chain(hot, &sizes[..count]) else {
                if below.is_some() || size_of(hot) + sizes[..count].iter().sum::<u32>() > self.units {
                    break;
                }
                continue;
            };
            let than = best.map_or(below.unwrap_or(f64::INFINITY), |best| best.expected.waf);
            if next.expected.waf < than {
                best = Some(next);
            }
        }
        best
    }
}

fn size_of(hot: Hot) -> u32 {
    match hot {
        Hot::Measured(hot) => hot.size as u32,
        Hot::Within { size, .. } => size,
    }
}

/// The write amplification of FIFO over two classes of pages that share a log (Desnoyers, *Analytic Models of SSD Write Performance*, 2014):
/// the hot one has these shares of the updates and of the pages; `slots`: for each valid page.
fn mixed_waf(slots: f64, of_updates: f64, of_pages: f64) -> f64 {
    if slots <= 1.0 {
        return f64::INFINITY;
    }
    // A class with this share of the updates and of the pages has so much of its pages copied.
    let copied = |updates: f64, pages: f64, waf: f64| {
        if updates <= 0.0 || pages <= 0.0 { 0.0 } else { updates / libm::expm1(updates * slots / (pages * waf)) }
    };
    let excess =
        |waf: f64| 1.0 + copied(of_updates, of_pages, waf) + copied(1.0 - of_updates, 1.0 - of_pages, waf) - waf;
    let (mut low, mut high) = (1.0, 2.0);
    while excess(high) > 0.0 && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of so many units, of which this part is valid, and whose pages are overwritten after times with this share of survivors.
    fn model(units: u32, valid: f64, survivors: impl Fn(f64) -> f64) -> GroupModel {
        let bins = 16 * units as usize;
        let at = |bin: usize| survivors(bin as f64 / BINS as f64);
        let epoch = bins as f64;
        let count = |bin: usize| {
            // What the ends of the epoch cut is put back by the model.
            let whole = if bin == 0 { 1.0 } else { 1.0 + ((bins % bin) as f64 + bin as f64 / 2.0) / epoch };
            ((at(bin) - at(bin + 1)) * 1e12 / whole) as u64
        };
        let mut counts: Vec<u64> = (0..bins).map(count).collect();
        // Pages that live for longer were written once.
        counts[bins - 1] += (at(bins) * 1e12) as u64;
        GroupModel::new(units, valid * f64::from(units), 0.0, &counts)
    }

    fn close(a: f64, b: f64, by: f64) -> bool {
        (a / b - 1.0).abs() < by
    }

    /// Where any page is as likely to be overwritten, survivors fall off exponentially, and so does the valid share of each group.
    #[test]
    fn groups_of_a_uniform_workload_are_exponential() {
        let pages = 80.0;
        let uniform = model(100, 0.8, |age| (-age / pages).exp());
        let hot = Hot::Within { bins: 4, size: 1, holds: true };
        let expected = uniform.expected(hot, &[20, 30, 49]).unwrap();
        let inflow = [(-1.0 / pages).exp(), (-1.0 / pages).exp() * expected.valid[0]];
        let times = [19.5 / inflow[0], 29.5 / inflow[1]];
        for (group, time) in times.iter().enumerate() {
            // An age is rounded to a quarter of a unit.
            let (least, most) = ((-(time + 0.25) / pages).exp(), (-(time - 0.25) / pages).exp());
            assert!((least..=most).contains(&expected.valid[group]), "{group}: {expected:?}");
        }
        // The groups hold what was written within their times, as far as it lives; the last one has the rest.
        let age = 1.0 + times[0] + times[1];
        let left = 80.0 - pages * (1.0 - (-age / pages).exp());
        let of_last = 1.0 - 1.0 / mixed_waf(49.0 / left, 1.0, 1.0);
        assert!((of_last - expected.valid[2]).abs() < 0.02, "{of_last} {expected:?}");
        // Nothing is gained by groups there: every page has as long to live as any other.
        let alone = uniform.expected(hot, &[99]).unwrap();
        assert!(close(alone.waf, mixed_waf(99.0 / 80.0, 1.0, 1.0), 0.06), "{alone:?}");
    }

    /// A fifth of the updates is of cold pages: behind the time of the hot ones all that is left is cold.
    #[test]
    fn groups_of_two_classes_hold_what_is_cold() {
        let two = model(100, 0.7, |age| {
            if age < 5.0 {
                1.0
            } else if age < 200.0 {
                0.2
            } else {
                0.0
            }
        });
        let expected = two.expected(Hot::Within { bins: 2, size: 1, holds: true }, &[3, 4, 92]).unwrap();
        assert!(close(expected.valid[0], 1.0, 1e-9) && close(expected.valid[1], 0.2, 1e-9), "{expected:?}");
        let expected = two.expected(Hot::Within { bins: 2, size: 1, holds: true }, &[8, 91]).unwrap();
        assert!(close(expected.valid[0], 0.2, 1e-9), "{expected:?}");
        // 7.5 + 0.5 units of time, of which five of all pages and three of the cold.
        let left = 70.0 - (5.0 + 3.0 * 0.2);
        let of_last = 1.0 - 1.0 / mixed_waf(91.0 / left, 0.0, 0.0);
        assert!(close(expected.waf, 1.0 + 0.2 + 0.2 * of_last / (1.0 - of_last), 0.01), "{} {expected:?}", of_last);
    }

    /// The stationary distribution of the chain, by iteration.
    #[test]
    fn write_amplification_is_that_of_the_chain() {
        let skewed = model(200, 0.85, |age| 1.0 / (1.0 + age / 10.0));
        let measured = MeasuredHot { size: 3.0, traffic: 0.2, valid: 0.15 };
        for sizes in [&[197][..], &[20, 177], &[10, 20, 30, 137]] {
            let expected = skewed.expected(Hot::Measured(measured), sizes).unwrap();
            // States: a page of the host, in the hot group, and in each other group.
            let mut shares = vec![0.0; sizes.len() + 2];
            shares[0] = 1.0;
            let last = sizes.len() + 1;
            for _ in 0..20_000 {
                let mut next = vec![0.0; shares.len()];
                next[1] += shares[0] * measured.traffic;
                next[2] += shares[0] * (1.0 - measured.traffic);
                for state in 1..=last {
                    let valid = if state == 1 { measured.valid } else { expected.valid[state - 2] };
                    next[(state + 1).min(last)] += shares[state] * valid;
                    next[0] += shares[state] * (1.0 - valid);
                }
                shares = next;
            }
            let programmed: f64 = shares[1..].iter().sum();
            assert!(close(expected.waf, programmed / shares[0], 1e-6), "{sizes:?}: {expected:?} {shares:?}");
        }
    }

    #[test]
    fn the_best_sizes_cannot_be_bettered_one_by_one() {
        let skewed = model(200, 0.85, |age| 1.0 / (1.0 + age / 10.0));
        let measured = MeasuredHot { size: 3.0, traffic: 0.2, valid: 0.05 };
        for most in [4, 8] {
            let best = skewed.best(measured, most).unwrap();
            assert!((3..=most).contains(&best.groups), "{best:?}");
            assert_eq!(best.sizes.iter().sum::<u32>(), 200);
            let hot = skewed.hot_of(best.sizes[0]).unwrap();
            let alone = skewed.chain(hot, &[]).unwrap();
            assert!(best.waf < alone.expected.waf, "{best:?}");
            for group in 1..best.groups - 1 {
                for size in [best.sizes[group] - 1, best.sizes[group] + 1] {
                    let mut sized = best.sizes[1..best.groups - 1].to_vec();
                    sized[group - 1] = size;
                    let Some(other) = skewed.chain(hot, &sized) else { continue };
                    assert!(other.expected.waf > best.waf - 0.01, "{group}: {size} {best:?}");
                }
            }
        }
        assert!(skewed.best(MeasuredHot { valid: 0.15, ..measured }, 8).is_some_and(|best| best.sizes[0] == 3));
    }

    #[test]
    fn desnoyers_formula_for_one_and_for_two_classes() {
        for slots in [1.05, 1.2, 2.0] {
            let waf = mixed_waf(slots, 1.0, 1.0);
            assert!(close(waf * (1.0 - (-slots / waf).exp()), 1.0, 1e-6));
            assert!(close(mixed_waf(slots, 0.3, 0.3), waf, 1e-6), "classes that are alike");
            assert!(mixed_waf(slots, 0.9, 0.1) > 1.0);
        }
        assert_eq!(mixed_waf(1.0, 0.5, 0.5), f64::INFINITY);
        // FIFO gains nothing by skew: it copies what is cold again and again.
        assert!(mixed_waf(1.2, 0.8, 0.2) > 2.0);
    }
}
