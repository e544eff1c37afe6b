//! The server as its clients meet it over sockets: good ones, bad ones, and both at once.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::{
    Chance, Client, DISC, FLUSH, FUA, READ, REQ_ONE, Request, STATUS, TRIM, WRITE, ZERO, head, scratch, served,
    served_within, soon,
};
use serve::memory::Memory;
use serve::{Address, BlockSizes, Blocks, Cut, CutAt, Error, Extent, Limits, Listener, Server, ServerEnd};

const SIZE: u64 = 1 << 20;

/// Memory that fails as a test wants it to.
struct Faulty {
    memory: Memory,
    fault: Mutex<Option<Error>>,
    panics: AtomicBool,
    read_only: bool,
    /// A request waits while this is set.
    held: AtomicBool,
    begun: AtomicU32,
    flushes: AtomicU32,
    closed: AtomicBool,
}

impl Faulty {
    fn new() -> Self {
        Self {
            memory: Memory::new(SIZE),
            fault: Mutex::new(None),
            panics: AtomicBool::new(false),
            read_only: false,
            held: AtomicBool::new(false),
            begun: AtomicU32::new(0),
            flushes: AtomicU32::new(0),
            closed: AtomicBool::new(false),
        }
    }

    fn fail(&self, error: Option<Error>) {
        *self.fault.lock().expect("a fault") = error;
    }

    fn pass(&self) -> Result<(), Error> {
        assert!(!self.panics.load(Ordering::Relaxed), "a map entry points nowhere");
        self.begun.fetch_add(1, Ordering::Relaxed);
        while self.held.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        self.fault.lock().expect("a fault").clone().map_or(Ok(()), Err)
    }
}

impl Blocks for Faulty {
    fn size(&self) -> u64 {
        SIZE
    }

    fn block_sizes(&self) -> BlockSizes {
        BlockSizes { minimum: 512, preferred: 4096, maximum: 1 << 20 }
    }

    fn read_only(&self) -> bool {
        self.read_only
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        self.pass()?;
        self.memory.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Error> {
        self.pass()?;
        self.memory.write(offset, data, fua)
    }

    fn flush(&self) -> Result<(), Error> {
        self.pass()?;
        self.flushes.fetch_add(1, Ordering::Relaxed);
        self.memory.flush()
    }

    fn trim(&self, offset: u64, length: u64) -> Result<(), Error> {
        self.pass()?;
        self.memory.trim(offset, length)
    }

    fn zero(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> Result<(), Error> {
        self.pass()?;
        self.memory.zero(offset, length, may_trim, fua)
    }

    fn cut_after(&self, operations: u64) {
        self.memory.cut_after(operations);
    }

    fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        self.flush()
    }
}

fn ended(stream: &mut impl Read) -> bool {
    stream.read(&mut [0; 1]).map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |count| count == 0)
}

#[test]
fn what_one_client_writes_the_others_read_and_flush() {
    let memory = Arc::new(Memory::new(SIZE));
    let (server, path) = served(memory.clone());
    let (mut first, mut second) = (Client::unix(&path), Client::unix(&path));
    assert_eq!((first.size, first.abilities), (SIZE, 0b1_1110_1101), "FLUSH, FUA, TRIM, zeros, DF, many connections");
    assert_eq!(first.write(4096, &[7; 8192]), 0);
    assert_eq!(second.read(0, 16384), [[0; 4096], [7; 4096], [7; 4096], [0; 4096]].concat());
    assert!(memory.kept().iter().all(|&byte| byte == 0), "nobody flushed");
    assert_eq!(second.flush(), 0);
    assert_eq!(memory.kept()[4096..12288], [7; 8192], "a flush of one covers the writes of all");
    assert_eq!(first.ask(Request::new(WRITE, 0, 512).flags(FUA), &[1; 512]).expect("a reply").0, 0);
    assert_eq!(memory.kept()[..513], [&[1; 512][..], &[0]].concat());
    assert_eq!(first.ask(Request::new(TRIM, 4096, 4096).flags(FUA), &[]).expect("a reply").0, 0);
    assert_eq!(memory.kept()[4096..8193], [&[0; 4096][..], &[7]].concat(), "FUA makes a discard last too");
    assert_eq!(first.ask(Request::new(ZERO, 8192, 512).flags(FUA), &[]).expect("a reply").0, 0);
    assert_eq!(memory.kept()[8192..8705], [&[0; 512][..], &[7]].concat());
    let counts = server.counts();
    assert_eq!((counts.writes, counts.written_bytes), (2, 8192 + 512));
    assert_eq!((counts.reads, counts.flushes, counts.trims, counts.zeroes, counts.connections), (1, 1, 1, 1, 2));
    assert_eq!(server.lines(), [""; 0]);
    server.stop().expect("a clean stop");
    assert!(!path.exists(), "the socket goes with its server");
}

