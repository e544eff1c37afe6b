//! One client from its greeting to its end: negotiation, then requests, one after another.
//!
//! Requests of a connection are carried out in the order in which they came, by the thread of that connection; several
//! connections run side by side. Nothing that a client sends makes this panic, or take more memory than the longest
//! request needs.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::blocks::{self, Blocks, Error};
use crate::counters::RequestCounters;
use crate::pace::{PacedKind, PacedRequest};
use crate::protocol::{
    CLIENT_FLAGS, ContextQuery, ExportQuery, GREETING, NO_ZEROES, OPTION_DATA_MAX, OptionHead, RequestHead, ability,
    allocation, chunk, chunk_head, code, command, flag, info, option, option_reply, reply, simple_reply,
};
use crate::replies::PacedReplies;
use crate::wire::{Wire, is_timeout};

/// Options that a client may send before it chooses an export.
const OPTIONS_MAX: usize = 256;
/// Data of a write that is too long are skipped up to this length; beyond it, the client is sent away.
const SKIPPED_MAX: u32 = 64 << 20;
/// Memory for data that a connection keeps between requests.
const KEPT: usize = 1 << 20;

/// Everything that the connections of one server share.
pub(crate) struct Shared<'a> {
    pub blocks: &'a dyn Blocks,
    pub counters: &'a RequestCounters,
    /// True when the server stops: requests that have not begun get `ESHUTDOWN`.
    pub stopping: &'a AtomicBool,
    /// Set by the first request of the client.
    pub asks: &'a AtomicBool,
}

/// Why a connection is over.
#[derive(Debug)]
pub(crate) enum Gone {
    /// The client said so, or closed between two messages.
    Left,
    /// It broke off, or sent what is no NBD: a text for the log.
    Problem(String),
    /// The device has no power.
    PowerCut,
}

impl From<io::Error> for Gone {
    fn from(error: io::Error) -> Self {
        Self::Problem(match error.kind() {
            io::ErrorKind::UnexpectedEof => "it left in the middle of a message".into(),
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => "it left before it had its replies".into(),
            _ if is_timeout(&error) => "it stopped in the middle of a message".into(),
            _ => format!("its connection failed: {error}"),
        })
    }
}

/// Serves one client to its end. Where replies are paced, others send them.
pub(crate) fn serve<S: Read + Write>(stream: S, shared: &Shared<'_>, paced: Option<PacedReplies<'_>>) -> Gone {
    let mut connection = Connection {
        wire: Wire::new(stream),
        shared,
        paced,
        structured: false,
        tells_allocation: false,
        data: Vec::new(),
    };
    let gone = connection.negotiate().and_then(|()| connection.answer());
    match gone {
        Ok(never) => match never {},
        Err(gone) => {
            if !matches!(gone, Gone::PowerCut) {
                // Replies that it has not had yet are on their way; whether they arrive is its affair.
                let _ = connection.wire.flush();
            }
            gone
        }
    }
}

enum Never {}

struct Connection<'a, S> {
    wire: Wire<S>,
    shared: &'a Shared<'a>,
    paced: Option<PacedReplies<'a>>,
    structured: bool,
    /// The client has asked for `base:allocation`.
    tells_allocation: bool,
    data: Vec<u8>,
}

