//! A client of NBD that says just what a test wants it to, and small things that tests share.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serve::{Address, Blocks, Limits, Listener, Server};

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISC: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const ZERO: u16 = 6;
pub const STATUS: u16 = 7;
pub const FUA: u16 = 1;
pub const NO_HOLE: u16 = 2;
pub const REQ_ONE: u16 = 8;

/// A path that no other test has, short enough for a socket.
pub fn scratch(extension: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("ftlab-serve-{}-{number}.{extension}", std::process::id()))
}

/// A server at a socket of its own.
pub fn served(blocks: Arc<dyn Blocks>) -> (Server, PathBuf) {
    served_within(blocks, Limits::default())
}

pub fn served_within(blocks: Arc<dyn Blocks>, limits: Limits) -> (Server, PathBuf) {
    let path = scratch("sock");
    let listener = Listener::bind(&Address::Unix(path.clone())).expect("a socket");
    (Server::start(blocks, listener, limits), path)
}

/// Repeats until it holds; says what did not come to pass.
pub fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub flags: u16,
    pub command: u16,
    pub offset: u64,
    pub length: u32,
}

impl Request {
    pub fn new(command: u16, offset: u64, length: u32) -> Self {
        Self { flags: 0, command, offset, length }
    }

    pub fn flags(self, flags: u16) -> Self {
        Self { flags, ..self }
    }
}

/// A client that has chosen the export with the empty name.
pub struct Client<S> {
    pub stream: S,
    structured: bool,
    pub size: u64,
    pub abilities: u16,
    cookie: u64,
}

impl Client<UnixStream> {
    /// The same connection for another thread.
    pub fn again(&self) -> Self {
        Self { stream: self.stream.try_clone().expect("a stream"), ..*self }
    }

    pub fn unix(path: &Path) -> Self {
        Self::over(UnixStream::connect(path).expect("the server listens"), true).expect("an export")
    }

    /// One that has asked for `base:allocation`, first whether it is there.
    pub fn with_allocation(path: &Path) -> Self {
        let context = b"base:allocation";
        let length = context.len() as u32;
        let query = [&[0; 4], &1_u32.to_be_bytes()[..], &length.to_be_bytes(), context].concat();
        let stream = UnixStream::connect(path).expect("the server listens");
        Self::asking(stream, true, &[(9, vec![0; 8]), (10, query)]).expect("an export")
    }
}

impl Client<TcpStream> {
    pub fn tcp(uri: &str) -> Self {
        let address = uri.strip_prefix("nbd://").expect("TCP");
        Self::over(TcpStream::connect(address).expect("the server listens"), false).expect("an export")
    }
}

impl<S: Read + Write> Client<S> {
    /// Negotiates `OPT_GO`, with structured replies if wanted.
    pub fn over(stream: S, structured: bool) -> io::Result<Self> {
        Self::asking(stream, structured, &[])
    }

    /// Negotiates likewise, after options of its own, each with its data. All of them are taken.
    pub fn asking(mut stream: S, structured: bool, options: &[(u32, Vec<u8>)]) -> io::Result<Self> {
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        stream.write_all(&3_u32.to_be_bytes())?;
        let mut client = Self { stream, structured: false, size: 0, abilities: 0, cookie: 0 };
        if structured {
            client.option(8, &[])?;
            client.structured = client.option_reply()?.0 == 1;
            assert!(client.structured, "structured replies");
        }
        for (option, data) in options {
            client.option(*option, data)?;
            loop {
                match client.option_reply()?.0 {
                    1 => break,
                    4 => {}
                    kind => panic!("the reply {kind:#x} to option {option}"),
                }
            }
        }
        client.option(7, &[0; 6])?;
        loop {
            let (kind, data) = client.option_reply()?;
            match kind {
                1 => return Ok(client),
                3 if data[..2] == [0, 0] => {
                    client.size = u64::from_be_bytes(data[2..10].try_into().expect("8 bytes"));
                    client.abilities = u16::from_be_bytes(data[10..12].try_into().expect("2 bytes"));
                }
                3 => {}
                kind => panic!("the reply {kind:#x} to OPT_GO"),
            }
        }
    }

    fn option(&mut self, option: u32, data: &[u8]) -> io::Result<()> {
        let length = data.len() as u32;
        self.stream.write_all(&[b"IHAVEOPT", &option.to_be_bytes()[..], &length.to_be_bytes(), data].concat())
    }

    fn option_reply(&mut self) -> io::Result<(u32, Vec<u8>)> {
        let mut head = [0; 20];
        self.stream.read_exact(&mut head)?;
        let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let mut data = vec![0; number(16) as usize];
        self.stream.read_exact(&mut data)?;
        Ok((number(12), data))
    }