#[test]
fn many_requests_in_flight_have_their_own_replies() {
    let (server, path) = served(Arc::new(Memory::new(SIZE)));
    let mut client = Client::unix(&path);
    let mut chance = Chance(1);
    let data: Vec<Vec<u8>> = (0..200).map(|_| chance.bytes(4096)).collect();
    let mut sender = client.again();
    thread::scope(|scope| {
        scope.spawn(|| {
            for (i, data) in (0..).zip(&data) {
                sender.send(Request::new(WRITE, i * 4096, 4096), data).expect("sent");
                sender.send(Request::new(READ, i * 4096, 4096), &[]).expect("sent");
            }
        });
        for (i, data) in (0..).zip(&data) {
            assert_eq!(client.receive(0, 0).expect("a reply"), (2 * i + 1, 0, vec![]));
            assert_eq!(client.receive(i * 4096, 4096).expect("a reply"), (2 * i + 2, 0, data.clone()));
        }
    });
    server.stop().expect("a clean stop");
}

#[test]
fn failures_of_the_device_are_codes_of_the_protocol() {
    let faulty = Arc::new(Faulty::new());
    let (server, path) = served(faulty.clone());
    let mut client = Client::unix(&path);
    let errors = [
        (Error::Io("page 7 cannot be corrected".into()), 5),
        (Error::ReadOnly, 1),
        (Error::NoSpace, 28),
        (Error::Invalid("no".into()), 22),
    ];
    for (error, code) in errors {
        faulty.fail(Some(error));
        for command in [READ, WRITE, FLUSH, TRIM, ZERO] {
            let length = if command == FLUSH { 0 } else { 512 };
            let data = vec![1; if command == WRITE { 512 } else { 0 }];
            assert_eq!(client.ask(Request::new(command, 0, length), &data).expect("a reply"), (code, vec![]));
        }
    }
    faulty.fail(None);
    assert_eq!(client.read(0, 512), [0; 512], "the connection goes on, and nothing was written");
    assert_eq!(server.counts().errors, 20);
    server.stop().expect("a clean stop");
}

#[test]
fn a_read_only_device_says_so_and_takes_no_writes() {
    let (server, path) = served(Arc::new(Faulty { read_only: true, ..Faulty::new() }));
    let mut client = Client::unix(&path);
    assert_eq!(client.abilities & 0b110_0010, 2, "read-only, no TRIM, no zeros");
    assert_eq!(client.write(0, &[1; 512]), 1);
    assert_eq!(client.ask(Request::new(TRIM, 0, 512), &[]).expect("a reply").0, 1);
    assert_eq!(client.read(0, 512), [0; 512]);
    server.stop().expect("a clean stop");
}

#[test]
fn clients_that_send_nonsense_or_break_off_harm_nobody() {
    let (server, path) = served(Arc::new(Memory::new(SIZE)));
    let mut good = Client::unix(&path);
    let mut chance = Chance(2);
    for round in 0..50 {
        let mut bad = UnixStream::connect(&path).expect("it listens");
        let _ = bad.write_all(&chance.bytes(200));
        let mut lost = Client::unix(&path);
        let _ = lost.stream.write_all(&chance.bytes(100));
        let mut half = Client::unix(&path);
        let cut = 1 + chance.below(28 + 511) as usize;
        let whole = [head(Request::new(WRITE, 0, 512), 1), vec![9; 512]].concat();
        half.stream.write_all(&whole[..cut]).expect("sent");
        drop((bad, lost, half));
        assert_eq!(good.write(512, &[round; 512]), 0);
        assert_eq!(good.read(0, 1024), [[0; 512], [round; 512]].concat(), "no half write is carried out");
    }
    soon("the bad ones are gone", || server.connected() == 1);
    let lines = server.lines();
    let told = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(lines[0], "50 earlier lines on clients are not shown");
    assert!(told("it left in the middle of a message") > 10 && told("it lost its way: 0x") > 10, "{lines:#?}");
    server.stop().expect("a clean stop");
}

