//! Quantities as people write them: `8KiB`, `75us`, `200MT/s`, `10x`, `50%`.
//!
//! Decimal fractions are exact (`1.6ms` is 1 600 000 ns); a quantity that is not a whole number of its base
//! unit is refused rather than rounded.

use base::Duration;

/// Why a quantity was refused.
#[derive(Debug, PartialEq)]
pub(crate) struct UnitError {
    /// The fault, and a text that would be right.
    pub(crate) label: String,
    /// A guess at what was meant.
    pub(crate) hint: Option<String>,
}

/// A dimension: its units, each with the number of base units in it.
struct Dimension {
    units: &'static [(&'static str, u64)],
    /// The base unit in the plural.
    base: &'static str,
    example: &'static str,
}

const SIZE: Dimension = Dimension {
    units: &[
        ("B", 1),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("PiB", 1 << 50),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("PB", 1_000_000_000_000_000),
    ],
    base: "bytes",
    example: "a size such as \"8KiB\" or \"240GiB\", or a number of bytes",
};

const TIME: Dimension = Dimension {
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ],
    base: "nanoseconds",
    example: "a time such as \"75us\" or \"1.6ms\"",
};

const TRANSFERS: Dimension = Dimension {
    units: &[("kT/s", 1_000), ("MT/s", 1_000_000), ("GT/s", 1_000_000_000)],
    base: "transfers per second",
    example: "a channel rate such as \"200MT/s\"",
};

const BANDWIDTH: Dimension = Dimension {
    units: &[
        ("kB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
    ],
    base: "bytes per second",
    example: "a bandwidth such as \"3200MB/s\"",
};

/// A decimal number without sign, exactly: `mantissa / 10^scale`.
#[derive(Clone, Copy)]
struct Decimal {
    mantissa: u128,
    scale: u32,
}

/// More digits than any quantity here needs, and few enough for every product below to be checked in 128 bits.
const DIGITS_MAX: usize = 28;

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || (text.contains('.') && fraction.is_empty()) {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let whole = whole.trim_start_matches('0');
        if whole.len() + fraction.len() > DIGITS_MAX {
            return Some(Decimal { mantissa: u128::MAX, scale: 0 });
        }
        let mantissa = format!("0{whole}{fraction}").parse().ok()?;
        Some(Decimal { mantissa, scale: fraction.len() as u32 })
    }

    /// The product with `factor`, rounded down, and whether it was exact; `None` past 64 bits.
    fn times(self, factor: u64) -> Option<(u64, bool)> {
        let product = self.mantissa.checked_mul(u128::from(factor))?;
        let divisor = 10u128.pow(self.scale);
        Some((u64::try_from(product / divisor).ok()?, product % divisor == 0))
    }
}

/// The number and the unit of a quantity.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

fn error<T>(label: impl Into<String>, hint: Option<String>) -> Result<T, UnitError> {
    Err(UnitError { label: label.into(), hint })
}

/// `7%` as 0.07, the very number that 0.07 is read as.
pub(crate) fn percentage(text: &str) -> Option<f64> {
    let digits = text.trim().strip_suffix('%')?.trim_end();
    Decimal::parse(digits)?;
    format!("{digits}e-2").parse().ok()
}

/// Names in backticks with commas between.
pub(crate) fn list<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

fn number(text: &str, dimension: &Dimension) -> Result<Decimal, UnitError> {
    match Decimal::parse(split(text).0) {
        Some(number) => Ok(number),
        None if text.trim_start().starts_with('-') => error(format!("negative; expected {}", dimension.example), None),
        None => error(format!("expected {}", dimension.example), None),
    }
}

/// The units of a dimension, as they are listed: `µs` is understood but has an easier spelling.
fn names(dimension: &Dimension) -> impl Iterator<Item = &'static str> {
    dimension.units.iter().map(|(name, _)| *name).filter(|name| name.is_ascii())
}

