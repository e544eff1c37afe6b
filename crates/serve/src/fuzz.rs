//! Any bytes at all, and sessions of good and bad messages, against a server without sockets.
//!
//! A session's replies are read back whole: one to each message, in order, with the data that a plain array holds.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::blocks::Blocks;
use crate::connection::{Gone, Shared, serve};
use crate::counters::RequestCounters;
use crate::memory::Memory;
use crate::protocol::{
    ExportQuery, GREETING, OPTION_MAGIC, OPTION_REPLY_MAGIC, OptionHead, REQUEST_MAGIC, RequestHead,
    SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk, code, command, flag, option, reply,
};

const SIZE: u64 = 64 << 10;

/// A client that has said everything in advance. Its bytes come in pieces.
struct Script<'a> {
    input: &'a [u8],
    piece: usize,
    output: Vec<u8>,
}

impl Read for &mut Script<'_> {
    fn read(&mut self, data: &mut [u8]) -> io::Result<usize> {
        let count = data.len().min(self.piece).min(self.input.len());
        let (front, rest) = self.input.split_at(count);
        data[..count].copy_from_slice(front);
        self.input = rest;
        Ok(count)
    }
}

impl Write for &mut Script<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.output.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All that the server sends to a client that says `input`, and how it ended.
fn session(memory: &Memory, input: &[u8], piece: usize, stopping: bool) -> (Vec<u8>, Gone) {
    let (counters, stopping) = (RequestCounters::default(), AtomicBool::new(stopping));
    let mut script = Script { input, piece, output: Vec::new() };
    let asks = AtomicBool::new(false);
    let shared = Shared { blocks: memory, counters: &counters, stopping: &stopping, asks: &asks };
    let gone = serve(&mut script, &shared, None);
    assert!(!stopping.load(Ordering::Relaxed) || counters.counts().written_bytes == 0);
    (script.output, gone)
}

fn greeting() -> Vec<u8> {
    3_u32.to_be_bytes().to_vec()
}

fn opt(option: u32, data: &[u8]) -> Vec<u8> {
    let length = data.len() as u32;
    [&OPTION_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &length.to_be_bytes(), data].concat()
}

fn wanted(name: &str, infos: &[u16]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.as_bytes());
    data.extend((infos.len() as u16).to_be_bytes());
    infos.iter().for_each(|info| data.extend(info.to_be_bytes()));
    data
}

fn encoded(request: &RequestHead) -> Vec<u8> {
    let RequestHead { flags, command, cookie, offset, length } = *request;
    let mut bytes = REQUEST_MAGIC.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    if command == command::WRITE {
        bytes.extend(payload(request));
    }
    bytes
}

/// Data of a write, which differ from request to request.
fn payload(request: &RequestHead) -> Vec<u8> {
    (0..u64::from(request.length)).map(|i| (request.cookie.wrapping_mul(7) + i / 512) as u8 | 1).collect()
}

/// Numbers from the front of what a server sent.
struct Replies<'a>(&'a [u8]);

impl<'a> Replies<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at_checked(length).expect("the reply is whole");
        self.0 = rest;
        front
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// Kind and data of the next reply to an option.
    fn option(&mut self, option: u32) -> (u32, &'a [u8]) {
        assert_eq!(self.number(8), OPTION_REPLY_MAGIC);
        assert_eq!(self.number(4), u64::from(option));
        let kind = self.number(4) as u32;
        let length = self.number(4) as usize;
        (kind, self.take(length))
    }

    /// Code of the next reply to a request, and the data if it was a read that succeeded.
    fn request(&mut self, request: &RequestHead, structured: bool) -> (u32, &'a [u8]) {
        let magic = self.number(4) as u32;
        if !structured {
            assert_eq!(magic, SIMPLE_REPLY_MAGIC);
            let code = self.number(4) as u32;
            assert_eq!(self.number(8), request.cookie);
            let read = code == 0 && request.command == command::READ;
            return (code, self.take(if read { request.length as usize } else { 0 }));
        }
        assert_eq!(magic, STRUCTURED_REPLY_MAGIC);
        assert_eq!(self.number(2), u64::from(chunk::DONE));
        let kind = self.number(2) as u16;
        assert_eq!(self.number(8), request.cookie);
        let length = self.number(4) as usize;
        let mut data = Replies(self.take(length));
        match kind {
            chunk::NONE => assert_eq!((length, request.command == command::READ), (0, false)),
            chunk::OFFSET_DATA => assert_eq!(data.number(8), request.offset),
            chunk::ERROR => {
                let code = data.number(4) as u32;
                let text = data.number(2) as usize;
                assert!(!str::from_utf8(data.take(text)).expect("text").is_empty(), "an error says what is wrong");
                assert!(data.0.is_empty());
                return (code, &[]);
            }
            kind => panic!("a chunk of kind {kind}"),
        }
        (0, data.0)
    }
}