#[test]
fn connections_are_bounded() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let (server, path) = served_within(Arc::new(Memory::new(SIZE)), limits);
    let (mut first, second) = (Client::unix(&path), Client::unix(&path));
    let mut third = UnixStream::connect(&path).expect("it listens");
    assert!(ended(&mut third));
    assert_eq!(server.lines(), ["client 3 was sent away: 2 are connected"]);
    assert_eq!(first.read(0, 512), [0; 512]);
    drop(second);
    soon("a place is free", || server.connected() == 1);
    Client::unix(&path);
    server.stop().expect("a clean stop");
}

#[test]
fn a_client_may_rest_between_requests_but_not_within_one() {
    let limits = Limits { stall: Duration::from_millis(200), ..Limits::default() };
    let (server, path) = served_within(Arc::new(Memory::new(SIZE)), limits);
    let mut resting = Client::unix(&path);
    let mut stuck = Client::unix(&path);
    stuck.stream.write_all(&head(Request::new(WRITE, 0, 512), 1)).expect("sent");
    let mut silent = UnixStream::connect(&path).expect("it listens");
    let begin = Instant::now();
    assert!(ended(&mut stuck.stream));
    silent.read_exact(&mut [0; 18]).expect("the greeting");
    assert!(ended(&mut silent), "one that never chooses an export takes no place for long");
    assert!(begin.elapsed() >= Duration::from_millis(150));
    thread::sleep(Duration::from_millis(500));
    assert_eq!(resting.read(0, 512), [0; 512]);
    assert_eq!(server.lines().len(), 2);
    server.stop().expect("a clean stop");
}

#[test]
fn a_stop_lets_requests_finish_and_closes_the_device() {
    let faulty = Arc::new(Faulty::new());
    let (server, path) = served(faulty.clone());
    let mut client = Client::unix(&path);
    faulty.held.store(true, Ordering::Relaxed);
    client.send(Request::new(WRITE, 0, 512), &[5; 512]).expect("sent");
    soon("the write begins", || faulty.begun.load(Ordering::Relaxed) == 1);
    thread::scope(|scope| {
        let stopped = scope.spawn(|| server.stop());
        thread::sleep(Duration::from_millis(100));
        assert!(!faulty.closed.load(Ordering::Relaxed), "not while a request is under way");
        faulty.held.store(false, Ordering::Relaxed);
        assert_eq!(client.receive(0, 0).expect("a reply").1, 0);
        assert!(ended(&mut client.stream));
        assert_eq!(stopped.join().expect("no panic"), Ok(()));
    });
    assert!(faulty.closed.load(Ordering::Relaxed));
    assert_eq!(faulty.memory.kept()[..512], [5; 512]);
    assert!(UnixStream::connect(&path).is_err());
}

#[test]
fn a_client_that_takes_no_replies_cannot_hold_up_a_stop() {
    let limits = Limits { grace: Duration::from_millis(200), ..Limits::default() };
    let faulty = Arc::new(Faulty::new());
    let (server, path) = served_within(faulty.clone(), limits);
    let mut client = Client::unix(&path);
    for _ in 0..8 {
        client.send(Request::new(READ, 0, SIZE as u32), &[]).expect("sent");
    }
    soon("replies fill the socket", || server.counts().reads > 0);
    let begin = Instant::now();
    server.stop().expect("a clean stop");
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert!(faulty.closed.load(Ordering::Relaxed));
}

#[test]
fn after_a_power_cut_nobody_gets_a_reply() {
    let memory = Arc::new(Memory::new(SIZE));
    let (server, path) = served(Arc::new(Cut::new(memory.clone(), CutAt::Operation(3))));
    let (mut first, mut second) = (Client::unix(&path), Client::unix(&path));
    assert_eq!(first.ask(Request::new(WRITE, 0, 512).flags(FUA), &[1; 512]).expect("a reply").0, 0);
    assert_eq!(first.write(512, &[2; 512]), 0);
    assert_eq!(server.wait(Duration::from_millis(10)), None);
    first.ask(Request::new(WRITE, 1024, 512).flags(FUA), &[3; 512]).expect_err("no reply");
    assert_eq!(server.wait(Duration::from_secs(20)), Some(ServerEnd::PowerCut));
    second.ask(Request::new(READ, 0, 512), &[]).expect_err("no reply");
    assert!(UnixStream::connect(&path).is_err());
    assert_eq!(server.stop(), Ok(()), "there is nothing to close");
    assert_eq!(memory.kept()[..1536], [[1; 512], [0; 512], [0; 512]].concat());
}