fn unknown_unit(number: &str, unit: &str, dimension: &Dimension) -> UnitError {
    let names = || names(dimension);
    let label = format!("unknown unit `{}`; expected one of {}", crate::diagnostic::clean(unit), list(names()));
    let same: Vec<_> = names().filter(|name| name.eq_ignore_ascii_case(unit)).collect();
    let short: Vec<_> = names().filter(|name| name.starts_with(unit)).collect();
    let long = names().filter(|name| unit.starts_with(name)).max_by_key(|name| name.len()).into_iter().collect();
    let near = crate::diagnostic::nearest(unit, names()).into_iter().collect();
    let guesses = [same, short, long, near].into_iter().find(|guesses| !guesses.is_empty()).unwrap_or_default();
    let hint = (!guesses.is_empty()).then(|| {
        let guesses: Vec<_> = guesses.iter().map(|unit| format!("`{number}{unit}`")).collect();
        format!("did you mean {}?", guesses.join(" or "))
    });
    UnitError { label, hint }
}

fn quantity(text: &str, dimension: &Dimension) -> Result<u64, UnitError> {
    let decimal = number(text, dimension)?;
    let (digits, unit) = split(text);
    let factor = match dimension.units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor,
        None if unit.is_empty() && decimal.mantissa == 0 => 1,
        None if unit.is_empty() => {
            let names = list(names(dimension));
            return error(format!("no unit; expected one of {names} after the number"), None);
        }
        None => return Err(unknown_unit(digits, unit, dimension)),
    };
    match decimal.times(factor) {
        Some((value, true)) => Ok(value),
        Some((_, false)) => error(format!("expected a whole number of {}", dimension.base), None),
        None => error(format!("expected at most {} {}, which 64 bits hold", u64::MAX, dimension.base), None),
    }
}

/// Bytes.
pub(crate) fn size(text: &str) -> Result<u64, UnitError> {
    if split(text).1.is_empty() && Decimal::parse(text.trim()).is_some_and(|number| number.scale == 0) {
        return quantity(&format!("{}B", text.trim()), &SIZE);
    }
    quantity(text, &SIZE)
}

/// A time.
pub(crate) fn time(text: &str) -> Result<Duration, UnitError> {
    quantity(text, &TIME).map(Duration)
}

/// Bytes per second of a channel that is 8 bits wide.
pub(crate) fn channel_rate(text: &str) -> Result<u64, UnitError> {
    let result = quantity(text, &TRANSFERS);
    if result.is_err() && quantity(text, &BANDWIDTH).is_ok() {
        let (number, unit) = split(text);
        let hint = unit.strip_suffix("B/s").filter(|prefix| !prefix.ends_with('i'));
        let hint = hint.map(|prefix| format!("a channel is 8 bits wide: write `{number}{prefix}T/s`"));
        return result.map_err(|error| UnitError { hint, ..error });
    }
    result
}

/// Bytes per second; `off` is no limit.
pub(crate) fn bandwidth(text: &str) -> Result<Option<u64>, UnitError> {
    if text.trim() == "off" { Ok(None) } else { quantity(text, &BANDWIDTH).map(Some) }
}

/// Bytes: a size, or a multiple `x` of the user capacity (rounded down to a byte).
pub(crate) fn volume(text: &str, capacity: u64) -> Result<u64, UnitError> {
    match split(text).1 {
        "x" => part(text, capacity, 1),
        _ => size(text).map_err(|error| with_multiples(error, "or a multiple of the user capacity such as \"10x\"")),
    }
}

/// Bytes: a size, or a fraction of the user capacity as `50%` or `0.5x` (rounded down to a byte).
pub(crate) fn footprint(text: &str, capacity: u64) -> Result<u64, UnitError> {
    match split(text).1 {
        "x" => part(text, capacity, 1),
        "%" => part(text, capacity, 100),
        _ => size(text).map_err(|error| with_multiples(error, "or a part of the user capacity such as \"50%\"")),
    }
}

fn with_multiples(error: UnitError, also: &str) -> UnitError {
    UnitError { label: format!("{}, {also}", error.label), ..error }
}

fn part(text: &str, capacity: u64, divisor: u64) -> Result<u64, UnitError> {
    let decimal = number(text, &SIZE)?;
    match decimal.times(capacity) {
        Some((bytes, _)) => Ok(bytes / divisor),
        None => error(format!("expected at most {} bytes, which 64 bits hold", u64::MAX), None),
    }
}