    /// Sends a request with the data of a write, and gives its cookie.
    pub fn send(&mut self, request: Request, data: &[u8]) -> io::Result<u64> {
        self.cookie += 1;
        self.stream.write_all(&[&head(request, self.cookie)[..], data].concat())?;
        Ok(self.cookie)
    }

    /// Cookie, code and data of the next reply. `length` is that of the read that is answered, or 0. Chunks of a
    /// structured reply are put together.
    pub fn receive(&mut self, offset: u64, length: u32) -> io::Result<(u64, u32, Vec<u8>)> {
        let mut data = vec![0; length as usize];
        let mut code = 0;
        loop {
            match self.number(4)? {
                0x6744_6698 => {
                    let (code, cookie) = (self.number(4)? as u32, self.number(8)?);
                    let length = if code == 0 { length as usize } else { 0 };
                    data.truncate(length);
                    self.stream.read_exact(&mut data)?;
                    return Ok((cookie, code, data));
                }
                0x668e_33ef => {
                    let (flags, kind) = (self.number(2)?, self.number(2)?);
                    let (cookie, bytes) = (self.number(8)?, self.number(4)?);
                    let mut payload = vec![0; bytes as usize];
                    self.stream.read_exact(&mut payload)?;
                    let front = |bytes: usize| payload[..bytes].iter().fold(0, |n: u64, &b| n << 8 | u64::from(b));
                    match kind {
                        0 => {}
                        5 => data = payload.clone(),
                        1 | 2 => {
                            let at = (front(8) - offset) as usize;
                            if kind == 1 {
                                data[at..at + payload.len() - 8].copy_from_slice(&payload[8..]);
                            }
                        }
                        _ => code = front(4) as u32,
                    }
                    if flags & 1 != 0 {
                        if kind != 5 {
                            data.truncate(if code == 0 { length as usize } else { 0 });
                        }
                        return Ok((cookie, code, data));
                    }
                }
                magic => panic!("{magic:#x} is no reply"),
            }
        }
    }

    fn number(&mut self, bytes: usize) -> io::Result<u64> {
        let mut data = [0; 8];
        self.stream.read_exact(&mut data[8 - bytes..])?;
        Ok(u64::from_be_bytes(data))
    }

    /// One request and its reply: the code, and what was read.
    pub fn ask(&mut self, request: Request, data: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        let sent = self.send(request, data)?;
        let length = if request.command == READ { request.length } else { 0 };
        let (cookie, code, data) = self.receive(request.offset, length)?;
        assert_eq!(cookie, sent);
        Ok((code, data))
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> u32 {
        self.ask(Request::new(WRITE, offset, data.len() as u32), data).expect("a reply").0
    }

    pub fn read(&mut self, offset: u64, length: u32) -> Vec<u8> {
        let (code, data) = self.ask(Request::new(READ, offset, length), &[]).expect("a reply");
        assert_eq!(code, 0, "a read at {offset}");
        data
    }

    pub fn flush(&mut self) -> u32 {
        self.ask(Request::new(FLUSH, 0, 0), &[]).expect("a reply").0
    }
}

/// The head of a request.
pub fn head(request: Request, cookie: u64) -> Vec<u8> {
    let Request { flags, command, offset, length } = request;
    let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

/// Numbers that depend on the seed alone (SplitMix64).
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let words = (0..length.div_ceil(8)).flat_map(|_| self.below(u64::MAX).to_le_bytes());
        words.take(length).collect()
    }
}

/// True if all these programs are there. If not, that is said on the terminal, where it is seen though the test passes.
pub fn installed(programs: &[&str]) -> bool {
    let found = |name: &&&str| {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).any(|directory| directory.join(name).is_file())
    };
    let missing: Vec<&str> = programs.iter().filter(|name| !found(name)).copied().collect();
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    missing.is_empty() || {
        let _ = writeln!(io::stderr(), "skipped: {test}, for want of {}", missing.join(" and "));
        false
    }
}

/// Runs a program to its end and gives its output; it must succeed within a minute.
pub fn run(command: &mut Command) -> String {
    let output = output(command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn output(command: &mut Command) -> std::process::Output {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Ended(Some(piped.spawn().expect("the program starts")));
    child.output()
}

/// A program that ends when the test does.
pub struct Ended(pub Option<Child>);

impl Ended {
    fn output(mut self) -> std::process::Output {
        self.0.take().expect("a child").wait_with_output().expect("it ends")
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