#[test]
fn a_device_that_panics_acknowledges_nothing_more() {
    let faulty = Arc::new(Faulty::new());
    let (server, path) = served(faulty.clone());
    let mut client = Client::unix(&path);
    faulty.panics.store(true, Ordering::Relaxed);
    client.ask(Request::new(WRITE, 0, 512), &[1; 512]).expect_err("no reply");
    let end = server.wait(Duration::from_secs(20));
    assert_eq!(end, Some(ServerEnd::Broken("a map entry points nowhere".into())));
    assert_eq!(server.stop(), Ok(()));
    assert!(!faulty.closed.load(Ordering::Relaxed), "nor is it closed as if it were well");
}

#[test]
fn a_server_that_is_dropped_flushes_nothing() {
    let faulty = Arc::new(Faulty::new());
    let (server, path) = served(faulty.clone());
    let mut client = Client::unix(&path);
    assert_eq!(client.write(0, &[1; 512]), 0);
    drop(server);
    assert!(ended(&mut client.stream));
    assert_eq!(faulty.flushes.load(Ordering::Relaxed), 0);
}

#[test]
fn a_client_that_says_goodbye_is_not_told_of() {
    let (server, path) = served(Arc::new(Memory::new(SIZE)));
    let mut client = Client::unix(&path);
    client.send(Request::new(DISC, 0, 0), &[]).expect("sent");
    assert!(ended(&mut client.stream));
    drop(Client::unix(&path));
    soon("both are gone", || server.connected() == 0);
    assert_eq!(server.lines(), [""; 0]);
    server.stop().expect("a clean stop");
}

#[test]
fn a_socket_is_its_owners_and_outlives_no_kill() {
    let path = scratch("sock");
    let bind = || Listener::bind(&Address::Unix(path.clone()));
    drop(UnixListener::bind(&path).expect("as a killed server leaves it"));
    let listener = bind().expect("nobody listens there");
    assert_eq!(std::fs::metadata(&path).expect("a socket").permissions().mode() & 0o777, 0o600);
    let at = path.display();
    let text = format!("cannot listen at {at}: another server listens there; stop it, or give another path");
    assert_eq!(bind().expect_err("it is taken").to_string(), text);
    drop(listener);
    std::fs::write(&path, "mine").expect("a file");
    let text = format!("cannot listen at {at}: there is something that is no socket; give another path");
    assert_eq!(bind().expect_err("a file").to_string(), text);
    std::fs::remove_file(&path).expect("removed");
    let long = Address::Unix(std::env::temp_dir().join("s".repeat(108)));
    let text = Listener::bind(&long).expect_err("too long").to_string();
    assert!(text.ends_with("the path is too long for a socket (107 bytes); give a shorter one"), "{text}");
}

#[test]
fn a_new_server_keeps_its_socket_when_the_old_one_is_dropped() {
    let path = scratch("sock");
    let listener = || Listener::bind(&Address::Unix(path.clone())).expect("a socket");
    let memory = Arc::new(Memory::new(SIZE));
    let old = Server::start(Arc::new(Cut::new(memory.clone(), CutAt::Operation(1))), listener(), Limits::default());
    Client::unix(&path).ask(Request::new(FLUSH, 0, 0), &[]).expect_err("no reply");
    assert_eq!(old.wait(Duration::from_secs(20)), Some(ServerEnd::PowerCut));
    memory.restart();
    let new = Server::start(memory, listener(), Limits::default());
    old.stop().expect("nothing to close");
    assert_eq!(Client::unix(&path).read(0, 512), [0; 512]);
    new.stop().expect("a clean stop");
}

#[test]
fn tcp_listens_on_this_machine_and_says_what_it_lacks() {
    let listener = Listener::bind(&Address::Tcp("0".into())).expect("any port");
    assert!(listener.uri().starts_with("nbd://127.0.0.1:"));
    let here = "TCP has no encryption and asks for no password here: everyone on this machine can read and write";
    assert_eq!(listener.warning().as_deref(), Some(here));
    let server = Server::start(Arc::new(Memory::new(SIZE)), listener, Limits::default());
    let mut client = Client::tcp(&server.uri());
    assert_eq!(client.write(0, &[1; 1024]), 0);
    assert_eq!(client.read(512, 1024), [[1; 512], [0; 512]].concat());
    server.stop().expect("a clean stop");

    let everywhere = Listener::bind(&Address::Tcp("0.0.0.0:0".into())).expect("any port");
    let warning = everywhere.warning().expect("a warning");
    assert!(warning.ends_with("everyone that can reach this address can read and write"), "{warning}");
    let text = Listener::bind(&Address::Tcp("nowhere".into())).expect_err("no address").to_string();
    assert!(text.starts_with("cannot listen at nowhere: ") && text.contains("expected HOST:PORT"), "{text}");
}

