//! A trace that is replayed in rounds. What fits in some memory is read from its file once: at some 100 ns a
//! request and more, decompressing and parsing would take a third to a half of the time of a run that goes round often.

use super::packed::{Packed, PackedReader};
use super::parser::{Counts, Record};
use super::reader::Trace;
use crate::error::TraceError;

/// Bytes of requests that are kept at most, some 16 million of them; a longer trace is read again every round.
const KEPT_MAX: usize = 256 << 20;

/// Requests up to which a trace is unpacked after its first round, 40 MiB of them: unpacking one takes some 300 instructions
/// more than copying it.
const UNPACKED_MAX: u64 = 1 << 20;

/// A trace, round after round.
pub(crate) struct Rounds {
    trace: Trace,
    kept: KeptRounds,
    /// Bytes that may be kept.
    most: usize,
}

enum KeptRounds {
    /// No round: the trace is too long, cannot be read twice, or goes round only once.
    None,
    /// The first round so far, which has all been given out as well.
    First(Packed),
    /// A whole round, packed.
    Packed(PackedReader),
    /// A whole round, and how much of this one was given out.
    Unpacked(Vec<Record>, usize),
}

impl Rounds {
    /// Bytes that are kept at most.
    pub fn bytes(again: bool) -> u64 {
        if again { KEPT_MAX as u64 } else { 0 }
    }

    /// A trace at its beginning; `again`: whether more than one round may follow.
    pub fn new(trace: Trace, again: bool) -> Rounds {
        let kept = if again && trace.can_rewind() { KeptRounds::First(Packed::default()) } else { KeptRounds::None };
        Rounds { trace, kept, most: KEPT_MAX }
    }

    /// Appends up to `max` requests of this round; none at its end.
    ///
    /// # Errors
    /// See [`Trace::fill`].
    pub fn fill(&mut self, out: &mut Vec<Record>, max: usize) -> Result<(), TraceError> {
        match &mut self.kept {
            KeptRounds::Packed(reader) => {
                reader.fill(out, max);
                return Ok(());
            }
            KeptRounds::Unpacked(records, next) => {
                let end = records.len().min(*next + max);
                out.extend_from_slice(&records[*next..end]);
                *next = end;
                return Ok(());
            }
            KeptRounds::First(_) | KeptRounds::None => {}
        }
        let before = out.len();
        self.trace.fill(out, max)?;
        if let KeptRounds::First(packed) = &mut self.kept
            && !packed.extend(&out[before..], self.most)
        {
            self.kept = KeptRounds::None;
        }
        Ok(())
    }

    /// Begins the next round. The one before must have been given out to its end.
    ///
    /// # Errors
    /// When the file has to be opened again and cannot be.
    pub fn rewind(&mut self) -> Result<(), TraceError> {
        match std::mem::replace(&mut self.kept, KeptRounds::None) {
            KeptRounds::First(packed) if packed.requests() <= UNPACKED_MAX => {
                self.kept = KeptRounds::Unpacked(packed.unpacked(), 0)
            }
            KeptRounds::First(packed) => self.kept = KeptRounds::Packed(PackedReader::new(packed)),
            KeptRounds::Packed(reader) => self.kept = KeptRounds::Packed(reader.rewind()),
            KeptRounds::Unpacked(records, _) => self.kept = KeptRounds::Unpacked(records, 0),
            KeptRounds::None => self.trace.rewind()?,
        }
        Ok(())
    }

    /// The count of this round so far; of a round from memory, that of the whole of it.
    pub fn counts(&self) -> Counts {
        self.trace.counts()
    }

    /// The name of the trace's format.
    pub fn format(&self) -> &'static str {
        self.trace.format().name
    }

    /// How much of this round was given out, 0..1; `None` where nothing tells.
    pub fn position(&self) -> Option<f64> {
        match &self.kept {
            KeptRounds::Packed(reader) => Some(reader.position()),
            KeptRounds::Unpacked(records, next) => Some(*next as f64 / records.len().max(1) as f64),
            KeptRounds::First(_) | KeptRounds::None => self.trace.position(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::trace::TraceOptions;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, requests: usize) -> Scratch {
            let path = std::env::temp_dir().join(format!("ftlab-rounds-{}-{name}", std::process::id()));
            let lines: String = (0..requests).map(|i| format!("0,{},4096,W,{}.5\n", 8 * (i % 1000), i)).collect();
            std::fs::write(&path, lines).unwrap();
            Scratch(path)
        }

        fn rounds(&self, again: bool) -> Rounds {
            Rounds::new(Trace::open(&self.0, &TraceOptions::default()).unwrap(), again)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn round(rounds: &mut Rounds, batch: usize) -> Vec<Record> {
        let mut all = Vec::new();
        loop {
            let before = all.len();
            rounds.fill(&mut all, batch).unwrap();
            if all.len() == before {
                return all;
            }
        }
    }

    #[test]
    fn later_rounds_do_not_need_the_file() {
        let scratch = Scratch::new("kept", 5000);
        let mut rounds = scratch.rounds(true);
        let first = round(&mut rounds, 700);
        assert_eq!(first.len(), 5000);
        std::fs::remove_file(&scratch.0).unwrap();
        for batch in [1, 700, 10_000] {
            rounds.rewind().unwrap();
            assert_eq!(rounds.position(), Some(0.0));
            assert_eq!(round(&mut rounds, batch), first);
            assert_eq!((rounds.position(), rounds.counts().lines), (Some(1.0), 5000));
        }
    }

    #[test]
    fn a_long_round_stays_packed_and_a_short_one_does_not() {
        for (requests, packed) in [(UNPACKED_MAX, false), (UNPACKED_MAX + 1, true)] {
            let scratch = Scratch::new(&format!("form-{requests}"), requests as usize);
            let mut rounds = scratch.rounds(true);
            let first = round(&mut rounds, 4096);
            for _ in 0..2 {
                rounds.rewind().unwrap();
                assert_eq!(matches!(rounds.kept, KeptRounds::Packed(_)), packed, "{requests} requests");
                assert!(round(&mut rounds, 5000) == first);
            }
        }
    }

    #[test]
    fn what_is_too_long_or_goes_round_once_is_not_kept() {
        let scratch = Scratch::new("long", 200_000);
        let mut rounds = scratch.rounds(true);
        rounds.most = 1 << 20;
        let first = round(&mut rounds, 4096);
        assert!(matches!(rounds.kept, KeptRounds::None));
        rounds.rewind().unwrap();
        assert!(round(&mut rounds, 1000) == first);
        let once = Scratch::new("once", 1);
        assert!(matches!(once.rounds(false).kept, KeptRounds::None));
    }
}