/// The reply that the protocol wants for a request to a device of plain bytes, which this carries out.
fn expected(request: &RequestHead, structured: bool, bytes: &mut [u8]) -> (u32, Vec<u8>) {
    let RequestHead { flags, command, offset, length, .. } = *request;
    let allowed = match command {
        command::READ if structured => flag::FUA | flag::DF,
        command::READ | command::WRITE | command::TRIM | command::FLUSH => flag::FUA,
        command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE,
        _ => return (code::EINVAL, Vec::new()),
    };
    if flags & !allowed != 0 {
        return (code::EINVAL, Vec::new());
    }
    if command == command::FLUSH {
        return (if offset == 0 && length == 0 { 0 } else { code::EINVAL }, Vec::new());
    }
    let end = offset.saturating_add(u64::from(length));
    if offset % 512 != 0 || length % 512 != 0 || length == 0 || end > SIZE {
        let over = end > SIZE && matches!(command, command::WRITE | command::WRITE_ZEROES);
        return (if over { code::ENOSPC } else { code::EINVAL }, Vec::new());
    }
    let part = &mut bytes[offset as usize..end as usize];
    match command {
        command::READ => return (0, part.to_vec()),
        command::WRITE => part.copy_from_slice(&payload(request)),
        _ => part.fill(0),
    }
    (0, Vec::new())
}

