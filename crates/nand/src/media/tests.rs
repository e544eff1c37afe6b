//! The media against closed forms that know nothing of their code: binomial sums and integrals over the spread of blocks.

use base::choice::{ParamValue, Selection};
use base::{Block, Cell, Duration, Instant, Page, PageLayout, ProgramOrder};
use engine::Chance;

use super::*;

const DAY: u64 = 86_400_000_000_000;

/// A block of the preset `client-tlc`: 192 wordlines of 3 pages of 16 KiB.
const PAGES: u32 = 576;

fn choice(name: &str, params: &[(&str, ParamValue)]) -> Selection {
    let choice = MEDIA.choices.iter().find(|choice| choice.name == name).expect("a choice");
    let mut selection = Selection::default_of(choice);
    params.iter().for_each(|&(param, value)| selection.set(param, value));
    selection
}

fn media(name: &str, blocks: u32, params: &[(&str, ParamValue)]) -> Media {
    let layout = PageLayout::new(Cell::Tlc, ProgramOrder::Consecutive, PAGES, 1);
    let shape = MediaShape { blocks, pages_per_block: PAGES, page_size: 16_384, layout: &layout };
    let mut random = Chance::new(7, "media");
    Media::new(MediaSetup::new(&choice(name, params)), shape, || random.next())
}

fn days(days: f64) -> ParamValue {
    ParamValue::Time(Duration((days * DAY as f64) as u64))
}

const FRESH: Endured = Endured { cycles: 0, reads: 0 };

fn worn(cycles: u32) -> Endured {
    Endured { cycles, reads: 0 }
}

/// The chance that a page of 16 codewords of 8,192 bits has one with more than 72 wrong ones, summed term by term.
fn page_fails(rate: f64) -> f64 {
    let (bits, correctable, codewords) = (8192.0, 72, 16.0);
    let mut term = bits * (1.0f64 - rate).ln();
    let mut few = term.exp();
    for count in 1..=correctable {
        let count = f64::from(count);
        term += ((bits - count + 1.0) / count * rate / (1.0 - rate)).ln();
        few += term.exp();
    }
    1.0 - few.min(1.0).powf(codewords)
}

/// The mean over the spread of blocks and the layers of what becomes of a page whose errors are multiplied by a factor.
fn mean(blocks: f64, curve: f64, of: impl Fn(f64) -> f64) -> f64 {
    let layers: Vec<f64> =
        (0..192).map(|at| f64::from(at) / 191.0 * 2.0 - 1.0).map(|x| (curve * (x * x - 1.0 / 3.0)).exp()).collect();
    let (mut sum, mut weights) = (0.0, 0.0);
    for at in -60..=60 {
        let normal = f64::from(at) / 10.0;
        let weight = (-normal * normal / 2.0).exp();
        weights += weight;
        sum += weight * layers.iter().map(|layer| of((blocks * normal).exp() * layer)).sum::<f64>() / 192.0;
    }
    sum / weights
}

/// Rates of the formula with its defaults at 30 °C, by step of the retry table.
fn rate(cycles: f64, days: f64, step: u32) -> f64 {
    let (growth, stretch) = (1.0 + cycles / 3000.0, (1.0 + days).ln());
    let off = (stretch - f64::from(step) * 0.5).abs();
    growth * (5.2e-4 + 1.625e-3 * (0.9 * off + 0.1 * stretch))
}

/// Reads pages of new blocks, a few of each; of all blocks together, as many of each layer.
fn readings(media: &mut Media, blocks: u32, wear: Endured) -> Vec<Correction> {
    let pages =
        (0..blocks).flat_map(|block| (0..PAGES).step_by(16).map(move |page| (block, (page + block * 3) % PAGES)));
    pages.map(|(block, page)| media.read(Block::new(block), Page::new(page), wear, Instant::ZERO)).collect()
}