/// Clients that say nothing give their places to others, and those that have asked for something keep them.
#[test]
fn silent_clients_make_room() {
    let limits = Limits { connections: 3, silence: Duration::from_millis(100), ..Limits::default() };
    let (server, path) = served_within(Arc::new(Memory::new(SIZE)), limits);
    let mut asks = Client::<UnixStream>::unix(&path);
    assert_eq!(asks.write(0, &[1; 512]), 0);
    let mut silent = [Client::<UnixStream>::unix(&path).stream, UnixStream::connect(&path).expect("a connection")];
    soon("three are connected", || server.connected() == 3);
    thread::sleep(Duration::from_millis(150));
    let mut others = [(); 2].map(|()| Client::<UnixStream>::unix(&path));
    assert!(others.iter_mut().all(|other| other.read(0, 512) == [1; 512]));
    silent[1].read_exact(&mut [0; 18]).expect("the greeting");
    assert!(silent.iter_mut().all(ended), "they were sent away");
    assert_eq!(asks.read(0, 512), [1; 512]);
    // Now all have asked for something.
    assert!(Client::over(UnixStream::connect(&path).expect("a connection"), true).is_err());
    server.stop().expect("a clean stop");
}

/// As many clients as `fio` has jobs are served side by side.
#[test]
fn many_clients_are_served() {
    let (server, path) = served(Arc::new(Memory::new(SIZE)));
    let mut clients: Vec<_> = (0..128).map(|_| Client::<UnixStream>::unix(&path)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.write(number as u64 * 512, &[number as u8; 512]), 0);
    }
    for (number, client) in clients.iter_mut().rev().enumerate() {
        assert_eq!(client.read((127 - number) as u64 * 512, 512), [(127 - number) as u8; 512]);
    }
    server.stop().expect("a clean stop");
}

/// A device that stores the second of each four sectors.
struct Holes(Memory);

impl Blocks for Holes {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn block_sizes(&self) -> BlockSizes {
        self.0.block_sizes()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        self.0.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Error> {
        self.0.write(offset, data, fua)
    }

    fn flush(&self) -> Result<(), Error> {
        self.0.flush()
    }

    fn trim(&self, offset: u64, length: u64) -> Result<(), Error> {
        self.0.trim(offset, length)
    }

    fn zero(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> Result<(), Error> {
        self.0.zero(offset, length, may_trim, fua)
    }

    fn extents(&self, offset: u64, length: u64, most: usize) -> Result<Vec<Extent>, Error> {
        let sectors = offset / 512..(offset + length) / 512;
        let extent = |sector| {
            let is_hole = sector % 4 != 1;
            Extent { length: 512, is_hole, is_zero: is_hole }
        };
        Ok(sectors.map(extent).take(most).collect())
    }

    fn cut_after(&self, operations: u64) {
        self.0.cut_after(operations);
    }
}

/// `base:allocation` says what is stored, to those who have asked for it.
#[test]
fn block_status_says_what_is_stored() {
    let (server, path) = served(Arc::new(Holes(Memory::new(SIZE))));
    let status = Request::new(STATUS, 512, 1024);
    assert_eq!(Client::unix(&path).ask(status, &[]).expect("a reply").0, 22);
    let mut client = Client::with_allocation(&path);
    let words = |data: Vec<u8>| -> Vec<u32> {
        data.chunks(4).map(|word| u32::from_be_bytes(word.try_into().expect("4 bytes"))).collect()
    };
    let (code, data) = client.ask(status, &[]).expect("a reply");
    assert_eq!((code, words(data)), (0, vec![1, 512, 0, 512, 3]));
    let (code, data) = client.ask(status.flags(REQ_ONE), &[]).expect("a reply");
    assert_eq!((code, words(data)), (0, vec![1, 512, 0]));
    assert_eq!(client.ask(Request::new(STATUS, SIZE, 512), &[]).expect("a reply").0, 22);
    server.stop().expect("a clean stop");
}