/// Requests near the device's bounds, most of them good.
fn request() -> impl Strategy<Value = RequestHead> {
    let flags = prop_oneof![4 => Just(0), 2 => Just(flag::FUA), 1 => Just(flag::NO_HOLE), 1 => Just(flag::DF), 1 => any::<u16>()];
    let command = prop_oneof![12 => 0_u16..2, 6 => 3_u16..7, 1 => 7_u16..200];
    let offset = prop_oneof![
        12 => (0..SIZE / 512).prop_map(|sector| sector * 512),
        1 => Just(0),
        1 => Just(SIZE),
        1 => 0..SIZE,
        1 => any::<u64>(),
        1 => (0_u64..4).prop_map(|sectors| 0_u64.wrapping_sub(512 * sectors)),
    ];
    let length = prop_oneof![
        12 => (0_u32..40).prop_map(|sectors| sectors * 512),
        2 => Just(0),
        1 => 0_u32..10_000,
        1 => Just(SIZE as u32),
    ];
    (flags, command, any::<u64>(), offset, length).prop_map(|(flags, command, cookie, offset, length)| {
        let plain = command == command::FLUSH && cookie % 4 != 0;
        let (offset, length) = if plain { (0, 0) } else { (offset, length) };
        RequestHead { flags, command, cookie, offset, length }
    })
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(38), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn any_bytes_end_a_client_and_nothing_else(bytes in vec(any::<u8>(), 0..600), piece in 1_usize..700) {
        let memory = Memory::new(SIZE);
        let (output, _) = session(&memory, &bytes, piece, false);
        prop_assert!(output.starts_with(&GREETING));
    }

    #[test]
    fn any_bytes_after_a_good_beginning(bytes in vec(any::<u8>(), 0..600), chosen in any::<bool>(), piece in 1_usize..700) {
        let memory = Memory::new(SIZE);
        let begin = if chosen { opt(option::EXPORT_NAME, &[]) } else { Vec::new() };
        let (output, gone) = session(&memory, &[greeting(), begin, bytes.clone()].concat(), piece, false);
        prop_assert_eq!(output.len(), GREETING.len() + if chosen { 10 } else { 0 }, "garbage has no replies");
        // Nothing that chance writes begins with a magic number.
        prop_assert_eq!(matches!(gone, Gone::Problem(_)), !bytes.is_empty() || !chosen, "{:?}", gone);
    }

    #[test]
    fn any_data_of_options_have_one_answer(number in 0_u32..12, data in vec(any::<u8>(), 0..64), piece in 1_usize..100) {
        let memory = Memory::new(SIZE);
        prop_assume!(number != option::EXPORT_NAME);
        let input = [greeting(), opt(number, &data), opt(option::ABORT, &[])].concat();
        let (output, gone) = session(&memory, &input, piece, false);
        let mut replies = Replies(&output[GREETING.len()..]);
        let good = matches!(number, option::ABORT)
            || data.is_empty() && matches!(number, option::LIST | option::STRUCTURED_REPLY)
            || matches!(number, option::INFO | option::GO) && ExportQuery::parse(&data).is_some_and(|w| w.name.is_empty());
        let mut kind = replies.option(number).0;
        while matches!(kind, reply::INFO | reply::SERVER) {
            kind = replies.option(number).0;
        }
        prop_assert_eq!(kind == reply::ACK, good, "{:#x}", kind);
        let lost = good && number == option::GO;
        if !lost && number != option::ABORT {
            prop_assert_eq!(replies.option(option::ABORT), (reply::ACK, &[][..]), "the next option is understood");
        }
        prop_assert_eq!(replies.0.len(), 0);
        prop_assert_eq!(matches!(gone, Gone::Left), !lost);
    }

    #[test]
    fn every_request_has_its_reply(
        requests in vec(request(), 0..40),
        structured in any::<bool>(),
        piece in prop_oneof![1_usize..40, Just(4096), Just(1 << 20)],
    ) {
        let memory = Memory::new(SIZE);
        let mut input = greeting();
        if structured {
            input.extend(opt(option::STRUCTURED_REPLY, &[]));
        }
        input.extend(opt(option::GO, &wanted("", &[3])));
        requests.iter().for_each(|request| input.extend(encoded(request)));
        input.extend(encoded(&RequestHead { flags: 0, command: command::DISC, cookie: 0, offset: 0, length: 0 }));
        let (output, gone) = session(&memory, &input, piece, false);
        prop_assert!(matches!(gone, Gone::Left));

        let mut replies = Replies(&output[GREETING.len()..]);
        if structured {
            prop_assert_eq!(replies.option(option::STRUCTURED_REPLY).0, reply::ACK);
        }
        prop_assert_eq!(replies.option(option::GO).0, reply::INFO);
        prop_assert_eq!(replies.option(option::GO).1, &[&[0, 3][..], &512_u32.to_be_bytes(), &4096_u32.to_be_bytes(), &(32_u32 << 20).to_be_bytes()].concat()[..]);
        prop_assert_eq!(replies.option(option::GO).0, reply::ACK);
        let mut bytes = vec![0; SIZE as usize];
        for request in &requests {
            let (code, data) = replies.request(request, structured);
            let (expected_code, expected_data) = expected(request, structured, &mut bytes);
            prop_assert_eq!((code, data == expected_data), (expected_code, true), "{:?}", request);
        }
        prop_assert_eq!(replies.0.len(), 0, "and no more");
        let mut seen = vec![0; SIZE as usize];
        memory.read(0, &mut seen).expect("memory");
        prop_assert!(seen == bytes);
    }

    #[test]
    fn a_flipped_bit_is_no_panic(
        requests in vec(request(), 0..6),
        at in any::<prop::sample::Index>(),
        bit in 0_u32..8,
        piece in 1_usize..5000,
    ) {
        let memory = Memory::new(SIZE);
        let mut input = [greeting(), opt(option::STRUCTURED_REPLY, &[]), opt(option::GO, &wanted("", &[]))].concat();
        requests.iter().for_each(|request| input.extend(encoded(request)));
        let at = at.index(input.len());
        input[at] ^= 1_u8 << bit;
        session(&memory, &input, piece, false);
    }
}