#[test]
fn retries_are_as_many_as_the_closed_form_says() {
    // The rarer a retry, the more it depends on few blocks: of 200,000 the share has a standard error of a few tenths of a per cent.
    for (cycles, age, blocks) in
        [(0, 30.0, 200_000), (0, 45.0, 30_000), (500, 30.0, 30_000), (1500, 30.0, 30_000), (3000, 365.0, 30_000)]
    {
        let params = [("age", days(age)), ("levels", "default".into())];
        let found = readings(&mut media("formula", blocks, &params), blocks, worn(cycles));
        let count = found.len() as f64;
        let retries = found.iter().map(|reading| f64::from(reading.retries)).sum::<f64>() / count;
        let beyond = found.iter().filter(|reading| reading.retries > 0).count() as f64 / count;
        // A page is read once more for each step at which it fails, and at all before: as often as the least of their rates says.
        let mut least = f64::INFINITY;
        let (mut expected, mut first) = (0.0, None);
        for step in 0..=15 {
            least = least.min(rate(cycles.into(), age, step));
            let share = mean(0.1, 0.2, |factor| page_fails(least * factor));
            expected += if step == 15 { share * 4.0 } else { share };
            first.get_or_insert(share);
        }
        let first = first.expect("a first step");
        assert!((beyond / first - 1.0).abs() < 0.01, "{cycles} cycles, {age} days: {beyond} beyond ECC, not {first}");
        assert!(
            (retries / expected - 1.0).abs() < 0.01,
            "{cycles} cycles, {age} days: {retries} retries, not {expected}"
        );
    }
}

/// Days until the first of a block's pages has to be read again, as the median of blocks.
fn first_retry(name: &str, cycles: u32, others: &[(&str, ParamValue)]) -> f64 {
    let blocks = 41;
    let mut params = vec![("age", days(0.0)), ("blocks", 0.0.into()), ("levels", "default".into())];
    params.extend(others);
    let mut media = media(name, blocks, &params);
    let mut first: Vec<u64> = (0..blocks)
        .map(|block| {
            let quarter = |quarter: u64| Instant(quarter * DAY / 4);
            let is_retried = |media: &mut Media, at: u64| {
                (0..PAGES)
                    .any(|page| media.read(Block::new(block), Page::new(page), worn(cycles), quarter(at)).retries > 0)
            };
            (0..400).find(|&at| is_retried(&mut media, at)).expect("a retry within 100 days")
        })
        .collect();
    first.sort_unstable();
    first[first.len() / 2] as f64 / 4.0
}

#[test]
fn a_block_is_first_read_again_after_the_published_days() {
    for name in ["formula", "table"] {
        for (cycles, days) in [(0, 17.0), (200, 14.0), (500, 10.0)] {
            let found = first_retry(name, cycles, &[]);
            assert!((found - days).abs() <= 1.0, "{name}, {cycles} cycles: {found} days, not {days}");
        }
    }
    // The table says so whatever the ECC.
    let found = first_retry("table", 200, &[("codeword", ParamValue::Size(4096)), ("correctable", 200.into())]);
    assert!((found - 14.0).abs() <= 1.0, "{found}");
    assert!(first_retry("formula", 200, &[("correctable", 100.into())]) > 20.0, "better ECC lasts longer");
}

#[test]
fn a_year_in_the_cool_is_three_weeks_in_the_heat() {
    // JESD218: 1 year at 30 °C, 500 h at 52 °C, 96 h at 66 °C.
    for (celsius, hours) in [(52.0, 500.0), (66.0, 96.0)] {
        let equal = 8760.0 / acceleration(1.1, celsius);
        assert!((equal / hours - 1.0).abs() < 0.05, "{celsius} °C: {equal} h");
    }
    assert_eq!((acceleration(1.1, 30.0), acceleration(0.0, 80.0)), (1.0, 1.0));
    let aged = |age: f64, celsius: f64| {
        let params = [("age", days(age)), ("temperature", celsius.into()), ("levels", "default".into())];
        readings(&mut media("formula", 200, &params), 200, worn(1000))
    };
    let mean = |found: &[Correction]| found.iter().map(|it| f64::from(it.retries)).sum::<f64>() / found.len() as f64;
    let (cool, hot, same) = (mean(&aged(365.0, 30.0)), mean(&aged(500.0 / 24.0, 52.0)), mean(&aged(365.0, 52.0)));
    assert!((hot / cool - 1.0).abs() < 0.05 && same > 1.3 * cool, "{cool} {hot} {same}");
}