/// The quantity in the largest unit that divides it.
fn print(value: u64, units: &[(&str, u64)]) -> Option<String> {
    let fits = |&&(_, factor): &&(&str, u64)| value.is_multiple_of(factor) && value >= factor;
    let (unit, factor) = units.iter().rev().filter(fits).max_by_key(|(_, factor)| *factor)?;
    Some(format!("{}{unit}", value / factor))
}

/// `8KiB`.
pub fn print_size(bytes: u64) -> String {
    print(bytes, &SIZE.units[..6]).unwrap_or_else(|| format!("{bytes}B"))
}

/// `75us`.
pub(crate) fn print_time(time: Duration) -> String {
    print(time.0, TIME.units).unwrap_or_else(|| format!("{}ns", time.0))
}

/// `200MT/s`.
pub(crate) fn print_channel_rate(rate: u64) -> String {
    print(rate, TRANSFERS.units).unwrap_or_else(|| format!("{}.{:03}kT/s", rate / 1000, rate % 1000))
}

/// `3200MB/s`, or `off`.
pub(crate) fn print_bandwidth(rate: Option<u64>) -> String {
    let Some(rate) = rate else { return "off".into() };
    print(rate, BANDWIDTH.units).unwrap_or_else(|| format!("{}.{:03}kB/s", rate / 1000, rate % 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("8KiB", 8192),
            ("8 KiB", 8192),
            (" 240GiB ", 240 << 30),
            ("2GB", 2_000_000_000),
            ("1.5MiB", 3 << 19),
            ("512", 512),
            ("512B", 512),
            ("0", 0),
            ("0.5kB", 500),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in
            ["", "KiB", "8G", "8kib", "-8KiB", "1.", ".5KiB", "1e3", "0.3B", "1.5", "99999999PiB", "1KiB2", "nan"]
        {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(size("8G").unwrap_err().hint.as_deref(), Some("did you mean `8GiB` or `8GB`?"));
        assert_eq!(size("8kib").unwrap_err().hint.as_deref(), Some("did you mean `8KiB`?"));
    }

    #[test]
    fn times() {
        for (text, ns) in [("75us", 75_000), ("1.6ms", 1_600_000), ("40ns", 40), ("1s", 1_000_000_000), ("0", 0)] {
            assert_eq!(time(text), Ok(Duration(ns)), "{text}");
        }
        assert_eq!(time("75 µs"), Ok(Duration(75_000)));
        for text in ["75", "0.5ns", "75uS", "1 year", "99999999999999999999999999999999s"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_and_parts() {
        assert_eq!(channel_rate("200MT/s"), Ok(200_000_000));
        assert_eq!(channel_rate("1.6GT/s"), Ok(1_600_000_000));
        let hint = channel_rate("200MB/s").unwrap_err().hint;
        assert_eq!(hint.as_deref(), Some("a channel is 8 bits wide: write `200MT/s`"));
        assert_eq!(bandwidth("off"), Ok(None));
        assert_eq!(bandwidth("3200MB/s"), Ok(Some(3_200_000_000)));
        assert_eq!(volume("2.5x", 1000), Ok(2500));
        assert_eq!(volume("10x", u64::MAX).map_err(|error| error.hint), Err(None));
        assert_eq!(footprint("50%", 1000), Ok(500));
        assert_eq!(footprint("0.1x", 1001), Ok(100));
        assert_eq!(percentage("7%"), Some(0.07));
        assert_eq!(percentage(" 12.5 % "), Some(0.125));
        for text in ["7", "%", "-7%", "7%%", "1e1%", ".5%", "inf%"] {
            assert_eq!(percentage(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_printed_reads_back() {
        for value in [0, 1, 500, 512, 1000, 1023, 1024, 8192, 75_000, 1_600_000, 1 << 50, (1 << 50) + 1, u64::MAX] {
            assert_eq!(size(&print_size(value)), Ok(value));
            assert_eq!(time(&print_time(Duration(value))), Ok(Duration(value)));
            assert_eq!(channel_rate(&print_channel_rate(value)), Ok(value));
            assert_eq!(bandwidth(&print_bandwidth(Some(value))), Ok(Some(value)));
        }
        assert_eq!(print_size(240 << 30), "240GiB");
        assert_eq!(print_time(Duration(1_600_000)), "1600us");
    }
}