#[test]
fn heads_are_read_as_they_are_written() {
    let request = RequestHead { flags: 1, command: 6, cookie: 7, offset: 1 << 40, length: 4096 };
    assert_eq!(RequestHead::parse(encoded(&request)[..].try_into().expect("28 bytes")), Ok(request));
    let head = OptionHead { option: 7, length: 3 };
    assert_eq!(OptionHead::parse(opt(7, b"abc")[..16].try_into().expect("16 bytes")), Ok(head));
    assert_eq!(RequestHead::parse(&[0; 28]), Err(0));
    assert_eq!(OptionHead::parse(&[0; 16]), Err(0));
    assert_eq!(ExportQuery::parse(&wanted("ab", &[3])), Some(ExportQuery { name: b"ab", infos: vec![3] }));
    assert_eq!(ExportQuery::parse(&wanted("ab", &[3])[..9]), None, "a count without its numbers");
    assert_eq!(ExportQuery::parse(&[&wanted("ab", &[])[..], &[0]].concat()), None, "something behind it");
}

#[test]
fn a_server_that_stops_takes_no_requests() {
    let memory = Memory::new(SIZE);
    let write = RequestHead { flags: 0, command: command::WRITE, cookie: 1, offset: 0, length: 512 };
    let input = [greeting(), opt(option::EXPORT_NAME, &[]), encoded(&write)].concat();
    let (output, _) = session(&memory, &input, 4096, true);
    let mut replies = Replies(&output[GREETING.len() + 10..]);
    assert_eq!(replies.request(&write, false).0, code::ESHUTDOWN);
}

#[test]
fn long_messages_are_refused_without_memory_for_them() {
    let memory = Memory::new(SIZE);
    let begin = [greeting(), opt(option::EXPORT_NAME, &[])].concat();
    let long = |command, flags, length| RequestHead { flags, command, cookie: 1, offset: 0, length };
    let heads = |request: &RequestHead| {
        [&begin[..], &encoded(&RequestHead { length: 0, ..*request })[..24], &request.length.to_be_bytes()].concat()
    };

    let (_, gone) = session(&memory, &heads(&long(command::WRITE, 0, u32::MAX)), 4096, false);
    let Gone::Problem(text) = gone else { panic!("{gone:?}") };
    assert_eq!(text, "it wants to write 4294967295 bytes at once; 33554432 is the most");

    let read = long(command::READ, 0, u32::MAX);
    let (output, _) = session(&memory, &heads(&read), 4096, false);
    assert_eq!(Replies(&output[GREETING.len() + 10..]).request(&read, false).0, code::EINVAL);

    let huge = [greeting(), opt(option::GO, &[])[..12].to_vec(), u32::MAX.to_be_bytes().to_vec()].concat();
    let (output, gone) = session(&memory, &huge, 4096, false);
    assert_eq!(Replies(&output[GREETING.len()..]).option(option::GO).0, reply::ERR_TOO_BIG);
    let Gone::Problem(text) = gone else { panic!("{gone:?}") };
    assert_eq!(text, "its option 7 has 4294967295 bytes of data; 8192 is the most");

    let endless = [greeting(), opt(option::LIST, &[]).repeat(300)].concat();
    let (_, gone) = session(&memory, &endless, 4096, false);
    let Gone::Problem(text) = gone else { panic!("{gone:?}") };
    assert_eq!(text, "it sent 256 options and chose no export");
}