/// JESD218: retention of client drives at their rated cycles, 1 year at 30 °C, and 500 h at 52 °C in the powered-off oven.
#[test]
fn rated_data_at_rated_cycles_are_correctable() {
    for (age, celsius) in [(365.0, 30.0), (500.0 / 24.0, 52.0), (90.0, 40.0)] {
        let params = [("age", days(age)), ("temperature", celsius.into())];
        let blocks = 20_000;
        let mut media = media("formula", blocks, &params);
        let found = readings(&mut media, blocks, worn(3000));
        assert!(found.iter().all(|reading| !reading.is_uncorrectable), "{age} days at {celsius} °C");
        assert!(found.iter().any(|reading| reading.retries > 3), "it is not for want of errors");
    }
    // And ten years later they are not.
    let found =
        readings(&mut media("formula", 200, &[("age", days(3650.0)), ("temperature", 60.0.into())]), 200, worn(20_000));
    assert!(found.iter().any(|reading| reading.is_uncorrectable));
}

#[test]
fn each_factor_can_be_switched_off() {
    let retries = |params: &[(&str, ParamValue)], wear: Endured| {
        let mut all = vec![("levels", "default".into()), ("age", days(60.0))];
        all.extend(params);
        let found = readings(&mut media("formula", 300, &all), 300, wear);
        found.iter().map(|reading| u64::from(reading.retries)).sum::<u64>()
    };
    let worn = Endured { cycles: 2000, reads: 300_000 };
    let all = retries(&[], worn);
    for (name, off) in [("wear", 0.0), ("retention", 0.0), ("disturb", 0.0), ("temperature", 0.0), ("age", 0.0)] {
        let value = if name == "age" { days(0.0) } else { off.into() };
        assert!(retries(&[(name, value)], worn) < all, "{name}");
    }
    assert!(retries(&[], Endured { reads: 0, ..worn }) < all, "reads");
    assert!(retries(&[], Endured { cycles: 0, ..worn }) < all, "cycles");
    assert_eq!(retries(&[("wear", 0.0.into()), ("retention", 0.0.into()), ("disturb", 0.0.into())], worn), 0);
    // Without differences and noise all pages are alike.
    let alike = [("blocks", 0.0.into()), ("layers", 0.0.into()), ("noise", false.into())];
    let mut same = media("formula", 50, &[&alike[..], &[("levels", "default".into()), ("age", days(60.0))]].concat());
    let found = readings(&mut same, 50, worn);
    assert!(found.iter().all(|reading| *reading == found[0]) && found[0].retries > 0);
    for differs in ["blocks", "layers"] {
        let others = alike.iter().filter(|(name, _)| *name != differs).copied().chain([("age", days(60.0))]);
        let others: Vec<_> = others.chain([("levels", "default".into())]).collect();
        let found = readings(&mut media("formula", 50, &others), 50, worn);
        assert!(found.iter().any(|reading| *reading != found[0]), "{differs}");
    }
}

#[test]
fn a_policy_of_levels_says_where_a_read_begins() {
    let retries = |levels: &'static str| {
        let mut media = media("formula", 1, &[("age", days(300.0)), ("levels", levels.into())]);
        let mut read = |page| media.read(Block::new(0), Page::new(page), worn(1000), Instant::ZERO).retries;
        (read(0), (1..PAGES).map(|page| u32::from(read(page))).sum::<u32>())
    };
    let [last_good, default, matched] = ["last-good", "default", "matched"].map(retries);
    assert!(
        last_good.0 > 3 && last_good.0 == default.0,
        "the first page of a block says where its levels are: {last_good:?}"
    );
    assert!(last_good.1 * 10 < default.1, "{last_good:?} {default:?}");
    assert_eq!(matched, (0, 0));
    // A page that was written later begins with voltages that are too low for it.
    let mut media = media("formula", 1, &[("age", days(300.0))]);
    media.programmed(Block::new(0), Page::new(9), Instant::ZERO);
    assert!(media.read(Block::new(0), Page::new(0), worn(1000), Instant::ZERO).retries > 3);
    assert!(media.read(Block::new(0), Page::new(9), worn(1000), Instant::ZERO).retries > 0);
    assert!(media.read(Block::new(0), Page::new(9), worn(1000), Instant::ZERO).retries == 0);
}

