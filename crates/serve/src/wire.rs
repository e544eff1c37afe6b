//! One connection's bytes, buffered both ways.
//!
//! Replies gather until the next read would have to wait for the client. So a client with many requests in flight costs
//! two system calls per batch of them, and one with a single request gets its reply at once.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

/// Bytes read ahead: some dozens of requests of 4 KiB.
const INPUT: usize = 256 << 10;
/// Replies that gather at most, before they are sent in any case.
const OUTPUT: usize = 256 << 10;

pub(crate) struct Wire<S> {
    stream: S,
    input: Box<[u8]>,
    /// The part of `input` that has been read from the stream, and not yet by the server.
    start: usize,
    end: usize,
    output: Vec<u8>,
    /// When the last bytes came.
    arrived: Instant,
}

impl<S: Read + Write> Wire<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, input: vec![0; INPUT].into(), start: 0, end: 0, output: Vec::new(), arrived: Instant::now() }
    }

    /// Waits for the next message however long it takes. False if the client has ended the stream.
    pub(crate) fn wait(&mut self) -> io::Result<bool> {
        loop {
            if self.start < self.end {
                return Ok(true);
            }
            match self.fill() {
                Err(error) if is_timeout(&error) => {}
                filled => return Ok(filled? > 0),
            }
        }
    }

    /// # Errors
    /// `UnexpectedEof` if the stream ends before that, and a time-out of the stream if the client stops.
    pub(crate) fn read_exact(&mut self, mut data: &mut [u8]) -> io::Result<()> {
        while !data.is_empty() {
            if self.start < self.end {
                let count = data.len().min(self.end - self.start);
                data[..count].copy_from_slice(&self.input[self.start..][..count]);
                self.start += count;
                data = &mut data[count..];
            } else if data.len() >= INPUT {
                self.flush()?;
                let count = retried(|| self.stream.read(data))?;
                ended(count)?;
                self.arrived = Instant::now();
                data = &mut data[count..];
            } else {
                ended(self.fill()?)?;
            }
        }
        Ok(())
    }

    pub(crate) fn read_array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut data = [0; N];
        self.read_exact(&mut data)?;
        Ok(data)
    }

    /// Reads `length` bytes and forgets them.
    pub(crate) fn skip(&mut self, mut length: usize) -> io::Result<()> {
        while length > 0 {
            if self.start == self.end {
                ended(self.fill()?)?;
            }
            let count = length.min(self.end - self.start);
            self.start += count;
            length -= count;
        }
        Ok(())
    }

    /// When the last bytes came from the client: those of a message that is read whole, or ones behind it.
    pub(crate) fn arrived(&self) -> Instant {
        self.arrived
    }

    /// Bytes to send, to be appended to.
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Sends what has gathered, if that is much.
    pub(crate) fn relieve(&mut self) -> io::Result<()> {
        if self.output.len() >= OUTPUT { self.flush() } else { Ok(()) }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        self.stream.write_all(&self.output)?;
        self.output.clear();
        self.output.shrink_to(2 * OUTPUT);
        Ok(())
    }

    fn fill(&mut self) -> io::Result<usize> {
        self.flush()?;
        let count = retried(|| self.stream.read(&mut self.input))?;
        (self.start, self.end, self.arrived) = (0, count, Instant::now());
        Ok(count)
    }
}

/// True if a stream's time-out has passed; systems differ in the name.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn ended(count: usize) -> io::Result<()> {
    if count == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

fn retried(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            count => return count,
        }
    }
}