impl<S: Read + Write> Connection<'_, S> {
    /// Returns when the client has chosen the export.
    fn negotiate(&mut self) -> Result<(), Gone> {
        self.send(&GREETING);
        let flags = u32::from_be_bytes(self.wire.read_array()?);
        if flags & !CLIENT_FLAGS != 0 {
            return Err(Gone::Problem(format!("it wants a protocol that is not known here (client flags {flags:#x})")));
        }
        for _ in 0..OPTIONS_MAX {
            let head = OptionHead::parse(&self.wire.read_array()?)
                .map_err(|magic| Gone::Problem(format!("it does not speak NBD: {magic:#018x} is no option")))?;
            if self.choose(head, flags)? {
                return Ok(());
            }
        }
        Err(Gone::Problem(format!("it sent {OPTIONS_MAX} options and chose no export")))
    }

    /// Answers one option; true if requests follow.
    fn choose(&mut self, OptionHead { option, length }: OptionHead, flags: u32) -> Result<bool, Gone> {
        if length > OPTION_DATA_MAX {
            self.send(&option_reply(option, reply::ERR_TOO_BIG, b"no option has that much data"));
            return Err(Gone::Problem(format!(
                "its option {option} has {length} bytes of data; {OPTION_DATA_MAX} is the most"
            )));
        }
        let mut data = vec![0; length as usize];
        self.wire.read_exact(&mut data)?;
        match option {
            option::EXPORT_NAME if data.is_empty() => {
                let (size, abilities) = (self.shared.blocks.size(), self.abilities());
                self.send(&size.to_be_bytes());
                self.send(&abilities.to_be_bytes());
                self.send(if flags & NO_ZEROES == 0 { &[0; 124] } else { &[] });
                return Ok(true);
            }
            // This option has no reply for an error.
            option::EXPORT_NAME => return Err(Gone::Problem(unknown(&data))),
            option::ABORT => {
                self.send(&option_reply(option, reply::ACK, &[]));
                return Err(Gone::Left);
            }
            option::LIST if data.is_empty() => {
                self.send(&option_reply(option, reply::SERVER, &0_u32.to_be_bytes()));
                self.send(&option_reply(option, reply::ACK, &[]));
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                self.send(&option_reply(option, reply::ACK, &[]));
            }
            option::LIST | option::STRUCTURED_REPLY => {
                self.send(&option_reply(option, reply::ERR_INVALID, b"this option has no data"));
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.choose_contexts(option, &data),
            option::INFO | option::GO => {
                let Some(wanted) = ExportQuery::parse(&data) else {
                    let text = b"the lengths in this option do not add up to its own";
                    self.send(&option_reply(option, reply::ERR_INVALID, text));
                    return Ok(false);
                };
                if !wanted.name.is_empty() {
                    self.send(&option_reply(option, reply::ERR_UNKNOWN, unknown(wanted.name).as_bytes()));
                    return Ok(false);
                }
                self.inform(option, &wanted.infos);
                return Ok(option == option::GO);
            }
            _ => self.send(&option_reply(option, reply::ERR_UNSUP, b"this option is not known here")),
        }
        Ok(false)
    }

    /// Answers a query of meta contexts, and takes over those that are set.
    fn choose_contexts(&mut self, option: u32, data: &[u8]) {
        let refusal = if !self.structured {
            Some((reply::ERR_INVALID, "meta contexts need structured replies".into()))
        } else {
            match ContextQuery::parse(data) {
                None => Some((reply::ERR_INVALID, "the lengths in this option do not add up to its own".into())),
                Some(query) if !query.name.is_empty() => Some((reply::ERR_UNKNOWN, unknown(query.name))),
                Some(ContextQuery { contexts, .. }) => {
                    let lists = option == option::LIST_META_CONTEXT;
                    let is_meant = |query: &&[u8]| *query == allocation::NAME || lists && *query == b"base:";
                    let is_asked = contexts.iter().any(is_meant) || lists && contexts.is_empty();
                    self.tells_allocation = is_asked && !lists || lists && self.tells_allocation;
                    if is_asked {
                        let number = if lists { 0 } else { allocation::NUMBER };
                        let data = [&number.to_be_bytes()[..], allocation::NAME].concat();
                        self.send(&option_reply(option, reply::META_CONTEXT, &data));
                    }
                    None
                }
            }
        };
        match refusal {
            Some((code, text)) => self.send(&option_reply(option, code, text.as_bytes())),
            None => self.send(&option_reply(option, reply::ACK, &[])),
        }
    }

    /// Sends what is known of the export, and what was asked.
    fn inform(&mut self, option: u32, infos: &[u16]) {
        let sizes = self.shared.blocks.block_sizes();
        let export = [
            &info::EXPORT.to_be_bytes()[..],
            &self.shared.blocks.size().to_be_bytes(),
            &self.abilities().to_be_bytes(),
        ];
        self.send(&option_reply(option, reply::INFO, &export.concat()));
        if infos.contains(&info::NAME) {
            self.send(&option_reply(option, reply::INFO, &info::NAME.to_be_bytes()));
        }
        if infos.contains(&info::DESCRIPTION) {
            let description = [&info::DESCRIPTION.to_be_bytes()[..], b"a simulated SSD"].concat();
            self.send(&option_reply(option, reply::INFO, &description));
        }
        if infos.contains(&info::BLOCK_SIZE) {
            let mut data = info::BLOCK_SIZE.to_be_bytes().to_vec();
            for size in [sizes.minimum, sizes.preferred, sizes.maximum] {
                data.extend(size.to_be_bytes());
            }
            self.send(&option_reply(option, reply::INFO, &data));
        }
        self.send(&option_reply(option, reply::ACK, &[]));
    }

    fn abilities(&self) -> u16 {
        let always = ability::HAS_FLAGS | ability::FLUSH | ability::FUA | ability::MULTI_CONN;
        let written =
            if self.shared.blocks.read_only() { ability::READ_ONLY } else { ability::TRIM | ability::WRITE_ZEROES };
        always | written | if self.structured { ability::DF } else { 0 }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.wire.output().extend_from_slice(bytes);
    }

    /// Answers requests until the client is gone.
    fn answer(&mut self) -> Result<Never, Gone> {
        if self.paced.is_some() {
            // From here on replies have a thread of their own.
            self.wire.flush()?;
        }
        while self.wire.wait()? {
            let request = RequestHead::parse(&self.wire.read_array()?)
                .map_err(|magic| Gone::Problem(format!("it lost its way: {magic:#010x} is no request")))?;
            if request.command == command::DISC {
                break;
            }
            self.shared.asks.store(true, Ordering::Relaxed);
            if request.command == command::FLUSH {
                // It takes the longest, and nobody's reply should wait for it.
                self.wire.flush()?;
            }
            let taken = self.take(&request)?;
            let (arrived, is_paced) = (self.wire.arrived(), taken.is_ok() && request.command != command::BLOCK_STATUS);
            let paced = self.paced.as_mut().filter(|_| is_paced);
            let number = paced.map(|paced| paced.begin(for_model(&request), arrived));
            let done = taken.and_then(|()| self.carry_out(&request));
            self.reply(&request, done)?;
            if let Some(paced) = &self.paced {
                paced.send(number, std::mem::take(self.wire.output()));
            }
            self.data.truncate(KEPT);
            self.data.shrink_to(KEPT);
            self.wire.relieve()?;
        }
        Err(Gone::Left)
    }

    /// Reads the data of a write, and refuses what is no good request.
    fn take(&mut self, request: &RequestHead) -> Result<Result<(), Refused>, Gone> {
        let RequestHead { command, length, .. } = *request;
        let refusal = self.refusal(request);
        if command == command::WRITE {
            if length > SKIPPED_MAX {
                let most = self.shared.blocks.block_sizes().maximum;
                return Err(Gone::Problem(format!("it wants to write {length} bytes at once; {most} is the most")));
            }
            if refusal.is_some() {
                self.wire.skip(length as usize)?;
            } else {
                self.data.resize(length as usize, 0);
                self.wire.read_exact(&mut self.data)?;
            }
        }
        Ok(refusal.map_or(Ok(()), Err))
    }

    /// Why a request is refused before the device sees it.
    fn refusal(&self, request: &RequestHead) -> Option<Refused> {
        let RequestHead { flags, command, offset, length, .. } = *request;
        let blocks = self.shared.blocks;
        let Some(name) = name(command) else {
            return Some(Refused::new(code::EINVAL, format!("command {command} is not known here")));
        };
        let mut allowed = flag::FUA;
        if command == command::WRITE_ZEROES {
            allowed |= flag::NO_HOLE;
        }
        if command == command::READ && self.structured {
            allowed |= flag::DF;
        }
        if command == command::BLOCK_STATUS {
            allowed |= flag::REQ_ONE;
            if !self.tells_allocation {
                return Some(Refused::new(code::EINVAL, "`base:allocation` was not asked for".into()));
            }
        }
        if flags & !allowed != 0 {
            let unknown = flags & !allowed;
            return Some(Refused::new(code::EINVAL, format!("a {name} has no flags {unknown:#x}")));
        }
        if self.shared.stopping.load(Ordering::Relaxed) {
            return Some(Refused::new(code::ESHUTDOWN, "the server stops".into()));
        }
        if command == command::FLUSH {
            let text = || "a flush has no offset and no length".into();
            return (offset != 0 || length != 0).then(|| Refused::new(code::EINVAL, text()));
        }
        if !matches!(command, command::READ | command::BLOCK_STATUS) && blocks.read_only() {
            return Some(Error::ReadOnly.into());
        }
        let most = blocks.block_sizes().maximum;
        if matches!(command, command::READ | command::WRITE) && length > most {
            let code = if flags & flag::DF == 0 { code::EINVAL } else { code::EOVERFLOW };
            return Some(Refused::new(code, format!("a {name} of {length} bytes is too long; {most} is the most")));
        }
        let problem = blocks::check(blocks, name, offset, u64::from(length)).err()?;
        // The protocol wants it so: room is what a write over the end lacks.
        let over = offset.checked_add(u64::from(length)).is_none_or(|end| end > blocks.size());
        let no_room = over && matches!(command, command::WRITE | command::WRITE_ZEROES);
        Some(Refused::new(if no_room { code::ENOSPC } else { code::EINVAL }, problem.to_string()))
    }

    fn carry_out(&mut self, request: &RequestHead) -> Result<(), Refused> {
        let RequestHead { flags, command, offset, length, cookie } = *request;
        let (blocks, counters) = (self.shared.blocks, self.shared.counters);
        let fua = flags & flag::FUA != 0;
        let length = u64::from(length);
        match command {
            command::READ => return self.read(cookie, offset, length as usize),
            command::BLOCK_STATUS => return self.status(request),
            command::WRITE => {
                blocks.write(offset, &self.data, fua)?;
                counters.write(length);
            }
            command::FLUSH => {
                blocks.flush()?;
                counters.flush();
            }
            command::TRIM => {
                blocks.trim(offset, length)?;
                if fua {
                    blocks.flush()?;
                }
                counters.trim(length);
            }
            _ => {
                blocks.zero(offset, length, flags & flag::NO_HOLE == 0, fua)?;
                counters.zero(length);
            }
        }
        Ok(())
    }

    /// Reads behind the head of the reply; takes both away again if that fails.
    fn read(&mut self, cookie: u64, offset: u64, length: usize) -> Result<(), Refused> {
        let (structured, output) = (self.structured, self.wire.output());
        let before = output.len();
        if structured {
            output.extend(chunk_head(chunk::OFFSET_DATA, cookie, 8 + length as u32));
            output.extend(offset.to_be_bytes());
        } else {
            output.extend(simple_reply(0, cookie));
        }
        let head = output.len();
        output.resize(head + length, 0);
        let read = self.shared.blocks.read(offset, &mut output[head..]);
        if read.is_err() {
            output.truncate(before);
        } else {
            self.shared.counters.read(length as u64);
        }
        Ok(read?)
    }

    /// Sends what is stored of a range.
    fn status(&mut self, request: &RequestHead) -> Result<(), Refused> {
        let most = if request.flags & flag::REQ_ONE == 0 { blocks::EXTENTS_MAX } else { 1 };
        let extents = self.shared.blocks.extents(request.offset, u64::from(request.length), most)?;
        self.send(&chunk_head(chunk::BLOCK_STATUS, request.cookie, 4 + 8 * extents.len() as u32));
        self.send(&allocation::NUMBER.to_be_bytes());
        for extent in extents {
            let flags = (u32::from(extent.is_hole) * allocation::HOLE) | (u32::from(extent.is_zero) * allocation::ZERO);
            self.send(&(extent.length as u32).to_be_bytes());
            self.send(&flags.to_be_bytes());
        }
        Ok(())
    }

    fn reply(&mut self, request: &RequestHead, done: Result<(), Refused>) -> Result<(), Gone> {
        let cookie = request.cookie;
        match done {
            Ok(()) if matches!(request.command, command::READ | command::BLOCK_STATUS) => {}
            Ok(()) if self.structured => self.send(&chunk_head(chunk::NONE, cookie, 0)),
            Ok(()) => self.send(&simple_reply(0, cookie)),
            Err(Refused { code: None, .. }) => return Err(Gone::PowerCut),
            Err(Refused { code: Some(code), text }) => {
                self.shared.counters.error();
                if self.structured {
                    self.send(&chunk_head(chunk::ERROR, cookie, 6 + text.len() as u32));
                    self.send(&code.to_be_bytes());
                    self.send(&(text.len() as u16).to_be_bytes());
                    self.send(text.as_bytes());
                } else {
                    self.send(&simple_reply(code, cookie));
                }
            }
        }
        Ok(())
    }
}