#[test]
fn steps_go_outward() {
    let steps = |from, last| levels::outward(from, last).collect::<Vec<u32>>();
    assert_eq!(steps(0, 3), [0, 1, 2, 3]);
    assert_eq!(steps(2, 4), [2, 3, 1, 4, 0]);
    assert_eq!(steps(3, 3), [3, 2, 1, 0]);
    assert_eq!(steps(0, 0), [0]);
}

#[test]
fn data_age_from_their_program_on() {
    let mut media = media("formula", 2, &[("age", days(20.0)), ("levels", "default".into()), ("blocks", 0.0.into())]);
    let mut retried = |block, now: u64| {
        (0..PAGES)
            .filter(|&page| media.read(Block::new(block), Page::new(page), FRESH, Instant(now)).retries > 0)
            .count()
    };
    let (stated, later) = (retried(0, 0), retried(0, 10 * DAY));
    assert!(stated > 0 && later > stated, "simulated time comes on top: {stated}, {later}");
    (0..PAGES).for_each(|page| media.programmed(Block::new(1), Page::new(page), Instant(5 * DAY)));
    let mut retried = |now: u64| {
        (0..PAGES).filter(|&page| media.read(Block::new(1), Page::new(page), FRESH, Instant(now)).retries > 0).count()
    };
    assert_eq!([retried(5 * DAY), retried(15 * DAY)], [0, 0]);
    assert!(retried(35 * DAY) > 0);
}

#[test]
fn errors_beyond_every_step_are_decoded_softly_or_not_at_all() {
    let sharp = [("noise", false.into()), ("blocks", 0.0.into()), ("layers", 0.0.into()), ("retention", 0.0.into())];
    let limit = 72.0 / 8192.0;
    for (rate, expected) in [
        (limit * 0.99, Correction::default()),
        (limit * 1.49, Correction { retries: 19, is_soft: true, is_uncorrectable: false }),
        (limit * 1.51, Correction { retries: 19, is_soft: true, is_uncorrectable: true }),
    ] {
        let mut media = media("formula", 1, &[&sharp[..], &[("wear", rate.into())]].concat());
        assert_eq!(media.read(Block::new(0), Page::new(5), FRESH, Instant::ZERO), expected, "{rate}");
    }
}

#[test]
fn the_chance_of_failure_is_the_binomial_one() {
    let ecc = Ecc::new(8192, 72, 16, true);
    for rate in [0.002, 0.004, 0.005, 0.006, 0.007, 0.0088, 0.012] {
        let (found, expected) = (ecc.fails(rate), page_fails(rate));
        assert!((found - expected).abs() < 2e-3 * expected.max(1e-3), "{rate}: {found}, not {expected}");
    }
    assert_eq!((ecc.fails(0.0), ecc.fails(0.5)), (0.0, 1.0));
    let sharp = Ecc::new(8192, 72, 16, false);
    assert!(sharp.corrects(72.0 / 8192.0, 0.0) && !sharp.corrects(73.0 / 8192.0, 0.999));
}

/// No luck changes what happens to pages with few errors, and nearly all pages are such.
#[test]
fn pages_whose_luck_is_not_drawn_are_corrected_with_the_worst() {
    for has_noise in [false, true] {
        let ecc = Ecc::new(8192, 72, 16, has_noise);
        let rates: Vec<f64> = (0..40_000).map(|at| f64::from(at) * 1e-6).collect();
        let (sure, others): (Vec<f64>, Vec<f64>) = rates.into_iter().partition(|&rate| ecc.always_corrects(rate));
        assert!(sure.iter().all(|&rate| ecc.corrects(rate, LEAST_LUCK)), "with noise: {has_noise}");
        let last = sure.last().expect("some are sure");
        assert!(*last > ecc.limit() / if has_noise { 4.0 } else { 1.01 }, "{last}");
        assert!(others.iter().any(|&rate| !ecc.corrects(rate, LEAST_LUCK)));
    }
}
