//! The bytes of a trace: a file, decompressed by what its first bytes say.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use files::{Input, Interrupt};

use crate::error::TraceError;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, one member or several.
    Gzip,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
    /// bzip2, one stream or several.
    Bzip2,
}

impl Compression {
    /// By the magic bytes that a file begins with.
    fn of(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Compression::Bzip2,
            _ => Compression::None,
        }
    }
}

/// Counts the bytes that were read from the file itself.
struct Counting<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// An open file, decompressed while it is read.
pub(crate) struct TraceFile {
    reader: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
    /// Bytes of the file; 0 where it has no length (a pipe).
    length: u64,
    interrupt: Interrupt,
    pub compression: Compression,
    /// True if it can be opened again.
    pub regular: bool,
}

impl TraceFile {
    pub fn open(path: &Path, interrupt: &Interrupt) -> Result<TraceFile, TraceError> {
        let name = || path.display().to_string();
        let fail = |what, source| TraceError::reading(path, what, source);
        let mut file = Input::open(path, interrupt).map_err(|source| fail("cannot be opened", source))?;
        let metadata = file.metadata().clone();
        if metadata.is_dir() {
            return Err(TraceError::Directory { path: name() });
        }
        let mut head = Vec::new();
        file.by_ref().take(6).read_to_end(&mut head).map_err(|source| fail("cannot be read", source))?;
        if head.is_empty() {
            return Err(TraceError::Empty { path: name() });
        }
        let compression = Compression::of(&head);
        let bytes = Arc::new(AtomicU64::new(0));
        let whole = Counting { inner: io::Cursor::new(head).chain(file), bytes: bytes.clone() };
        let buffered = |reader| io::BufReader::with_capacity(1 << 17, reader);
        let reader: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(whole),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(whole))),
            Compression::Zstd => Box::new(
                zstd::stream::read::Decoder::with_buffer(buffered(whole))
                    .map_err(|source| fail("cannot be decompressed", source))?,
            ),
            Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(buffered(whole))),
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(whole))),
        };
        let (length, regular) = (metadata.len(), metadata.is_file());
        Ok(TraceFile { reader, bytes, length, interrupt: interrupt.clone(), compression, regular })
    }

    /// Reads until `buffer` is full or the end; returns how much.
    pub fn read_full(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            // A decoder may make gigabytes of what it has read already.
            self.interrupt.check()?;
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// How much of the file was read, 0..1; `None` where its length is not known.
    pub fn position(&self) -> Option<f64> {
        (self.length > 0).then(|| (self.bytes.load(Ordering::Relaxed) as f64 / self.length as f64).min(1.0))
    }
}