/// A request that failed: its code, or none if no reply may be sent, and a text for clients that take one.
struct Refused {
    code: Option<u32>,
    text: String,
}

impl Refused {
    /// Texts in replies may have at most this many bytes.
    const TEXT_MAX: usize = 4096;

    fn new(code: u32, mut text: String) -> Self {
        text.truncate(text.floor_char_boundary(Self::TEXT_MAX));
        Self { code: Some(code), text }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Io(_) => code::EIO,
            Error::ReadOnly => code::EPERM,
            Error::NoSpace => code::ENOSPC,
            Error::Invalid(_) => code::EINVAL,
            Error::PowerCut => return Self { code: None, text: String::new() },
        };
        Self::new(code, error.to_string())
    }
}

/// A request as the model sees it.
fn for_model(request: &RequestHead) -> PacedRequest {
    let RequestHead { flags, command, offset, length, .. } = *request;
    let kind = match command {
        command::READ => PacedKind::Read,
        command::FLUSH => PacedKind::Flush,
        command::TRIM => PacedKind::Trim,
        command::WRITE_ZEROES if flags & flag::NO_HOLE == 0 => PacedKind::Trim,
        _ => PacedKind::Write { fua: flags & flag::FUA != 0 },
    };
    PacedRequest { kind, offset, length: length.into() }
}

fn name(command: u16) -> Option<&'static str> {
    Some(match command {
        command::READ => "read",
        command::WRITE => "write",
        command::FLUSH => "flush",
        command::TRIM => "trim",
        command::WRITE_ZEROES => "write of zeros",
        command::BLOCK_STATUS => "block status",
        _ => return None,
    })
}

fn unknown(name: &[u8]) -> String {
    let name: String = String::from_utf8_lossy(name).chars().take(64).flat_map(char::escape_debug).collect();
    format!("there is no export `{name}`; the only one has the empty name")
}
