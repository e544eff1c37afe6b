//! Reading numbers and words out of a line, byte by byte, without allocation.

use super::parser::Bad;

/// Nanoseconds of a second.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Nanoseconds of a millisecond.
pub(crate) const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds of a microsecond.
pub(crate) const MICROSECOND: u64 = 1_000;

/// A whole number in decimal digits.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = if text.len() < 20 {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
    }
    Some(value)
}

/// By byte: the hexadecimal digit that it is, or 0xff.
static HEXADECIMAL: [u8; 256] = {
    let mut digits = [0xff; 256];
    let mut byte = 0u8;
    while byte < 128 {
        if let Some(digit) = (byte as char).to_digit(16) {
            digits[byte as usize] = digit as u8;
        }
        byte += 1;
    }
    digits
};

/// A whole number in hexadecimal digits, with or without `0x`.
#[inline]
pub(crate) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let mut value = 0u64;
    for &byte in digits {
        let digit = HEXADECIMAL[usize::from(byte)];
        if digit > 15 {
            return None;
        }
        value = value << 4 | u64::from(digit);
    }
    Some(value)
}

/// A time of `unit` nanoseconds, whole or with a decimal point, in nanoseconds; digits beyond the
/// nanosecond are cut off.
#[inline]
pub(crate) fn time(text: &[u8], unit: u64) -> Result<u64, Bad> {
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let whole = if point == 0 && text.len() > 1 { Some(0) } else { integer(&text[..point]) };
    let Some(whole) = whole else {
        return Err(if text.first() == Some(&b'-') { Bad("time is negative") } else { Bad("time is not a number") });
    };
    let mut ns = whole.checked_mul(unit).ok_or(Bad("time is beyond 64 bits of nanoseconds"))?;
    let mut place = unit;
    for &byte in text.get(point + 1..).unwrap_or_default() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(Bad("time is not a number"));
        }
        place /= 10;
        ns = ns.checked_add(u64::from(digit) * place).ok_or(Bad("time is beyond 64 bits of nanoseconds"))?;
    }
    Ok(ns)
}

/// Columns between commas, in order. Blanks around a column are not part of it.
pub(crate) struct Commas<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Commas<'a> {
    #[inline]
    pub fn new(line: &'a [u8]) -> Commas<'a> {
        Commas { rest: Some(line) }
    }

    /// The next column, or the error that it is missing.
    #[inline]
    pub fn column(&mut self) -> Result<&'a [u8], Bad> {
        self.next().ok_or(Bad("too few columns"))
    }
}

impl<'a> Iterator for Commas<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        // Columns are a few bytes long: a plain loop beats a call.
        let column = match rest.iter().position(|&byte| byte == b',') {
            Some(comma) => {
                self.rest = Some(&rest[comma + 1..]);
                &rest[..comma]
            }
            None => {
                self.rest = None;
                rest
            }
        };
        Some(trim(column))
    }
}

/// Without blanks at either end.
#[inline]
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    match (text.first(), text.last()) {
        (Some(first), Some(last)) if *first <= b' ' || *last <= b' ' => text.trim_ascii(),
        _ => text,
    }
}

/// Words between blanks and tabs, in order.
pub(crate) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    #[inline]
    pub fn new(line: &'a [u8]) -> Words<'a> {
        Words { rest: line }
    }

    /// The next word, or the error that it is missing.
    #[inline]
    pub fn column(&mut self) -> Result<&'a [u8], Bad> {
        self.next().ok_or(Bad("too few columns"))
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
        let start = self.rest.iter().position(|byte| !blank(byte))?;
        let rest = &self.rest[start..];
        let end = rest.iter().position(blank).unwrap_or(rest.len());
        self.rest = &rest[end..];
        Some(&rest[..end])
    }
}

/// A whole number that fits a device number.
#[inline]
pub(crate) fn device(text: &[u8]) -> Result<u32, Bad> {
    integer(text).and_then(|number| u32::try_from(number).ok()).ok_or(Bad("device is not a number below 2^32"))
}

/// Bytes of a number of units.
#[inline]
pub(crate) fn scaled(text: &[u8], unit: u64, what: &'static str) -> Result<u64, Bad> {
    integer(text).and_then(|number| number.checked_mul(unit)).ok_or(Bad(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_to_the_last_of_their_bits() {
        assert_eq!(integer(b"18446744073709551615"), Some(u64::MAX));
        for bad in
            ["18446744073709551616", "99999999999999999999", "100000000000000000000", "", "-1", "1.5", "+1", "1e3"]
        {
            assert_eq!(integer(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(hexadecimal(b"0x018f0b8000"), Some(0x1_8f0b_8000));
        assert_eq!(hexadecimal(b"2a"), Some(42));
        for bad in ["0x", "", "0x11112222333344445", "xyz"] {
            assert_eq!(hexadecimal(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn times_keep_every_nanosecond() {
        assert_eq!(time(b"26.214", MILLISECOND), Ok(26_214_000));
        assert_eq!(time(b"1398396860.168065791", SECOND), Ok(1_398_396_860_168_065_791));
        assert_eq!(time(b"0.0000000019", SECOND), Ok(1));
        assert_eq!(time(b".5", SECOND), Ok(500_000_000));
        assert_eq!(time(b"7", MICROSECOND), Ok(7_000));
        for bad in ["", ".", "-1", "NaN", "inf", "1.2.3", "1e9", "18446744074.0", "--"] {
            assert!(time(bad.as_bytes(), SECOND).is_err(), "{bad}");
        }
    }

    #[test]
    fn columns_and_words() {
        let columns: Vec<_> = Commas::new(b"a, b ,,c").collect();
        assert_eq!(columns, [b"a".as_slice(), b"b", b"", b"c"]);
        let words: Vec<_> = Words::new(b"  a\t\tb c ").collect();
        assert_eq!(words, [b"a".as_slice(), b"b", b"c"]);
    }
}
