//! The words of NBD's protocol, and the parsers of what a client sends. No sockets: bytes in, messages or bytes out.
//!
//! Source: `doc/proto.md` of the project NetworkBlockDevice. The server speaks fixed newstyle negotiation, without TLS
//! and extended headers. Of meta contexts it has `base:allocation`.

/// The first bytes of a server: `NBDMAGIC`, `IHAVEOPT`, and what it can negotiate.
pub(crate) const GREETING: [u8; 18] = *b"NBDMAGICIHAVEOPT\x00\x03";
/// Fixed newstyle, and no zeros after the reply to `OPT_EXPORT_NAME`: all that a client may answer.
pub(crate) const CLIENT_FLAGS: u32 = NO_ZEROES | 1;
pub(crate) const NO_ZEROES: u32 = 2;

pub(crate) const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
pub(crate) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(crate) const REQUEST_MAGIC: u32 = 0x2560_9513;
pub(crate) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
pub(crate) const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Longest data of an option. Names may have 4096 bytes; no option that the server knows has much more.
pub(crate) const OPTION_DATA_MAX: u32 = 8192;

/// Options of the negotiation.
pub(crate) mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
}

/// The meta context that says what is stored, its number in replies, and its flags.
pub(crate) mod allocation {
    pub const NAME: &[u8] = b"base:allocation";
    pub const NUMBER: u32 = 1;
    pub const HOLE: u32 = 1 << 0;
    pub const ZERO: u32 = 1 << 1;
}

/// Replies to options.
pub(crate) mod reply {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    pub const ERR_UNSUP: u32 = 0x8000_0001;
    pub const ERR_INVALID: u32 = 0x8000_0003;
    pub const ERR_UNKNOWN: u32 = 0x8000_0006;
    pub const ERR_TOO_BIG: u32 = 0x8000_0009;
}

/// Pieces of information on an export.
pub(crate) mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// Abilities of an export.
pub(crate) mod ability {
    pub const HAS_FLAGS: u16 = 1 << 0;
    pub const READ_ONLY: u16 = 1 << 1;
    pub const FLUSH: u16 = 1 << 2;
    pub const FUA: u16 = 1 << 3;
    pub const TRIM: u16 = 1 << 5;
    pub const WRITE_ZEROES: u16 = 1 << 6;
    pub const DF: u16 = 1 << 7;
    pub const MULTI_CONN: u16 = 1 << 8;
}

/// Kinds of requests.
pub(crate) mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISC: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of requests.
pub(crate) mod flag {
    pub const FUA: u16 = 1 << 0;
    pub const NO_HOLE: u16 = 1 << 1;
    pub const DF: u16 = 1 << 2;
    pub const REQ_ONE: u16 = 1 << 3;
}

/// Chunks of structured replies, and the flag of the last one.
pub(crate) mod chunk {
    pub const DONE: u16 = 1;
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const BLOCK_STATUS: u16 = 5;
    pub const ERROR: u16 = 0x8001;
}

/// Codes of errors.
pub(crate) mod code {
    pub const EPERM: u32 = 1;
    pub const EIO: u32 = 5;
    pub const EINVAL: u32 = 22;
    pub const ENOSPC: u32 = 28;
    pub const EOVERFLOW: u32 = 75;
    pub const ESHUTDOWN: u32 = 108;
}

/// The head of an option: its data follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OptionHead {
    pub option: u32,
    pub length: u32,
}

impl OptionHead {
    pub(crate) const BYTES: usize = 16;

    /// Gives the number found where the magic one should be, if this is no option.
    pub(crate) fn parse(bytes: &[u8; Self::BYTES]) -> Result<Self, u64> {
        let mut fields = Fields(bytes);
        let magic = fields.u64().expect("16 bytes");
        let (option, length) = (fields.u32().expect("16 bytes"), fields.u32().expect("16 bytes"));
        if magic == OPTION_MAGIC { Ok(Self { option, length }) } else { Err(magic) }
    }
}

/// Data of `OPT_INFO` and `OPT_GO`: an export, and what the client wants to know of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExportQuery<'a> {
    pub name: &'a [u8],
    pub infos: Vec<u16>,
}

impl<'a> ExportQuery<'a> {
    /// `None` if the lengths inside do not add up to that of the data.
    pub(crate) fn parse(data: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(data);
        let length = fields.u32()?;
        let name = fields.bytes(usize::try_from(length).ok()?)?;
        let count = fields.u16()?;
        let infos = (0..count).map(|_| fields.u16()).collect::<Option<_>>()?;
        fields.0.is_empty().then_some(Self { name, infos })
    }
}

/// Data of `OPT_LIST_META_CONTEXT` and `OPT_SET_META_CONTEXT`: an export, and the contexts that the client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ContextQuery<'a> {
    pub name: &'a [u8],
    pub contexts: Vec<&'a [u8]>,
}

impl<'a> ContextQuery<'a> {
    /// `None` if the lengths inside do not add up to that of the data.
    pub(crate) fn parse(data: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(data);
        let text = |fields: &mut Fields<'a>| {
            let length = fields.u32()?;
            fields.bytes(usize::try_from(length).ok()?)
        };
        let name = text(&mut fields)?;
        let count = fields.u32()?;
        let contexts = (0..count).map(|_| text(&mut fields)).collect::<Option<_>>()?;
        fields.0.is_empty().then_some(Self { name, contexts })
    }
}

/// The head of a request; the data of a write follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestHead {
    pub flags: u16,
    pub command: u16,
    pub cookie: u64,
    pub offset: u64,
    pub length: u32,
}

impl RequestHead {
    pub(crate) const BYTES: usize = 28;

    /// Gives the number found where the magic one should be, if this is no request.
    pub(crate) fn parse(bytes: &[u8; Self::BYTES]) -> Result<Self, u32> {
        let mut fields = Fields(bytes);
        let mut next = || {
            let magic = fields.u32()?;
            let (flags, command) = (fields.u16()?, fields.u16()?);
            let request = Self { flags, command, cookie: fields.u64()?, offset: fields.u64()?, length: fields.u32()? };
            Some((magic, request))
        };
        let (magic, request) = next().expect("28 bytes");
        if magic == REQUEST_MAGIC { Ok(request) } else { Err(magic) }
    }
}

/// Numbers in network order from the front of some bytes.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N).map(|bytes| bytes.try_into().expect("as many"))
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}

/// The reply to an option.
pub(crate) fn option_reply(option: u32, reply: u32, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).expect("short data");
    [&OPTION_REPLY_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &reply.to_be_bytes(), &length.to_be_bytes(), data]
        .concat()
}

/// The head of a simple reply; the data of a read follow.
pub(crate) fn simple_reply(error: u32, cookie: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    bytes[4..8].copy_from_slice(&error.to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}

/// The head of the only chunk of a structured reply; `length` bytes follow.
pub(crate) fn chunk_head(kind: u16, cookie: u64, length: u32) -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
    bytes[4..6].copy_from_slice(&chunk::DONE.to_be_bytes());
    bytes[6..8].copy_from_slice(&kind.to_be_bytes());
    bytes[8..16].copy_from_slice(&cookie.to_be_bytes());
    bytes[16..].copy_from_slice(&length.to_be_bytes());
    bytes
}
